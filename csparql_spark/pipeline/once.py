"""A plain SPARQL query, answered once over background graphs: what a window's query becomes without a window.

    ask("SELECT ?s WHERE { ?s a <urn:C> }", {"urn:g": chunk}, base=None, default_graphs=None)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.plan import Unsupported, plan
from csparql_spark.answers.snapshot import Snapshot
from csparql_spark.pipeline.admission import Refusal, read
from csparql_spark.pipeline.group import ROWS_LIMIT
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.content import ALWAYS, Content


def ask(text: str, graphs: Mapping[str, Chunk], *, base: str | None, default_graphs: Collection[str] | None) -> Answer:
    """The answer of a query that reads no stream. Raises `LanguageError` and `Refusal`."""
    query = read(text, base)
    try:
        asked = plan(query)
    except Unsupported as error:
        raise Refusal("not-supported", str(error)) from error
    chosen = query.graphs or tuple(graphs) if default_graphs is None else tuple(default_graphs)
    for graph in chosen:
        if graph not in graphs:
            raise Refusal("unknown-graph", f"there is no background graph <{graph}>")
    content = Content()
    for number, graph in enumerate(chosen):
        content.replace(number, graphs[graph])
    elements = [content.window(number, ALWAYS - 1, ALWAYS)[:3] for number in range(len(chosen))]
    snapshot = Snapshot(asked, content)
    if elements:
        snapshot.move(*(np.concatenate(column) for column in zip(*elements, strict=True)))
    return snapshot.select(limit=ROWS_LIMIT)
