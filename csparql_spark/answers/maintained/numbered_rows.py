"""Numbered rows: rows that come and go, each with a number as long as it is there, and columns by these numbers.

    rows = NumberedRows(2, most)                # rows of two columns, in so many bytes
    numbers, came, went = rows.add([a, b], signs)       # as a `RowBag`
    latest = with_room(latest, len(rows), NEVER)        # a column by number
    if rows.sparse:
        kept = rows.forget()                    # these are 0, 1, … from now on
        latest = latest[kept]

A row that has gone keeps its number until it is forgotten, which pays where most have gone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel.rows import RowBag

SPARE = 4096  # rows that may have gone beside as many as there are


class NumberedRows:
    def __init__(self, width: int, most: int) -> None:
        """Of no column there is one row, however often: it needs a column all the same."""
        self._width, self._most = max(1, width), most
        self._bag = RowBag(self._width, most)
        self.there = 0

    def __len__(self) -> int:
        """How many numbers there are."""
        return len(self._bag)

    @property
    def nbytes(self) -> int:
        return self._bag.nbytes

    def add(
        self, columns: Sequence[np.ndarray], signs: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        numbers, came, went = self._bag.add(columns, signs)
        self.there += len(came) - len(went)
        return numbers, came, went

    def find(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        return self._bag.find(columns)

    def columns(self, numbers: np.ndarray) -> list[np.ndarray]:
        return self._bag.columns(numbers)

    def often(self, numbers: np.ndarray) -> np.ndarray:
        return self._bag.often(numbers)

    def all(self) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """The numbers of the rows that are there, these, and how often each is."""
        counts = self._bag.counts
        numbers = np.flatnonzero(counts > 0)
        return numbers, self._bag.columns(numbers), counts[numbers]

    @property
    def sparse(self) -> bool:
        return len(self._bag) > SPARE + 2 * self.there

    def forget(self) -> np.ndarray:
        """Go on without the rows that have gone. The numbers of the others, which are 0, 1, … from now on."""
        numbers, columns, counts = self.all()
        self._bag = RowBag(self._width, self._most)
        if len(numbers):
            self._bag.add(columns, counts)
        return numbers


def with_room(column: np.ndarray, size: int, fill: int = 0) -> np.ndarray:
    """The column, or several of one array, with room for so many numbers, and for some more."""
    more = size - column.shape[-1]
    if more <= 0:
        return column
    room = np.full((*column.shape[:-1], more + size // 2), fill, dtype=column.dtype)
    return np.concatenate([column, room], axis=-1)
