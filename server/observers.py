"""Observers: whom the server calls when a query has said something.

    POST   /queries/HotRooms                        https://hooks.example.org/hot        201; 200 if it is there
    POST   /queries/HotRooms                        {"url": "https://…", "secret": "…", "from": "beginning"}
    GET    /queries/HotRooms/observers              GET /queries/HotRooms/observers/{id}
    DELETE /queries/HotRooms/observers/{id}         204
    POST   /queries/HotRooms                        action=pause, or action=restart      200

A new observer hears what is said after it was added, or from where `from` says. One that has failed goes on where it
stopped when it is added again. How answers are delivered: see `webhooks`. Where they may be sent is a setting.
"""

from __future__ import annotations

from typing import NamedTuple

from flask import Blueprint, request

from csparql_spark.store import QueryRecord
from csparql_spark.store.observers import Observer, TooMany

from csparql_spark.server import bodies, pausing
from csparql_spark.server.answers import instant_of
from csparql_spark.server.backend import Backend
from csparql_spark.server.calling import BadUrl
from csparql_spark.server.describing import described, made_streams
from csparql_spark.server.documents import json_of
from csparql_spark.server.problems import Problem, sentence
from csparql_spark.server.registering import found
from csparql_spark.server.webhooks import BEGINNING

LONGEST_BODY = 16 << 10
LONGEST_SECRET = 1000
EXAMPLE = '{"url": "https://hooks.example.org/", "secret": "…"}'
MEMBERS = ("url", "secret", "from")


class Asked(NamedTuple):
    url: str
    secret: str | None
    begin: str | int


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("observers", __name__)
    observers, webhooks = backend.observers, backend.webhooks

    def url_of(query: QueryRecord, id: str) -> str:
        return f"{backend.names.query_url(query.name)}/observers/{id}"

    def told(query: QueryRecord, observer: Observer) -> dict[str, object]:
        failing = observer.failures > 0
        return {"id": observer.id, "query": query.name, "url": url_of(query, observer.id), "callback": observer.url,
                "signed": observer.secret is not None, "status": observer.state, "created": observer.created,
                "position": None if observer.position == BEGINNING else observer.position,
                "delivered": observer.delivered, "failures": observer.failures,
                "failing_since": observer.failing if failing else None, "error": observer.error if failing else None}

    def one(name: str, id: str) -> tuple[QueryRecord, Observer]:
        query = found(backend, name)
        observer = observers.one(query.id, id)
        if observer is None:
            raise unknown(query, id)
        return query, observer

    def unknown(query: QueryRecord, id: str) -> Problem:
        return Problem("unknown-observer", f"The query {query.name} has no observer {id[:100]}: GET "
                       f"{backend.names.query_url(query.name)}/observers lists them.", query=query.name)

    @blueprint.post("/queries/<name:name>")
    def control(name: str) -> tuple[dict[str, object], int, dict[str, str]]:
        query = found(backend, name)
        wanted = asked()
        if isinstance(wanted, Asked):
            return observe(query, wanted)
        turned = {"pause": pausing.pause, "restart": pausing.resume, "resume": pausing.resume}[wanted](backend, name)
        return described(backend, turned, made_streams(backend.registry)), 200, {}

    def observe(query: QueryRecord, asked: Asked) -> tuple[dict[str, object], int, dict[str, str]]:
        try:
            refusal = webhooks.allowed.refusal(asked.url)
        except BadUrl as error:
            raise Problem("bad-url", sentence(str(error))) from None
        if refusal is not None:
            raise Problem("url-not-allowed", sentence(refusal), allowed=list(webhooks.allowed.entries))
        bounds = backend.answers.bounds(query.id)
        position = asked.begin if isinstance(asked.begin, int) else bounds[1] if bounds else BEGINNING
        try:
            observer, new = observers.add(query.id, asked.url, secret=asked.secret, position=position,
                                          at=backend.writer.clock.now(), most=backend.settings.most_observers)
        except TooMany:
            raise Problem("limit-reached", f"This server keeps at most {backend.settings.most_observers} observers: "
                          "delete one first.", limit=backend.settings.most_observers) from None
        webhooks.again(observer)
        return told(query, observer), 201 if new else 200, {"Location": url_of(query, observer.id)}

    @blueprint.get("/queries/<name:name>/observers")
    def list_observers(name: str) -> dict[str, object]:
        query = found(backend, name)
        return {"query": query.name, "observers": [told(query, observer) for observer in observers.of(query.id)]}

    @blueprint.get("/queries/<name:name>/observers/<id>")
    def describe_observer(name: str, id: str) -> dict[str, object]:
        return told(*one(name, id))

    @blueprint.delete("/queries/<name:name>/observers/<id>")
    def delete_observer(name: str, id: str) -> tuple[str, int]:
        query, observer = one(name, id)
        if not observers.remove(query.id, observer.id):
            raise unknown(query, id)
        return "", 204

    return blueprint


def asked() -> Asked | str:
    """The observer that the request brings, or the action that it asks for."""
    text = bodies.declared(request, LONGEST_BODY, ("text/plain", "application/json"), "A callback").strip()
    if request.mimetype == "application/json":
        told = json_of(text, "The body", EXAMPLE)
        if isinstance(told, dict) and "action" in told:
            return action(told["action"])
        return observer_of({"url": told} if isinstance(told, str) else told)
    if text.startswith("action="):
        return action(text.removeprefix("action="))
    return Asked(text, None, "latest")


def action(told: object) -> str:
    if told not in ("pause", "restart", "resume"):
        raise Problem("bad-setting", f"There is no action {str(told)[:100]!r}: there are pause and restart.")
    return str(told)


def observer_of(told: object) -> Asked:
    if not isinstance(told, dict) or not isinstance(told.get("url"), str):
        raise Problem("bad-body", f"The body names no callback: send its URL as text, or {EXAMPLE}.")
    strange = sorted(told.keys() - set(MEMBERS))
    if strange:
        raise Problem("bad-setting", f"An observer has no setting {strange[0][:100]!r}: it has {', '.join(MEMBERS)}.")
    secret, begin = told.get("secret"), told.get("from", "latest")
    if secret is not None and (not isinstance(secret, str) or not 0 < len(secret) <= LONGEST_SECRET):
        raise Problem("bad-setting", f"A secret is a text of 1 to {LONGEST_SECRET} characters.")
    if begin == "beginning":
        begin = BEGINNING
    elif begin != "latest":
        begin = instant_of("from", str(begin), "beginning, latest, ")
    return Asked(told["url"], secret, begin)
