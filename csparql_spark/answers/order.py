"""An order of all terms: blank nodes, IRIs, literals; what has a value by its value, the rest by its text.

It is the order of ORDER BY, MIN and MAX. SPARQL leaves open how things of different kinds compare, and an order that
leaves it open puts the same rows in another order when they come in another: here numbers come before times, times
before durations, and those before all other literals. Terms of the same value ("1" and "01") have the same place.

    sorted(['"10"^^<…integer>', '"9"^^<…integer>', "<urn:a>"], key=order_key)     # <urn:a>, 9, 10
    order_text('"9"^^<…integer>') < order_text('"10"^^<…integer>')                # the same order, as text
"""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal

from csparql_spark.answers.values import duration, moment, number
from csparql_spark.rdf.terms import parse
from csparql_spark.remembering import remembered

OrderKey = tuple[int, int | Decimal | float | datetime, str]

_COMPLEMENT = str.maketrans("0123456789", "9876543210")
_LARGEST = 50_000  # no number that is read has that many digits, before its point or behind it


@remembered
def order_key(term: str) -> OrderKey:
    """The place of a term; equal for terms that have the same value."""
    kind, value, datatype, language, _ = parse(term)
    if kind != "literal":
        return (0 if kind == "blank" else 1), 0, value
    if (found := number(term)) is not None:
        return (2, -math.inf, "NaN") if found.value != found.value else (2, found.value, "")
    if (time := moment(term)) is not None:
        return 3, time, ""
    if (length := duration(term)) is not None:
        return 4 if length.kind == "seconds" else 5, length.value, ""
    return 6, 0, f"{value}\0{language or ''}\0{datatype}"


@remembered
def order_text(term: str) -> str:
    """A text for each term: texts are in the order of the keys of their terms."""
    rank, value, text = order_key(term)
    if isinstance(value, datetime):
        return f"{rank}{value.isoformat(timespec='microseconds')}"
    return f"{rank}{_digits(value) if rank in (2, 4, 5) else ''}{text}"


def _digits(value: int | Decimal | float) -> str:
    """A number as text, in the order of numbers: its sign, how large it is, its digits."""
    if value in (math.inf, -math.inf):
        return "5" if value > 0 else "1"
    exact = Decimal(value)
    sign, digits, _ = exact.as_tuple()
    written = "".join(map(str, digits)).strip("0")
    if not written:
        return "3"
    magnitude = f"{exact.adjusted() + 1 - _leading(digits) + _LARGEST:06d}"
    # The mark behind the digits puts 2.5 before 2.51, and -2.5 behind -2.51.
    return f"2{(magnitude + written).translate(_COMPLEMENT)}~" if sign else f"4{magnitude}{written}!"


def _leading(digits: tuple[int, ...]) -> int:
    """How many zeros are before the first digit that counts."""
    return next(place for place, digit in enumerate(digits) if digit)
