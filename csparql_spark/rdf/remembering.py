"""Remembering: what functions of a term have said, for the terms that were asked about last.

    @remembered
    def number(term: str) -> Number | None: ...

    number('"1"^^<…integer>')               # found out once, as long as it is among the last of them

Invariant: at most MOST terms of at most LONGEST characters are held for a function, whatever users send: texts of a
megabyte, or ever new ones. What a longer term says is found out each time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

MOST = 16_384
LONGEST = 512

Said = TypeVar("Said")


def remembered(function: Callable[[str], Said]) -> Callable[[str], Said]:
    held = lru_cache(MOST)(function)

    @wraps(function)
    def asked(term: str) -> Said:
        return held(term) if len(term) <= LONGEST else function(term)
    return asked
