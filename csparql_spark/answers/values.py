"""The values of literals: numbers, points in time and durations, for what compares and adds them.

For example:

    number('"01"^^<…#byte>')          # Number("integer", 1)
    number('"x"^^<…#integer>')        # None: a literal whose text is not in its datatype has no value
    number_term(Number("decimal", Decimal("2.50")))      # '"2.5"^^<…#decimal>'
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from csparql_spark.rdf.terms import XSD, literal, parse
from csparql_spark.remembering import remembered

_INTEGERS = frozenset(
    XSD + name
    for name in (
        "integer",
        "byte",
        "short",
        "int",
        "long",
        "unsignedByte",
        "unsignedShort",
        "unsignedInt",
        "unsignedLong",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
    )
)
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,4000}(?:\.[0-9]{0,4000})?|\.[0-9]{1,4000})")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?")
_DURATION = re.compile(
    r"(-)?P(?=[0-9T])(?:([0-9]{1,18})Y)?(?:([0-9]{1,18})M)?(?:([0-9]{1,18})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,18})H)?(?:([0-9]{1,18})M)?(?:([0-9]{1,18}(?:\.[0-9]{1,18})?)S)?)?"
)
_DURATIONS = frozenset(XSD + name for name in ("duration", "dayTimeDuration", "yearMonthDuration"))


class Number(NamedTuple):
    """A number and the datatype that arithmetic sees: integer, decimal, float or double."""

    kind: str
    value: int | Decimal | float


@remembered
def number(term: str) -> Number | None:
    """The number of a term; None if it is none."""
    kind, text, datatype, *_ = parse(term)
    if kind != "literal" or datatype is None or not datatype.startswith(XSD):
        return None
    text = text.strip(" \t\r\n")
    if datatype in _INTEGERS:
        return Number("integer", int(text)) if _INTEGER.fullmatch(text) else None
    name = datatype[len(XSD) :]
    if name == "decimal":
        return Number("decimal", Decimal(text)) if _DECIMAL.fullmatch(text) else None
    if name in ("float", "double") and _DOUBLE.fullmatch(text):
        value = float(text.replace("INF", "inf").replace("NaN", "nan"))
        return Number(name, float(_single(value)) if name == "float" else value)
    return None


def _single(value: float) -> np.float32:
    with np.errstate(over="ignore"):  # what is too large is infinite
        return np.float32(value)


def number_term(number: Number) -> str:
    """The term of a number, in one spelling for each value."""
    value = _single(float(number.value)) if number.kind == "float" else number.value
    if number.kind == "decimal":
        text = f"{Decimal(number.value):f}"
        text = (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
        text = "0" if text == "-0" else text
    elif number.kind == "integer":
        text = str(value)
    elif value != value or value in (math.inf, -math.inf):
        text = "NaN" if value != value else "INF" if value > 0 else "-INF"
    else:  # the fewest digits that are enough, without an exponent: as Oxigraph does
        text = f"{Decimal(str(value)):f}".removesuffix(".0")
    return literal(text, datatype=XSD + number.kind)


def decimal_term(units: int, places: int) -> str:
    """The term of a decimal, so many units of its last place: what `number_term` says of it, without making it."""
    whole, part = divmod(abs(units), 10**places)
    text = f"{whole}.{part:0{places}d}".rstrip("0").removesuffix(".")
    return f'"{"-" if units < 0 else ""}{text}"^^<{XSD}decimal>'


def integer_term(value: int) -> str:
    """The term of an integer. There is nothing in digits to be escaped, so it is written as it is."""
    return f'"{value}"^^<{XSD}integer>'


@remembered
def moment(term: str) -> datetime | None:
    """The point in time of an xsd:dateTime (without a zone: in UTC), to the microsecond; None if it is none."""
    kind, text, datatype, *_ = parse(term)
    if kind != "literal" or datatype != f"{XSD}dateTime" or (match := _TIME.fullmatch(text.strip())) is None:
        return None
    try:
        return datetime.fromisoformat(
            f"{match[1]}{match[2][:7].ljust(7, '0') if match[2] else ''}{(match[3] or 'Z').replace('Z', '+00:00')}"
        ).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


class Duration(NamedTuple):
    """A length of time: seconds, or months, which have no length in seconds."""

    kind: str
    value: int | Decimal


def duration(term: str) -> Duration | None:
    """The length of a duration; None if the term is none, or has months and seconds."""
    kind, text, datatype, *_ = parse(term)
    if kind != "literal" or datatype not in _DURATIONS or (match := _DURATION.fullmatch(text.strip())) is None:
        return None
    years, months, days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups()[1:])
    sign = -1 if match[1] else 1
    length = seconds + 60 * (minutes + 60 * (hours + 24 * days))
    if years or months:
        return None if length else Duration("months", sign * (12 * years + months))
    return Duration("seconds", sign * length)
