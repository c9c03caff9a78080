"""The values of literals: numbers and points in time, for what compares and adds them.

    number('"01"^^<…#byte>')          # Number("integer", 1)
    number('"x"^^<…#integer>')        # None: a literal whose text is not in its datatype has no value
    number_term(Number("decimal", Decimal("2.50")))      # '"2.5"^^<…#decimal>'
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from csparql_spark.rdf.terms import XSD, literal, parse

_INTEGERS = frozenset(XSD + name for name in (
    "integer", "byte", "short", "int", "long", "unsignedByte", "unsignedShort", "unsignedInt", "unsignedLong",
    "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"))
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,4000}(?:\.[0-9]{0,4000})?|\.[0-9]{1,4000})")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,6})?\d*(Z|[+-]\d\d:\d\d)?")


class Number(NamedTuple):
    """A number and the datatype that arithmetic sees: integer, decimal, float or double."""

    kind: str
    value: int | Decimal | float


@lru_cache(maxsize=65536)
def number(term: str) -> Number | None:
    """The number of a term; None if it is none."""
    kind, text, datatype, *_ = parse(term)
    if kind != "literal" or datatype is None or not datatype.startswith(XSD):
        return None
    text = text.strip(" \t\r\n")
    if datatype in _INTEGERS:
        return Number("integer", int(text)) if _INTEGER.fullmatch(text) else None
    name = datatype[len(XSD):]
    if name == "decimal":
        return Number("decimal", Decimal(text)) if _DECIMAL.fullmatch(text) else None
    if name in ("float", "double") and _DOUBLE.fullmatch(text):
        return Number(name, float(text.replace("INF", "inf").replace("NaN", "nan")))
    return None


def number_term(number: Number) -> str:
    """The term of a number, in one spelling for each value."""
    value = number.value
    if number.kind == "decimal":
        text = f"{Decimal(value):f}"
        text = (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
        text = "0" if text == "-0" else text
    elif number.kind == "integer":
        text = str(value)
    else:
        text = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(repr(value), repr(value))
    return literal(text, datatype=XSD + number.kind)


@lru_cache(maxsize=65536)
def moment(term: str) -> datetime | None:
    """The point in time of an xsd:dateTime (without a zone: in UTC), to the microsecond; None if it is none."""
    kind, text, datatype, *_ = parse(term)
    if kind != "literal" or datatype != f"{XSD}dateTime" or (match := _TIME.fullmatch(text.strip())) is None:
        return None
    try:
        return datetime.fromisoformat(f"{match[1]}{(match[2] or '').ljust(7, '0') if match[2] else ''}"
                                      f"{(match[3] or 'Z').replace('Z', '+00:00')}").astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None
