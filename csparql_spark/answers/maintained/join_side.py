"""A join side: the rows of one side of a join as they come and go, found by the variables that both sides have.

    side = JoinSide(["?a"], most)
    side.begin(table)                       # all rows
    side.add(rows)                          # which have come and gone (see `row_changes`)
    side.touching(rows)                     # its rows that may be compatible with any of these, and perhaps some others
    side.all()

Rows in which one of these variables is unbound may be compatible with anything: they are found with every key, and
whoever asks with such a row is given all. Where the sides have no variable in common all rows have the same key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.answers.maintained.keyed_bag import KeyedBag
from csparql_spark.answers.maintained.numbered_rows import NumberedRows
from csparql_spark.answers.maintained.row_changes import SIGN, cells, signed
from csparql_spark.answers.tables import UNBOUND, Table
from csparql_spark.kernel.sort import distinct, ordered


class JoinSide:
    def __init__(self, shared: Sequence[str], most: int) -> None:
        self._shared, self._most = list(shared), most
        self.begin(Table.none(()))

    def begin(self, rows: Table) -> None:
        self._names, self._tagged = list(rows.columns), rows.tag is not None
        self._keys = NumberedRows(len(self._shared), self._most)
        self._rows = KeyedBag(max(1, len(self._names) + self._tagged), self._most)
        self.add(signed(rows, 1))

    def __len__(self) -> int:
        """How many different rows there are."""
        return len(self._rows)

    def add(self, rows: Table) -> None:
        if not rows.length:
            return
        signs = rows.columns[SIGN]
        numbers, _, _ = self._keys.add(self._key(rows), signs)
        self._rows.add(numbers, cells(rows, self._names), signs)
        if self._keys.sparse:  # most keys have no rows any more
            self._rows.keep(self._keys.forget())

    def _key(self, rows: Table) -> list[np.ndarray]:
        columns = [rows.column(name) for name in self._shared]
        if not columns:
            return [np.zeros(rows.length, dtype=np.int64)]
        open_ = _is_open(columns)
        return [np.where(open_, UNBOUND, column) for column in columns] if open_.any() else columns

    def touching(self, rows: Table) -> Table:
        keys = self._key(rows)
        if self._shared:
            if _is_open(keys).any():
                return self.all()
            keys = [np.append(column, UNBOUND) for column in keys]  # what may be compatible with each of them
        numbers = distinct(ordered(self._keys.find(keys)))
        _, columns, counts = self._rows.of(numbers[numbers >= 0])
        return self._table(columns, counts)

    def all(self) -> Table:
        return self._table(*self._rows.all())

    def _table(self, columns: list[np.ndarray], counts: np.ndarray) -> Table:
        if len(counts) and counts.max() > 1:
            columns = [np.repeat(column, counts) for column in columns]
        tag = columns[len(self._names)] if self._tagged else None
        return Table(dict(zip(self._names, columns)), int(counts.sum()), tag)

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._rows.nbytes


def _is_open(columns: Sequence[np.ndarray]) -> np.ndarray:
    """In which rows any cell is unbound."""
    return np.logical_or.reduce([column == UNBOUND for column in columns])
