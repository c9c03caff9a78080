"""What builtins say, once more: numbers as fractions, moments as seconds, patterns by Python's `re`.

`re` takes for ever over some patterns, and knows some that the product refuses: tests write patterns on which the two
agree, and short texts.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

from csparql_spark.language.rules.rule import Guard
from csparql_spark.rdf.terms import XSD, parse

Binding = dict[str, str]

INTEGER, DECIMAL, DOUBLE = range(3)
LEAST = {
    "nonNegativeInteger": 0,
    "positiveInteger": 1,
    "unsignedLong": 0,
    "unsignedInt": 0,
    "unsignedShort": 0,
    "unsignedByte": 0,
    "long": -(2**63),
    "int": -(2**31),
    "short": -(2**15),
    "byte": -128,
}
MOST = {
    "nonPositiveInteger": 0,
    "negativeInteger": -1,
    "unsignedLong": 2**64 - 1,
    "unsignedInt": 2**32 - 1,
    "unsignedShort": 2**16 - 1,
    "unsignedByte": 255,
    "long": 2**63 - 1,
    "int": 2**31 - 1,
    "short": 2**15 - 1,
    "byte": 127,
}
ABOVE = {
    "integer": "decimal",
    "long": "integer",
    "int": "long",
    "short": "int",
    "byte": "short",
    "nonPositiveInteger": "integer",
    "negativeInteger": "nonPositiveInteger",
    "nonNegativeInteger": "integer",
    "positiveInteger": "nonNegativeInteger",
    "unsignedLong": "nonNegativeInteger",
    "unsignedInt": "unsignedLong",
    "unsignedShort": "unsignedInt",
    "unsignedByte": "unsignedShort",
}
MOMENT = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d))?(T)?(?:(\d\d):(\d\d):(\d\d(?:\.\d+)?))?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def kind_of(term: str) -> tuple[str, str]:
    """The name of a literal's datatype, if it is of XML Schema, and its lexical form."""
    found = parse(term)
    named = found.kind == "literal" and (found.datatype or "").startswith(XSD)
    return (found.datatype[len(XSD) :] if named else "", found.value)


def number(term: str) -> tuple[int, Fraction | float] | None:
    """Which kind of number it is, and the number."""
    name, form = kind_of(term)
    if name in ABOVE:
        if not re.fullmatch("[+-]?[0-9]+", form) or len(form.lstrip("+-")) > 4300:
            return None
        value = int(form)
        return (INTEGER, Fraction(value)) if LEAST.get(name, value) <= value <= MOST.get(name, value) else None
    plain = re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)", form, re.ASCII)
    if name == "decimal":
        return (DECIMAL, Fraction(form)) if plain else None
    if name in ("double", "float"):
        special = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
        if form in special:
            return DOUBLE, special[form]
        mantissa = re.fullmatch(r"(.*?)([eE][+-]?[0-9]+)?", form, re.DOTALL)[1]
        return (DOUBLE, float(form)) if re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)", mantissa, re.ASCII) else None
    return None


def moment(term: str) -> tuple[str, bool, Fraction] | None:
    """Which kind of moment it is, whether it has a time zone, and its seconds since some beginning."""
    name, form = kind_of(term)
    if name not in ("dateTime", "date", "time") or (match := MOMENT.fullmatch(form)) is None:
        return None
    year, month, day, between, hour, minute, second, zone = match.groups()
    parts = year is not None, between is not None, hour is not None
    if parts != (name != "time", name == "dateTime", name != "date"):
        return None
    try:
        days = datetime.date(int(year or 1972), int(month or 12), int(day or 31)).toordinal()
    except ValueError:
        return None
    if hour is not None and not (int(hour) < 24 and int(minute) < 60 and Fraction(second) < 60):
        return None
    seconds = days * 86400 + int(hour or 0) * 3600 + int(minute or 0) * 60 + Fraction(second or 0)
    if zone not in (None, "Z"):
        seconds -= (int(zone[1:3]) * 3600 + int(zone[4:]) * 60) * (1 if zone[0] == "+" else -1)
    return name, zone is not None, seconds


def compared(x: str, y: str) -> int | None:
    """-1, 0 or 1, or None for what has no order."""
    one, other = number(x), number(y)
    if one is not None and other is not None:
        (a_kind, a), (b_kind, b) = one, other
        if DOUBLE in (a_kind, b_kind):
            if a != a or b != b:  # not a number
                return None
            with contextlib.suppress(OverflowError):  # beyond the doubles, integers are compared as they are
                a, b = float(a), float(b)
    else:
        first, second = moment(x), moment(y)
        if first is None or second is None or first[:2] != second[:2]:
            return None
        a, b = first[2], second[2]
    return (a > b) - (a < b)


def valid(term: str, datatype: str) -> bool:
    if term[0] != '"':
        return False
    name, form = kind_of(term)
    if name in ABOVE or name in ("decimal", "double", "float"):
        right = number(term) is not None
    elif name in ("dateTime", "date", "time"):
        right = moment(term) is not None
    else:
        right = name != "boolean" or form in ("true", "false", "0", "1")
    own = parse(term).datatype
    names = [own]
    while name in ABOVE:
        name = ABOVE[name]
        names.append(XSD + name)
    return right and (
        datatype == "<http://www.w3.org/2000/01/rdf-schema#Literal>" or datatype in [f"<{one}>" for one in names]
    )


def computed(operation: Callable[..., Fraction | float]) -> Callable[..., str | None]:
    def made(*terms: str) -> str | None:
        found = [number(term) for term in terms]
        if None in found:
            return None
        kind = max(one for one, _ in found)
        try:
            values = [float(value) if kind == DOUBLE else value for _, value in found]
            return shown(kind, operation(kind, *values))
        except (ArithmeticError, ValueError):
            return None

    return made


def shown(kind: int, value: Fraction | float) -> str:
    if kind == INTEGER:
        return f'"{int(value)}"^^<{XSD}integer>'
    if kind == DOUBLE:
        form = {math.inf: "INF", -math.inf: "-INF"}.get(value, "NaN" if math.isnan(value) else repr(value))
        return f'"{form}"^^<{XSD}double>'
    with localcontext(prec=40):
        form = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    return f'"{form.rstrip("0").rstrip(".") if "." in form else form}"^^<{XSD}decimal>'


def quotient(kind: int, x: Fraction | float, y: Fraction | float) -> Fraction | float:
    return Fraction(math.trunc(x / y)) if kind == INTEGER else x / y


def chosen(sign: int) -> Callable[[str, str], str | None]:
    def made(x: str, y: str) -> str | None:
        found = compared(x, y)
        return None if found is None else y if found == -sign else x

    return made


def joined(*terms: str) -> str | None:
    text = "".join(parse(term).value for term in terms)
    return text if len(text) <= 100_000 else None


def quoted(text: str | None) -> str | None:
    if text is None:
        return None
    escapes = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'


def named(*terms: str) -> str | None:
    text = joined(*terms)
    right = text and re.fullmatch(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*', text)
    return f"<{text}>" if right else None


def same(x: str, y: str) -> bool:
    return x == y or compared(x, y) == 0


TESTS: dict[str, Callable[..., bool]] = {
    "equal": same,
    "notEqual": lambda x, y: not same(x, y),
    "lessThan": lambda x, y: compared(x, y) == -1,
    "greaterThan": lambda x, y: compared(x, y) == 1,
    "le": lambda x, y: compared(x, y) in (-1, 0),
    "ge": lambda x, y: compared(x, y) in (0, 1),
    "isLiteral": lambda x: x[0] == '"',
    "notLiteral": lambda x: x[0] != '"',
    "isBNode": lambda x: x[0] == "_",
    "notBNode": lambda x: x[0] != "_",
    "isDType": valid,
    "notDType": lambda x, datatype: not valid(x, datatype),
    "regex": lambda text, pattern: text[0] == '"' and re.fullmatch(parse(pattern).value, parse(text).value) is not None,
}
MAKERS: dict[str, Callable[..., str | None]] = {
    "sum": computed(lambda kind, x, y: x + y),
    "difference": computed(lambda kind, x, y: x - y),
    "product": computed(lambda kind, x, y: x * y),
    "quotient": computed(quotient),
    "addOne": computed(lambda kind, x: x + 1),
    "min": chosen(-1),
    "max": chosen(1),
    "strConcat": lambda *terms: quoted(joined(*terms)),
    "uriConcat": named,
}


def passed(guard: Guard, binding: Binding) -> Binding | None:
    """The binding after the guard, which may bind one variable more, or None when the guard does not hold."""
    *inputs, last = [binding.get(node, node) for node in guard.arguments]
    maker = MAKERS.get(guard.name)
    unbound = [node for node in (inputs if maker else [*inputs, last]) if node[0] == "?"]
    if unbound:
        raise ValueError(f"{guard} uses {unbound[0]} before it is bound.")
    if maker is None:
        return binding if TESTS[guard.name](*inputs, last) else None
    made = maker(*inputs)
    if made is None or last[0] != "?" and last != made:
        return None
    return binding | {last: made} if last[0] == "?" else binding
