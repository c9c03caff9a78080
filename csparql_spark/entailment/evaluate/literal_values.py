"""What literals stand for: numbers, dates and times, and how these compare.

    value('"01"^^<…integer>')                       # 1
    order('"1.5"^^<…decimal>', '"2"^^<…integer>')   # -1
    is_valid('"300"^^<…byte>', '<…byte>')           # False

Integers, decimals and doubles are numbers; of two of different kinds the one is converted to the other's, wider kind.
What has no value, or whose values have no order, gives None.
"""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

from csparql_spark.rdf.terms import XSD, iri, literal, parse

NumericValue = int | Decimal | float
DateOrTime = tuple[str, datetime]  # a date or a time, and which of them it is

# What xsd:integer is derived to: each datatype with the one it is derived from, and its least and greatest value.
INTEGERS: dict[str, tuple[str, int | None, int | None]] = {
    "integer": ("decimal", None, None),
    "long": ("integer", -(2**63), 2**63 - 1),
    "int": ("long", -(2**31), 2**31 - 1),
    "short": ("int", -(2**15), 2**15 - 1),
    "byte": ("short", -(2**7), 2**7 - 1),
    "nonPositiveInteger": ("integer", None, 0),
    "negativeInteger": ("nonPositiveInteger", None, -1),
    "nonNegativeInteger": ("integer", 0, None),
    "positiveInteger": ("nonNegativeInteger", 1, None),
    "unsignedLong": ("nonNegativeInteger", 0, 2**64 - 1),
    "unsignedInt": ("unsignedLong", 0, 2**32 - 1),
    "unsignedShort": ("unsignedInt", 0, 2**16 - 1),
    "unsignedByte": ("unsignedShort", 0, 2**8 - 1),
}
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_DATE, _TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
_DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_DOUBLE = rf"{_DECIMAL}([eE][+-]?[0-9]+)?|[+-]?INF|NaN"
_FORMS = {
    "decimal": _DECIMAL,
    "double": _DOUBLE,
    "float": _DOUBLE,
    "dateTime": f"{_DATE}T{_TIME}{_ZONE}",
    "date": _DATE + _ZONE,
    "time": _TIME + _ZONE,
    "boolean": "true|false|0|1",
    **dict.fromkeys(INTEGERS, "[+-]?[0-9]+"),
}


def _name(datatype: str | None) -> str:
    """The name of a datatype of XML Schema; nothing for others."""
    return datatype.removeprefix(XSD) if datatype is not None and datatype.startswith(XSD) else ""


def value(term: str) -> NumericValue | DateOrTime | None:
    """The number, or the date or time, that a literal stands for; None for all other terms."""
    kind, lexical, datatype, *_ = parse(term)
    name = _name(datatype)
    if kind != "literal" or name not in _FORMS or re.fullmatch(_FORMS[name], lexical) is None:
        return None
    try:
        if name in INTEGERS:
            _, least, greatest = INTEGERS[name]
            number = int(lexical)
            small, great = least is not None and number < least, greatest is not None and number > greatest
            return None if small or great else number
        if name == "decimal":
            return Decimal(lexical)
        if name in ("double", "float"):
            return float(lexical)
        if name == "dateTime":
            return name, datetime.fromisoformat(lexical)
        if name == "date":
            return name, datetime.fromisoformat(f"{lexical[:10]}T00:00:00{lexical[10:]}")
        if name == "time":
            return name, datetime.fromisoformat(f"1972-12-31T{lexical}")
    except ValueError:  # a 13th month, or an integer of more digits than Python reads
        return None
    return None


def numbers(*terms: str) -> tuple[NumericValue, ...] | None:
    """The numbers that the terms stand for, all integers, all decimals or all doubles; None if one is not a number."""
    found = [number for term in terms if isinstance(number := value(term), NumericValue)]
    if len(found) < len(terms):
        return None
    widest = next(kind for kind in (float, Decimal, int) if any(isinstance(number, kind) for number in found))
    try:
        return tuple(widest(number) for number in found)
    except OverflowError:  # an integer beyond the doubles
        return None


def order(x: str, y: str) -> int | None:
    """-1, 0 or 1 for two numbers, or two dates or times of one datatype; None for what has no order."""
    first, second = numbers(x, y) or (value(x), value(y))
    if isinstance(first, NumericValue) and isinstance(second, NumericValue):
        return -1 if first < second else 1 if first > second else 0 if first == second else None
    if not isinstance(first, tuple) or not isinstance(second, tuple) or first[0] != second[0]:
        return None
    try:
        return -1 if first < second else 1 if first > second else 0
    except TypeError:  # one moment has a time zone, the other has none
        return None


def is_valid(term: str, datatype: str) -> bool:
    """Whether a literal is valid for a datatype: its own one, or one that this is derived from. Everything is valid for
    datatypes of which nothing is known here."""
    kind, lexical, own, *_ = parse(term)
    if kind != "literal" or own is None:
        return False
    name = _name(own)
    if name in _FORMS and (re.fullmatch(_FORMS[name], lexical) is None or name != "boolean" and value(term) is None):
        return False
    if datatype == "<http://www.w3.org/2000/01/rdf-schema#Literal>":
        return True
    while datatype != iri(own) and name in INTEGERS:
        name = INTEGERS[name][0]
        own = XSD + name
    return datatype == iri(own)


def term_of(number: NumericValue) -> str | None:
    """The literal of a number: an xsd:integer, xsd:decimal or xsd:double."""
    if isinstance(number, int):
        return literal(str(number), XSD + "integer")
    if isinstance(number, Decimal):
        text = format(number, "f")
        return literal(text.rstrip("0").rstrip(".") if "." in text else text, XSD + "decimal")
    return literal({"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(repr(number), repr(number)), XSD + "double")
