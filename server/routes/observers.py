"""Observers: whom the server calls when a query has said something.

    POST   /queries/HotRooms                        https://hooks.example.org/hot        201; 200 if it is there
    POST   /queries/HotRooms                        {"callback": "https://…", "secret": "…", "from": "beginning",
                                                     "when": "always"}
    GET    /queries/HotRooms/observers              GET /queries/HotRooms/observers/{id}
    DELETE /queries/HotRooms/observers/{id}         204
    POST   /queries/HotRooms                        action=pause, or action=restart      200

A new observer hears what is said after it was added, or from where `from` says: each answer that says something,
`always` each, or the `changes` from one to the next. One that has failed goes on where it stopped when it is added
again. What is sent is what is shown, under the same names; only the secret is not shown. `url` is an older name of
`callback`. How answers are delivered: see `webhooks`. Where they may be sent is a setting.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple, TypedDict

from flask import Blueprint, request

from csparql_spark.server.http import bodies
from csparql_spark.server.http.documents import json_of
from csparql_spark.server.http.problems import Problem, sentence
from csparql_spark.server.routes import pausing
from csparql_spark.server.routes.answers import instant_of
from csparql_spark.server.routes.description import QueryBody, described, made_streams
from csparql_spark.server.routes.registration import found
from csparql_spark.server.settings import Settings
from csparql_spark.server.sinks.outgoing_calls import BadUrl
from csparql_spark.server.sinks.webhooks import BEGINNING, Webhooks
from csparql_spark.server.stores import Stores
from csparql_spark.server.threads import Threads
from csparql_spark.store import QueryRecord
from csparql_spark.store.observers import ALWAYS, CHANGES, NONEMPTY, Observer, ObserverDraft, TooManyObservers

LONGEST_BODY = 16 << 10
LONGEST_SECRET = 1000
EXAMPLE = '{"callback": "https://hooks.example.org/", "secret": "…", "when": "nonempty"}'
MEMBERS = ("callback", "secret", "from", "when")
OLDER = "url"  # of `callback`
WANTED = {
    NONEMPTY: "an answer that says something",
    ALWAYS: "each answer",
    CHANGES: "what has changed, where something has",
}


class ObserverSettings(NamedTuple):
    url: str
    secret: str | None = None
    begin: str | int = "latest"  # or beginning, or an instant
    when: str | None = None  # None: as it was, or usual


# What there is to say of an observer.
ObserverBody = TypedDict(
    "ObserverBody",
    {
        "id": str,
        "query": str,
        "url": str,
        "callback": str,
        "when": str,
        "from": str | int | None,
        "signed": bool,
        "status": str,
        "created": int,
        "position": int | None,
        "delivered": int,
        "failures": int,
        "failing_since": int | None,
        "error": str | None,
    },
)


class ObserversBody(TypedDict):
    query: str
    observers: list[ObserverBody]


class Callbacks:
    """The observers of queries, by the names of the queries."""

    def __init__(self, settings: Settings, stores: Stores, webhooks: Webhooks) -> None:
        self._most, self._stores, self._webhooks = settings.most_observers, stores, webhooks

    def url_of(self, query: QueryRecord, id: str) -> str:
        return f"{self._stores.names.query_url(query.name)}/observers/{id}"

    def described(self, query: QueryRecord, observer: Observer) -> ObserverBody:
        failing = observer.failures > 0
        return {
            "id": observer.id,
            "query": query.name,
            "url": self.url_of(query, observer.id),
            "callback": observer.url,
            "when": observer.when,
            "from": shown(observer.begin),
            "signed": observer.secret is not None,
            "status": observer.state,
            "created": observer.created,
            "position": None if observer.position == BEGINNING else observer.position,
            "delivered": observer.delivered,
            "failures": observer.failures,
            "failing_since": observer.failing if failing else None,
            "error": observer.error if failing else None,
        }

    def one(self, name: str, id: str) -> tuple[QueryRecord, Observer]:
        query = found(self._stores, name)
        observer = self._stores.observers.one(query.origin, id)
        if observer is None:
            raise self.unknown(query, id)
        return query, observer

    def unknown(self, query: QueryRecord, id: str) -> Problem:
        return Problem(
            "unknown-observer",
            f"The query {query.name} has no observer {id[:100]}: GET "
            f"{self._stores.names.query_url(query.name)}/observers lists them.",
            query=query.name,
        )

    def add(self, query: QueryRecord, wanted: ObserverSettings) -> tuple[Observer, bool]:
        """The observer, and whether it is new. Raises `Problem`."""
        allowed = self._webhooks.allowed
        try:
            refusal = allowed.refusal(wanted.url)
        except BadUrl as error:
            raise Problem("bad-url", sentence(str(error))) from None
        if refusal is not None:
            raise Problem("url-not-allowed", sentence(refusal), allowed=list(allowed.entries))
        bounds, version = self._stores.answers.bounds(query.id), query.id
        latest = bounds[1] if bounds else BEGINNING
        position = wanted.begin if isinstance(wanted.begin, int) else latest
        if wanted.begin == "beginning":  # of all that is kept
            version, position = min(id for id, _ in self._stores.registry.ends(query.name)), BEGINNING
        try:
            draft = ObserverDraft(
                query.origin, wanted.url, position, wanted.secret, wanted.when, str(wanted.begin), version
            )
            observer, new = self._stores.observers.add(draft, at=self._stores.now(), most=self._most)
        except TooManyObservers:
            raise Problem(
                "limit-reached",
                f"This server keeps at most {self._most} observers: delete one first.",
                limit=self._most,
            ) from None
        self._webhooks.again(observer)
        return observer, new


def routes(settings: Settings, stores: Stores, threads: Threads) -> Blueprint:
    blueprint = Blueprint("observers", __name__)
    callbacks = Callbacks(settings, stores, threads.webhooks)

    @blueprint.post("/queries/<name:name>")
    def control(name: str) -> tuple[ObserverBody | QueryBody, int, dict[str, str]]:
        query = found(stores, name)
        wanted = asked()
        if isinstance(wanted, ObserverSettings):
            observer, new = callbacks.add(query, wanted)
            headers = {"Location": callbacks.url_of(query, observer.id)}
            return callbacks.described(query, observer), 201 if new else 200, headers
        act = pausing.pause if wanted == "pause" else pausing.resume
        return described(stores, act(stores, threads, name), made_streams(stores.registry)), 200, {}

    @blueprint.get("/queries/<name:name>/observers")
    def list_observers(name: str) -> ObserversBody:
        query = found(stores, name)
        return {
            "query": query.name,
            "observers": [callbacks.described(query, observer) for observer in stores.observers.of(query.origin)],
        }

    @blueprint.get("/queries/<name:name>/observers/<id>")
    def describe_observer(name: str, id: str) -> ObserverBody:
        return callbacks.described(*callbacks.one(name, id))

    @blueprint.delete("/queries/<name:name>/observers/<id>")
    def delete_observer(name: str, id: str) -> tuple[str, int]:
        query, observer = callbacks.one(name, id)
        if not stores.observers.remove(query.origin, observer.id):
            raise callbacks.unknown(query, id)
        return "", 204

    return blueprint


def asked() -> ObserverSettings | str:
    """The observer that the request brings, or the action that it asks for."""
    text = bodies.declared(request, LONGEST_BODY, ("text/plain", "application/json"), "A callback").strip()
    if request.mimetype == "application/json" or text.startswith("{"):
        body = json_of(text, "The body", EXAMPLE)
        if isinstance(body, dict) and "action" in body:
            return action(body["action"])
        return observer_of({"callback": body} if isinstance(body, str) else body)
    if text.startswith("action="):
        return action(text.removeprefix("action="))
    return ObserverSettings(text)


def action(name: object) -> str:
    if name not in ("pause", "restart", "resume"):
        raise Problem("bad-setting", f"There is no action {str(name)[:100]!r}: there are pause and restart.")
    return str(name)


def observer_of(body: object) -> ObserverSettings:
    if isinstance(body, dict) and OLDER in body:
        if body.get("callback", body[OLDER]) != body[OLDER]:
            raise Problem("bad-setting", "callback and url (its older name) name two places: leave url out.")
        body = {"callback": body[OLDER], **{name: value for name, value in body.items() if name != OLDER}}
    if not isinstance(body, dict) or not isinstance(body.get("callback"), str):
        raise Problem("bad-body", f"The body names no callback: send its URL as text, or {EXAMPLE}.")
    strange = sorted(body.keys() - set(MEMBERS))
    if strange:
        near = get_close_matches(strange[0][:100], MEMBERS, 1)
        meant = f", did you mean {near[0]!r}? It" if near else ": it"
        raise Problem(
            "bad-setting", f"An observer has no setting {strange[0][:100]!r}{meant} has {', '.join(MEMBERS)}."
        )
    secret, begin = body.get("secret"), body.get("from", "latest")
    if secret is not None and (not isinstance(secret, str) or not 0 < len(secret) <= LONGEST_SECRET):
        raise Problem("bad-setting", f"A secret is a text of 1 to {LONGEST_SECRET} characters.")
    if begin not in ("beginning", "latest"):
        begin = instant_of("from", str(begin), "beginning, latest, ")
    when = body.get("when", NONEMPTY)
    if not isinstance(when, str) or when not in WANTED:
        *some, last = (f"{name} ({meaning})" for name, meaning in WANTED.items())
        choices = f"{', '.join(some)} or {last}"
        raise Problem("bad-setting", f"when is {repr(when)[:100]}, and can be {choices}.")
    return ObserverSettings(body["callback"], secret, begin, when if "when" in body else None)


def shown(begin: str | None) -> str | int | None:
    """Where an observer began, as it was asked for; None: by an earlier version, which did not note it."""
    return begin if begin in (None, "latest", "beginning") else int(begin)
