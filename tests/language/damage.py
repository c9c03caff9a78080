"""Damage: what typing errors, cut-off files and worse do to a text."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

PIECES = re.compile(r"\w+|\s+|.", re.DOTALL)


def damaged(text: str, chance: random.Random, scraps: Sequence[str]) -> str:
    """The text with some of its pieces gone, doubled, swapped, or with scraps in their place."""
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        pieces = PIECES.findall(text) or [" "]
        here, there = chance.randrange(len(pieces)), chance.randrange(len(pieces))
        match chance.randrange(7):
            case 0:
                del pieces[here]
            case 1:
                pieces[here] = chance.choice(scraps)
            case 2:
                pieces.insert(here, f" {chance.choice(scraps)} ")
            case 3:
                pieces[here], pieces[there] = pieces[there], pieces[here]
            case 4:
                pieces.insert(here, pieces[there])
            case 5:
                pieces = pieces[:here]
            case 6:
                pieces[here] = pieces[here].swapcase()[::-1]
        text = "".join(pieces)
    return text
