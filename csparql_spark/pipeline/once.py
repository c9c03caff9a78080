"""A plain SPARQL query, answered once over background graphs: what a window's query becomes without a window.

    ask("SELECT ?s WHERE { ?s a <urn:C> }", {"urn:g": chunk}, base=None)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.plan import Unsupported, plan
from csparql_spark.answers.snapshot import Dataset, Snapshot, merged
from csparql_spark.pipeline.admission import Refusal, read
from csparql_spark.pipeline.views import ROWS_LIMIT
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.content import ALWAYS, Content


def ask(text: str, graphs: Mapping[str, Chunk], *, base: str | None, default_graphs: Collection[str] | None = None,
        named_graphs: Collection[str] | None = None, instant: int = 0) -> Answer:
    """The answer of a query that reads no stream. Raises `LanguageError` and `Refusal`.

    The dataset is the one that is given; if none is, the one of the query's FROM and FROM NAMED; if it has neither,
    all graphs, merged into the default graph and by their names.
    """
    query = read(text, base)
    try:
        asked = plan(query)
    except Unsupported as error:
        raise Refusal("not-supported", str(error)) from error
    if default_graphs is None and named_graphs is None:
        if query.graphs or query.named_graphs:
            default_graphs, named_graphs = query.graphs, query.named_graphs
        else:
            default_graphs, named_graphs = graphs.keys(), graphs.keys()
    chosen = list(dict.fromkeys([*(default_graphs or ()), *(named_graphs or ())]))
    content = Content()
    seen = {}
    for number, graph in enumerate(chosen):
        if graph not in graphs:
            raise Refusal("unknown-graph", f"there is no background graph <{graph}>")
        content.replace(number, graphs[graph])
    for number, graph in enumerate(chosen):
        seen[graph] = tuple(content.window(number, ALWAYS - 1, ALWAYS)[:3])
    snapshot = Snapshot(asked, content)
    snapshot.move(Dataset(merged(seen[graph] for graph in default_graphs or ()),
                          {graph: seen[graph] for graph in named_graphs or ()}), instant=instant)
    return snapshot.answer(limit=ROWS_LIMIT)
