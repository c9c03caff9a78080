"""What functions of this room are called with besides columns: as many rows as there may be, and what is raised when
there would be more; bits of a key.

if rows > most:
    raise TooMuchAtOnce
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

UNBOUNDED = int(np.iinfo(np.int64).max)  # as many rows as there are


class Field(NamedTuple):
    """Bits of a key, and where they belong in another."""

    shift: int
    mask: int
    place: int


class TooMuchAtOnce(Exception):
    """A search comes across more rows than whoever asked has room for."""
