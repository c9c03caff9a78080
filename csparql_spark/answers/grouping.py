"""Grouping: one row for each distinct combination of keys, with what its aggregates say of its rows.

Counts, and sums and extremes of plain numbers (see `plain_numbers`), are taken over all groups at once. For other
groups, and other aggregates, the bag of each group's terms is given to `aggregates`. Both say the same.

    grouping = Grouping(computing, dictionary)
    grouping.grouped(table, ("?room",), (Aggregate("?mean", "avg", of_t, distinct=False),))

An aggregate of something that is an error in one row is an error for the group; COUNT counts the others. Without keys
there is one group, whether or not there are rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.aggregates import AGGREGATES, MEAN_PLACES, average
from csparql_spark.answers.algebra import Aggregate, Expression
from csparql_spark.answers.computing import Computing
from csparql_spark.answers.plain_numbers import DECIMAL, DOUBLE, INTEGER, OTHER, PLACES
from csparql_spark.answers.ranks import ranks_by
from csparql_spark.answers.tables import UNBOUND, Table, groups, numbered
from csparql_spark.answers.values import Number, decimal_term, integer_term, number_term
from csparql_spark.rdf.dictionary import TermDictionary

FEW = 64  # groups that are told one by one
_EXACT = 1 << 62  # sums of whole numbers below stay in an int64
TermColumn = list[str | None]


class Values:
    """The values of one expression, group by group: so many of each group, without those that were errors."""

    def __init__(self, ids: np.ndarray, counts: np.ndarray, failed: np.ndarray) -> None:
        self.ids, self.counts, self.failed = ids, counts, failed
        self.starts = np.cumsum(counts) - counts
        self.some = np.flatnonzero(counts)  # the groups that have values

    def of(self, group: int) -> np.ndarray:
        return self.ids[self.starts[group] : self.starts[group] + self.counts[group]]

    def reduced(self, function: np.ufunc, column: np.ndarray) -> np.ndarray:
        """What becomes of a column of the values, for each of `some`."""
        return function.reduceat(column, self.starts[self.some]) if len(self.some) else column[:0]


class Plains(NamedTuple):
    """Values as plain numbers, and the least and the greatest kind in each of the groups that have values."""

    kinds: np.ndarray
    numbers: np.ndarray
    least: np.ndarray
    most: np.ndarray


class Grouping:
    def __init__(self, computing: Computing, dictionary: TermDictionary) -> None:
        self._computing, self._dictionary = computing, dictionary

    def grouped(self, table: Table, keys: Sequence[str], aggregates: Sequence[Aggregate]) -> Table:
        if keys:
            order, starts = groups(numbered([table.column(key) for key in keys]))
        else:
            order, starts = np.arange(table.length), np.zeros(1, dtype=np.int64)
        sizes = np.diff(np.append(starts, table.length))
        columns = {key: table.column(key)[order[starts]] for key in keys}
        values = cache(lambda expression, distinct: self._values(expression, distinct, table, order, sizes))
        plains = cache(self._plains)
        for aggregate in aggregates:
            columns[aggregate.name] = (
                self._counts(sizes)
                if aggregate.expression is None
                else self._aggregated(aggregate, values(aggregate.expression, aggregate.distinct), plains)
            )
        return Table(columns, len(starts), None)

    def _values(
        self, expression: Expression, distinct: bool, table: Table, order: np.ndarray, sizes: np.ndarray
    ) -> Values:
        ids = self._computing.term(expression, table.columns, table.length)[order]
        failed = np.zeros(len(sizes), dtype=bool)
        errors = len(ids) > 0 and ids.min() == UNBOUND
        if not errors and not distinct:
            return Values(ids, sizes, failed)
        group = np.repeat(np.arange(len(sizes)), sizes)
        if errors:
            bound = ids != UNBOUND
            failed[group[~bound]] = True
            ids, group = ids[bound], group[bound]
        if distinct:
            pairs, firsts = groups(numbered([group, ids]))
            ids, group = ids[pairs[firsts]], group[pairs[firsts]]
        return Values(ids, np.bincount(group, minlength=len(sizes)), failed)

    def _plains(self, values: Values) -> Plains:
        kinds, numbers = self._computing.plain.of(values.ids)
        return Plains(kinds, numbers, values.reduced(np.minimum, kinds), values.reduced(np.maximum, kinds))

    def _aggregated(self, aggregate: Aggregate, values: Values, plains: Callable[[Values], Plains]) -> np.ndarray:
        if aggregate.function == "count":
            return self._counts(values.counts)
        terms = self._results(aggregate, values, plains)
        return self._encoded([None if wrong else term for term, wrong in zip(terms, values.failed.tolist())])

    def _counts(self, counts: np.ndarray) -> np.ndarray:
        if len(counts) <= FEW:
            return self._dictionary.encode([integer_term(count) for count in counts.tolist()])
        distinct, inverse = np.unique(counts, return_inverse=True)
        return self._dictionary.encode([integer_term(count) for count in distinct.tolist()])[inverse]

    def _encoded(self, terms: TermColumn) -> np.ndarray:
        result = np.full(len(terms), UNBOUND)
        result[[term is not None for term in terms]] = self._dictionary.encode(
            [term for term in terms if term is not None]
        )
        return result

    # --- what aggregates say

    def _results(self, aggregate: Aggregate, values: Values, plains: Callable[[Values], Plains]) -> TermColumn:
        """The term of each group."""
        results: TermColumn = [None] * len(values.counts)
        rest = np.ones(len(results), dtype=bool)
        if aggregate.function in ("sum", "avg", "min", "max") and len(values.ids):
            found = plains(values)
            # Whoever adds a double to a decimal rounds, and whoever compares them must not.
            plain = np.flatnonzero((found.least > OTHER) & ((found.most < DOUBLE) | (found.least == DOUBLE)))
            if aggregate.function in ("sum", "avg"):
                plain = self._sums(aggregate.function, values, found, plain, results)
            else:
                self._extremes(aggregate.function, values, found.numbers, plain, results)
            rest[values.some[plain]] = False
        for group in np.flatnonzero(rest).tolist():
            ids, counts = np.unique(values.of(group), return_counts=True)
            results[group] = AGGREGATES[aggregate.function](
                dict(zip(self._dictionary.decode(ids), counts.tolist(), strict=True)), aggregate.separator
            )
        return results

    def _sums(self, function: str, values: Values, found: Plains, plain: np.ndarray, results: TermColumn) -> np.ndarray:
        """Fill in the sums or means of groups of plain numbers, told by their places in `some`; returns those for
        which it could."""
        decimal, double = found.most[plain] == DECIMAL, found.least[plain] == DOUBLE
        largest = values.reduced(np.maximum, np.abs(found.numbers))[plain] * values.counts[values.some[plain]]
        fits = double | (largest * np.where(decimal, 10.0**PLACES, 1.0) < _EXACT / 2)
        plain, decimal, double = plain[fits], decimal[fits], double[fits]
        some = values.some[plain]
        units = _whole(values, found, INTEGER, 1.0)[plain].tolist()
        parts = _whole(values, found, DECIMAL, 10.0**PLACES)[plain].tolist()
        for group, first, count, is_decimal, is_double, unit, part in zip(
            some.tolist(),
            values.starts[some].tolist(),
            values.counts[some].tolist(),
            decimal.tolist(),
            double.tolist(),
            units,
            parts,
        ):
            if is_double:
                total = Number("double", math.fsum(found.numbers[first : first + count].tolist()))
                results[group] = number_term(average(total, count) if function == "avg" else total)
            elif function == "avg":
                results[group] = decimal_term(
                    _divided((unit * 10**PLACES + part) * 10 ** (MEAN_PLACES - PLACES), count), MEAN_PLACES
                )
            elif is_decimal:
                results[group] = decimal_term(unit * 10**PLACES + part, PLACES)
            else:
                results[group] = integer_term(unit)
        return plain

    def _extremes(
        self, function: str, values: Values, numbers: np.ndarray, plain: np.ndarray, results: TermColumn
    ) -> None:
        """Fill in the least or greatest of groups of plain numbers, told by their places in `some`: of equal ones,
        that whose text comes first."""
        counts = values.counts[values.some]
        extreme = values.reduced(np.minimum if function == "min" else np.maximum, numbers)
        best = np.flatnonzero(numbers == np.repeat(extreme, counts))
        place, ids = np.searchsorted(np.cumsum(counts), best, side="right"), values.ids[best]
        order = np.lexsort((ranks_by(None, self._dictionary, ids), place))
        place, ids = place[order], ids[order]
        first = ids[np.searchsorted(place, plain)]
        for group, term in zip(values.some[plain].tolist(), self._dictionary.decode(first)):
            results[group] = term


def _whole(values: Values, found: Plains, kind: int, scale: float) -> np.ndarray:
    """The sums of those of one kind, as whole numbers of a unit, for each of `some`. Those of groups whose sum does
    not fit mean nothing."""
    if (found.least > kind).all() or (found.most < kind).all():
        return np.zeros(len(values.some), dtype=np.int64)
    numbers = found.numbers
    if found.least.min() < kind or found.most.max() > kind:
        numbers = np.where(found.kinds == kind, numbers, 0.0)
    with np.errstate(invalid="ignore"):  # of a number that does not fit
        return values.reduced(np.add, np.rint(numbers * scale).astype(np.int64))


def _divided(units: int, count: int) -> int:
    """What is left is cut off, of a negative number too."""
    return units // count if units >= 0 else -(-units // count)
