"""When a triple came: `timestamp`, as the engine and as the papers write it.

In a body a timestamp is a call of one function with the three terms of a triple. The engine's `f:timestamp(s, p, o)`
is that already. The papers' `timestamp(?v)` means the triple that bound `?v`: it becomes a call with the terms of the
triple pattern that mentions `?v`; where several do, it is the latest of their times.

    ?room :celsius ?t . FILTER(timestamp(?t) > 5)   ->   FILTER(<...#timestamp>(?room, :celsius, ?t) > 5)

A background or inferred triple has no timestamp: the call is an error there, and a FILTER drops the row.
"""

from __future__ import annotations

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.queries.clauses import Clauses
from csparql_spark.language.queries.graphs import DatasetClauses
from csparql_spark.language.queries.rewriting import Rewriting
from csparql_spark.language.queries.syntax import Node

FUNCTION = "http://larkc.eu/csparql/sparql/jena/ext#timestamp"
MOST_PATTERNS = 3

_UNSEEN = ("SubSelect", "Minus", "Filter", "Bind")


def rewrite_timestamps(form: Node, dataset: DatasetClauses, clauses: Clauses, rewriting: Rewriting) -> None:
    """Turn the timestamps of a query form into calls of `FUNCTION`, and check those that are."""
    for call in form.walk("FunctionCall", "IriOrFunction"):
        arguments = call.node("Arguments")
        if arguments is not None and clauses.iri(call.child("Iri")) == FUNCTION:
            _check_call(call, arguments, clauses.diagnostics)
    _rewrite_in(form, [], dataset, clauses, rewriting)


def _rewrite_in(
    node: Node, groups: list[Node], dataset: DatasetClauses, clauses: Clauses, rewriting: Rewriting
) -> None:
    """Rewrite below a node; `groups` are the groups a timestamp there can see, the innermost last."""
    stack: list[tuple[Node, list[Node]]] = [(node, groups)]
    while stack:
        found, scopes = stack.pop()
        if found.rule in ("Select", "SubSelect", "Construct", "Describe", "Ask"):
            where = found.node("Where")
            scopes = [where.child("Group")] if where is not None else []
        elif found.rule == "Group":
            scopes = [*scopes, found]
        elif found.rule == "Timestamp":
            _rewrite(found, scopes, dataset, clauses, rewriting)
        stack.extend((child, scopes) for child in found.nodes())


def _rewrite(call: Node, groups: list[Node], dataset: DatasetClauses, clauses: Clauses, rewriting: Rewriting) -> None:
    terms = call.nodes("VarOrTerm")
    if len(terms) == 3:
        written = [rewriting.write(term.start, term.end) for term in terms]
        rewriting.replace_node(call, _call(written))
        return
    variable = terms[0].token("VAR")
    if variable is None:
        clauses.diagnostics.add(
            terms[0].start,
            terms[0].end,
            "timestamp-argument",
            "timestamp takes a variable, or the three terms of a triple.",
            hint="Write timestamp(?v) or f:timestamp(?s, ?p, ?o).",
        )
        return
    if call.node("Iri") is not None and not _sees_only(call.child("Iri"), dataset, clauses):
        return
    name = variable.text[1:]
    pattern = call.node("TimestampPattern")
    if pattern is not None:
        triples = _triples(pattern, name, rewriting)
    else:
        triples = next((found for group in reversed(groups) if (found := _triples(group, name, rewriting))), {})
    if not triples:
        clauses.diagnostics.add(
            variable.start,
            variable.end,
            "timestamp-unbound",
            f"No triple pattern here binds {variable.text} with terms that can be named.",
            hint="Use f:timestamp(?s, ?p, ?o) with variables for all three terms.",
        )
        return
    if len(triples) > MOST_PATTERNS:
        clauses.diagnostics.add(
            variable.start,
            variable.end,
            "timestamp-ambiguous",
            f"{len(triples)} triple patterns bind {variable.text}.",
            hint="Say which triple: f:timestamp(?s, ?p, ?o).",
        )
        return
    if len(triples) > 1:
        clauses.diagnostics.warn(
            call.start, f"{len(triples)} triple patterns bind {variable.text}; the latest of their times is taken."
        )
    rewriting.replace_node(call, _latest([_call(list(triple)) for triple in triples]))


def _sees_only(node: Node, dataset: DatasetClauses, clauses: Clauses) -> bool:
    iri = clauses.iri(node)
    streams = {window.stream for window in dataset.windows}
    if iri not in streams:
        clauses.diagnostics.add(node.start, node.end, "unknown-stream", f"The query does not read the stream <{iri}>.")
        return False
    if len(streams) > 1:
        clauses.diagnostics.add(
            node.start,
            node.end,
            "timestamp-of-stream",
            "The timestamp of a triple in one of several streams is not supported: their windows are merged.",
            hint="Write timestamp(?v), or name each window with FROM NAMED WINDOW.",
        )
        return False
    return True


def _triples(place: Node, name: str, rewriting: Rewriting) -> dict[tuple[str, str, str], None]:
    """The triples of the patterns in a place that mention a variable, with all terms written out, without repeats."""
    found: dict[tuple[str, str, str], None] = {}
    for pattern in place.walk("TriplesPath", "Triple", outside=_UNSEEN):
        subject = _term(pattern.node("VarOrTerm"), rewriting)
        properties = pattern.node("PropertyPathList") or pattern.node("PropertyList")
        if subject is None or properties is None:
            continue
        verb: str | None = None
        for child in properties.children:
            if not isinstance(child, Node):
                verb = f"?{child.text[1:]}" if child.key == "VAR" else verb
            elif child.rule in ("Path", "Verb"):
                verb = _verb(child, rewriting)
            elif verb is not None:
                for item in child.nodes("ObjectPath", "Object"):
                    value = _term(item.node("VarOrTerm"), rewriting)
                    if value is not None and f"?{name}" in (subject, verb, value):
                        found[(subject, verb, value)] = None
    return found


def _verb(node: Node, rewriting: Rewriting) -> str | None:
    tokens = list(node.all_tokens())
    if [token.key for token in tokens] == ["a"]:
        return "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    if len(tokens) == 1:
        return rewriting.write(node.start, node.end)
    return None


def _term(node: Node | None, rewriting: Rewriting) -> str | None:
    if node is None or any(token.key in ("BLANK", "ANON", "NIL") for token in node.all_tokens()):
        return None
    return rewriting.write(node.start, node.end)


def _call(terms: list[str]) -> str:
    return f"<{FUNCTION}>({', '.join(terms)})"


def _latest(calls: list[str]) -> str:
    """The largest of several times, of those there are."""
    latest = calls[0]
    for call in calls[1:]:
        latest = f"COALESCE(IF({latest} > {call}, {latest}, {call}), {latest}, {call})"
    return latest


def _is_term(expression: Node) -> bool:
    node = expression
    while node.rule != "Primary":
        if len(node.children) != 1:
            return False
        node = node.nodes()[0]
    child = node.children[0]
    if not isinstance(child, Node):
        return child.key == "VAR"
    if child.rule == "IriOrFunction":
        return child.node("Arguments") is None
    return child.rule in ("Literal", "Number", "Boolean")


def _check_call(call: Node, arguments: Node, diagnostics: Diagnostics) -> None:
    given = arguments.nodes("Expression")
    if len(given) != 3 or not all(_is_term(expression) for expression in given):
        diagnostics.add(
            call.start,
            call.end,
            "timestamp-argument",
            "f:timestamp takes the three terms of a triple.",
            hint="Write f:timestamp(?s, ?p, ?o).",
        )
