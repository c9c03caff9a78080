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
the keys that have been touched (see `join_side`). Where many rows have the same key they may be as long as the whole,
for one row that changes: `touched` says how long they were.
"""

from __future__ import annotations

from csparql_spark.answers import algebra
from csparql_spark.answers.maintained.join_side import JoinSide
from csparql_spark.answers.maintained.row_by_row import ChangeOperator
from csparql_spark.answers.maintained.row_changes import settled, signed
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.tables import Table, united

TwoSided = algebra.Join | algebra.LeftJoin | algebra.Minus | algebra.Exists


class TwoSidedOperator:
    def __init__(
        self, evaluation: Evaluation, operator: TwoSided, left: ChangeOperator, right: ChangeOperator, most: int
    ) -> None:
        self._evaluation, self._operator, self._most = evaluation, operator, most
        self._left, self._right = left, right
        self.touched = 0  # rows of either side that were looked at for what changed last

    def start(self) -> Table:
        left, right = self._left.start(), self._right.start()
        shared = [name for name in left.columns if name in right.columns]
        self._lefts, self._rights = JoinSide(shared, self._most), JoinSide(shared, self._most)
        self._lefts.begin(left)
        self._rights.begin(right)
        # What shares no variable with the left takes nothing from it.
        self._alone = isinstance(self._operator, algebra.Minus) and not shared
        made = self._made(left, right)
        self._none = signed(made.take(slice(0)), 1)
        return made

    def changes(self) -> Table:
        left, right = settled(self._left.changes()), settled(self._right.changes())
        self.touched = 0
        found = [self._none]
        if left.length:
            found.append(self._made(left, self._rights.touching(left)))
            self._lefts.add(left)
        if right.length and not self._alone:
            touched = self._lefts.touching(right)
            if isinstance(self._operator, algebra.Join):
                found.append(self._made(touched, right))
            else:
                found.append(self._made(signed(touched, -1), self._rights.touching(touched)))
                self._rights.add(right)
                found.append(self._made(signed(touched, 1), self._rights.touching(touched)))
                return settled(united(found))
        self._rights.add(right)
        return settled(united(found))

    def _made(self, left: Table, right: Table) -> Table:
        """What rows of the left become beside those of the right. Signs are a column like others, in either."""
        self._evaluation.deadline.check()
        self.touched += left.length + right.length
        return self._evaluation.applied(self._operator, [left, right])

    @property
    def length(self) -> int:
        """How many different rows the sides have: the whole is made from these."""
        return len(self._lefts) + len(self._rights)

    @property
    def nbytes(self) -> int:
        return self._left.nbytes + self._right.nbytes + self._lefts.nbytes + self._rights.nbytes
