"""A query as a text that `parse` reads back.

The printed text is C-SPARQL in one fixed order: REGISTER, the prologue, the query form with its output operator, the
dataset clauses (graphs, then windows, then entailment), the rest of the body. Named windows are printed as RSP-QL
declares them; that is one language here.

    parse(show(query)) == query          for every query: only its text and its warnings may differ
"""

from __future__ import annotations

from csparql_spark.language.durations import shortest
from csparql_spark.language.queries.query import ContinuousQuery, Window
from csparql_spark.language.queries.syntax import read_tree
from csparql_spark.language.tokens import tokenize


def show(query: ContinuousQuery) -> str:
    """The text of a query, written anew from what it means."""
    tree = read_tree(tokenize(query.body))
    form = tree.child("Query").nodes()[0]
    keyword = form.tokens()[0]
    body = query.body
    clauses = show_dataset(query)
    if clauses:
        place = form.child("Datasets").start
        rest = body[place:].lstrip()
        body = body[:place].rstrip() + "\n" + clauses + ("\n" + rest if rest else "")
    if query.output != "RSTREAM":
        body = f"{body[: keyword.end]} {query.output}{body[keyword.end :]}"
    return show_registration(query) + body


def show_registration(query: ContinuousQuery) -> str:
    """The REGISTER line of a query; empty for a query without a name."""
    if query.name is None:
        return ""
    every = f" COMPUTED EVERY {shortest(query.every)}" if query.every is not None else ""
    return f"REGISTER {query.kind.upper()} {_reference(query.name)}{every} AS\n"


def show_dataset(query: ContinuousQuery) -> str:
    """The dataset clauses of a query, one on a line."""
    lines = [f"FROM <{graph}>" for graph in query.graphs]
    lines += [f"FROM NAMED <{graph}>" for graph in query.named_graphs]
    lines += [show_window(window) for window in query.windows]
    if query.entailment:
        lines.append(f"USING ENTAILMENT {', '.join(_reference(regime) for regime in query.entailment)}")
    return "\n".join(lines)


def show_window(window: Window) -> str:
    """The clause that declares a window."""
    if window.name is not None:
        return f"FROM NAMED WINDOW <{window.name}> ON <{window.stream}> {show_extent(window)}"
    named = "NAMED " if window.named else ""
    return f"FROM {named}STREAM <{window.stream}> {show_extent(window)}"


def show_extent(window: Window) -> str:
    """The brackets of a window: its size and its step."""
    if window.range is not None and window.step is not None:
        return f"[RANGE {shortest(window.range)} STEP {shortest(window.step)}]"
    if window.triples is not None:
        return f"[RANGE TRIPLES {window.triples} STEP {window.triples_step}]"
    return f"[ELEMENTS {window.elements} STEP {window.elements_step}]"


def _reference(name: str) -> str:
    return f"<{name}>" if ":" in name else name
