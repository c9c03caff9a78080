from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel.limits import UNBOUNDED, TooMuchAtOnce, times_of
from csparql_spark.kernel.twin.sort import dense_ranks, order_of

CELL, ROW = 40, 300  # bytes of a cell and of a row of a bag, as objects of Python
ROOM = 62  # bits of a number for a row
Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def dense_rows(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    size = len(columns[0])
    there, ranks = dense_ranks(_packed(columns))
    firsts = np.empty(len(there), np.int64)
    firsts[ranks[::-1]] = np.arange(size)[::-1]  # of equal ones, the last that is written stays
    order = np.argsort(firsts)
    numbers = np.empty(len(there), np.int64)
    numbers[order] = np.arange(len(there))
    return numbers[ranks], firsts[order]


def unpaired(numbers: np.ndarray, split: int, distinct: int) -> tuple[np.ndarray, np.ndarray]:
    order = order_of(numbers)  # of equal rows, those before the split come first
    values, first = numbers[order], order < split
    same = np.concatenate([[False], values[1:] == values[:-1], [False]])  # as the one before
    # Most rows are there once in either: these go at once, and few are left to be counted.
    pair = same[1:-1] & ~same[:-2] & ~same[2:] & first[:-1] & ~first[1:]
    left = np.ones(len(order), dtype=bool)
    left[:-1] &= ~pair
    left[1:] &= ~pair
    order, values, first = order[left], values[left], first[left]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])) if len(values) else order
    sizes = np.diff(np.append(starts, len(values)))
    run = np.repeat(np.arange(len(starts)), sizes)
    mine = np.bincount(run[first], minlength=len(starts))[run]
    nth = np.arange(len(values)) - starts[run]
    alone = np.where(first, nth >= sizes[run] - mine, nth - mine >= mine)
    places = np.sort(order[alone])
    middle = int(places.searchsorted(split))
    return places[:middle], places[middle:] - split


def _packed(columns: Sequence[np.ndarray]) -> np.ndarray:
    """One number for each row: its columns side by side, or their ranks where these have too many bits."""
    keys = columns[0]
    for column in columns[1:]:
        bits, room = _bits(column), _bits(keys)
        if bits + room > ROOM:
            keys = dense_ranks(keys)[1]
            room = _bits(keys)
        if bits + room > ROOM:
            column = dense_ranks(column)[1]
            bits = _bits(column)
        keys = (keys.astype(np.int64) - keys.min(initial=0)) << bits | (column.astype(np.int64) - column.min(initial=0))
    return keys


def _bits(column: np.ndarray) -> int:
    return (int(column.max(initial=0)) - int(column.min(initial=0))).bit_length()


class RowBag:
    def __init__(self, width: int, most: int = UNBOUNDED) -> None:
        self._width, self._most = width, most
        self._numbers: dict[tuple[int, ...], int] = {}
        self._rows: list[tuple[int, ...]] = []
        self._often = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        return self._bytes(len(self._rows))

    def _bytes(self, rows: int) -> int:
        return rows * (ROW + CELL * self._width)

    @property
    def counts(self) -> np.ndarray:
        return self._often

    def often(self, numbers: np.ndarray) -> np.ndarray:
        return self._often[numbers]

    def add(self, columns: Sequence[np.ndarray], signs: np.ndarray | None = None) -> Three:
        size = len(columns[0])
        often = np.ones(size, np.int64) if signs is None else times_of(signs)
        if self._bytes(len(self._rows) + size) > self._most:
            raise TooMuchAtOnce
        within, firsts = dense_rows(columns)
        rows = _rows([column[firsts] for column in columns])
        known = np.array([self._numbers.setdefault(row, len(self._numbers)) for row in rows], np.int64)
        new = len(self._numbers) - len(self._rows)
        self._rows += [row for row, number in zip(rows, known.tolist()) if number >= len(self._rows)]
        self._often = np.concatenate((self._often, np.zeros(new, np.int64)))
        before = self._often[known] > 0
        np.add.at(self._often, known[within], often)
        after = self._often[known] > 0
        return known[within], np.sort(known[after & ~before]), np.sort(known[before & ~after])

    def find(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        return np.array([self._numbers.get(row, -1) for row in _rows(columns)], np.int64)

    def columns(self, numbers: np.ndarray) -> list[np.ndarray]:
        rows = [self._rows[number] for number in numbers.tolist()]
        return [np.array([row[place] for row in rows], np.int64) for place in range(self._width)]


def _rows(columns: Sequence[np.ndarray]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns)))
