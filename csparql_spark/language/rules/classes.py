r"""Classes of characters, as RE2 reads them: \d, \w and \s, and what is not in them.

RE2's own know ASCII alone. Those here are of all languages, and there is a smaller spelling of each that does for texts
of ASCII alone.

    class_of("d")           # Members(ascii="0-9", wide=r"\p{Nd}", weight=5)
    written("-")            # r"\x{2d}": a character, wherever it stands
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import NamedTuple

LETTERS = tuple("dDwWsS")
HEAVY = 10  # what a class of letters weighs: of RE2's states, it has many hundreds
NOT_WORD = r"[^\p{L}\p{N}_]"
ANY = r"\x{0}-\x{10ffff}"
_SPACES = r"\x{9}-\x{d}\x{1c}-\x{20}"
_WIDE_SPACES = _SPACES + r"\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"


class Members(NamedTuple):
    """The members of a class that a letter stands for, and its weight: what RE2 makes of many ranges is large."""

    ascii: str
    wide: str
    weight: int


def class_of(letter: str) -> Members:
    """The members of \\d, \\w, \\s and of what is not in them. RE2 has no set of what is in neither of two."""
    match letter:
        case "d":
            return Members("0-9", r"\p{Nd}", 5)
        case "D":
            return Members(r"\x{0}-\x{2f}\x{3a}-\x{7f}", r"\P{Nd}", 5)
        case "w":
            return Members("0-9A-Za-z_", r"\p{L}\p{N}_", HEAVY)
        case "W":
            return Members(r"\x{0}-\x{2f}\x{3a}-\x{40}\x{5b}-\x{5e}\x{60}\x{7b}-\x{7f}", _others(r"\w"), 250)
        case "s":
            return Members(_SPACES, _WIDE_SPACES, 2)
        case _:
            return Members(r"\x{0}-\x{8}\x{e}-\x{1b}\x{21}-\x{7f}", _others(r"\s"), 4)


@lru_cache(maxsize=2)
def _others(members: str) -> str:
    """All characters but these, as ranges. Python's classes are RE2's, but for letters that are a few years old."""
    everything = "".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
    runs = re.finditer(f"[^{members}]+", everything)
    return "".join(rf"\x{{{ord(run[0][0]):x}}}-\x{{{ord(run[0][-1]):x}}}" for run in runs)


def written(character: str) -> str:
    """A character, as RE2 reads it anywhere."""
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"
