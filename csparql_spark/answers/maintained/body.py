"""Maintained body: its operators, as they answer with changes, and when they begin anew.

    rows = MaintainedBody(evaluation, operator)
    rows.changed(version, deadline)         # None: it begins here; whoever asks compares whole with whole
    rows.changed(version, deadline)         # after the evaluation has moved: what has come and gone since
    rows.length                             # how many rows there are

It answers with None whenever it does not know what it said before: at first, when it has been told to start anew, and
after an instant at which it failed half-way. It holds ids, and nobody keeps their meaning for it: who has them
renumbered tells it (`restart`). Where what is held becomes too much it is given up, for good: wholes need no state.
"""

from __future__ import annotations

from csparql_spark.answers import algebra
from csparql_spark.answers.algebra import Operator
from csparql_spark.answers.deadline import Deadline
from csparql_spark.answers.maintained.comparison import ComparedOperator
from csparql_spark.answers.maintained.distinct_rows import DistinctOperator
from csparql_spark.answers.maintained.groups import GroupOperator
from csparql_spark.answers.maintained.row_by_row import ChangeOperator, FixedOperator, RowwiseOperator, UnionOperator
from csparql_spark.answers.maintained.row_changes import RowChanges
from csparql_spark.answers.maintained.scans import Lost, ScanOperator
from csparql_spark.answers.maintained.two_sides import TwoSidedOperator
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.tables import Table
from csparql_spark.kernel.limits import TooMuchAtOnce

SHARE = 4  # the part of what a query may have that is held for its changes, at most


class MaintainedBody:
    def __init__(self, evaluation: Evaluation, operator: Operator) -> None:
        self._evaluation, self._operator = evaluation, operator
        self._root: ChangeOperator | None = None
        self._version: int | None = None  # of what was seen when it was asked last
        self._given_up = False
        self._none = Table.none(())  # no row, as the operator has them
        self.length = 0

    @property
    def nbytes(self) -> int:
        return 0 if self._root is None else self._root.nbytes

    def restart(self) -> None:
        """It is not known any more what was said."""
        self._root = self._version = None

    def changed(self, version: int, deadline: Deadline) -> RowChanges | None:
        """`version` grows when what is seen may be another thing than before."""
        if self._given_up:
            return None
        before, self._version = self._version, None  # unknown, should the next steps fail
        self._evaluation.deadline = deadline
        most = deadline.limits.bytes // SHARE
        try:
            if before is None or self._root is None:
                found = None
                self._start(most)
            else:
                found = self._changes(before == version)
        except Lost:
            self._start(most)
            found = None
        except TooMuchAtOnce:
            self._give_up()
            return None
        deadline.limits.check_rows(self.length)
        deadline.check()
        if self.nbytes > most:
            self._give_up()
        self._version = version
        return found

    def _start(self, most: int) -> None:
        self._root = following(self._evaluation, self._operator, most)
        whole = self._root.start()
        self._none, self.length = whole.take(slice(0)), whole.length

    def _changes(self, unmoved: bool) -> RowChanges:
        assert self._root is not None
        if unmoved:
            return RowChanges(self._none, self._none)
        found = self._root.changes().settled()
        self.length += found.come.length - found.gone.length
        return found

    def _give_up(self) -> None:
        self.restart()
        self._given_up = True


def following(evaluation: Evaluation, operator: Operator, most: int) -> ChangeOperator:
    """An operator that tells the changes of this one, and holds no table of more than `most` bytes."""

    def inner(operator: Operator) -> ChangeOperator:
        return following(evaluation, operator, most)

    match operator:
        case algebra.Unit() | algebra.Data():
            return FixedOperator(evaluation, operator)
        case algebra.Scan():
            return ScanOperator(evaluation, operator)
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
            return TwoSidedOperator(evaluation, operator, inner(left), inner(right), most)
        case algebra.GroupBy():
            return GroupOperator(evaluation, operator, inner(operator.inner), most)
    return ComparedOperator(evaluation, operator)
