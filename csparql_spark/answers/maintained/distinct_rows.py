"""Distinct rows: of a projection's rows each once, with the latest tag that it has.

    distinct = DistinctOperator(evaluation, algebra.Project(..., distinct=True), inner, most)

It counts how often each row is there. Where rows have tags, it is known how often each is there until when: only where
a row goes that held longest, before its time, is it looked up which one holds longest now.
"""

from __future__ import annotations

import numpy as np

from csparql_spark.answers import algebra
from csparql_spark.answers.maintained.keyed_bag import KeyedBag
from csparql_spark.answers.maintained.numbered_rows import NumberedRows, with_room
from csparql_spark.answers.maintained.row_by_row import ChangeOperator
from csparql_spark.answers.maintained.row_changes import SIGN, cells, signed
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.tables import Table, latest_of, united
from csparql_spark.kernel.sort import dense_ranks
from csparql_spark.relations.tags import NEVER


class DistinctOperator:
    def __init__(self, evaluation: Evaluation, operator: algebra.Project, inner: ChangeOperator, most: int) -> None:
        self._evaluation, self._names, self._inner, self._most = evaluation, list(operator.names), inner, most
        self._begin(tagged=False)

    def _begin(self, tagged: bool) -> None:
        self._rows = NumberedRows(len(self._names), self._most)
        self._until = KeyedBag(1, self._most) if tagged else None  # by the number of a row, its tags
        self._latest = np.empty(0, dtype=np.int64)  # by the number of a row

    def start(self) -> Table:
        rows = self._inner.start().project(self._names)
        self._begin(rows.tag is not None)
        return self._taken(signed(rows, 1)).project(self._names)

    def changes(self) -> Table:
        rows = self._inner.changes()
        self._evaluation.deadline.check()
        return self._taken(rows)

    def _taken(self, rows: Table) -> Table:
        signs = rows.columns[SIGN]
        numbers, came, went = self._rows.add(cells(rows.untagged(), self._names), signs)
        if self._until is None:
            changes = united([signed(self._table(came), 1), signed(self._table(went), -1)])
        else:
            assert rows.tag is not None
            changes = self._held(self._until, numbers, rows.tag, signs)
        if self._rows.sparse:
            self._forget()
        return changes

    def _table(self, numbers: np.ndarray, tag: np.ndarray | None = None) -> Table:
        columns = self._rows.columns(numbers) if self._names else []
        return Table(dict(zip(self._names, columns)), len(numbers), tag)

    def _held(self, until: KeyedBag, numbers: np.ndarray, tags: np.ndarray, signs: np.ndarray) -> Table:
        """What becomes of these rows, which come and go until then."""
        until.add(numbers, [tags], signs)
        self._latest = with_room(self._latest, len(self._rows), NEVER)
        touched, places = dense_ranks(numbers)
        had = self._latest[touched]
        come = signs > 0
        has = np.maximum(had, latest_of(places[come], tags[come], len(touched)))
        went = latest_of(places[~come], tags[~come], len(touched))
        there = self._rows.often(touched) > 0
        has[~there] = NEVER
        looked = np.flatnonzero(there & (went >= has))
        if len(looked):
            found, (held,), _ = until.of(touched[looked])
            has[looked] = latest_of(found, held, len(looked))
        self._latest[touched] = has
        other = had != has
        old, new = other & (had > NEVER), other & (has > NEVER)
        return united([signed(self._table(touched[new], has[new]), 1), signed(self._table(touched[old], had[old]), -1)])

    def _forget(self) -> None:
        """Go on without the rows that have gone."""
        there = self._rows.forget()
        if self._until is not None:
            self._until.keep(there)
            self._latest = self._latest[there]

    @property
    def nbytes(self) -> int:
        held = 0 if self._until is None else self._until.nbytes
        return self._inner.nbytes + self._rows.nbytes + held + self._latest.nbytes
