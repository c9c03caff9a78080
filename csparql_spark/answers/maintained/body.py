"""Maintained body: its operators, as they answer with changes, and when they begin anew.

    rows = MaintainedBody(evaluation, operator)
    rows.changed(version, deadline)         # None: it begins here; whoever asks compares whole with whole
    rows.changed(version, deadline)         # after the evaluation has moved: what has come and gone since
    rows.length                             # how many rows there are

It answers with None whenever it does not know what it said before: at first, when it has been told to start anew, and
after an instant at which it failed half-way. It holds ids, and nobody keeps their meaning for it: who has them
renumbered tells it (`restart`).

There are two ways to the same: operators follow what has changed below them, or the whole is compared with the last
one. The first costs what has changed and some hundred calls, the second what there is. So the second is taken where
there is little; where much of it has changed, as in windows that do not overlap, or has been looked at for what has, as
where most rows of a join have the same key; and where what operators hold would be more than its share. Where even the
last whole is more, nothing is held, and nobody knows what it said. None of this is for ever: the better way is tried
again after an instant, and while it fails after twice as many, up to `LONGEST`. Operators that were too large begin
again when they have room to grow.
"""

from __future__ import annotations

from csparql_spark.answers import algebra
from csparql_spark.answers.algebra import Operator
from csparql_spark.answers.deadline import Deadline
from csparql_spark.answers.maintained.comparison import ComparedOperator
from csparql_spark.answers.maintained.distinct_rows import DistinctOperator
from csparql_spark.answers.maintained.groups import GroupOperator
from csparql_spark.answers.maintained.row_by_row import ChangeOperator, FixedOperator, RowwiseOperator, UnionOperator
from csparql_spark.answers.maintained.row_changes import RowChanges, parted, settled
from csparql_spark.answers.maintained.scans import Lost, ScanOperator
from csparql_spark.answers.maintained.two_sides import TwoSidedOperator
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.tables import Table
from csparql_spark.kernel.limits import TooMuchAtOnce

SHARE = 4  # the part of what a query may have that is held for its changes, at most
FEW = 1_024  # matches of which the whole is compared: operators would take longer
KEYED = 4  # times as many where operators look for rows by keys
MOST, MOST_KEYED = 2, 10  # where a half changes, or a tenth where they look for rows, the whole is compared, too
MOST_TOUCHED = 3  # where a third of what is joined was looked at
LONGEST = 64  # instants at which the worse way is taken before the better one is tried again

KEYED_OPERATORS = (algebra.Join, algebra.LeftJoin, algebra.Minus, algebra.Exists, algebra.GroupBy)


class Pause:
    """Until something is tried again: an instant, and twice as many each time that it fails again."""

    def __init__(self) -> None:
        self._length = self._left = 0

    @property
    def over(self) -> bool:
        return not self._left

    def count(self) -> None:
        """An instant has come."""
        self._left = max(0, self._left - 1)

    def fail(self) -> None:
        self._length = self._left = min(LONGEST, max(1, 2 * self._length))

    def succeed(self) -> None:
        self._length = 0


class MaintainedBody:
    def __init__(self, evaluation: Evaluation, operator: Operator) -> None:
        self._evaluation, self._operator = evaluation, operator
        self._root: ChangeOperator | None = None
        self._scans: list[ScanOperator] | None = None  # if operators follow; None: wholes are compared
        self._joins: list[TwoSidedOperator] = []
        self._version: int | None = None  # of what was seen when it was asked last
        self._none = Table.none(())  # no row, as the operator has them
        self._keyed = any(isinstance(part, KEYED_OPERATORS) for part in algebra.all_of(operator))
        self._heavy = False  # operators were more than may be held when they were tried last
        self._operators, self._wholes = Pause(), Pause()  # until they are tried again
        self.length = 0

    @property
    def nbytes(self) -> int:
        return 0 if self._root is None else self._root.nbytes

    def restart(self) -> None:
        """It is not known any more what was said."""
        self._version = None
        self._drop()

    def _drop(self) -> None:
        self._root, self._scans, self._joins = None, None, []

    def changed(self, version: int, deadline: Deadline) -> RowChanges | None:
        """`version` grows when what is seen may be another thing than before."""
        self._wholes.count()
        if not self._wholes.over:
            return None
        before, self._version = self._version, None  # unknown, should the next steps fail
        self._evaluation.deadline = deadline
        most = deadline.limits.bytes // SHARE
        if before is not None and before == version:
            found: RowChanges | None = RowChanges(self._none, self._none)
        else:
            self._operators.count()
            found = None if before is None else self._changes()
            self._go_on(found is not None, most)
        deadline.limits.check_rows(self.length)
        deadline.check()
        if self.nbytes > most:
            self.restart()
            self._wholes.fail()
        else:
            self._version = version
            self._wholes.succeed()
        return found

    def _changes(self) -> RowChanges | None:
        if self._root is None:
            return None
        try:
            found = parted(settled(self._root.changes()))
        except Lost:
            return None
        except TooMuchAtOnce:
            self._outgrow()
            return None
        self.length += found.come.length - found.gone.length
        return found

    def _outgrow(self) -> None:
        self._heavy = True
        self._operators.fail()

    def _go_on(self, known: bool, most: int) -> None:
        """Begin, or choose the other way."""
        if self._scans is not None and known:
            if self.nbytes > most:
                self._outgrow()
            elif self._is_long(self._scans):
                self._operators.fail()
            else:
                self._operators.succeed()
        few = FEW * (KEYED if self._keyed else 1)
        if self._root is not None and self._scans is None:  # not to and fro
            few *= 2
        follow = self._evaluation.seen > few and self._operators.over
        if not known or follow != (self._scans is not None):
            self._start(follow, most)

    def _is_long(self, scans: list[ScanOperator]) -> bool:
        """Whether to compare wholes would have been shorter."""
        seen = self._evaluation.seen
        if (MOST_KEYED if self._keyed else MOST) * sum(scan.noted for scan in scans) > seen:
            return True
        joined = sum(join.length for join in self._joins)
        return MOST_TOUCHED * sum(join.touched for join in self._joins) > max(seen, joined)

    def _start(self, follow: bool, most: int) -> None:
        self._drop()  # so that both ways are never held at once
        if follow:
            scans: list[ScanOperator] = []
            joins: list[TwoSidedOperator] = []
            try:
                root = following(self._evaluation, self._operator, most, scans, joins)
                whole = root.start()
                if root.nbytes <= (most // 2 if self._heavy else most):
                    self._begin(root, whole)
                    self._scans, self._joins, self._heavy = scans, joins, False
                    return
            except TooMuchAtOnce:
                pass
            self._outgrow()
        compared = ComparedOperator(self._evaluation, self._operator)
        self._begin(compared, compared.start())

    def _begin(self, root: ChangeOperator, whole: Table) -> None:
        self._root, self._none, self.length = root, whole.take(slice(0)), whole.length


def following(
    evaluation: Evaluation, operator: Operator, most: int, scans: list[ScanOperator], joins: list[TwoSidedOperator]
) -> ChangeOperator:
    """An operator that tells the changes of this one, and holds no table of more than `most` bytes. The scans and joins
    in it go into the lists."""

    def inner(operator: Operator) -> ChangeOperator:
        return following(evaluation, operator, most, scans, joins)

    match operator:
        case algebra.Unit() | algebra.Data():
            return FixedOperator(evaluation, operator)
        case algebra.Scan():
            scans.append(ScanOperator(evaluation, operator))
            return scans[-1]
        case algebra.Union():
            return UnionOperator([inner(part) for part in operator.parts])
        case algebra.Filter() | algebra.Extend() | algebra.GraphBlock() | algebra.OrderBy():
            return RowwiseOperator(evaluation, operator, inner(operator.inner))
        case algebra.Project():
            if operator.distinct:
                return DistinctOperator(evaluation, operator, inner(operator.inner), most)
            return RowwiseOperator(evaluation, operator, inner(operator.inner))
        case algebra.Join() | algebra.LeftJoin() | algebra.Minus() | algebra.Exists():
            left, right = algebra.parts_of(operator)
            joins.append(TwoSidedOperator(evaluation, operator, inner(left), inner(right), most))
            return joins[-1]
        case algebra.GroupBy():
            return GroupOperator(evaluation, operator, inner(operator.inner), most)
    return ComparedOperator(evaluation, operator)
