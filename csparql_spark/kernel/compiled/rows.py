from __future__ import annotations

import os
import struct
from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel import native
from csparql_spark.kernel.compiled.columns import cut
from csparql_spark.kernel.compiled.sort import ordered
from csparql_spark.kernel.limits import UNBOUNDED, TooMuchAtOnce, times_of

LEAST = 64  # slots of a bag
MOST_CELLS = 100  # columns that the library takes one by one
SPARE_BYTES = 16 << 20  # of room in a column beyond what is asked for
_library = native.library
assert _library is not None
_dense_rows, _unpaired, _count, _find, _spread = (
    _library.dense_rows,
    _library.unpaired,
    _library.count_rows,
    _library.find_rows,
    _library.spread,
)
_seeds = struct.unpack("<2q", os.urandom(16))  # of this process: numbers do not depend on them
_once = np.empty(0, np.int64)
Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def dense_rows(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    size = len(columns[0])
    numbers, firsts = np.empty(size, np.int64), np.empty(size, np.int64)
    (firsts,) = cut(_dense_rows(len(columns), *_seeds, numbers, firsts, *_given(columns)), firsts)
    return numbers, firsts


def unpaired(numbers: np.ndarray, split: int, distinct: int) -> tuple[np.ndarray, np.ndarray]:
    places = np.empty(len(numbers), np.int64)
    (places,) = cut(_unpaired(numbers, split, distinct, places), places)
    middle = int(places.searchsorted(split))
    return places[:middle], places[middle:] - split


class RowBag:
    """The columns that `rows.c` describes."""

    def __init__(self, width: int, most: int = UNBOUNDED) -> None:
        self._width, self._most = width, most
        self._size = 0
        self._slots = np.zeros(LEAST, np.int64)
        self._cells, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes + self._cells.nbytes + self._counts.nbytes

    @property
    def counts(self) -> np.ndarray:
        return self._counts[: self._size].copy()  # what is held moves when it grows

    def often(self, numbers: np.ndarray) -> np.ndarray:
        return self._counts[: self._size].take(numbers)

    def add(self, columns: Sequence[np.ndarray], signs: np.ndarray | None = None) -> Three:
        given, rows = _given(columns), len(columns[0])
        often = _once if signs is None else times_of(signs)
        self._reserve(rows)
        numbers, came, went = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
        changed = _count(*self._state(), often, numbers, came, went, *given)
        self._size = max(self._size, int(numbers.max(initial=-1)) + 1)
        (came,), (went,) = cut(changed >> 32, came), cut(changed & 0xFFFFFFFF, went)
        return numbers, ordered(came), ordered(went)

    def find(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        numbers = np.empty(len(columns[0]), np.int64)
        _find(*self._state(), numbers, *_given(columns))
        return numbers

    def columns(self, numbers: np.ndarray) -> list[np.ndarray]:
        if self._width == 1:
            return [self._cells[: self._size].take(numbers)]
        # One cell after the other: of a column of all rows, numpy would make a copy to take some from.
        cells, firsts = self._cells[: self._size * self._width], np.asarray(numbers) * self._width
        return [cells.take(firsts + place) for place in range(self._width)]

    def _state(self) -> tuple[object, ...]:
        return self._slots, self._cells, self._counts, self._size, self._width, *_seeds

    def _reserve(self, rows: int) -> None:
        """Have room for so many rows more."""
        rows += self._size
        slots = len(self._slots) if 2 * rows <= len(self._slots) else 1 << (2 * rows - 1).bit_length()
        if 8 * (slots + rows * (self._width + 1)) > self._most:
            raise TooMuchAtOnce
        if slots > len(self._slots):
            more = np.zeros(slots, np.int64)
            _spread(self._slots, more)
            self._slots = more
        # As many rows in both, also where there is some room to spare.
        if rows > len(self._counts):
            room = rows + min(len(self._counts), SPARE_BYTES // (8 * self._width))
            if 8 * (slots + room * (self._width + 1)) > self._most:
                room = rows
            self._counts.resize(room, refcheck=False)
            self._cells.resize(room * self._width, refcheck=False)


def _given(columns: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """Columns as the library takes them."""
    if len(columns) > MOST_CELLS:
        return [np.stack([column.astype(np.int64) for column in columns], axis=1)]
    return [np.ascontiguousarray(column) for column in columns]
