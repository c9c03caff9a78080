"""Health: what stands between a push and its answer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from csparql_spark.disk.errors import PageDamaged
from csparql_spark.kernel import native
from csparql_spark.log import Draft
from csparql_spark.server.backend import Backend
from csparql_spark.server.routes.health import FIRST_BATCH_MS, alive, engine_of, status_of
from csparql_spark.store import Status
from csparql_spark.store.progress import advance
from tests.server.playing import registered

KERNEL = {"runs": native.runs(), **({"reason": native.missing} if native.missing else {})}


def test_before_the_engine_has_said_anything(client) -> None:
    assert client.get("/health").json == {
        "status": "starting",
        "engine": {"state": "starting", "position": 0, "behind": 0, "lag_ms": 0},
        "log": {"tail": 0},
        "queries": 0,
        "streams": 0,
        "subscribers": 0,
        "kernel": KERNEL,
    }


def test_a_server_at_work(client, backend: Backend) -> None:
    registered(client)
    Status(backend.stores.database).say("engine", {"state": "running", "pid": os.getpid(), "since": 1000})
    backend.stores.retention.advance(2)
    assert client.get("/health").json == {
        "status": "ok",
        "engine": {"state": "running", "pid": os.getpid(), "since": 1000, "position": 2, "behind": 0, "lag_ms": 0},
        "log": {"tail": 2},
        "queries": 1,
        "streams": 1,
        "subscribers": 0,
        "kernel": KERNEL,
    }


@pytest.mark.parametrize("missing", ["", "There is no compiled kernel."])
def test_the_kernel_is_told_and_no_reason_for_a_worse_status(
    client, backend: Backend, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(backend)
    monkeypatch.setattr(native, "library", None if missing else native)
    monkeypatch.setattr(native, "missing", missing)
    body = client.get("/health").json
    assert body["status"] == "ok"
    assert body["kernel"] == ({"runs": "numpy", "reason": missing} if missing else {"runs": "compiled"})


def running(backend: Backend) -> None:
    backend.stores.status.say("engine", {"state": "running", "pid": os.getpid()})


def batch_ends(backend: Backend, seq: int) -> None:
    """As the engine's sink says it, before Spark does."""
    with backend.stores.database.transaction(durable=False) as connection:
        advance(connection, batch_end=seq)


class Hand:
    """The hand of the arrival clock."""

    def __init__(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = backend.stores.writer.clock.now()
        monkeypatch.setattr(backend.stores.writer.clock, "now", lambda: self.at)


@pytest.fixture
def hand(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Hand:
    return Hand(backend, monkeypatch)


def said(client) -> tuple[str, int, int]:
    told = client.get("/health").json
    return told["status"], told["engine"]["behind"], told["engine"]["lag_ms"]


def test_lag_is_the_age_of_what_is_not_answered(client, backend: Backend, hand: Hand) -> None:
    registered(client)
    running(backend)
    batch_ends(backend, 1)
    at = backend.stores.log.outline(1, 1)[0].at
    hand.at = at + 5_000
    assert said(client) == ("ok", 1, 5_000)
    hand.at = at + 5_001
    assert said(client) == ("behind", 1, 5_001)
    hand.at = at - 5
    assert said(client)[2] == 0


def test_the_first_batch_after_a_start_takes_long(client, backend: Backend, hand: Hand) -> None:
    """It works for 29 s, and 300 entries have come since: nothing of them is answered."""
    registered(client)
    backend.stores.status.say("engine", {"state": "starting"})
    tail = backend.stores.log.tail()
    for _ in range(300):
        backend.stores.writer.append(Draft("chunk", "http://csparql.test/streams/s", b"", rows=1))
    hand.at += 10_000
    assert said(client) == ("starting", tail + 300, 10_000)
    words = {"state": "running", "pid": os.getpid(), "since": hand.at - 10_000, "began": 0}
    backend.stores.status.say("engine", words)
    hand.at += 19_000
    assert said(client) == ("starting", tail + 300, 29_000)
    hand.at += FIRST_BATCH_MS - 29_001
    assert said(client) == ("starting", tail + 300, FIRST_BATCH_MS - 1)
    hand.at += 1
    assert said(client) == ("behind", tail + 300, FIRST_BATCH_MS), "nobody is stuck for ever in a start"
    hand.at -= FIRST_BATCH_MS - 29_000
    batch_ends(backend, 2)
    assert said(client) == ("behind", tail + 298, 29_000), "it is through with a batch, and there is more than it does"
    batch_ends(backend, backend.stores.log.tail())
    assert said(client) == ("ok", 0, 0), "also where Spark does not say that it has ended before there is another one"
    hand.at += 3_600_000
    assert said(client) == ("ok", 0, 0), "an idle server"


def test_a_batch_in_which_the_engine_is_stuck(client, backend: Backend, hand: Hand) -> None:
    registered(client)
    running(backend)
    batch_ends(backend, backend.stores.log.tail())
    backend.stores.writer.append(Draft("chunk", "http://csparql.test/streams/s", b"", rows=1))
    hand.at += 6_000
    backend.stores.writer.append(Draft("chunk", "http://csparql.test/streams/s", b"", rows=1))
    assert said(client) == ("behind", 2, 6_000)


def test_what_nobody_waits_for_is_read_and_then_waits_no_more(client, backend: Backend, hand: Hand) -> None:
    client.put("/streams/s")
    running(backend)
    batch_ends(backend, backend.stores.log.tail())
    hand.at += 60_000
    assert said(client) == ("ok", 0, 0)


@pytest.mark.parametrize("ticks", [1, 50])
def test_ticks_of_another_clock_wait_since_what_made_them(client, backend: Backend, hand: Hand, ticks: int) -> None:
    """A derived stream's ticks are stamped as its producer counts time, in 1970 say."""
    registered(client)
    running(backend)
    batch_ends(backend, backend.stores.log.tail())
    for _ in range(ticks):
        backend.stores.writer.append(Draft("tick", subject="http://csparql.test/streams/s", at=1000))
    assert said(client) == ("ok", ticks, 0)
    hand.at += 5_001
    assert said(client) == ("behind", ticks, 5_001)
    backend.stores.writer.append(Draft("chunk", "http://csparql.test/streams/s", b"", rows=1))
    hand.at += 1
    assert said(client) == ("behind", ticks + 1, 5_002), "what comes after them makes them no younger"
    batch_ends(backend, backend.stores.log.tail())
    assert said(client) == ("ok", 0, 0)


def test_an_instant_that_has_passed_and_is_not_in_the_log(client, backend: Backend, monkeypatch) -> None:
    """Nobody can write: no tick comes, and nothing unread is there that would be old."""
    running(backend)
    monkeypatch.setattr(backend.threads.ticker, "overdue", lambda now: 7_000)
    assert said(client) == ("behind", 0, 7_000)


@pytest.mark.parametrize(
    "told, lag, expected",
    [
        ({}, 0, "starting"),
        ({"state": "starting"}, 90_000, "starting"),
        ({"state": "running"}, 0, "ok"),
        ({"state": "running"}, 31_000, "behind"),
        ({"state": "failed", "reason": "no memory"}, 0, "degraded"),
        ({"state": "ended"}, 0, "degraded"),
    ],
)
def test_states(told: dict[str, object], lag: int, expected: str) -> None:
    engine = engine_of(told)
    assert status_of({**engine, "lag_ms": lag}, 30_000, damaged=False, now=0) == expected
    assert status_of({**engine, "lag_ms": lag}, 30_000, damaged=True, now=0) == "degraded"
    assert {**engine, **told} == engine, "what the engine says of itself is passed on"


def test_an_engine_with_nothing_to_do_is_no_longer_starting(client, backend: Backend, hand: Hand) -> None:
    """Its first batch may be hours away; it is starting again, for the time of that batch, when something comes."""
    since = hand.at
    batch_ends(backend, backend.stores.log.tail())
    words = {"state": "running", "pid": os.getpid(), "since": since, "began": backend.stores.log.tail()}
    backend.stores.status.say("engine", words)
    assert said(client) == ("ok", 0, 0)
    registered(client)
    told = client.get("/health").json
    assert (told["status"], told["engine"]["behind"]) == ("starting", 2)
    batch_ends(backend, backend.stores.log.tail())
    assert said(client) == ("ok", 0, 0)


def test_an_engine_that_was_killed_cannot_say_so() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert engine_of({"state": "running", "pid": child.pid}) == {"state": "gone", "pid": child.pid}
    assert engine_of({"state": "failed", "pid": child.pid})["state"] == "failed"
    assert alive(os.getpid()) and alive(1) and not alive(child.pid)


def test_a_store_that_cannot_be_read(client, backend: Backend, monkeypatch) -> None:
    def fail() -> int:
        raise PageDamaged("database disk image is malformed")

    monkeypatch.setattr(backend.stores.log, "tail", fail)
    response = client.get("/health")
    assert (response.status_code, response.json["code"]) == (503, "store-unavailable")


def test_who_waits_for_a_background_is_named_and_nothing_is_behind(client, backend: Backend) -> None:
    query = registered(client)
    running(backend)
    batch_ends(backend, backend.stores.log.tail())
    assert "preparing" not in client.get("/health").json
    backend.stores.waiting.note("g", queries=[query], triples=1_000_000, now=5_000)
    backend.stores.waiting.note("h", queries=[999], triples=1_000_000, now=4_000)  # it is deleted
    told = client.get("/health").json
    assert told["preparing"] == [{"queries": ["q"], "triples": 1_000_000, "since": 5_000}]
    assert told["status"] == "ok"
