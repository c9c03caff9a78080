"""Aggregates: one term out of a bag of terms, whatever the order in which they came.

A bag maps terms to how often they are in it. A result is a term, or None where SPARQL says error. Sums of doubles are
rounded once, at the end; of equal values ("1" and "01") the one that is written first in the order of text is taken.

    AGGREGATES["sum"]({'"1"^^<…integer>': 2, '"0.5"^^<…decimal>': 1}, " ")     # '"2.5"^^<…decimal>'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction

from csparql_spark.answers.order import order_key
from csparql_spark.answers.values import Number, number, number_term
from csparql_spark.rdf.terms import literal, parse

Bag = Mapping[str, int]

MEAN_PLACES = 18  # digits of a mean behind the point, the rest cut off: what Oxigraph's decimals hold
EXACT = 20_000  # digits: more than a sum of numbers can have, so that none is ever rounded


def number_of(bag: Bag, _: str = " ") -> str | None:
    return number_term(Number("integer", sum(bag.values())))


def total(bag: Bag, _: str = " ") -> str | None:
    added = _added(bag)
    return None if added is None else number_term(added)


def mean(bag: Bag, _: str = " ") -> str | None:
    added, count = _added(bag), sum(bag.values())
    if added is None or not count:
        return added if added is None else number_term(added)
    return number_term(average(added, count))


def average(added: Number, count: int) -> Number:
    """A sum of so many numbers, divided by them."""
    if added.kind in ("integer", "decimal"):
        with localcontext(prec=EXACT):
            scaled = Fraction(added.value) * 10**MEAN_PLACES / count
            return Number("decimal", Decimal(math.trunc(scaled)).scaleb(-MEAN_PLACES))
    return Number(added.kind, added.value / count)


def least(bag: Bag, _: str = " ") -> str | None:
    return min(bag, key=lambda term: (order_key(term), term), default=None)


def greatest(bag: Bag, _: str = " ") -> str | None:
    # Of equal values the first by text, so that the smallest of the greatest is taken.
    most = max(map(order_key, bag), default=None)
    return min((term for term in bag if order_key(term) == most), default=None)


def sample(bag: Bag, _: str = " ") -> str | None:
    return min(bag, default=None)


def joined(bag: Bag, separator: str = " ") -> str | None:
    parts = []
    for term in sorted(bag):
        kind, value, *_ = parse(term)
        if kind == "blank":
            return None
        parts += [value] * bag[term]
    return literal(separator.join(parts))


AGGREGATES: dict[str, Callable[[Bag, str], str | None]] = {
    "count": number_of,
    "sum": total,
    "avg": mean,
    "min": least,
    "max": greatest,
    "sample": sample,
    "group_concat": joined,
}

_RANKS = ("integer", "decimal", "float", "double")


def _added(bag: Bag) -> Number | None:
    numbers = []
    for term, count in bag.items():
        if (found := number(term)) is None:
            return None
        numbers.append((found, count))
    rank = max((_RANKS.index(found.kind) for found, _ in numbers), default=0)
    if rank < 2:
        with localcontext(prec=EXACT):
            return Number(_RANKS[rank], sum(found.value * count for found, count in numbers))
    return Number(_RANKS[rank], _rounded([(_double(found.value), count) for found, count in numbers]))


def _rounded(doubles: list[tuple[float, int]]) -> float:
    """The sum of so many of each, rounded once."""
    try:
        return math.fsum(value for value, count in doubles for _ in range(count))
    except (OverflowError, ValueError):  # both infinities; or some of them, in this order, are more than a double holds
        if infinite := [value for value, _ in doubles if not math.isfinite(value)]:
            return sum(infinite)
        exact = sum(Fraction(value) * count for value, count in doubles)
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf


def _double(value: int | Decimal | float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer; a decimal becomes infinite by itself
        return math.inf if value > 0 else -math.inf
