"""Asking a query of quads: our evaluator, and Oxigraph by itself over the real terms.

For example:

    ask("SELECT ?s { ?s <urn:p> 1 }", [("", "<urn:a>", "<urn:p>", "…")]).table.rows()
    said(query, quads) == oxigraph_says(query, quads)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyoxigraph as ox

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.snapshot import Dataset, Snapshot
from csparql_spark.answers.values import number
from csparql_spark.language import parse
from csparql_spark.rdf.terms import to_oxigraph
from csparql_spark.windows.content import Content

Quad = tuple[str, str, str, str]  # the graph ("" is the default graph), and a triple
Said = bool | Counter


def ask(
    query: str, quads: Iterable[Quad] = (), *, graphs: Iterable[str] = (), instant: int = 0, limit: int = 100_000
) -> Result:
    """What a query says of quads, whose terms get their ids in the order in which they come."""
    content = Content()
    rows: dict[str, list[np.ndarray]] = {graph: [] for graph in ("", *graphs)}
    for graph, *triple in quads:
        rows.setdefault(graph, []).append(content.dictionary.encode(triple))
    columns = {graph: tuple(np.array(ids, np.int64).reshape(-1, 3).T) for graph, ids in rows.items()}
    snapshot = Snapshot(over_ids(parse(query).body), content)
    snapshot.move(Dataset(columns.pop(""), {graph[1:-1]: ids for graph, ids in columns.items()}), instant=instant)
    return snapshot.answer(limit=limit)


def default(*triples: str) -> list[Quad]:
    """The quads of the default graph, from lines like `<urn:a> <urn:p> "x y"`."""
    return [("", *line.split(" ", 2)) for line in triples]


def cells(query: str, quads: Iterable[Quad] = (), **settings: int) -> list[tuple[str | None, ...]]:
    """The rows of an answer, in the order of the variables."""
    table = ask(query, quads, **settings).table
    return [tuple(row.get(name) for name in table.variables) for row in table.rows()]


def said(query: str, quads: Iterable[Quad], graphs: Iterable[str]) -> Said:
    answer = ask(query, quads, graphs=graphs)
    return answer.truth if answer.truth is not None else _bag(answer.table.rows())


def oxigraph_says(query: str, quads: Iterable[Quad], graphs: Iterable[str]) -> Said:
    store = ox.Store()
    for graph in graphs:
        store.add_graph(to_oxigraph(graph))
    for graph, *triple in quads:
        store.add(ox.Quad(*map(to_oxigraph, triple), to_oxigraph(graph) if graph else ox.DefaultGraph()))
    found = store.query(parse(query).body)
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    names = [variable.value for variable in found.variables]
    return _bag({name: str(row[name]) for name in names if row[name] is not None} for row in found)


def _bag(rows: Iterable[dict[str, str]]) -> Counter:
    """The rows as a bag; ?k and ?l hold aggregates, whose numbers have a value and several datatypes and spellings."""
    return Counter(
        tuple(sorted((name, _value(term) if name in "kl" else term) for name, term in row.items())) for row in rows
    )


def _value(term: str) -> str | float:
    found = number(term)
    return term if found is None else round(float(found.value), 9)
