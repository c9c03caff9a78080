"""Remembering: what functions of a text have said, for the texts that were asked about last.

    @remembered
    def number(term: str) -> Number | None: ...

    number('"1"^^<…integer>')               # found out once, as long as it is among the last of them

    @bounded(most=8192, longest=4096)       # where texts are not terms

Invariant: at most so many texts of at most such a length are held for a function, whatever users send: texts of a
megabyte, or ever new ones. What a longer one says is found out each time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

MOST = 16_384
LONGEST = 512

Result = TypeVar("Result")
Text = TypeVar("Text", str, bytes)


def bounded(most: int, longest: int) -> Callable[[Callable[[Text], Result]], Callable[[Text], Result]]:
    def made(function: Callable[[Text], Result]) -> Callable[[Text], Result]:
        cached = lru_cache(most)(function)

        @wraps(function)
        def of_text(text: Text) -> Result:
            return cached(text) if len(text) <= longest else function(text)

        return of_text

    return made


def remembered(function: Callable[[str], Result]) -> Callable[[str], Result]:
    """Of a term."""
    return bounded(MOST, LONGEST)(function)
