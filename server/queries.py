"""Queries: registering, describing and deleting them.

    PUT    /queries/HotRooms       REGISTER QUERY HotRooms AS SELECT …      201; 200 if it is there with the same text
    GET    /queries                GET /queries/HotRooms
    DELETE /queries/HotRooms       204

A registration is checked whole before it is logged, and is durable when the response is sent: a query that is answered
with 2xx will answer. Relative IRIs in a text start from the server's base URL. A stream query has a `stream`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from flask import Blueprint, request

from csparql_spark.language import Window
from csparql_spark.store import QueryRecord

from csparql_spark.server import bodies
from csparql_spark.server.backend import Backend
from csparql_spark.server.problems import Problem
from csparql_spark.server.readers import asked_of, streams_of
from csparql_spark.server.registering import found, register, unregister

TEXT_TYPES = ("application/sparql-query", "text/plain", "application/json")
WINDOW = ("stream", "name", "range", "step", "triples", "triples_step", "elements", "elements_step")


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("queries", __name__)
    names, registry = backend.names, backend.registry

    def described(query: QueryRecord, streams: Mapping[str, str]) -> dict[str, object]:
        """What there is to say of a query; `streams` are those that queries make, by the names of the queries."""
        url = names.query_url(query.name)
        told = {"name": query.name, "id": query.id, "url": url, "answers": f"{url}/answers", "text": query.text,
                "registered": query.registered, **reading(query),
                "stream": streams.get(query.name), "status": "running", "failure": None}
        failure = backend.answers.failure(query.id)
        if failure is not None:
            told |= {"status": "failed", "failure": {"at": failure[0], "reason": failure[1]}}
        bounds = backend.answers.bounds(query.id)
        return told | {"oldest": bounds and bounds[0], "latest": bounds and bounds[1]}

    def made() -> dict[str, str]:
        return {stream.producer: stream.iri for stream in registry.streams() if stream.producer is not None}

    @blueprint.get("/queries")
    def list_queries() -> dict[str, object]:
        streams = made()
        return {"queries": [described(query, streams) for query in registry.queries()]}

    @blueprint.put("/queries/<name:name>")
    def register_query(name: str) -> tuple[dict[str, object], int, dict[str, str]]:
        query, new = register(backend, name, asked_text(backend.settings.query_limit))
        return described(query, made()), 201 if new else 200, {"Location": names.query_url(name)}

    @blueprint.get("/queries/<name:name>")
    def describe_query(name: str) -> dict[str, object]:
        return described(found(backend, name), made())

    @blueprint.delete("/queries/<name:name>")
    def delete_query(name: str) -> tuple[str, int]:
        unregister(backend, name)
        return "", 204

    return blueprint


def reading(query: QueryRecord) -> dict[str, object]:
    """What a registered query asks for, as far as its description tells it."""
    asked = asked_of(query)
    if asked is None:
        return {"kind": None, "form": None, "output": None, "every": None, "streams": [], "windows": [], "graphs": [],
                "named_graphs": [], "entailment": [], "warnings": []}
    return {"kind": asked.kind, "form": asked.form, "output": asked.output, "every": asked.every,
            "streams": list(streams_of(asked)), "windows": [window_told(window) for window in asked.windows],
            "graphs": list(asked.graphs), "named_graphs": list(asked.named_graphs),
            "entailment": list(asked.entailment), "warnings": list(asked.warnings)}


def window_told(window: Window) -> dict[str, object]:
    """What there is to say of a window: how far it reaches, and after how much it is seen anew."""
    return {key: getattr(window, key) for key in WINDOW if getattr(window, key) is not None}


def asked_text(limit: int) -> str:
    """The text of the query in the request."""
    text = bodies.declared(request, limit, TEXT_TYPES, "The text of a query")
    if request.mimetype == "application/json":
        try:
            text = json.loads(text)["query"]
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str):
            raise Problem("bad-body", "The body is not a JSON object with the text of a query: send "
                          '{"query": "REGISTER QUERY …"}.')
    return text
