"""How a query is read and answered: GET /queries/{name}/explain.

Its windows and instants in words, its SPARQL body, which evaluator answers it and why, which strategy maintains what
follows from its windows and why, who shares its group and how far back what they share reaches, the rules that are run
for it over the background as it is now, and what is so live: how much its windows and its newest answer hold, what that
answer has cost, and (a few seconds old, perhaps) what each part of a maintained plan has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from flask import Blueprint

from csparql_spark.asking.explain import GroupDescription, QueryDescription, explained
from csparql_spark.asking.log_view import Current
from csparql_spark.language import ContinuousQuery, LanguageError, Window
from csparql_spark.language.queries.query_cache import read
from csparql_spark.schedule.routing import group_key
from csparql_spark.server.routes.measures import point_body
from csparql_spark.server.routes.registration import found, whole
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores
from csparql_spark.store import QueryRecord
from csparql_spark.store.measures import Measures, PlanRecord
from csparql_spark.windows.rule import aligned, bounds_of, is_timed, moves_together, widest_of


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


def routes(settings: Settings, stores: Stores) -> Blueprint:
    blueprint = Blueprint("explain", __name__)
    current = Current(stores.log, stores.registry)

    @blueprint.get("/queries/<name:name>/explain")
    def explain(name: str) -> ExplanationBody:
        record = found(stores, name)
        query = whole(record)
        body = explained(
            query,
            background={graph: current.graph(graph) for graph in query.graphs},
            rules=current.rules(query.entailment),
            maintenance=settings.maintenance,
        )
        key = group_key(query)
        others = [other for other in stores.registry.queries() if other.id != record.id and key_of(other) == key]
        group: GroupDescription = {
            **body["group"],
            "shared_with": [other.name for other in others],
            "widest": widest(query, [whole(other) for other in others]),
        }
        parts = stores.answers.latest(record.id)
        instant = parts[0].instant if parts else None
        elements = [
            None if instant is None or not is_timed(window) else elements_in(window, instant, record.id)
            for window in query.windows
        ]
        live: LiveBody = {
            "instant": instant,
            "rows": sum(part.rows for part in parts),
            "elements": elements,
            **cost_of(stores.measures, record.id),
        }
        return {"query": name, **body, "group": group, "live": live}

    def elements_in(window: Window, instant: int, registered: int) -> int:
        """How many elements a window holds at an instant of its query."""
        bounds = bounds_of(window, instant)
        return len(current.elements(window.stream, low=bounds.low, high=bounds.closes, after=registered))

    return blueprint


def widest(query: ContinuousQuery, others: Iterable[ContinuousQuery]) -> int | None:
    """How far back the graph reaches that a query shares with those of its group whose windows differ from its own by a
    constant; None if its windows do not move together."""
    offsets = offsets_of(query)
    if offsets is None:
        return None
    return max(widest_of(one.windows) for one in (query, *others) if offsets_of(one) == offsets)


def offsets_of(query: ContinuousQuery) -> tuple[tuple[str, int], ...] | None:
    """The streams of a query whose windows move together, each with how much shorter its window is than the widest."""
    return aligned(query.windows).streams if moves_together(query) else None


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
