"""Row by row: operators of which each row is made of one row below it, or of none.

FILTER, BIND, a projection and the name of a graph do with what has come, and with what has gone, what they do with the
whole; so does an order, which bags do not have. A union passes on what it hears. Data does not change.

    filter_ = RowwiseOperator(evaluation, algebra.Filter(...), scan)
    either  = UnionOperator((one, other))
    data    = FixedOperator(evaluation, algebra.Data(...))

Invariant: what they compute is a function of the row, as long as ids mean the same terms: so a row goes as it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from csparql_spark.answers import algebra
from csparql_spark.answers.algebra import Operator
from csparql_spark.answers.maintained.row_changes import SIGN, signed
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.tables import Table, united


class ChangeOperator(Protocol):
    """An operator that knows what it said last."""

    def start(self) -> Table: ...  # all its rows; it begins to remember here

    def changes(self) -> Table: ...  # what has become of these since, as signed rows

    @property
    def nbytes(self) -> int: ...  # what it and those below it hold


class FixedOperator:
    def __init__(self, evaluation: Evaluation, operator: algebra.Unit | algebra.Data) -> None:
        self._evaluation, self._operator = evaluation, operator
        self._none = Table.none((SIGN,))
        self.nbytes = 0

    def start(self) -> Table:
        rows = self._evaluation.table(self._operator)
        self._none = signed(rows.take(slice(0)), 1)
        return rows

    def changes(self) -> Table:
        return self._none


class RowwiseOperator:
    def __init__(self, evaluation: Evaluation, operator: Operator, inner: ChangeOperator) -> None:
        self._evaluation, self._operator, self._inner = evaluation, operator, inner

    def start(self) -> Table:
        return self._made(self._inner.start(), ())

    def changes(self) -> Table:
        rows = self._inner.changes()
        self._evaluation.deadline.check()
        return self._made(rows, (SIGN,))

    def _made(self, rows: Table, more: tuple[str, ...]) -> Table:
        match self._operator:
            case algebra.OrderBy():
                return rows
            case algebra.Project():
                return rows.project((*self._operator.names, *more))
        return self._evaluation.applied(self._operator, [rows])

    @property
    def nbytes(self) -> int:
        return self._inner.nbytes


class UnionOperator:
    def __init__(self, parts: Sequence[ChangeOperator]) -> None:
        self._parts = parts

    def start(self) -> Table:
        return united([part.start() for part in self._parts])

    def changes(self) -> Table:
        return united([part.changes() for part in self._parts])

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)
