"""Group values: what one expression says in each group, as rows come and go, and what aggregates make of it.

    values = GroupValues(grouping, expression, aggregates, most)    # all the aggregates of this expression
    values.add(groups, ids, signs)
    values.results(aggregate, groups)       # ids of what it says of these groups

Counts and sums are kept up, and so are extremes, as far as they are known (see `group_sums`, `group_extremes`). For all
else the bag of a group's values is kept: what is looked at is what the groups hold that have been touched, each value
once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.answers.algebra import Aggregate, Expression
from csparql_spark.answers.grouping import Grouping, Values
from csparql_spark.answers.maintained.group_extremes import GroupExtremes
from csparql_spark.answers.maintained.group_sums import GroupKinds, GroupSums, PlainValues
from csparql_spark.answers.maintained.keyed_bag import KeyedBag
from csparql_spark.answers.maintained.numbered_rows import with_room
from csparql_spark.answers.tables import UNBOUND

OF_SETS = ("min", "max", "sample")  # aggregates that do not mind how often a value is there
OF_SUMS = ("sum", "avg")


class GroupValues:
    def __init__(self, grouping: Grouping, expression: Expression, aggregates: Sequence[Aggregate], most: int) -> None:
        self.expression = expression
        self._grouping = grouping
        plain = {one.function for one in aggregates if not one.distinct}
        self._kinds = GroupKinds()
        self._sums = GroupSums(most) if plain & {*OF_SUMS} else None
        self._extremes = {
            function: GroupExtremes(greatest=function == "max")
            for function in ("min", "max")
            if function in {one.function for one in aggregates}
        }
        counted = all(one.function == "count" and not one.distinct for one in aggregates)
        self._bag = None if counted else KeyedBag(1, most)
        self._counts = np.zeros((2, 0), dtype=np.int64)  # of values and of errors, by group

    @property
    def nbytes(self) -> int:
        parts = (0 if part is None else part.nbytes for part in (self._sums, self._bag, *self._extremes.values()))
        return self._counts.nbytes + self._kinds.nbytes + sum(parts)

    def reserve(self, size: int) -> None:
        """Have room for so many groups."""
        self._counts = with_room(self._counts, size)
        self._kinds.reserve(size)
        for extremes in self._extremes.values():
            extremes.reserve(size)

    def add(self, groups: np.ndarray, ids: np.ndarray, signs: np.ndarray) -> None:
        """There is room for the groups."""
        wrong = ids == UNBOUND
        np.add.at(self._counts, (wrong.astype(np.int64), groups), signs)
        if wrong.any():
            groups, ids, signs = groups[~wrong], ids[~wrong], signs[~wrong]
        if self._sums is not None or self._extremes:
            plain = PlainValues.of(self._grouping, ids)
            self._kinds.add(groups, plain.kinds, signs)
            if self._sums is not None:
                self._sums.add(groups, plain, signs)
            for extremes in self._extremes.values():
                extremes.add(groups, ids, plain.numbers, signs)
                extremes.forget(groups[~self._kinds.alike(groups)])
        if self._bag is not None:
            self._bag.add(groups, [ids], signs)

    def results(self, aggregate: Aggregate, groups: np.ndarray) -> np.ndarray:
        if aggregate.function == "count" and not aggregate.distinct:
            return self._grouping.counts(self._counts[0, groups])
        if aggregate.function in self._extremes:
            return self._extreme(self._extremes[aggregate.function], aggregate, groups)
        if self._sums is None or aggregate.function not in OF_SUMS or aggregate.distinct:
            return self._looked_at(aggregate, groups)
        known, terms = self._sums.results(aggregate.function, groups, self._kinds.of(groups))
        wrong = self._counts[1, groups] > 0
        found = self._grouping.encoded([None if error else term for term, error in zip(terms, wrong.tolist())])
        rest = np.flatnonzero(~known & ~wrong)
        if len(rest):
            found[rest] = self._looked_at(aggregate, groups[rest])
        return found

    def _extreme(self, extremes: GroupExtremes, aggregate: Aggregate, groups: np.ndarray) -> np.ndarray:
        known = extremes.known(groups) & (self._counts[1, groups] == 0)
        found = np.where(known, extremes.ids(groups), UNBOUND)
        rest = np.flatnonzero(~known)
        if len(rest):
            found[rest] = ids = self._looked_at(aggregate, groups[rest])
            told = self._kinds.alike(groups[rest]) & (ids != UNBOUND)
            if told.any():
                ids = ids[told]
                extremes.learn(groups[rest][told], ids, self._grouping.plain(ids)[1])
        return found

    def _looked_at(self, aggregate: Aggregate, groups: np.ndarray) -> np.ndarray:
        """What is said of the values that these groups hold, as of those of a whole table."""
        assert self._bag is not None
        places, (ids,), often = self._bag.of(groups)
        if not (aggregate.distinct or aggregate.function in OF_SETS):
            places, ids = np.repeat(places, often), np.repeat(ids, often)
        values = Values(ids, places, self._counts[1, groups] > 0)
        return self._grouping.aggregated(aggregate, values, self._grouping.plains)

    def keep(self, groups: np.ndarray) -> None:
        """The only groups that there are; the first of them is 0 from now on, …"""
        self._counts = self._counts[:, groups]
        for part in (self._kinds, self._sums, self._bag, *self._extremes.values()):
            if part is not None:
                part.keep(groups)
