"""What functions of this room are called with besides columns: as many rows as there may be, and what is raised when
there would be more; how often a row may come at once; bits of a key; what becomes of two tags.

    slices(runs, low, span, now, most=1000)             # raises TooMuchAtOnce where there are more rows than that
    join(…, field=Field(shift=0, mask=255, place=8))    # the lowest eight bits of a key found, as the next eight
    UNIONS[np.maximum]                                  # 0: how the library is told that the later tag stays
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

UNBOUNDED = int(np.iinfo(np.int64).max)  # as many rows as there are
MOST_TIMES = 1 << 31  # that a row may come, or go, at once: then no machine can have rows for a number to overflow
UNIONS: dict[np.ufunc, int] = {np.maximum: 0, np.add: 1}  # what becomes of two tags of one key, as `map.h` numbers it


class Field(NamedTuple):
    """Bits of a key, and where they belong in another."""

    shift: int
    mask: int
    place: int


class TooMuchAtOnce(Exception):
    """A search comes across more rows than whoever asked has room for."""


def times_of(times: np.ndarray) -> np.ndarray:
    """How often rows come, or go, once it is known that nothing will overflow."""
    if len(times) and max(int(times.max()), -int(times.min())) > MOST_TIMES:
        raise OverflowError(f"A row comes or goes more than {MOST_TIMES:,} times at once.")
    return times
