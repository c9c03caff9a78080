"""Two sides: joins, OPTIONAL, MINUS and EXISTS, of which what comes and goes is made from what does below.

Each row of the left becomes what it becomes by itself, beside the rows of the right that are compatible with it. So
rows that come and go on the left are put beside the right as it was; then, what changes on the right changes what the
rows become that it is compatible with: these are put beside the right as it was, which goes, and as it is, which comes.
A join need not look twice: what comes on the right comes beside the left as it is.

                 left                             right
    come, gone ──┬──▶ beside the right as it was    │
                 └──▶ the left as it is ◀── its keys ── come, gone

    pairs = TwoSidedOperator(evaluation, algebra.LeftJoin(...), left, right, most)

What an operator makes of the tables is what it makes of whole ones (see `operators`): only the tables are shorter, by
the keys that have been touched (see `join_side`).
"""

from __future__ import annotations

from csparql_spark.answers import algebra
from csparql_spark.answers.maintained.join_side import JoinSide
from csparql_spark.answers.maintained.row_by_row import ChangeOperator
from csparql_spark.answers.maintained.row_changes import RowChanges
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.tables import Table, united

TwoSided = algebra.Join | algebra.LeftJoin | algebra.Minus | algebra.Exists


class TwoSidedOperator:
    def __init__(
        self, evaluation: Evaluation, operator: TwoSided, left: ChangeOperator, right: ChangeOperator, most: int
    ) -> None:
        self._evaluation, self._operator, self._most = evaluation, operator, most
        self._left, self._right = left, right

    def start(self) -> Table:
        left, right = self._left.start(), self._right.start()
        shared = [name for name in left.columns if name in right.columns]
        self._lefts, self._rights = JoinSide(shared, self._most), JoinSide(shared, self._most)
        self._lefts.begin(left)
        self._rights.begin(right)
        # What shares no variable with the left takes nothing from it.
        self._alone = isinstance(self._operator, algebra.Minus) and not shared
        made = self._evaluation.applied(self._operator, [left, right])
        self._none = made.take(slice(0))
        return made

    def changes(self) -> RowChanges:
        left, right = self._left.changes().settled(), self._right.changes().settled()
        come, gone = [self._none], [self._none]
        if left.size:
            beside = self._rights.touching(left)
            come += self._made(left.come, beside)
            gone += self._made(left.gone, beside)
            self._lefts.add(left)
        if right.size and self._alone:
            self._rights.add(right)
        elif right.size:
            touched = self._lefts.touching(right)
            if isinstance(self._operator, algebra.Join):
                come += self._made(touched, right.come) if right.come.length else []
                gone += self._made(touched, right.gone) if right.gone.length else []
                self._rights.add(right)
            else:
                gone += self._made(touched, self._rights.touching([touched]))
                self._rights.add(right)
                come += self._made(touched, self._rights.touching([touched]))
        return RowChanges(united(come), united(gone)).settled()

    def _made(self, left: Table, right: Table) -> list[Table]:
        """What rows of the left become beside these of the right."""
        if not left.length:
            return []
        self._evaluation.deadline.check()
        return [self._evaluation.applied(self._operator, [left, right])]

    @property
    def nbytes(self) -> int:
        return self._left.nbytes + self._right.nbytes + self._lefts.nbytes + self._rights.nbytes
