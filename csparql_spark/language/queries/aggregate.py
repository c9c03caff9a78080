"""The papers' AGGREGATE clause, written as sub-SELECTs.

`AGGREGATE { (?total, SUM(?a), {?broker}) FILTER(?total > 9) }` extends every row with the value of its group and drops
no row but by its FILTER. With `P` for the pattern of WHERE:

    WHERE { P }   becomes   WHERE { { P } { SELECT ?broker (SUM(?a) AS ?total) WHERE { P } GROUP BY ?broker }
                                    FILTER(?total > 9) }

Each copy of P has its own blank node labels: in SPARQL a label may not stand in two patterns. A bare COUNT counts the
rows of the group; a bare SUM, AVG, MIN or MAX does not say of what, and is refused.
"""

from __future__ import annotations

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.queries.rewriting import Rewriting
from csparql_spark.language.queries.scope import visible
from csparql_spark.language.queries.syntax import Node


def rewrite_aggregates(form: Node, rewriting: Rewriting, diagnostics: Diagnostics) -> None:
    """Turn the AGGREGATE clauses of a query form into sub-SELECTs inside its WHERE."""
    modifiers = form.node("Modifiers")
    clauses = modifiers.nodes("Aggregate") if modifiers is not None else []
    if not clauses:
        return
    where = form.node("Where")
    if where is None:
        first = clauses[0]
        diagnostics.add(
            first.start, first.end, "aggregate-without-where", "AGGREGATE needs a WHERE to take its rows from."
        )
        return
    group = where.child("Group")
    known = visible(where)
    added: list[str] = []
    tuples = [item for clause in clauses for item in clause.nodes("AggregateTuple")]
    for number, item in enumerate(tuples, start=1):
        _check(item, known, diagnostics)
        known[item.tokens("VAR")[0].text[1:]] = None
        added.append(_sub_select(item, group, number, rewriting))
        for constraint in item.nodes("Constraint"):
            condition = rewriting.write(constraint.start, constraint.end)
            added.append(f"FILTER {condition}")
    for clause in clauses:
        rewriting.drop(clause.start, clause.end, "\n")
    rewriting.put_before(group.start, "{ ")
    rewriting.put_after(group.end, "".join(f"\n  {part}" for part in added) + " }")


def _sub_select(item: Node, group: Node, number: int, rewriting: Rewriting) -> str:
    labels = {token.text for token in rewriting.tokens if token.kind == "BLANK"}
    renamed = {token.start: _fresh(token.text, number, labels) for token in group.all_tokens("BLANK")}
    pattern = rewriting.write(group.start, group.end, renamed)
    keys = " ".join(f"?{token.text[1:]}" for token in item.child("AggregateGroup").tokens("VAR"))
    function = item.child("AggregateFunction")
    argument = function.token("*", "VAR")
    shown = "*" if argument is None or argument.key == "*" else f"?{argument.text[1:]}"
    distinct = "DISTINCT " if function.token("DISTINCT") is not None else ""
    value = f"{function.tokens()[0].key}({distinct}{shown})"
    name = item.tokens("VAR")[0].text[1:]
    return f"{{ SELECT {keys} ({value} AS ?{name}) WHERE {pattern} GROUP BY {keys} }}"


def _fresh(label: str, number: int, taken: set[str]) -> str:
    candidate = f"{label}_{number}"
    while candidate in taken:
        candidate += "_"
    return candidate


def _check(item: Node, known: dict[str, None], diagnostics: Diagnostics) -> None:
    variable = item.tokens("VAR")[0]
    if variable.text[1:] in known:
        diagnostics.add(
            variable.start,
            variable.end,
            "variable-in-use",
            f"AGGREGATE names a new variable, and {variable.text} is already bound.",
            hint="Choose another name.",
        )
    function = item.child("AggregateFunction")
    name = function.tokens()[0]
    argument = function.token("*", "VAR")
    if name.key != "COUNT" and (argument is None or argument.key == "*"):
        diagnostics.add(
            name.start,
            function.end,
            "aggregate-argument",
            f"{name.text} does not say of what.",
            hint=f"Write {name.key}(?x) with the variable to take.",
        )
    used = item.child("AggregateGroup").tokens("VAR") + function.tokens("VAR")
    for token in used:
        if token.text[1:] not in known:
            diagnostics.add(
                token.start,
                token.end,
                "unbound-variable",
                f"The variable {token.text} is not bound in WHERE.",
                hint="Group by, and aggregate, variables of WHERE.",
            )
