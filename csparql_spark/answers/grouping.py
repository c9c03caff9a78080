"""Grouping: one row for each distinct combination of keys, with what its aggregates say of its rows.

Counts, and sums and extremes of plain numbers (see `plain`), are taken over all groups at once. For other groups, and
other aggregates, the bag of each group's terms is given to `aggregates`. Both say the same.

    grouping = Grouping(computing, dictionary)
    grouping.grouped(table, ("?room",), (Aggregate("?mean", "avg", of_t, distinct=False),))

An aggregate of something that is an error in one row is an error for the group; COUNT counts the others. Without keys
there is one group, whether or not there are rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.aggregates import AGGREGATES, MEAN_PLACES, average
from csparql_spark.answers.algebra import Aggregate
from csparql_spark.answers.computing import Computing
from csparql_spark.answers.plain import DECIMAL, DOUBLE, INTEGER, OTHER, PLACES
from csparql_spark.answers.ranks import ranks_by
from csparql_spark.answers.tables import UNBOUND, Table, groups, numbered
from csparql_spark.answers.values import Number, decimal_term, integer_term, number_term
from csparql_spark.rdf.dictionary import TermDictionary

_EXACT = 1 << 62             # sums of whole numbers below stay in an int64
Terms = list[str | None]


class Values(NamedTuple):
    """The values of one expression, group by group: those of group i begin at `starts[i]`."""

    ids: np.ndarray
    starts: np.ndarray
    counts: np.ndarray

    def of(self, group: int) -> np.ndarray:
        return self.ids[self.starts[group]:self.starts[group] + self.counts[group]]


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
        for aggregate in aggregates:
            columns[aggregate.name] = self._aggregated(aggregate, table, order, starts, sizes)
        return Table(columns, len(starts), None)

    def _aggregated(self, aggregate: Aggregate, table: Table, order: np.ndarray, starts: np.ndarray,
                    sizes: np.ndarray) -> np.ndarray:
        if aggregate.expression is None:
            return self._counts(sizes)
        ids = self._computing.term(aggregate.expression, table.columns, table.length)[order]
        group = np.repeat(np.arange(len(starts)), sizes)
        failed = np.zeros(len(starts), dtype=bool)
        if len(ids) and ids.min() == UNBOUND:
            bound = ids != UNBOUND
            failed[group[~bound]] = True
            ids, group = ids[bound], group[bound]
        if aggregate.distinct:
            pairs, firsts = groups(numbered([group, ids]))
            ids, group = ids[pairs[firsts]], group[pairs[firsts]]
        counts = np.bincount(group, minlength=len(starts))
        if aggregate.function == "count":
            return self._counts(counts)
        values = Values(ids, np.cumsum(counts) - counts, counts)
        terms = self._said(aggregate, values)
        return self._encoded([None if wrong else term for term, wrong in zip(terms, failed.tolist())])

    def _counts(self, counts: np.ndarray) -> np.ndarray:
        distinct, inverse = np.unique(counts, return_inverse=True)
        return self._dictionary.encode([integer_term(count) for count in distinct.tolist()])[inverse]

    def _encoded(self, terms: Terms) -> np.ndarray:
        result = np.full(len(terms), UNBOUND)
        result[[term is not None for term in terms]] = self._dictionary.encode(
            [term for term in terms if term is not None])
        return result

    # --- what aggregates say

    def _said(self, aggregate: Aggregate, values: Values) -> Terms:
        """The term of each group."""
        said: Terms = [None] * len(values.counts)
        rest = np.ones(len(said), dtype=bool)
        if aggregate.function in ("sum", "avg", "min", "max") and len(values.ids):
            kinds, numbers = self._computing.plain.of(values.ids)
            some = np.flatnonzero(values.counts)
            least = np.minimum.reduceat(kinds, values.starts[some])
            most = np.maximum.reduceat(kinds, values.starts[some])
            # Whoever adds a double to a decimal rounds, and whoever compares them must not.
            plain = some[(least > OTHER) & ((most < DOUBLE) | (least == DOUBLE))]
            if aggregate.function in ("sum", "avg"):
                rest[plain[self._sums(aggregate.function, values, kinds, numbers, plain, said)]] = False
            else:
                self._extremes(aggregate.function, values, numbers, plain, said)
                rest[plain] = False
        for group in np.flatnonzero(rest).tolist():
            ids, counts = np.unique(values.of(group), return_counts=True)
            said[group] = AGGREGATES[aggregate.function](
                dict(zip(self._dictionary.decode(ids), counts.tolist(), strict=True)), aggregate.separator)
        return said

    def _sums(self, function: str, values: Values, kinds: np.ndarray, numbers: np.ndarray, plain: np.ndarray,
              said: Terms) -> np.ndarray:
        """Fill in the sums or means of groups of plain numbers; returns for which of them it could."""
        if not len(plain):
            return np.zeros(0, dtype=bool)
        starts = values.starts
        some = np.flatnonzero(values.counts)
        whole = np.rint(np.where(kinds == DECIMAL, numbers * 10.0 ** PLACES, numbers))
        whole = np.where(kinds == DOUBLE, 0.0, whole).astype(np.int64)
        place = np.searchsorted(some, plain)
        decimal = np.maximum.reduceat(kinds == DECIMAL, starts[some])[place]
        double = np.maximum.reduceat(kinds == DOUBLE, starts[some])[place]
        largest = np.maximum.reduceat(np.abs(numbers), starts[some])[place] * values.counts[plain]
        fits = double | (largest * np.where(decimal, 10.0 ** PLACES, 1.0) < _EXACT / 2)
        units = np.add.reduceat(np.where(kinds == INTEGER, whole, 0), starts[some])[place].tolist()
        parts = np.add.reduceat(np.where(kinds == DECIMAL, whole, 0), starts[some])[place].tolist()
        for group, fit, is_decimal, is_double, unit, part in zip(
                plain.tolist(), fits.tolist(), decimal.tolist(), double.tolist(), units, parts):
            if not fit:
                continue
            count = int(values.counts[group])
            if is_double:
                first = int(starts[group])
                total = Number("double", math.fsum(numbers[first:first + count].tolist()))
                said[group] = number_term(average(total, count) if function == "avg" else total)
            elif function == "avg":
                said[group] = decimal_term(_divided((unit * 10**PLACES + part) * 10**(MEAN_PLACES - PLACES), count),
                                           MEAN_PLACES)
            elif is_decimal:
                said[group] = decimal_term(unit * 10**PLACES + part, PLACES)
            else:
                said[group] = integer_term(unit)
        return fits

    def _extremes(self, function: str, values: Values, numbers: np.ndarray, plain: np.ndarray, said: Terms) -> None:
        """Fill in the least or greatest of groups of plain numbers: of equal ones, that whose text comes first."""
        if not len(plain):
            return
        some = np.flatnonzero(values.counts)
        extreme = (np.minimum if function == "min" else np.maximum).reduceat(numbers, values.starts[some])
        group = np.repeat(np.arange(len(some)), values.counts[some])
        best = np.flatnonzero(numbers == extreme[group])
        group, ids = group[best], values.ids[best]
        order = np.lexsort((ranks_by(None, self._dictionary, ids), group))
        group, ids = group[order], ids[order]
        first = ids[np.searchsorted(group, np.searchsorted(some, plain))]
        for place, term in zip(plain.tolist(), self._dictionary.decode(first)):
            said[place] = term


def _divided(units: int, count: int) -> int:
    """What is left is cut off, of a negative number too."""
    return units // count if units >= 0 else -(-units // count)
