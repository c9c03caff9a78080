"""A keyed bag: rows that come and go, each under the number of a key, so that those of some keys are found.

    bag = KeyedBag(2, most)                             # rows of two columns, in so many bytes
    bag.add(keys, [a, b], signs)                        # rows come (1) and go (-1)
    places, (a, b), counts = bag.of(wanted)             # the rows under these keys, how often each is there; `places`
                                                        # says for which of them
    bag.keep(numbers)                                   # the only keys with rows; the first of them is 0 from now on, …

Looking costs the rows that are found. A row that has gone is forgotten when most others have, too. Where it would need
more than `most` bytes it raises `TooMuchAtOnce`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.answers.maintained.numbered_rows import NumberedRows
from csparql_spark.kernel.sort import ordered
from csparql_spark.relations.runs import Runs
from csparql_spark.relations.tags import ALWAYS

ROW_BITS = 32
ENTRY_BYTES = 16  # of a row in the order of keys


class KeyedBag:
    def __init__(self, width: int, most: int) -> None:
        self._width, self._most = width, most
        self._clear()

    def _clear(self) -> None:
        self._rows = NumberedRows(1 + self._width, self._most)  # each with its key before it
        self._order = Runs()  # key and number of those that are there

    def __len__(self) -> int:
        """How many different rows there are."""
        return self._rows.there

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes + ENTRY_BYTES * self._order.rows

    def add(self, keys: np.ndarray, columns: Sequence[np.ndarray], signs: np.ndarray) -> None:
        _, came, went = self._rows.add([keys, *columns], signs)
        if len(went):
            self._order.remove(ordered(self._keys_of(went) << ROW_BITS | went))
        if len(came):
            self._insert(self._keys_of(came), came)
        if self._rows.sparse:
            self._rewrite(None)

    def _insert(self, keys: np.ndarray, rows: np.ndarray) -> None:
        self._order.add(ordered(keys << ROW_BITS | rows), np.full(len(rows), ALWAYS))
        self._order.settle()

    def _keys_of(self, rows: np.ndarray) -> np.ndarray:
        return self._rows.columns(rows)[0]

    def of(self, keys: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Keys of which there is none, -1 among them, have no rows."""
        places, found, _ = self._order.slices(keys << ROW_BITS, 1 << ROW_BITS)
        rows = found & (1 << ROW_BITS) - 1
        return places, self._rows.columns(rows)[1:], self._rows.often(rows)

    def all(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The rows of all keys, and how often each is there."""
        _, (_, *columns), counts = self._rows.all()
        return columns, counts

    def keep(self, numbers: np.ndarray) -> None:
        places = np.full(int(numbers.max(initial=-1)) + 1, -1)
        places[numbers] = np.arange(len(numbers))
        self._rewrite(places)

    def _rewrite(self, places: np.ndarray | None) -> None:
        """Forget rows that have gone. `places`: what keys are from now on."""
        _, (keys, *columns), counts = self._rows.all()
        if places is not None:
            keys = places[keys]
        self._clear()
        if len(keys):
            numbers, _, _ = self._rows.add([keys, *columns], counts)
            self._insert(keys, numbers)
