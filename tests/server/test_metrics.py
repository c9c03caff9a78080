"""Metrics, as Prometheus reads them."""

from __future__ import annotations

import os

from prometheus_client.parser import text_string_to_metric_families

from csparql_spark.server.backend import Backend
from tests.server.playing import Engine, registered
from tests.server.test_measures import cost, measured

NT = {"Content-Type": "application/n-triples"}
ARRIVAL = "SELECT ?s FROM STREAM <streams/a> [RANGE 2s STEP 1s] { ?s ?p ?o }"


def looked(client) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples: by name and labels."""
    response = client.get("/metrics")
    assert (response.status_code, response.content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def named(samples: dict, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(value for _, value in labels): number for (sample, labels), number in samples.items() if sample == name
    }


def test_nothing_was_measured_yet(client) -> None:
    registered(client)
    samples = looked(client)
    for name, value in (
        ("csparql_engine_up", 0),
        ("csparql_log_position", 0),
        ("csparql_log_tail", 2),
        ("csparql_subscribers", 0),
        ("csparql_batches_total", 0),
    ):
        assert named(samples, name) == {(): value}, name
    assert named(samples, "csparql_queries") == {("running",): 1, ("paused",): 0, ("failed",): 0}
    assert named(samples, "csparql_query_instants_total") == {}


def test_what_health_says(client, backend: Backend, monkeypatch) -> None:
    registered(client)
    health = ("starting", "ok", "behind", "degraded")
    assert named(looked(client), "csparql_health") == {(name,): name == "starting" for name in health}
    backend.stores.status.say("engine", {"state": "running", "pid": os.getpid()})
    at = backend.stores.log.outline(0, 1)[0].at
    monkeypatch.setattr(backend.stores.writer.clock, "now", lambda: at + 29_000)
    samples = looked(client)
    assert named(samples, "csparql_health") == {(name,): name == "behind" for name in health}
    assert named(samples, "csparql_engine_lag_seconds") == {(): 29}
    assert client.get("/health").json["status"] == "behind"


def test_what_a_query_has_cost(client, backend: Backend) -> None:
    query = registered(client)
    measured(backend, cost(query), at=5040)
    measured(
        backend,
        cost(query, 7000, instants=2, rows=9, micros=1200, late=3, elements=8, due=[6000, 7000], refused_patterns=4),
        at=7600,
    )
    samples = looked(client)
    assert {
        name: named(samples, f"csparql_query_{name}")[("q",)]
        for name in (
            "evaluation_seconds_total",
            "instants_total",
            "rows_total",
            "late_elements_total",
            "refused_patterns_total",
            "window_elements",
            "state_bytes",
            "latency_seconds_sum",
            "latency_seconds_count",
        )
    } == {
        "evaluation_seconds_total": 0.0015,
        "instants_total": 3,
        "rows_total": 11,
        "late_elements_total": 3,
        "refused_patterns_total": 4,
        "window_elements": 8,
        "state_bytes": 999,
        "latency_seconds_sum": 2.24,
        "latency_seconds_count": 3,
    }
    buckets = named(samples, "csparql_query_latency_seconds_bucket")
    assert {bound: buckets[bound, "q"] for bound in ("0.025", "0.05", "0.5", "1.0", "2.5", "+Inf")} == {
        "0.025": 0,
        "0.05": 1,
        "0.5": 1,
        "1.0": 2,
        "2.5": 3,
        "+Inf": 3,
    }


def test_how_far_behind_a_query_is(client, backend: Backend, engine: Engine, monkeypatch) -> None:
    """The next instant has passed when the clock reads one more. Where the clock does not tell, nobody does."""
    client.put("/streams/a")
    event = registered(client)
    query = client.put("/queries/a", data=ARRIVAL).json
    paused = client.put("/queries/p?paused=true", data=ARRIVAL).json["id"]
    measured(backend, *(cost(one, 5_000_000_000_000) for one in (query["id"], event, paused)), at=0)
    for now, lag in ((5_000_000_000_400, 0), (5_000_000_001_001, 0), (5_000_000_004_001, 3)):
        monkeypatch.setattr(backend.stores.writer.clock, "now", lambda now=now: now)
        assert named(looked(client), "csparql_query_lag_seconds") == {("a",): lag}
    engine.fail(query["id"], 6000, "too many rows")
    samples = looked(client)
    assert named(samples, "csparql_query_lag_seconds") == {}
    assert named(samples, "csparql_queries") == {("running",): 1, ("paused",): 1, ("failed",): 1}


def test_batches_and_their_stages(client, backend: Backend) -> None:
    backend.stores.status.say(
        "stages",
        {
            "batches": 12,
            "rows": 30,
            "stages": {
                "addBatch": {"count": 12, "seconds": 1.5, "last_ms": 90},
                "sink": {"count": 11, "seconds": 0.1, "last_ms": 8},
            },
        },
    )
    samples = looked(client)
    assert named(samples, "csparql_batches_total") == {(): 12}
    assert named(samples, "csparql_batch_rows_total") == {(): 30}
    assert named(samples, "csparql_batch_stage_seconds_sum") == {("addBatch",): 1.5, ("sink",): 0.1}
    assert named(samples, "csparql_batch_stage_seconds_count") == {("addBatch",): 12, ("sink",): 11}


def test_pushes(client) -> None:
    registered(client)
    for body in (b"<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> <urn:d> .\n", b"<urn:a> <urn:b> <urn:e> .\n", b"?"):
        client.post("/streams/s", data=body, headers=NT)
    samples = looked(client)
    assert named(samples, "csparql_pushes_total") == {("s",): 2}
    assert named(samples, "csparql_pushed_triples_total") == {("s",): 3}


def test_requests_by_what_they_asked_for_and_how_they_went(client) -> None:
    registered(client)
    for method, path in (
        ("GET", "/queries/q"),
        ("GET", "/queries/nix"),
        ("GET", "/nothing/at/all"),
        ("BREW", "/queries"),
    ):
        client.open(path, method=method)
    samples = looked(client)
    assert named(samples, "csparql_http_requests_total") == {  # by endpoint, method and status
        ("/streams/{name}", "PUT", "201"): 1,
        ("/queries/{name}", "PUT", "201"): 1,
        ("/queries/{name}", "GET", "200"): 1,
        ("/queries/{name}", "GET", "404"): 1,
        ("none", "GET", "404"): 1,
        ("none", "other", "405"): 1,
    }
    assert named(samples, "csparql_http_request_seconds_count")["/queries/{name}", "GET"] == 2


def test_each_application_counts_by_itself(client, backend: Backend) -> None:
    from csparql_spark.server.app import create_app

    client.get("/queries")
    assert named(looked(create_app(backend).test_client()), "csparql_http_requests_total") == {}


def test_open_metrics(client) -> None:
    response = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert response.content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert response.text.endswith("# EOF\n")
