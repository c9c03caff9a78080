"""A sieve: it holds back most of the keys that are not in a set, so that only the others have to be looked up.

It may let through keys that are not in the set, and never holds back one that is. Keys cannot be taken out: when the
set has lost many, one makes a new sieve.

    sieve = Sieve(1000)                     # for about so many keys
    sieve.add(keys)
    sieve.passing(others)                   # the places of those that may be among the keys
"""

from __future__ import annotations

import numpy as np

SPARSE = 8  # cells for a key, at least
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # multiplied with it, neighbours are far from one another


class Sieve:
    def __init__(self, keys: int) -> None:
        bits = max(10, (2 * SPARSE * keys).bit_length())
        self._cells = np.zeros(1 << bits, dtype=bool)
        self._shift = np.uint64(64 - bits)
        self._room = (1 << bits) // SPARSE

    @property
    def full(self) -> bool:
        """Whether so many keys were added that it lets through more than it should."""
        return self._room < 0

    def too_large(self, keys: int) -> bool:
        """Whether it was made for many more keys."""
        return len(self._cells) > 16 * SPARSE * keys + 1024

    def add(self, keys: np.ndarray) -> None:
        self._cells[self._places(keys)] = True
        self._room -= len(keys)

    def passing(self, keys: np.ndarray) -> np.ndarray:
        return np.flatnonzero(self._cells[self._places(keys)])

    def _places(self, keys: np.ndarray) -> np.ndarray:
        return ((keys.view(np.uint64) * _SPREAD) >> self._shift).view(np.int64)
