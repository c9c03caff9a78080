"""Queries: registering, describing and deleting them.

    PUT    /queries/HotRooms       REGISTER QUERY HotRooms AS SELECT …      201; 200 if it is there with the same text
    GET    /queries                GET /queries/HotRooms
    DELETE /queries/HotRooms       204

A registration is checked whole before it is logged, and is durable when the response is sent: a query that is answered
with 2xx will answer. Relative IRIs in a text start from the server's base URL.
"""

from __future__ import annotations

import json

from flask import Blueprint, request

from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.pipeline.admission import admit, read
from csparql_spark.store import Draft, QueryRecord, Refused
from csparql_spark.store.registry import absent, every, present

from csparql_spark.server import bodies
from csparql_spark.server.backend import Backend
from csparql_spark.server.names import is_plain
from csparql_spark.server.problems import Problem

TEXT_TYPES = ("application/sparql-query", "text/plain", "application/json")
# What command line clients say when nobody told them what they send.
UNSAID_TYPES = ("", "application/x-www-form-urlencoded", "application/octet-stream")


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("queries", __name__)
    names, registry, writer = backend.names, backend.registry, backend.writer
    base = f"{names.base}/"

    def described(query: QueryRecord) -> dict[str, object]:
        url = names.query_url(query.name)
        told = {"name": query.name, "id": query.id, "url": url, "answers": f"{url}/answers", "text": query.text,
                "registered": query.registered, **reading(query), "status": "running", "failure": None}
        failure = backend.answers.failure(query.id)
        if failure is not None:
            told |= {"status": "failed", "failure": {"at": failure[0], "reason": failure[1]}}
        bounds = backend.answers.bounds(query.id)
        return told | {"oldest": bounds and bounds[0], "latest": bounds and bounds[1]}

    @blueprint.get("/queries")
    def list_queries() -> dict[str, object]:
        return {"queries": [described(query) for query in registry.queries()]}

    @blueprint.put("/queries/<name:name>")
    def register_query(name: str) -> tuple[dict[str, object], int, dict[str, str]]:
        text = asked_text(backend.settings.query_limit)
        location = {"Location": names.query_url(name)}
        while True:
            live = registry.query(name)
            if live is not None:
                if live.text == text and asks_the_same(live, base):
                    return described(live), 200, location
                raise Problem("query-exists", f"The query {name} is registered and asks for something else: delete it "
                              "first, or use another name.", query=name, url=names.query_url(name))
            asked = admit(text, base=base, streams={stream.iri for stream in registry.streams()})
            same_name(name, asked)
            draft = QueryRecord.draft(name, text=text, base=base)
            streams = [present("streams", window.stream, Refused("stream")) for window in asked.windows]
            try:
                entry = writer.append(draft, every(absent("queries", name, Refused("query")), *streams))
            except Refused:
                continue        # what it was checked against has just changed: check again
            backend.ticker.changed()
            made = QueryRecord(entry.seq, name, entry.at, text, base)
            return described(made), 201, location

    @blueprint.get("/queries/<name:name>")
    def describe_query(name: str) -> dict[str, object]:
        return described(found(backend, name))

    @blueprint.delete("/queries/<name:name>")
    def delete_query(name: str) -> tuple[str, int]:
        query = found(backend, name)
        try:
            writer.append(Draft("unregister", subject=name), present("queries", name, Refused()))
        except Refused:
            raise unknown(backend, name) from None
        backend.fanout.end(query.id)
        backend.ticker.changed()
        return "", 204

    return blueprint


def found(backend: Backend, name: str) -> QueryRecord:
    query = backend.registry.query(name)
    if query is None:
        raise unknown(backend, name)
    return query


def unknown(backend: Backend, name: str) -> Problem:
    url = backend.names.query_url(name)
    return Problem("unknown-query", f"There is no query {name}: register it with PUT {url}.", query=name)


def asks_the_same(query: QueryRecord, base: str) -> bool:
    """Whether the query's text asks for the same with another base: whether there is no relative IRI in it, that is."""
    try:
        return query.base == base or read(query.text, query.base) == read(query.text, base)
    except LanguageError:
        return False


def reading(query: QueryRecord) -> dict[str, object]:
    """What a registered query asks for, as far as its description tells it."""
    try:
        asked = read(query.text, query.base)
    except LanguageError:
        return {"kind": None, "form": None, "streams": [], "windows": [], "warnings": []}
    windows = [{key: value for key, value in (
        ("stream", window.stream), ("name", window.name), ("range", window.range), ("step", window.step),
        ("triples", window.triples), ("elements", window.elements)) if value is not None} for window in asked.windows]
    streams = dict.fromkeys(window.stream for window in asked.windows)
    return {"kind": asked.kind, "form": asked.form, "streams": list(streams), "windows": windows,
            "warnings": list(asked.warnings)}


def same_name(name: str, asked: ContinuousQuery) -> None:
    """A query's name is the one in its URL; a word in its text may not say otherwise."""
    if asked.name is not None and is_plain(asked.name) and asked.name != name:
        written = name if is_plain(name) else f"<{name}>"
        raise Problem("name-mismatch", f"The text registers {asked.name} and the URL names {name}: PUT it to "
                      f"/queries/{asked.name}, or write REGISTER {asked.kind.upper()} {written} AS.",
                      text=asked.name, url=name)


def asked_text(limit: int) -> str:
    """The text of the query in the request."""
    kind = request.mimetype
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise Problem("unsupported-encoding", f"The text is declared as {charset}: texts are read as UTF-8 only.")
    if not (kind in UNSAID_TYPES or kind in TEXT_TYPES or kind.startswith("text/")):
        raise Problem("unsupported-format", f"The Content-Type {kind} is no text of a query: send one of "
                      f"{', '.join(TEXT_TYPES)}.", accepted=list(TEXT_TYPES))
    text = bodies.utf8(bodies.read(request.environ, limit), "The text")
    if kind == "application/json":
        try:
            text = json.loads(text)["query"]
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str):
            raise Problem("bad-body", "The body is not a JSON object with the text of a query: send "
                          '{"query": "REGISTER QUERY …"}.')
    return text
