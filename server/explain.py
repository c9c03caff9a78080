"""How a query is read and answered: GET /queries/{name}/explain.

Its windows and instants in words, its SPARQL body, which evaluator answers it and why, who shares its group, the rules that
are run for it over the background as it is now, and how much its windows and its newest answer hold.
"""

from __future__ import annotations

from flask import Blueprint

from csparql_spark.language import LanguageError
from csparql_spark.pipeline.admission import read
from csparql_spark.pipeline.current import Current
from csparql_spark.pipeline.explaining import explained
from csparql_spark.pipeline.routing import group_key
from csparql_spark.store import QueryRecord

from csparql_spark.server.backend import Backend
from csparql_spark.server.registering import found


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("explain", __name__)
    current = Current(backend.log, backend.registry)

    @blueprint.get("/queries/<name:name>/explain")
    def explain(name: str) -> dict[str, object]:
        record = found(backend, name)
        query = read(record.text, record.base)
        told = explained(query, background={graph: current.graph(graph) for graph in query.graphs},
                         rules=current.rules())
        others = [other.name for other in backend.registry.queries() if other.id != record.id]
        told["group"]["shared_with"] = [other for other in others
                                        if key_of(backend.registry.query(other)) == told["group"]["key"]]
        parts = backend.answers.latest(record.id)
        instant = parts[0].instant if parts else None
        elements = [None if instant is None or window.range is None else len(current.elements(
            window.stream, low=instant - window.range, high=instant, after=record.id)) for window in query.windows]
        return {"query": name, **told, "live": {"instant": instant, "rows": sum(part.rows for part in parts),
                                                "elements": elements}}

    return blueprint


def key_of(record: QueryRecord | None) -> str | None:
    """The key of a query's group, if it is there and can be read."""
    try:
        return None if record is None else group_key(read(record.text, record.base))
    except LanguageError:
        return None
