"""The timeline of a query, what is missing from its answers, and the last elements of a stream: for who wonders why a
window says nothing.

    GET /queries/{name}/timeline?span=60s      when elements came, where windows opened and closed, what is waited for
    GET /queries/{name}/missing?at=…           how much of what the query looks for was there at an instant
    GET /streams/{name}/elements?limit=50      the newest elements, newest first

Everything is read from the log and the answers, beside the engine, and only as far back as they are kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import NotRequired, TypedDict

import numpy as np
import pyarrow.compute as pc
from flask import Blueprint, request

from csparql_spark.answers.limits import Limits
from csparql_spark.asking.allowance import Allowance
from csparql_spark.asking.guarded import Pool, work
from csparql_spark.asking.guarded.pool import Place
from csparql_spark.asking.log_view import Current
from csparql_spark.asking.timeline import Dot, dots, waits, written
from csparql_spark.language import ContinuousQuery
from csparql_spark.log import Entry, Log
from csparql_spark.log.contract import StampSpan
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.dependents import asked_of, streams_of
from csparql_spark.server.http.holdings import Holdings
from csparql_spark.server.http.lengths import length_of_time
from csparql_spark.server.http.problems import Problem, sentence
from csparql_spark.server.routes.answers import asked_instant
from csparql_spark.server.routes.description import WindowBody, made_streams, status_of, waiting_for, window_body
from csparql_spark.server.routes.health import engine_of
from csparql_spark.server.routes.registration import found
from csparql_spark.server.routes.why import SMALLER
from csparql_spark.server.stores import Stores
from csparql_spark.server.subscribers.instants import WindowBounds, windows_of
from csparql_spark.store import QueryRecord
from csparql_spark.windows.progress import Clock, Progress
from csparql_spark.windows.rule import BEGINNING_OF_TIME, grid_of, slowest_of, widest_of

USUAL_ELEMENTS, MOST_ELEMENTS = 50, 1000
MOST_TEXT = 4 << 20  # bytes of elements that are told at once
MOST_DOTS, MOST_INSTANTS = 300, 200
LONGEST_SPAN = 31 * 86_400_000


# When elements came, together where they are many.
DotBody = TypedDict("DotBody", {"from": int, "to": int, "triples": int, "late": int})


class ReadBody(TypedDict):
    """A stream as a query reads it: how far its clock has come, and when its elements came."""

    stream: str
    clock: str
    delay: int
    newest: int | None
    reading: int | None
    elements: list[DotBody]


class InstantBody(TypedDict):
    at: int
    windows: list[WindowBounds]
    rows: NotRequired[int]


# All that a query reads and says, from one time to another.
TimelineBody = TypedDict(
    "TimelineBody",
    {
        "query": str,
        "status": str,
        "now": int,
        "from": int,
        "to": int,
        "windows": list[WindowBody],
        "streams": list[ReadBody],
        "instants": list[InstantBody],
        "next": InstantBody | None,
        "says": str,
    },
)


class PatternBody(TypedDict):
    """A pattern of a query's body, and how many triples fit."""

    text: str
    matches: int


class MissingBody(TypedDict):
    """How much of what a query looks for was there at an instant."""

    query: str
    at: int
    windows: list[WindowBounds]
    triples: int
    patterns: list[PatternBody]
    lost: int | None
    says: str


class ElementBody(TypedDict):
    at: int
    logged: int
    triple: list[str]


class ElementsBody(TypedDict):
    stream: str
    elements: list[ElementBody]


class Timelines:
    """What can be seen of a query from the log and the answers, and what it waits for."""

    def __init__(self, stores: Stores, holdings: Holdings) -> None:
        self._stores, self._holdings = stores, holdings

    def of(self, query: QueryRecord) -> TimelineBody:
        stores, asked, now = self._stores, readable(query), self._stores.now()
        spans = {iri: stores.log.span(iri, after=query.id) for iri in streams_of(asked)}
        progress = self._progress(query, spans, now)
        newest = {iri: None if span is None else span.last for iri, span in spans.items()}
        bounds = stores.answers.bounds(query.id)
        by_arrival = any(clock.kind == "arrival" for clock in progress.clocks.values())
        known = [at for at in (*newest.values(), bounds[1] if bounds else None) if at is not None]
        high = now if by_arrival or not known else max(known)
        low = high - asked_span(asked)
        upcoming = next_instant(asked, bounds, progress)
        streams: list[ReadBody] = [
            {
                "stream": iri,
                "clock": clock.kind,
                "delay": clock.delay,
                "newest": newest[iri],
                "reading": None if (reading := progress.reading(iri)) == BEGINNING_OF_TIME else reading,
                "elements": [
                    {"from": dot.first, "to": dot.last, "triples": dot.triples, "late": dot.late}
                    for dot in self._dots(query, iri, clock, low, high)
                ],
            }
            for iri, clock in progress.clocks.items()
        ]
        return {
            "query": query.name,
            "status": status_of(stores, query),
            "now": now,
            "from": low,
            "to": high,
            "windows": [window_body(window) for window in asked.windows],
            "streams": streams,
            "instants": [
                {"at": at, "rows": rows, "windows": windows_of(query, at)}
                for at, rows in stores.answers.sizes(query.id, low, high, MOST_INSTANTS)
            ],
            "next": None if upcoming is None else {"at": upcoming, "windows": windows_of(query, upcoming)},
            "says": self._expectation(query, asked, progress, upcoming),
        }

    def _dots(self, query: QueryRecord, iri: str, clock: Clock, low: int, high: int) -> list[Dot]:
        entries = self._stores.log.outlines(iri, after=query.id)
        return dots(entries, self._stamps, clock=clock, low=low, high=high, most=MOST_DOTS)

    def _stamps(self, entry: Entry) -> np.ndarray:
        """Those of a chunk, of which one is in memory at a time. Raises `Problem` if there is no room for it."""
        log = self._stores.log
        holding = self._holdings.take(log.size(entry.seq))
        try:
            payload = log.payload(entry.seq)
            # What is forgotten while it is looked at has no stamps any more.
            return np.empty(0, np.int64) if payload is None else Chunk.from_ipc(payload).stamped(entry.at).t
        finally:
            holding.release()

    def _progress(self, query: QueryRecord, spans: Mapping[str, StampSpan | None], now: int) -> Progress:
        """How far the clocks have come for a query: what they read depends on the oldest and newest stamps alone."""
        registry = self._stores.registry
        streams = {iri: stream for iri in spans if (stream := registry.stream(iri)) is not None}
        progress = Progress.begin(
            at=query.registered, clocks={iri: Clock(stream.clock, stream.delay) for iri, stream in streams.items()}
        )
        progress.tick(None, now)
        for iri, stream in streams.items():
            if (span := spans[iri]) is not None:
                progress.arrived(iri, *span)
            producer = None if stream.producer is None else registry.query(stream.producer)
            bounds = None if producer is None else self._stores.answers.bounds(producer.id)
            if bounds:
                progress.tick(iri, bounds[1])
        return progress

    def _expectation(self, query: QueryRecord, asked: ContinuousQuery, progress: Progress, upcoming: int | None) -> str:
        """What has to happen before there is another answer."""
        stores = self._stores
        failure = stores.answers.failure(query.id)
        if failure is not None:
            return f"The query failed at {written(failure[0])}: {sentence(failure[1])}"
        if query.paused:
            return "The query is paused: it answers nothing until it is resumed."
        engine = engine_of(stores.status.of("engine") or {})["state"]
        if engine == "starting":
            return "The engine is starting; what comes in meanwhile is kept for it."
        if engine != "running":
            return f"The engine does not run ({engine}); what comes in meanwhile is kept for it."
        if closing := stores.waiting.of(query.id):
            return (
                f"Its background of {closing.triples:,} triples is being closed under its rules since "
                f"{written(closing.since)}: what comes meanwhile is kept for it, and answered then."
            )
        for maker in waiting_for(stores, asked, made_streams(stores.registry)):
            return f"It reads what the query {maker['query']} makes, and that one is {maker['status']}."
        if not set(streams_of(asked)) <= progress.clocks.keys():
            return "A stream that it reads is gone."
        for iri, clock in progress.clocks.items():
            waiting = waits(iri, clock, progress.reading(iri), upcoming)
            if waiting is not None:
                return waiting
        if upcoming is None:
            return "It answers each time as many elements have come as its windows count."
        return f"The next instant is {written(upcoming)}."


def routes(stores: Stores, pool: Pool, holdings: Holdings) -> Blueprint:
    blueprint = Blueprint("timeline", __name__)
    current, timelines = Current(stores.log, stores.registry), Timelines(stores, holdings)

    @blueprint.get("/queries/<name:name>/timeline")
    def timeline(name: str) -> TimelineBody:
        return timelines.of(found(stores, name))

    @blueprint.get("/queries/<name:name>/missing")
    def missing(name: str) -> MissingBody:
        query = found(stores, name)
        asked = readable(query)
        instant = asked_instant(stores, query, f": {stores.names.query_url(name)}/timeline tells what it waits for.")

        def missed(place: Place) -> bytes | bytearray:
            allowance = Allowance(pool.memory, "the query reads", SMALLER, place.expect)
            graphs = (stores.registry.setting("background", graph) for graph in (*asked.graphs, *asked.named_graphs))
            allowance.foresee(sum(0 if graph is None else graph.rows for graph in graphs))
            watched = current.within(allowance).watched(query, asked, instant)
            rules = current.rules(asked.entailment)
            return place.run(Limits.from_environment(os.environ), work.missed, watched, rules)

        triples, counts, lost, says = json.loads(pool.attempt("missing", missed))
        sizes = stores.answers.sizes(query.id, instant, instant, 1) if lost is None else []
        if rows := sum(rows for _, rows in sizes):
            shown = "1 row" if rows == 1 else f"{rows:,} rows"
            size = "1 triple" if triples == 1 else f"{triples:,} triples"
            says = f"Nothing is missing: the windows hold {size}, and the answer has {shown}."
        patterns: list[PatternBody] = [{"text": text, "matches": matches} for text, matches in counts]
        return {
            "query": name,
            "at": instant,
            "windows": windows_of(query, instant),
            "triples": triples,
            "patterns": patterns,
            "lost": lost,
            "says": says,
        }

    @blueprint.get("/streams/<name:name>/elements")
    def elements(name: str) -> ElementsBody:
        iri = stores.names.stream_iri(name)
        if stores.registry.stream(iri) is None:
            raise stores.names.no_stream(iri)
        text = request.args.get("limit", str(USUAL_ELEMENTS))
        if not (text.isascii() and text.isdigit() and len(text) < 10 and 0 < int(text) <= MOST_ELEMENTS):
            raise Problem(
                "bad-setting", f"The limit {text[:100]!r} is not a number of elements from 1 to {MOST_ELEMENTS}."
            )
        return {"stream": iri, "elements": newest_elements(stores.log, holdings, iri, int(text))}

    return blueprint


def newest_elements(log: Log, holdings: Holdings, iri: str, limit: int) -> list[ElementBody]:
    """The last elements of a stream, newest first, and no more than have `MOST_TEXT` bytes together, but for one. One
    chunk is in memory at a time. Raises `Damaged`, and `Problem` if there is no room for it."""
    newest: list[ElementBody] = []
    left = MOST_TEXT
    later: int | None = None
    for outline in log.outlines(iri, after=0, newest_first=True):
        holding = holdings.take(log.size(outline.seq))
        try:
            # What is damaged between the two may have been of the stream, too.
            for entry in log.recent(iri, outline.seq - 1, later):
                few, left = last_elements(entry, limit - len(newest), left, one=not newest)
                newest += few
        finally:
            holding.release()
        later = outline.seq - 1
        if left <= 0 or len(newest) >= limit:
            break
    else:
        next(iter(log.recent(iri, 0, later)), None)  # there is none, but what is damaged may have been one
    return newest


def last_elements(entry: Entry, most: int, left: int, *, one: bool) -> tuple[list[ElementBody], int]:
    """The last elements of a chunk, so many at most, that have no more bytes of text than are left; `one` in any case.
    And what is left then: less than nothing if there are others."""
    chunk = Chunk.from_ipc(entry.payload).stamped(entry.at)
    last = chunk.take(np.arange(max(0, len(chunk) - most), len(chunk)))
    lengths = pc.binary_length(last.terms).to_numpy().astype(np.int64)
    sizes = np.cumsum((lengths[last.s] + lengths[last.p] + lengths[last.o])[::-1])
    few = max(int(np.searchsorted(sizes, left, side="right")), 1 if one else 0)
    left -= int(sizes[-1])
    last = last.take(np.arange(len(last) - few, len(last)))
    stamped = reversed(list(zip(last.t.tolist(), last.triples(), strict=True)))
    return [{"at": at, "logged": entry.at, "triple": list(triple)} for at, triple in stamped], left


def next_instant(asked: ContinuousQuery, bounds: tuple[int, int] | None, progress: Progress) -> int | None:
    """The instant that a query will answer next, if that is known."""
    grid, start = grid_of(asked), progress.start()
    if grid is None:
        return None
    if bounds:
        return grid.after(bounds[1])
    return None if start is None else grid.at_or_after(start)


def readable(query: QueryRecord) -> ContinuousQuery:
    asked = asked_of(query)
    if asked is None:
        raise Problem(
            "not-supported", f"The text of the query {query.name} cannot be read any more: register it again."
        )
    return asked


def asked_span(asked: ContinuousQuery) -> int:
    """How far back to look: as far as the request says, or three windows."""
    if "span" in request.args:
        return min(LONGEST_SPAN, max(1, length_of_time("span", request.args["span"])))
    widest, step = widest_of(asked.windows) or 60_000, slowest_of(asked.windows) or 1000
    return min(LONGEST_SPAN, max(3 * widest, widest + 10 * step))
