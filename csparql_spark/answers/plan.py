"""Plans: what a continuous query asks for, in the terms of the evaluator; and what cannot be answered, refused by name.

What can be answered: SELECT over a basic graph pattern, in one time window, with or without background graphs. A plan
holds the pattern with its variables written `?x` and its constants in N-Triples syntax; a blank node in a pattern,
written `_:x`, is a variable that cannot be projected.

    plan(parse("REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:s> [RANGE 10s STEP 5s] WHERE { ?s <urn:p> 1 }"))
    # Plan(variables=("s",), distinct=False, patterns=(("?s", "<urn:p>", '"1"^^<…integer>'),))
"""

from __future__ import annotations

from dataclasses import dataclass

import rdflib

from csparql_spark.language import ContinuousQuery
from csparql_spark.rdf.terms import iri, literal


class Unsupported(Exception):
    """The query is well formed, and this evaluator has no way to answer it. The text says which part, and what there
    is."""


@dataclass(frozen=True, slots=True)
class Plan:
    variables: tuple[str, ...]
    distinct: bool
    patterns: tuple[tuple[str, str, str], ...]


MOST_PATTERNS = 50       # planning a join of some hundred would take seconds, at the first instant of every start

_CAN = "what can be answered is SELECT over a basic graph pattern in one time window"

_NAMES = {
    "Filter": "FILTER", "LeftJoin": "OPTIONAL", "Union": "UNION", "Minus": "MINUS", "Extend": "BIND and AS",
    "Graph": "GRAPH", "AggregateJoin": "aggregates and GROUP BY", "Group": "GROUP BY", "OrderBy": "ORDER BY",
    "Slice": "LIMIT and OFFSET",
    "ToMultiSet": "VALUES and sub-SELECT", "values": "VALUES", "ServiceGraphPattern": "SERVICE", "Reduced": "REDUCED",
    "Join": "joins of group patterns",
}


def plan(query: ContinuousQuery) -> Plan:
    """The plan of a query; raises `Unsupported`."""
    _check_clauses(query)
    node = query.algebra.algebra
    if node.get("datasetClause"):
        raise Unsupported(f"a dataset clause inside the body is not supported: {_CAN}")
    node = node.p
    distinct = False
    while node.name in ("Project", "Distinct"):
        distinct = distinct or node.name == "Distinct"
        node = node.p
    if node.name != "BGP":
        raise Unsupported(f"{_NAMES.get(node.name, node.name)} is not supported yet: {_CAN}")
    if len(node.triples) > MOST_PATTERNS:
        raise Unsupported(f"the graph pattern has {len(node.triples)} triples: {MOST_PATTERNS} can be joined, at most")
    return Plan(query.variables, distinct, tuple(tuple(map(_node, triple)) for triple in node.triples))


def _check_clauses(query: ContinuousQuery) -> None:
    if query.kind == "stream":
        raise Unsupported(f"REGISTER STREAM is not supported yet: {_CAN}")
    if query.form != "SELECT":
        raise Unsupported(f"{query.form} is not supported yet: {_CAN}")
    if query.output != "RSTREAM":
        raise Unsupported(f"{query.output} is not supported yet: all answers are reported at each instant (RSTREAM)")
    if query.every is not None:
        raise Unsupported("COMPUTE EVERY is not supported yet: write the STEP that is wanted")
    if query.entailment:
        raise Unsupported("USING ENTAILMENT is not supported yet: what the window says is answered, "
                          "not what follows from it")
    if query.named_graphs:
        raise Unsupported(f"FROM NAMED is not supported yet: {_CAN}")
    if len(query.windows) > 1:
        raise Unsupported(f"more than one window is not supported yet: {_CAN}")
    for window in query.windows:
        if window.range is None:
            raise Unsupported("windows that count (TRIPLES, ELEMENTS) are not supported yet: "
                              "write RANGE with a duration")
        if window.name is not None:
            raise Unsupported("named windows (WINDOW blocks) are not supported yet: write FROM STREAM")


def _node(node: object) -> str:
    if isinstance(node, rdflib.Variable):
        return f"?{node}"
    if isinstance(node, rdflib.BNode):
        return f"_:{node}"
    if isinstance(node, rdflib.URIRef):
        return iri(node)
    if isinstance(node, rdflib.Literal):
        return literal(str(node), datatype=node.datatype, language=node.language)
    raise Unsupported(f"property paths are not supported yet: {_CAN}")
