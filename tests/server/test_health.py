"""Health: what stands between a push and its answer."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest

from csparql_spark.server.backend import Backend
from csparql_spark.server.health import alive, engine_of, status_of
from csparql_spark.store import Draft, Status
from tests.server.playing import registered


def test_before_the_engine_has_said_anything(client) -> None:
    assert client.get("/health").json == {
        "status": "starting", "engine": {"state": "starting", "position": 0, "behind": 0, "lag_ms": 0},
        "log": {"tail": 0}, "queries": 0, "streams": 0, "subscribers": 0}


def test_a_server_at_work(client, backend: Backend) -> None:
    registered(client)
    Status(backend.database).say("engine", {"state": "running", "pid": os.getpid(), "since": 1000})
    backend.retention.advance(2)
    assert client.get("/health").json == {
        "status": "ok", "engine": {"state": "running", "pid": os.getpid(), "since": 1000, "position": 2, "behind": 0,
                                   "lag_ms": 0},
        "log": {"tail": 2}, "queries": 1, "streams": 1, "subscribers": 0}


def test_lag_is_the_age_of_what_is_not_read(client, backend: Backend, monkeypatch) -> None:
    registered(client)
    Status(backend.database).say("engine", {"state": "running", "pid": os.getpid()})
    backend.retention.advance(1)
    at = backend.log.outline(1, 1)[0].at
    monkeypatch.setattr(backend.writer.clock, "now", lambda: at + 30_000)
    told = client.get("/health").json
    assert (told["status"], told["engine"]["behind"], told["engine"]["lag_ms"]) == ("ok", 1, 30_000)
    monkeypatch.setattr(backend.writer.clock, "now", lambda: at + 30_001)
    assert client.get("/health").json["status"] == "degraded"
    monkeypatch.setattr(backend.writer.clock, "now", lambda: at - 5)
    assert client.get("/health").json["engine"]["lag_ms"] == 0


@pytest.mark.parametrize("told, lag, expected", [
    ({}, 0, "starting"), ({"state": "starting"}, 90_000, "starting"), ({"state": "running"}, 0, "ok"),
    ({"state": "running"}, 31_000, "degraded"),
    ({"state": "failed", "reason": "no memory"}, 0, "degraded"), ({"state": "ended"}, 0, "degraded"),
])
def test_states(told: dict[str, object], lag: int, expected: str) -> None:
    engine = engine_of(told)
    assert status_of({**engine, "lag_ms": lag}, 30_000) == expected
    assert {**engine, **told} == engine, "what the engine says of itself is passed on"


def test_an_engine_that_was_killed_cannot_say_so() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert engine_of({"state": "running", "pid": child.pid}) == {"state": "gone", "pid": child.pid}
    assert engine_of({"state": "failed", "pid": child.pid})["state"] == "failed"
    assert alive(os.getpid()) and alive(1) and not alive(child.pid)


def test_a_store_that_cannot_be_read(client, backend: Backend, monkeypatch) -> None:
    def fail() -> int:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(backend.log, "tail", fail)
    response = client.get("/health")
    assert (response.status_code, response.json["code"]) == (503, "store-unavailable")


def test_a_tick_of_another_clock_is_no_lag(client, backend: Backend) -> None:
    """A derived stream's ticks are stamped as its producer counts time, in 1970 say."""
    registered(client)
    tail = backend.log.tail()
    backend.retention.advance(tail)
    backend.writer.append(Draft("tick", subject="http://csparql.test/streams/s", at=1000))
    told = client.get("/health").json
    assert (told["engine"]["behind"], told["engine"]["lag_ms"]) == (1, 0)
