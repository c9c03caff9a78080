"""Metrics: how the server does, in the words of Prometheus.

    GET /metrics      text/plain; version=0.0.4, or OpenMetrics by Accept

What the engine has measured is read from the store when somebody looks, and nothing is kept here but what this process
alone knows: its requests and pushes, since it was started. Names of queries and streams are labels, and what a client
can make up at will (paths, methods) is none.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from flask import Blueprint, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from csparql_spark.server.dependents import asked_of, streams_of
from csparql_spark.server.routes.description import status_of
from csparql_spark.server.routes.health import HEALTH, engine_now
from csparql_spark.server.routes.health import status_of as health_of
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores
from csparql_spark.server.threads import Threads
from csparql_spark.store import QueryRecord
from csparql_spark.store.measures import BUCKETS, Point
from csparql_spark.windows.rule import grid_of, is_known_before

METHODS = frozenset({"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"})
STATUSES = ("running", "paused", "failed")
_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")


def routes(settings: Settings, stores: Stores, threads: Threads) -> Blueprint:
    blueprint = Blueprint("metrics", __name__)
    registry = CollectorRegistry()
    requests = Counter(
        "csparql_http_requests", "Requests that were answered.", ("method", "endpoint", "status"), registry=registry
    )
    seconds = Histogram(
        "csparql_http_request_seconds",
        "From a request to the beginning of its response.",
        ("method", "endpoint"),
        buckets=BUCKETS,
        registry=registry,
    )
    registry.register(Collected(settings, stores, threads))

    @blueprint.before_app_request
    def begin() -> None:
        g.begun = time.perf_counter()

    @blueprint.after_app_request
    def count(response: Response) -> Response:
        method = request.method if request.method in METHODS else "other"
        endpoint = _VARIABLE.sub(r"{\1}", request.url_rule.rule) if request.url_rule is not None else "none"
        requests.labels(method, endpoint, str(response.status_code)).inc()
        if "begun" in g:  # not if the request was refused before it came so far
            seconds.labels(method, endpoint).observe(time.perf_counter() - g.begun)
        return response

    @blueprint.get("/metrics")
    def metrics() -> Response:
        write, content_type = choose_encoder(request.headers.get("Accept", ""))
        return Response(
            write(registry), headers={"Cache-Control": "no-store", "Vary": "Accept"}, content_type=content_type
        )

    return blueprint


class Collected:
    """What the stores and the threads say, at each look."""

    def __init__(self, settings: Settings, stores: Stores, threads: Threads) -> None:
        self._settings, self._stores, self._threads = settings, stores, threads

    def describe(self) -> list[Metric]:
        return []  # a look at a store that may not be there yet

    def collect(self) -> Iterator[Metric]:
        queries = self._stores.registry.queries()
        statuses = {query.id: status_of(self._stores, query) for query in queries}
        yield from self._server(statuses)
        yield from self._pushes()
        yield from self._batches()
        yield from self._queries(queries, statuses)

    def _server(self, statuses: dict[int, str]) -> Iterator[Metric]:
        stores = self._stores
        engine = engine_now(stores, self._threads.ticker)
        health = GaugeMetricFamily("csparql_health", "What GET /health says, as 1.", labels=["status"])
        damaged = sum(one.skipped is None for one in stores.damages.all())
        state = health_of(engine, self._settings.lag_limit, damaged > 0, stores.now())
        for status in HEALTH:
            health.add_metric([status], float(status == state))
        yield health
        yield GaugeMetricFamily("csparql_engine_up", "Whether the engine runs.", float(engine["state"] == "running"))
        yield GaugeMetricFamily(
            "csparql_engine_lag_seconds",
            "How long the oldest of what waits for the engine has waited.",
            engine["lag_ms"] / 1000,
        )
        yield GaugeMetricFamily("csparql_log_position", "Up to where the log is answered.", engine["position"])
        yield GaugeMetricFamily("csparql_log_tail", "The place of the newest entry of the log.", stores.log.tail())
        yield GaugeMetricFamily(
            "csparql_damaged",
            "Entries of the log and answers that were found damaged on the disk, and were not passed over.",
            damaged,
        )
        yield GaugeMetricFamily(
            "csparql_subscribers", "Connections that are sent answers as they come.", self._threads.fanout.subscribers
        )
        standing = GaugeMetricFamily("csparql_queries", "Registered queries.", labels=["status"])
        for status in STATUSES:
            standing.add_metric([status], sum(one == status for one in statuses.values()))
        yield standing

    def _pushes(self) -> Iterator[Metric]:
        pushes = CounterMetricFamily("csparql_pushes", "Pushes that were accepted.", labels=["stream"])
        triples = CounterMetricFamily("csparql_pushed_triples", "Triples in them.", labels=["stream"])
        for stream in self._stores.registry.streams():
            if stream.producer is None:
                count, rows = self._stores.writer.appended(stream.iri)
                pushes.add_metric([stream.name], count)
                triples.add_metric([stream.name], rows)
        yield pushes
        yield triples

    def _batches(self) -> Iterator[Metric]:
        report = self._stores.status.of("stages") or {}
        yield CounterMetricFamily("csparql_batches", "Micro-batches of the engine.", report.get("batches", 0))
        yield CounterMetricFamily(
            "csparql_batch_rows", "Entries of the log in them, addressed to groups of queries.", report.get("rows", 0)
        )
        stages = SummaryMetricFamily(
            "csparql_batch_stage_seconds",
            "Parts of micro-batches; in addBatch is the wait for a tick, where a batch was begun before it.",
            labels=["stage"],
        )
        for stage, took in report.get("stages", {}).items():
            stages.add_metric([stage], took["count"], took["seconds"])
        yield stages

    def _queries(self, queries: list[QueryRecord], statuses: dict[int, str]) -> Iterator[Metric]:
        latency = HistogramMetricFamily(
            "csparql_query_latency_seconds",
            "From the time at which an instant could be answered at the earliest to its answer.",
            labels=["query"],
        )
        sums = {
            "evaluation_seconds": "Time spent on answers.",
            "instants": "Instants that were answered.",
            "rows": "Rows of the answers.",
            "late_elements": "Elements that came after their time.",
            "refused_patterns": "How often a rule's regex had a pattern that cannot be matched.",
        }
        newest = {
            "window_elements": "Elements in the windows at the newest instant.",
            "state_bytes": "What is held for a query, also where others have a part in it.",
            "lag_seconds": "How long ago the next instant should have been answered; on the arrival clock alone.",
        }
        counters = {
            name: CounterMetricFamily(f"csparql_query_{name}", does, labels=["query"]) for name, does in sums.items()
        }
        gauges = {
            name: GaugeMetricFamily(f"csparql_query_{name}", does, labels=["query"]) for name, does in newest.items()
        }
        event = {stream.iri for stream in self._stores.registry.streams() if stream.clock != "arrival"}
        now = self._stores.now()
        for query in queries:
            label, point = [query.name], self._stores.measures.newest(query.id)
            if statuses[query.id] == "running" and (lag := lag_of(query, point, event, now)) is not None:
                gauges["lag_seconds"].add_metric(label, lag / 1000)
            if point is None:
                continue
            totals = point.totals
            latency.add_metric(label, cumulative(totals.latencies), totals.latency)
            for name, value in (
                ("evaluation_seconds", totals.micros / 1e6),
                ("instants", totals.instants),
                ("rows", totals.rows),
                ("late_elements", point.late),
                ("refused_patterns", totals.refused_patterns),
            ):
                counters[name].add_metric(label, value)
            gauges["window_elements"].add_metric(label, point.elements)
            gauges["state_bytes"].add_metric(label, point.state)
        yield latency
        yield from counters.values()
        yield from gauges.values()


def cumulative(counts: tuple[int, ...]) -> list[tuple[str, int]]:
    """Counts by bucket, as Prometheus wants them: each with all that are smaller."""
    buckets, total = [], 0
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
        total += count
        buckets.append((bound, total))
    return buckets


def lag_of(query: QueryRecord, point: Point | None, event: set[str], now: int) -> int | None:
    """How long ago, in ms, the next instant of a query has passed; None where instants are not known from the clock."""
    asked = asked_of(query)
    if asked is None or not is_known_before(asked) or not event.isdisjoint(streams_of(asked)):
        return None
    newest = query.registered if point is None else point.instant
    grid = grid_of(asked)
    return None if grid is None else max(0, now - (grid.after(newest) + 1))
