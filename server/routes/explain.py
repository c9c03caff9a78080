"""How a query is read and answered: GET /queries/{name}/explain.

Its windows and instants in words, its SPARQL body, which evaluator answers it and why, which strategy maintains what
follows from its windows and why, who shares its group and how far back what they share reaches, the rules that are run
for it over the background as it is now, and what is so live: how much its windows and its newest answer hold, what that
answer has cost, and (a few seconds old, perhaps) what each part of a maintained plan has. What has to be worked out for
that is worked out in a guarded child (see `asking.guarded`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TypedDict

from flask import Blueprint

from csparql_spark.answers.limits import Limits
from csparql_spark.asking.allowance import Allowance
from csparql_spark.asking.explain import MOST_BACKGROUND, GroupDescription, QueryDescription
from csparql_spark.asking.guarded import Pool, work
from csparql_spark.asking.guarded.pool import CHECKED_TEXT, Place
from csparql_spark.asking.guarded.texts import Texts
from csparql_spark.asking.log_view import Current
from csparql_spark.language import ContinuousQuery, LanguageError, Window
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import group_key
from csparql_spark.server.routes.measures import point_body
from csparql_spark.server.routes.registration import found, whole
from csparql_spark.server.routes.why import SMALLER
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores
from csparql_spark.store import QueryRecord
from csparql_spark.store.measures import Measures, PlanRecord
from csparql_spark.windows.rule import AlignedWindow, aligned, bounds_of, is_timed, looks_of, widest_of


class CostBody(TypedDict):
    """What the newest answer of a query has cost, and what each part of its plan has."""

    micros: int | None
    latency_ms: float | None
    state_bytes: int | None
    late: int | None
    refused_patterns: int | None
    nodes: PlanRecord | None


class LiveBody(CostBody):
    """… and how much its windows and that answer hold; None where a window counts."""

    instant: int | None
    rows: int
    elements: list[int | None]


class ExplanationBody(QueryDescription):
    """What `asking.explain` says of a query, and how it is live."""

    query: str
    live: LiveBody


def routes(settings: Settings, stores: Stores, pool: Pool) -> Blueprint:
    blueprint = Blueprint("explain", __name__)
    current, texts = Current(stores.log, stores.registry), Texts(pool, CHECKED_TEXT)

    @blueprint.get("/queries/<name:name>/explain")
    def explain(name: str) -> ExplanationBody:
        record = found(stores, name)
        query = whole(record)
        body = worked_out(query)
        key = group_key(query)
        others = [other for other in stores.registry.queries() if other.id != record.id and key_of(other) == key]
        group: GroupDescription = {
            **body["group"],
            "shared_with": [other.name for other in others],
            "widest": widest(query, [whole(other) for other in others]),
        }
        bounds = stores.answers.bounds(record.id)
        instant = None if bounds is None else bounds[1]
        # No answer is read for its size.
        sizes = [] if instant is None else stores.answers.sizes(record.id, instant, instant, 1)
        elements = [
            None if instant is None or not is_timed(window) else elements_in(window, instant, record.id)
            for window in query.windows
        ]
        live: LiveBody = {
            "instant": instant,
            "rows": sum(rows for _, rows in sizes),
            "elements": elements,
            **cost_of(stores.measures, record.id),
        }
        return {"query": name, **body, "group": group, "live": live}

    def worked_out(query: ContinuousQuery) -> QueryDescription:
        rules = current.rules(query.entailment)
        if not query.graphs:
            return json.loads(texts.run(work.explanation, query, {}, rules, settings.maintenance))
        there = (stores.registry.setting("background", graph) for graph in query.graphs)
        triples = sum(0 if graph is None else graph.rows for graph in there)

        def explained(place: Place) -> bytes | bytearray:
            background: dict[str, Chunk] | None = None
            if triples <= MOST_BACKGROUND:
                allowance = Allowance(pool.memory, "the query reads", SMALLER, place.expect)
                allowance.foresee(triples)
                reader = current.within(allowance)
                background = {graph: work.sent_graph(reader.payload(graph)) for graph in query.graphs}
            limits = Limits.from_environment(os.environ)
            return place.run(limits, work.explanation, query, background, rules, settings.maintenance)

        return json.loads(pool.attempt("explain", explained))

    def elements_in(window: Window, instant: int, registered: int) -> int:
        """How many elements a window holds at an instant of its query."""
        bounds = bounds_of(window, instant)
        return current.count(window.stream, low=bounds.low, high=bounds.closes, after=registered)

    return blueprint


def widest(query: ContinuousQuery, others: Iterable[ContinuousQuery]) -> int | None:
    """How far back the graph reaches that a query shares with those of its group whose windows lie in it like its own;
    None if one of its windows counts."""
    windows = aligned_windows(query)
    if windows is None:
        return None
    return max(widest_of(one.windows) for one in (query, *others) if aligned_windows(one) == windows)


def aligned_windows(query: ContinuousQuery) -> tuple[AlignedWindow, ...] | None:
    """How the windows of a query lie in a graph, if all are of time."""
    return aligned(looks_of(query, query.windows)).windows if all(map(is_timed, query.windows)) else None


def cost_of(measures: Measures, query: int) -> CostBody:
    """What the newest answer of a query has cost, as far as it was measured; and its plan, as it was told last."""
    point = measures.newest(query)
    if point is None:
        return {
            "micros": None,
            "latency_ms": None,
            "state_bytes": None,
            "late": None,
            "refused_patterns": None,
            "nodes": None,
        }
    body = point_body(point)
    return {
        "micros": body["micros"],
        "latency_ms": body["latency_ms"],
        "state_bytes": body["state_bytes"],
        "late": body["late"],
        "refused_patterns": point.totals.refused_patterns,
        "nodes": measures.plan(query),
    }


def key_of(record: QueryRecord | None) -> str | None:
    """The key of a query's group, if it is there and can be read."""
    try:
        return None if record is None else group_key(read(record.text, record.base, record.compiled))
    except LanguageError:
        return None
