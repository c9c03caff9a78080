"""Grouping: one row for each distinct combination of keys, with what its aggregates say of its rows.

Counts, and sums and extremes of plain numbers (see `plain_numbers`), are taken over all groups at once. For other
groups, and other aggregates, the bag of each group's terms is given to `aggregates`. Both say the same.

    grouping = Grouping(computing, dictionary)
    grouping.grouped(table, ("?room",), (Aggregate("?mean", "avg", of_t, distinct=False),))

An aggregate of something that is an error in one row is an error for the group; COUNT counts the others. Without keys
there is one group, whether or not there are rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property

import numpy as np

from csparql_spark.answers.aggregates import AGGREGATES, MEAN_PLACES, average
from csparql_spark.answers.algebra import Aggregate, Expression
from csparql_spark.answers.computing import Computing
from csparql_spark.answers.plain_numbers import DECIMAL, DOUBLE, INTEGER, OTHER, PLACES
from csparql_spark.answers.ranks import ranks_by
from csparql_spark.answers.tables import UNBOUND, Table
from csparql_spark.answers.values import Number, decimal_term, integer_term, number_term
from csparql_spark.kernel.group import DoubleSums, IntegerSums, reduced
from csparql_spark.kernel.rows import dense_rows
from csparql_spark.kernel.sort import order_of
from csparql_spark.rdf.dictionary import TermDictionary

FEW = 64  # groups that are told one by one
# A decimal of less is so near to its double that the next whole number of millionths is what was meant.
EXACT = float(1 << 51) / 10**PLACES
TermColumn = list[str | None]


class Values:
    """The values of one expression, and the group of each, without those that were errors."""

    def __init__(self, ids: np.ndarray, groups: np.ndarray, failed: np.ndarray) -> None:
        self.ids, self.groups, self.failed = ids, groups, failed
        self.counts = np.bincount(groups, minlength=len(failed))
        self._order: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.failed)

    def of(self, group: int) -> np.ndarray:
        if self._order is None:
            self._order, self._ends = order_of(self.groups), np.cumsum(self.counts)
        return self.ids[self._order[self._ends[group] - self.counts[group] : self._ends[group]]]


class Plains:
    """Values as plain numbers; of each group the least and the greatest kind, and number."""

    def __init__(self, values: Values, kinds: np.ndarray, numbers: np.ndarray) -> None:
        self.values, self.kinds, self.numbers = values, kinds, numbers
        self.kind = int(kinds[0]) if kinds.min() == kinds.max() else None  # that all have

    @cached_property
    def group_kinds(self) -> tuple[np.ndarray, np.ndarray]:
        if self.kind is not None:
            return (np.full(self.values.size, self.kind),) * 2
        return reduced(self.values.groups, self.kinds.astype(np.int64), self.values.size)[1:]

    @cached_property
    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        return reduced(self.values.groups, self.numbers, self.values.size)[1:]

    def exact_decimals(self) -> np.ndarray | bool:
        """In which groups the double of each decimal tells how many millionths it is."""
        if max(self.numbers.max(), -self.numbers.min()) < EXACT:
            return True
        least, most = self.extremes
        return (self.group_kinds[1] != DECIMAL) | (np.maximum(most, -least) < EXACT)

    def rows(self, groups: np.ndarray, kind: int | None = None) -> np.ndarray | slice:
        """The rows of the groups of a mask, of one kind."""
        if groups.all() and (kind is None or self.kind == kind):
            return slice(None)
        rows = groups[self.values.groups]
        return np.flatnonzero(rows if kind is None else rows & (self.kinds == kind))


class Grouping:
    def __init__(self, computing: Computing, dictionary: TermDictionary) -> None:
        self._computing, self._dictionary = computing, dictionary

    def grouped(self, table: Table, keys: Sequence[str], aggregates: Sequence[Aggregate]) -> Table:
        size = 1
        if keys:
            groups, firsts = dense_rows([table.column(key) for key in keys])
            size = len(firsts)
            columns = {key: table.column(key)[firsts] for key in keys}
        else:
            groups, columns = np.zeros(table.length, dtype=np.int64), {}
        values = cache(lambda expression, distinct: self._values(expression, distinct, table, groups, size))
        plains = cache(self.plains)
        for aggregate in aggregates:
            columns[aggregate.name] = (
                self.counts(np.bincount(groups, minlength=size))
                if aggregate.expression is None
                else self.aggregated(aggregate, values(aggregate.expression, aggregate.distinct), plains)
            )
        return Table(columns, size, None)

    def _values(self, expression: Expression, distinct: bool, table: Table, groups: np.ndarray, size: int) -> Values:
        ids = self._computing.term(expression, table.columns, table.length)
        failed = np.zeros(size, dtype=bool)
        if len(ids) and ids.min() == UNBOUND:
            bound = ids != UNBOUND
            failed[groups[~bound]] = True
            ids, groups = ids[bound], groups[bound]
        if distinct:
            _, firsts = dense_rows([ids * size + groups])
            ids, groups = ids[firsts], groups[firsts]
        return Values(ids, groups, failed)

    def plain(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of these are plain numbers, and which ones."""
        return self._computing.plain.of(ids)

    def plains(self, values: Values) -> Plains:
        return Plains(values, *self.plain(values.ids))

    def aggregated(self, aggregate: Aggregate, values: Values, plains: Callable[[Values], Plains]) -> np.ndarray:
        if aggregate.function == "count":
            return self.counts(values.counts)
        terms = self._results(aggregate, values, plains)
        return self.encoded([None if wrong else term for term, wrong in zip(terms, values.failed.tolist())])

    def counts(self, counts: np.ndarray) -> np.ndarray:
        if len(counts) <= FEW:
            return self._dictionary.encode([integer_term(count) for count in counts.tolist()])
        distinct, inverse = np.unique(counts, return_inverse=True)
        return self._dictionary.encode([integer_term(count) for count in distinct.tolist()])[inverse]

    def encoded(self, terms: TermColumn) -> np.ndarray:
        result = np.full(len(terms), UNBOUND)
        result[[term is not None for term in terms]] = self._dictionary.encode(
            [term for term in terms if term is not None]
        )
        return result

    # --- what aggregates say

    def _results(self, aggregate: Aggregate, values: Values, plains: Callable[[Values], Plains]) -> TermColumn:
        """The term of each group."""
        results: TermColumn = [None] * values.size
        rest = np.ones(values.size, dtype=bool)
        if aggregate.function in ("sum", "avg", "min", "max") and len(values):
            found = plains(values)
            least_kind, most_kind = found.group_kinds
            plain = (values.counts > 0) & (least_kind > OTHER)
            if aggregate.function in ("sum", "avg"):
                plain &= found.exact_decimals()
                self._sums(aggregate.function, found, plain, results)
            else:
                # Whoever compares a double with a decimal must not round.
                plain &= (most_kind < DOUBLE) | (least_kind == DOUBLE)
                self._extremes(aggregate.function, found, plain, results)
            rest = ~plain
        for group in np.flatnonzero(rest).tolist():
            ids, counts = np.unique(values.of(group), return_counts=True)
            results[group] = AGGREGATES[aggregate.function](
                dict(zip(self._dictionary.decode(ids), counts.tolist(), strict=True)), aggregate.separator
            )
        return results

    def _sums(self, function: str, found: Plains, plain: np.ndarray, results: TermColumn) -> None:
        """Fill in the sums or means of groups of plain numbers. Where a double is among them all are doubles."""
        values, (_, most_kind) = found.values, found.group_kinds
        double = plain & (most_kind == DOUBLE)
        doubles = np.flatnonzero(double)
        if len(doubles):
            rows = found.rows(double)
            sums = DoubleSums(values.size)
            sums.add(values.groups[rows], found.numbers[rows])
            for group, sum_, count in zip(doubles.tolist(), sums.of(doubles).tolist(), values.counts[doubles].tolist()):
                results[group] = double_result(function, sum_, count)
        exact = plain & ~double
        groups = np.flatnonzero(exact)
        if not len(groups):
            return
        for group, count, decimal, unit, part in zip(
            groups.tolist(),
            values.counts[groups].tolist(),
            (most_kind[groups] == DECIMAL).tolist(),
            _whole(found, exact, INTEGER, 1).exact(groups),
            _whole(found, exact, DECIMAL, 10**PLACES).exact(groups),
        ):
            results[group] = exact_result(function, count, unit, part if decimal else None)

    def _extremes(self, function: str, found: Plains, plain: np.ndarray, results: TermColumn) -> None:
        """Fill in the least or greatest of groups of plain numbers: of equal ones, that whose text comes first."""
        values, (least, most) = found.values, found.extremes
        best = np.flatnonzero(found.numbers == (least if function == "min" else most)[values.groups])
        groups, ids = values.groups[best], values.ids[best]
        order = np.lexsort((ranks_by(None, self._dictionary, ids), groups))
        groups, ids = groups[order], ids[order]
        wanted = np.flatnonzero(plain)
        first = ids[np.searchsorted(groups, wanted)]
        for group, term in zip(wanted.tolist(), self._dictionary.decode(first)):
            results[group] = term


def double_result(function: str, total: float, count: int) -> str:
    """The term of a sum of so many doubles, or of their mean."""
    found = Number("double", total)
    return number_term(average(found, count) if function == "avg" else found)


def exact_result(function: str, count: int, whole: int, millionths: int | None) -> str:
    """The same of integers and, unless there is None, decimals: what they add up to as whole numbers and millionths."""
    if function == "avg":
        units = whole * 10**PLACES + (millionths or 0)
        return decimal_term(_divided(units * 10 ** (MEAN_PLACES - PLACES), count), MEAN_PLACES)
    if millionths is None:
        return integer_term(whole)
    return decimal_term(whole * 10**PLACES + millionths, PLACES)


def _whole(found: Plains, groups: np.ndarray, kind: int, scale: int) -> IntegerSums:
    """The sums of the numbers of one kind, as whole numbers of a unit, in the groups of a mask."""
    sums = IntegerSums(found.values.size)
    if found.kind is None or found.kind == kind:
        rows = found.rows(groups, kind)
        numbers = found.numbers[rows]
        sums.add(found.values.groups[rows], (numbers if scale == 1 else np.rint(numbers * scale)).astype(np.int64))
    return sums


def _divided(units: int, count: int) -> int:
    """What is left is cut off, of a negative number too."""
    return units // count if units >= 0 else -(-units // count)
