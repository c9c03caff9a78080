"""An order of all terms: blank nodes, IRIs, literals; numbers and times by their values, the rest by its text.

It is the order of MIN and MAX, where SPARQL leaves open how things of different kinds compare: numbers come before times,
times before all other literals.

    sorted(['"10"^^<…integer>', '"9"^^<…integer>', "<urn:a>"], key=order_key)     # <urn:a>, 9, 10
"""

from __future__ import annotations

import math

from csparql_spark.answers.values import moment, number
from csparql_spark.rdf.terms import parse

Key = tuple[int, object, str]


def order_key(term: str) -> Key:
    """The place of a term; equal for terms that have the same value."""
    kind, value, datatype, language, _ = parse(term)
    if kind != "literal":
        return (0 if kind == "blank" else 1), 0, value
    if (found := number(term)) is not None:
        return (2, -math.inf, "NaN") if found.value != found.value else (2, found.value, "")
    if (time := moment(term)) is not None:
        return 3, time, ""
    return 4, 0, f"{value}\0{datatype}\0{language or ''}"
