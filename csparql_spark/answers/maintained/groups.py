"""Groups: GROUP BY, whose groups are made again only where rows come or go.

    groups = GroupOperator(evaluation, algebra.GroupBy(...), inner, most)

Each group has a number, how many rows it has, what its expressions say (see `group_values`), and what was said of it
last. Without keys there is one group, which is always there. Both this and `grouping` say the same.
"""

from __future__ import annotations

import numpy as np

from csparql_spark.answers import algebra
from csparql_spark.answers.computing import Expression
from csparql_spark.answers.maintained.group_values import GroupValues
from csparql_spark.answers.maintained.numbered_rows import NumberedRows, with_room
from csparql_spark.answers.maintained.row_by_row import ChangeOperator
from csparql_spark.answers.maintained.row_changes import SIGN, signed
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.tables import Table, united
from csparql_spark.kernel.sort import distinct, ordered


class GroupOperator:
    def __init__(self, evaluation: Evaluation, operator: algebra.GroupBy, inner: ChangeOperator, most: int) -> None:
        self._evaluation, self._operator, self._inner, self._most = evaluation, operator, inner, most
        self._begin()

    def _begin(self) -> None:
        operator = self._operator
        self._keys = NumberedRows(len(operator.keys), self._most)
        if not operator.keys:  # one group, for whose being there no row is needed
            self._keys.add([np.zeros(1, dtype=np.int64)])
        expressions: dict[Expression, list[algebra.Aggregate]] = {}
        for one in operator.aggregates:
            if one.expression is not None:
                expressions.setdefault(one.expression, []).append(one)
        self._values = {
            expression: GroupValues(self._evaluation.grouping, expression, aggregates, self._most)
            for expression, aggregates in expressions.items()
        }
        self._shown = np.zeros(0, dtype=bool)  # by group, whether anything was said of it
        self._said = np.zeros((len(operator.aggregates), 0), dtype=np.int64)  # by aggregate and group

    def start(self) -> Table:
        rows = self._inner.start()
        self._begin()
        found = self._taken(signed(rows, 1))
        return found.project([name for name in found.columns if name != SIGN])

    def changes(self) -> Table:
        rows = self._inner.changes()
        self._evaluation.deadline.check()
        return self._taken(rows)

    def _taken(self, rows: Table) -> Table:
        keys = self._operator.keys
        signs = rows.columns[SIGN]
        cells = [rows.column(key) for key in keys] or [np.zeros(rows.length, dtype=np.int64)]
        groups, _, _ = self._keys.add(cells, signs)
        self._reserve(len(self._keys))
        for expression, values in self._values.items():
            values.add(groups, self._evaluation.computed(expression, rows.columns, rows.length), signs)
        touched = distinct(ordered(groups))
        if not keys and not self._shown[0]:
            touched = np.zeros(1, dtype=np.int64)
        changes = self._changes_of(touched)
        if self._keys.sparse:
            self._forget()
        return changes

    def _reserve(self, size: int) -> None:
        """Have room for so many groups."""
        self._shown, self._said = with_room(self._shown, size), with_room(self._said, size)
        for values in self._values.values():
            values.reserve(size)

    def _changes_of(self, groups: np.ndarray) -> Table:
        """What is said of these groups, beside what was said of them."""
        often = self._rows_of(groups)
        there = often > 0 if self._operator.keys else np.ones(len(groups), dtype=bool)
        had, before = self._shown[groups], self._said[:, groups]
        now = np.full(before.shape, -1)
        if there.any():
            now[:, there] = self._results(groups[there], often[there])
        other = (had != there) | (now != before).any(axis=0)
        old, new = other & had, other & there
        self._shown[groups], self._said[:, groups] = there, now
        come, gone = self._table(groups[new], now[:, new]), self._table(groups[old], before[:, old])
        return united([signed(come, 1), signed(gone, -1)])

    def _rows_of(self, groups: np.ndarray) -> np.ndarray:
        often = self._keys.often(groups)
        return often if self._operator.keys else often - 1  # the one that was put there

    def _results(self, groups: np.ndarray, often: np.ndarray) -> np.ndarray:
        found = [
            self._evaluation.grouping.counts(often)
            if one.expression is None
            else self._values[one.expression].results(one, groups)
            for one in self._operator.aggregates
        ]
        return np.array(found, dtype=np.int64).reshape(len(found), len(groups))

    def _table(self, groups: np.ndarray, said: np.ndarray) -> Table:
        columns = dict(zip(self._operator.keys, self._keys.columns(groups)))
        columns.update((one.name, said[place]) for place, one in enumerate(self._operator.aggregates))
        return Table(columns, len(groups), None)

    def _forget(self) -> None:
        """Go on without the groups that have gone."""
        there = self._keys.forget()
        self._shown, self._said = self._shown[there], self._said[:, there]
        for values in self._values.values():
            values.keep(there)

    @property
    def nbytes(self) -> int:
        held = sum(values.nbytes for values in self._values.values())
        return self._inner.nbytes + self._keys.nbytes + self._shown.nbytes + self._said.nbytes + held
