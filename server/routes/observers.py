"""Observers: whom the server calls when a query has said something.

    POST   /queries/HotRooms                        https://hooks.example.org/hot        201; 200 if it is there
    POST   /queries/HotRooms                        {"callback": "https://…", "secret": "…", "from": "beginning",
                                                     "when": "always"}
    GET    /queries/HotRooms/observers              GET /queries/HotRooms/observers/{id}
    DELETE /queries/HotRooms/observers/{id}         204
    POST   /queries/HotRooms                        action=pause, or action=restart      200

A new observer hears what is said after it was added, or from where `from` says: each answer that says something, or
`always` each. One that has failed goes on where it stopped when it is added again. What is sent is what is shown, under
the same names; only the secret is not shown. `url` is an older name of `callback`. How answers are delivered: see
`webhooks`. Where they may be sent is a setting.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple

from flask import Blueprint, request

from csparql_spark.server.http import bodies
from csparql_spark.server.http.documents import json_of
from csparql_spark.server.http.problems import Problem, sentence
from csparql_spark.server.routes import pausing
from csparql_spark.server.routes.answers import instant_of
from csparql_spark.server.routes.description import described, made_streams
from csparql_spark.server.routes.registration import found
from csparql_spark.server.settings import Settings
from csparql_spark.server.sinks.outgoing_calls import BadUrl
from csparql_spark.server.sinks.webhooks import BEGINNING
from csparql_spark.server.stores import Stores
from csparql_spark.server.threads import Threads
from csparql_spark.store import QueryRecord
from csparql_spark.store.observers import ALWAYS, NONEMPTY, Observer, TooMany

LONGEST_BODY = 16 << 10
LONGEST_SECRET = 1000
EXAMPLE = '{"callback": "https://hooks.example.org/", "secret": "…", "when": "nonempty"}'
MEMBERS = ("callback", "secret", "from", "when")
OLDER = "url"                   # of `callback`
WANTED = {NONEMPTY: "an answer that says something", ALWAYS: "each answer"}


class ObserverSettings(NamedTuple):
    url: str
    secret: str | None = None
    begin: str | int = "latest"         # or beginning, or an instant
    when: str | None = None             # None: as it was, or usual


def routes(settings: Settings, stores: Stores, threads: Threads) -> Blueprint:
    blueprint = Blueprint("observers", __name__)
    observers, webhooks = stores.observers, threads.webhooks

    def url_of(query: QueryRecord, id: str) -> str:
        return f"{stores.names.query_url(query.name)}/observers/{id}"

    def told(query: QueryRecord, observer: Observer) -> dict[str, object]:
        failing = observer.failures > 0
        return {"id": observer.id, "query": query.name, "url": url_of(query, observer.id), "callback": observer.url,
                "when": observer.when, "from": shown(observer.begin), "signed": observer.secret is not None,
                "status": observer.state, "created": observer.created,
                "position": None if observer.position == BEGINNING else observer.position,
                "delivered": observer.delivered, "failures": observer.failures,
                "failing_since": observer.failing if failing else None, "error": observer.error if failing else None}

    def one(name: str, id: str) -> tuple[QueryRecord, Observer]:
        query = found(stores, name)
        observer = observers.one(query.id, id)
        if observer is None:
            raise unknown(query, id)
        return query, observer

    def unknown(query: QueryRecord, id: str) -> Problem:
        return Problem("unknown-observer", f"The query {query.name} has no observer {id[:100]}: GET "
                       f"{stores.names.query_url(query.name)}/observers lists them.", query=query.name)

    @blueprint.post("/queries/<name:name>")
    def control(name: str) -> tuple[dict[str, object], int, dict[str, str]]:
        query = found(stores, name)
        wanted = asked()
        if isinstance(wanted, ObserverSettings):
            return observe(query, wanted)
        act = pausing.pause if wanted == "pause" else pausing.resume
        return described(stores, act(stores, threads, name), made_streams(stores.registry)), 200, {}

    def observe(query: QueryRecord, asked: ObserverSettings) -> tuple[dict[str, object], int, dict[str, str]]:
        try:
            refusal = webhooks.allowed.refusal(asked.url)
        except BadUrl as error:
            raise Problem("bad-url", sentence(str(error))) from None
        if refusal is not None:
            raise Problem("url-not-allowed", sentence(refusal), allowed=list(webhooks.allowed.entries))
        bounds = stores.answers.bounds(query.id)
        latest = bounds[1] if bounds and asked.begin != "beginning" else BEGINNING
        position = asked.begin if isinstance(asked.begin, int) else latest
        try:
            observer, new = observers.add(query.id, asked.url, secret=asked.secret, position=position,
                                          when=asked.when, begin=str(asked.begin),
                                          at=stores.now(), most=settings.most_observers)
        except TooMany:
            raise Problem("limit-reached", f"This server keeps at most {settings.most_observers} observers: "
                          "delete one first.", limit=settings.most_observers) from None
        webhooks.again(observer)
        return told(query, observer), 201 if new else 200, {"Location": url_of(query, observer.id)}

    @blueprint.get("/queries/<name:name>/observers")
    def list_observers(name: str) -> dict[str, object]:
        query = found(stores, name)
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


def asked() -> ObserverSettings | str:
    """The observer that the request brings, or the action that it asks for."""
    text = bodies.declared(request, LONGEST_BODY, ("text/plain", "application/json"), "A callback").strip()
    if request.mimetype == "application/json" or text.startswith("{"):
        told = json_of(text, "The body", EXAMPLE)
        if isinstance(told, dict) and "action" in told:
            return action(told["action"])
        return observer_of({"callback": told} if isinstance(told, str) else told)
    if text.startswith("action="):
        return action(text.removeprefix("action="))
    return ObserverSettings(text)


def action(told: object) -> str:
    if told not in ("pause", "restart", "resume"):
        raise Problem("bad-setting", f"There is no action {str(told)[:100]!r}: there are pause and restart.")
    return str(told)


def observer_of(told: object) -> ObserverSettings:
    if isinstance(told, dict) and OLDER in told:
        if told.get("callback", told[OLDER]) != told[OLDER]:
            raise Problem("bad-setting", "callback and url (its older name) name two places: leave url out.")
        told = {"callback": told[OLDER], **{name: value for name, value in told.items() if name != OLDER}}
    if not isinstance(told, dict) or not isinstance(told.get("callback"), str):
        raise Problem("bad-body", f"The body names no callback: send its URL as text, or {EXAMPLE}.")
    strange = sorted(told.keys() - set(MEMBERS))
    if strange:
        near = get_close_matches(strange[0][:100], MEMBERS, 1)
        meant = f", did you mean {near[0]!r}? It" if near else ": it"
        raise Problem("bad-setting", f"An observer has no setting {strange[0][:100]!r}{meant} has "
                      f"{', '.join(MEMBERS)}.")
    secret, begin = told.get("secret"), told.get("from", "latest")
    if secret is not None and (not isinstance(secret, str) or not 0 < len(secret) <= LONGEST_SECRET):
        raise Problem("bad-setting", f"A secret is a text of 1 to {LONGEST_SECRET} characters.")
    if begin not in ("beginning", "latest"):
        begin = instant_of("from", str(begin), "beginning, latest, ")
    when = told.get("when", NONEMPTY)
    if not isinstance(when, str) or when not in WANTED:
        choices = " or ".join(f"{name} ({meaning})" for name, meaning in WANTED.items())
        raise Problem("bad-setting", f"when is {repr(when)[:100]}, and can be {choices}.")
    return ObserverSettings(told["callback"], secret, begin, when if "when" in told else None)


def shown(begin: str | None) -> str | int | None:
    """Where an observer began, as it was asked for; None: by an earlier version, which did not note it."""
    return begin if begin in (None, "latest", "beginning") else int(begin)
