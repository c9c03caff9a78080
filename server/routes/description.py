"""Describing a query: what there is to say of it, in every response that is about one.

    described(stores, query, made_streams(stores.registry))
    # {"name": "HotRooms", "status": "running", "windows": […], …}

Its `status` is running, paused or failed; that of a version that is over, replaced or failed. `id` stays what it is
when the query is replaced, and `version` is another one then. A query that reads streams of queries that do not go on
has to wait for these: `waiting_for` names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Required, TypedDict, cast

from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.server.dependents import asked_of, streams_of
from csparql_spark.server.http.conditions import version_tag
from csparql_spark.server.stores import Stores
from csparql_spark.store import QueryRecord, Registry, versions

MOST_SHOWN = 1 + versions.MOST  # a query that is replaced all the time may have more for a moment


class WindowBody(TypedDict, total=False):
    """A window of a query; milliseconds, triples or elements, as its text has it."""

    stream: Required[str]
    name: str
    range: int
    step: int
    triples: int
    triples_step: int
    elements: int
    elements_step: int


class ReadingBody(TypedDict):
    """What a registered query asks for."""

    kind: str | None
    form: str | None
    output: str | None
    every: int | None
    streams: list[str]
    windows: list[WindowBody]
    graphs: list[str]
    named_graphs: list[str]
    entailment: list[str]
    warnings: list[str]


class FailureBody(TypedDict):
    """When a query failed and why, and how to go on."""

    at: int
    reason: str
    advice: str


class MakerBody(TypedDict):
    """A query that makes what another one reads."""

    query: str
    status: str


class VersionBody(TypedDict):
    """A version of a query that is kept, and which of its answers are."""

    version: int
    registered: int
    oldest: int | None
    latest: int | None


class QueryBody(ReadingBody):
    """All that there is to say of a query."""

    name: str
    id: int
    version: int
    versions: list[VersionBody]
    url: str
    answers: str
    text: str
    registered: int
    stream: str | None
    status: str
    failure: FailureBody | None
    waiting_for: list[MakerBody]
    oldest: int | None
    latest: int | None


def made_streams(registry: Registry) -> dict[str, str]:
    """The streams that queries make, by the names of the queries."""
    return {stream.producer: stream.iri for stream in registry.streams() if stream.producer is not None}


def described(stores: Stores, query: QueryRecord, streams: Mapping[str, str]) -> QueryBody:
    """What there is to say of a query; `streams` are those that queries make."""
    url = stores.names.query_url(query.name)
    asked = asked_of(query)
    failure = stores.answers.failure(query.id)
    live = query if query.ended is None else stores.registry.query(query.name) or query
    bounds = stores.answers.bounds(query.id)
    return {
        "name": query.name,
        "id": query.origin,
        "version": query.id,
        "versions": [
            version_of(id, at, bounds if id == query.id else stores.answers.bounds(id))
            for id, at in stores.registry.registrations(query.name, MOST_SHOWN)
        ],
        "url": url,
        "answers": f"{url}/answers",
        "text": query.text,
        "registered": query.registered,
        **reading(asked),
        "stream": streams.get(query.name),
        "status": status_of(stores, query),
        "failure": None if failure is None else failure_body(failure, url, live),
        "waiting_for": waiting_for(stores, asked, streams),
        "oldest": bounds[0] if bounds else None,
        "latest": bounds[1] if bounds else None,
    }


def version_of(id: int, at: int, bounds: tuple[int, int] | None) -> VersionBody:
    return {"version": id, "registered": at, "oldest": bounds and bounds[0], "latest": bounds and bounds[1]}


def failure_body(failure: tuple[int, str], url: str, live: QueryRecord) -> FailureBody:
    """`live`: the version that there is now, whichever has failed."""
    return {"at": failure[0], "reason": failure[1], "advice": advice(url, live)}


def advice(url: str, live: QueryRecord) -> str:
    """How a query that has failed is changed: what has failed answers no more, whatever becomes of the cause."""
    return (
        f"To change it, PUT the changed text to {url} with If-Match: {version_tag(live)} "
        "(or the same text, if the cause is gone)."
    )


def status_of(stores: Stores, query: QueryRecord) -> str:
    if stores.answers.failure(query.id) is not None:
        return "failed"
    if query.ended is not None:
        return "replaced"
    return "paused" if query.paused else "running"


def waiting_for(stores: Stores, asked: ContinuousQuery | None, streams: Mapping[str, str]) -> list[MakerBody]:
    """The queries that do not go on, of those that make what a query reads, perhaps through others: each with its
    status."""
    makers = {iri: name for name, iri in streams.items()}
    waiting: dict[str, MakerBody] = {}
    reads = [] if asked is None else list(streams_of(asked))
    for iri in reads:  # it grows on the way
        maker = stores.registry.query(makers[iri]) if iri in makers else None
        if maker is None or maker.name in waiting:
            continue
        waiting[maker.name] = {"query": maker.name, "status": status_of(stores, maker)}
        through = asked_of(maker)
        reads += [] if through is None else [more for more in streams_of(through) if more not in reads]
    return [one for one in waiting.values() if one["status"] != "running"]


def reading(asked: ContinuousQuery | None) -> ReadingBody:
    """What a registered query asks for, as far as its description tells it."""
    if asked is None:
        return {
            "kind": None,
            "form": None,
            "output": None,
            "every": None,
            "streams": [],
            "windows": [],
            "graphs": [],
            "named_graphs": [],
            "entailment": [],
            "warnings": [],
        }
    return {
        "kind": asked.kind,
        "form": asked.form,
        "output": asked.output,
        "every": asked.every,
        "streams": list(streams_of(asked)),
        "windows": [window_body(window) for window in asked.windows],
        "graphs": list(asked.graphs),
        "named_graphs": list(asked.named_graphs),
        "entailment": list(asked.entailment),
        "warnings": list(asked.warnings),
    }


def window_body(window: Window) -> WindowBody:
    """What there is to say of a window: how far it reaches, and after how much it is seen anew."""
    # Computed keys are none that mypy could know.
    return cast(
        WindowBody, {key: value for key in WindowBody.__annotations__ if (value := getattr(window, key)) is not None}
    )
