"""Processes that hang (SIGSTOP): the supervisor notices, and mends it; nothing acknowledged is lost, nothing is told
twice, and who only works is left alone.

    pushes   ● ● ● ● ● ● ● ● ● ●
    told     │ │ │ ■ stopped         │ │ │ │ │ │ │
                     └─ life-seconds ─┘ killed, started again, caught up
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log
from csparql_spark.store import AnswerStore, Registry
from tests.recovery.test_kills import (
    PATIENCE_SECONDS,
    QUERIES,
    RANGE,
    STEP,
    Pusher,
    Served,
    Subscriber,
    _numbers,
    _stored,
)

LIFE_SECONDS = 8
# What each is, as its command line says.
KINDS = {
    "web": b"csparql_spark.server.process",
    "driver": b"csparql_spark.spark.engine",
    "jvm": b"org.apache.spark.deploy.SparkSubmit",
    "source": b"python_streaming_source_runner",
    "worker": b"pyspark.daemon",
}
VICTIMS = ["web", "driver", "jvm", "worker", "source"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "data", "--life-seconds", str(LIFE_SECONDS))
    yield served
    served.stop()


def stop(served: Served, kind: str) -> list[int]:
    """Stop the processes of a kind: of workers all that there are, and not the one that forks them. Descriptors of
    them."""
    commands, parents = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            commands[int(entry)] = Path(f"/proc/{entry}/cmdline").read_bytes()
            parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended while we looked

    def ours(pid: int) -> bool:
        return pid == served.process.pid or pid in parents and ours(parents[pid])

    found = [pid for pid, command in commands.items() if KINDS[kind] in command and ours(pid)]
    if kind == "worker":
        found = [pid for pid in found if KINDS[kind] in commands.get(parents[pid], b"")]
    watched = [os.pidfd_open(pid) for pid in found]
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    return watched


def ended(process: int) -> bool:
    """Wait until it has."""
    ends = select.poll()
    ends.register(process, select.POLLIN)
    try:
        return bool(ends.poll(1000 * PATIENCE_SECONDS))
    finally:
        os.close(process)


def test_who_hangs_is_started_again_and_nobody_else(served: Served, tmp_path: Path) -> None:
    served.ask("PUT", "/streams/numbers")
    served.ask("PUT", "/queries/Numbers", QUERIES["Numbers"], "application/sparql-query")
    over = threading.Event()
    pushers = [Pusher(served, 1_000_000 * number, over) for number in range(2)]
    subscriber = Subscriber(served)
    for thread in (*pushers, subscriber):
        thread.start()
    subscriber.await_more(4)
    for victim in VICTIMS:
        stopped = stop(served, victim)
        assert stopped, victim
        for process in stopped:
            assert ended(process), f"the {victim} is not mended"
        subscriber.await_more(4)
    over.set()
    for pusher in pushers:
        pusher.join(PATIENCE_SECONDS)
    acknowledged = set().union(*(pusher.acknowledged for pusher in pushers))

    database = Database(DataDirectory(tmp_path / "data").database)
    log, registry = Log(database), Registry(database)
    logged = {
        number: entry.at
        for entry in log.read(0, log.tail())
        if entry.kind == "chunk"
        for number in _numbers(entry.payload)
    }
    assert acknowledged and acknowledged <= logged.keys(), "an acknowledged push is not in the log"
    closed = max(logged.values()) + RANGE
    query = registry.query("Numbers")
    first = query.registered // STEP * STEP + STEP
    expected = {
        t: frozenset(number for number, at in logged.items() if t - RANGE < at <= t) for t in range(first, closed, STEP)
    }
    store = AnswerStore(database, DataDirectory(tmp_path / "data").bell("answers"))
    stored = _stored(store, query.id, closed)
    assert {t: said for t, said in stored.items() if t < closed} == expected
    with subscriber.grown:
        assert subscriber.grown.wait_for(lambda: subscriber.told[-1][0] >= closed, PATIENCE_SECONDS)
    told = [(at, said) for at, said in subscriber.told if at < closed]
    assert told == list(expected.items()), "the subscriber has missed something, or was told it twice"
