"""Terms of RDF as Python values, and Python values as terms.

For example:

    IRI("http://ex.org/kitchen"), Literal("21.5", XSD + "double").to_python()         # …, 21.5
    term({"type": "uri", "value": "http://ex.org/kitchen"})                            # of SPARQL JSON
    quad((IRI("urn:s"), IRI("urn:p"), 21.5, 1700000000000))                            # a line of N-Quads, stamped
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from csparql_spark.client.times import milliseconds

XSD = "http://www.w3.org/2001/XMLSchema#"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


class IRI(str):
    """An IRI, without angle brackets."""

    __slots__ = ()


class BlankNode(str):
    """The label of a blank node."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Literal:
    value: str
    datatype: str = XSD + "string"
    language: str | None = None

    def __str__(self) -> str:
        return self.value

    def to_python(self) -> Any:
        """A bool, int, float or Decimal, if the datatype is one of these and the value is one of its; else the text."""
        name = self.datatype.removeprefix(XSD)
        with contextlib.suppress(ValueError, ArithmeticError):
            if name == "boolean":
                return {"true": True, "1": True, "false": False, "0": False}.get(self.value, self.value)
            if name in ("double", "float"):
                return float(self.value)
            if name == "decimal":
                return Decimal(self.value)
            if name in ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"):
                return int(self.value)
        return self.value


Term = IRI | BlankNode | Literal
Triple = tuple[Any, ...]


def term(value: dict[str, str]) -> Term:
    """The term of an object of SPARQL JSON results."""
    if value["type"] == "uri":
        return IRI(value["value"])
    if value["type"] == "bnode":
        return BlankNode(value["value"])
    language = value.get("xml:lang")
    usual = LANG_STRING if language else XSD + "string"
    return Literal(value["value"], value.get("datatype", usual), language)


def quad(triple: Triple) -> str:
    """The triple, in the graph that is its timestamp if it has one. Raises `ValueError`."""
    if len(triple) not in (3, 4):
        raise ValueError(f"{triple!r} is not (subject, predicate, object) or (subject, predicate, object, timestamp)")
    s, p, o, *stamp = triple
    graph = f" <urn:t:{milliseconds(stamp[0])}>" if stamp and stamp[0] is not None else ""
    return f"{_node(s)} {_node(p)} {_written(o)}{graph} .\n"


def _node(value: Any) -> str:
    return _written(value if isinstance(value, (IRI, BlankNode)) or not isinstance(value, str) else IRI(value))


def _written(value: Any) -> str:
    """A term, or a Python value, in N-Triples."""
    if isinstance(value, IRI):
        bad = next((sign for sign in value if sign <= " " or sign in '<>"{}|^`\\'), None)
        if bad is not None:
            raise ValueError(f"{value!r} is not an IRI: {bad!r} cannot stand in one")
        return f"<{value}>"
    if isinstance(value, BlankNode):
        return f"_:{value}"
    if not isinstance(value, Literal):
        value = _literal(value)
    text = value.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    if value.language:
        return f'"{text}"@{value.language}'
    return f'"{text}"' if value.datatype == XSD + "string" else f'"{text}"^^<{value.datatype}>'


def _literal(value: Any) -> Literal:
    if isinstance(value, bool):
        return Literal(str(value).lower(), XSD + "boolean")
    if isinstance(value, int):
        return Literal(str(value), XSD + "integer")
    if isinstance(value, float):
        return Literal(repr(value).replace("inf", "INF").replace("nan", "NaN"), XSD + "double")
    if isinstance(value, Decimal):
        return Literal(f"{value:f}", XSD + "decimal")
    if hasattr(value, "isoformat") and hasattr(value, "hour") and hasattr(value, "year"):
        return Literal(value.isoformat(), XSD + "dateTime")
    if isinstance(value, str):
        return Literal(value)
    raise ValueError(
        f"{value!r} is no term: use IRI, BlankNode, Literal, or a str, bool, int, float, Decimal or datetime"
    )
