"""Comparison: the changes of an operator that nobody knows a shorter way to, from its whole now and its last whole.

    operator = ComparedOperator(evaluation, slice_)
    operator.start()                        # its rows
    operator.changes()                      # what has become of them since (see `row_changes`)

It costs what the whole costs, and a comparison by ids. What is above it hears of changes only.
"""

from __future__ import annotations

from csparql_spark.answers.algebra import Operator
from csparql_spark.answers.maintained.row_changes import compared
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.tables import Table


class ComparedOperator:
    def __init__(self, evaluation: Evaluation, operator: Operator) -> None:
        self._evaluation, self._operator = evaluation, operator
        self._last: Table | None = None

    def start(self) -> Table:
        self._last = self._whole()
        return self._last

    def changes(self) -> Table:
        assert self._last is not None
        now = self._whole()
        found = compared(now, self._last)
        self._last = now
        return found

    def _whole(self) -> Table:
        found = self._evaluation.table(self._operator)
        # The tags may be those of the matches themselves, which are written over as rows are taken back.
        return Table(found.columns, found.length, None if found.tag is None else found.tag.copy())

    @property
    def nbytes(self) -> int:
        return 0 if self._last is None else self._last.nbytes
