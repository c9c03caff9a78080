"""Measures: what a query has cost, point by point, newest last.

    GET /queries/HotRooms/measures?limit=60
    {"query": "HotRooms", "points": [{"at": …, "instant": …, "latency_ms": 41.2, "micros": 310, "instants": 1,
                                      "rows": 2, "elements": 840, "late": 0, "state_bytes": 91236}, …]}

A point is one batch of the engine in which the query answered: `at` it was written; `latency_ms` after the newest
instant could have been answered at the earliest, `micros` of evaluation, `rows` and `elements` in the windows are about
that instant; `late` elements are counted since the registration.
"""

from __future__ import annotations

from typing import TypedDict

from flask import Blueprint, request

from csparql_spark.server.http.problems import Problem
from csparql_spark.server.routes.registration import found
from csparql_spark.server.stores import Stores
from csparql_spark.store.measures import MOST_POINTS, Point


class PointBody(TypedDict):
    """What one batch has cost a query."""

    at: int
    instant: int
    latency_ms: float | None
    micros: int
    instants: int
    rows: int
    elements: int
    late: int
    state_bytes: int


class MeasuresBody(TypedDict):
    query: str
    points: list[PointBody]


def routes(stores: Stores) -> Blueprint:
    blueprint = Blueprint("measures", __name__)

    @blueprint.get("/queries/<name:name>/measures")
    def points(name: str) -> MeasuresBody:
        query, limit = found(stores, name), asked_limit()
        return {"query": name, "points": [point_body(point) for point in stores.measures.points(query.id, limit)]}

    return blueprint


def asked_limit() -> int:
    text = request.args.get("limit", str(MOST_POINTS))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 0 < int(text) <= MOST_POINTS):
        raise Problem("bad-setting", f"The limit {text[:100]!r} is not a number of points from 1 to {MOST_POINTS}.")
    return int(text)


def point_body(point: Point) -> PointBody:
    return {
        "at": point.at,
        "instant": point.instant,
        "latency_ms": None if point.latency is None else round(point.latency, 1),
        "micros": point.micros,
        "instants": point.instants,
        "rows": point.rows,
        "elements": point.elements,
        "late": point.late,
        "state_bytes": point.state,
    }
