"""Queries: registering, describing and deleting them.

    PUT    /queries/HotRooms       REGISTER QUERY HotRooms AS SELECT …      201; 200 if it is there with the same text
    PUT    /queries/HotRooms       If-Match: "17"                           200: another text in the place of version 17
    PUT    /queries/HotRooms?paused=true                                    the same, and it answers when it is resumed
    GET    /queries                GET /queries/HotRooms
    DELETE /queries/HotRooms       204

The ETag is the query's version, as `version` is in its description; what else is said there (how it stands, what it has
answered) changes more often. `?version=` describes one that was replaced, as long as it is kept.

A registration is checked whole before it is logged, and is durable when the response is sent: a query that is answered
with 2xx will answer. Relative IRIs in a text start from the server's base URL. A stream query has a `stream`.
"""

from __future__ import annotations

from flask import Blueprint, request

from csparql_spark.server.backend import Backend
from csparql_spark.server.http import bodies
from csparql_spark.server.http.conditions import asked_condition, version_tag
from csparql_spark.server.http.documents import json_of
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.routes.description import QueryBody, described, made_streams
from csparql_spark.server.routes.registration import Made, RegistrationDraft, found_version, register, unregister

TEXT_TYPES = ("application/sparql-query", "text/plain", "application/json")


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("queries", __name__)
    stores = backend.stores

    @blueprint.get("/queries")
    def list_queries() -> dict[str, list[QueryBody]]:
        streams = made_streams(stores.registry)
        return {"queries": [described(stores, query, streams) for query in stores.registry.queries()]}

    @blueprint.put("/queries/<name:name>")
    def register_query(name: str) -> tuple[QueryBody, int, dict[str, str]]:
        draft = RegistrationDraft(asked_text(backend.settings.query_limit), asked_paused(), asked_condition())
        query, made = register(backend, name, draft)
        body = described(stores, query, made_streams(stores.registry))
        headers = {"Location": stores.names.query_url(name), "ETag": version_tag(query)}
        return body, 201 if made is Made.QUERY else 200, headers

    @blueprint.get("/queries/<name:name>")
    def describe_query(name: str) -> tuple[QueryBody, dict[str, str]]:
        query = found_version(stores, name)
        return described(stores, query, made_streams(stores.registry)), {"ETag": version_tag(query)}

    @blueprint.delete("/queries/<name:name>")
    def delete_query(name: str) -> tuple[str, int]:
        unregister(backend, name, asked_condition())
        return "", 204

    return blueprint


def asked_text(limit: int) -> str:
    """The text of the query in the request."""
    text = bodies.declared(request, limit, TEXT_TYPES, "The text of a query")
    if request.mimetype == "application/json":
        body = json_of(text, "The text of a query", '{"query": "REGISTER QUERY …"}')
        text = body.get("query") if isinstance(body, dict) else body
        if not isinstance(text, str):
            raise Problem(
                "bad-body",
                "The body is JSON, and neither the text of a query nor an object with one: send "
                '{"query": "REGISTER QUERY …"}.',
            )
    return text


def asked_paused() -> bool | None:
    """Whether the query is to be paused from its beginning; None: that is not said."""
    given = request.args.get("paused")
    if given not in (None, "true", "false"):
        raise Problem("bad-setting", f"paused={given[:100]} is neither true nor false.")
    return None if given is None else given == "true"
