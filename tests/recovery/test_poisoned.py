"""Queries over a stream that need more memory or time than a query may have, beside one that does not: they fail by
name, the other one misses nothing, and what they held is given back.

    pushes   ● ● ● ● ● ● ● ● ● ●
    healthy  │ │ │ ░ ░ ░ │ │ │ │ │ │          late once
    poison         ✗ failed, with a sentence
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log
from csparql_spark.store import AnswerStore, Registry
from tests.recovery.test_kills import PATIENCE_SECONDS, RANGE, STEP, Pusher, Served, Subscriber, _numbers, _stored

# That a query may have: the room is full in a tenth of the time, and what takes the time comes nowhere near filling it.
SECONDS, MEMORY = 2, "64MiB"
NUMBERS = "FROM STREAM <streams/numbers> [RANGE 3s STEP 500ms]"
HEALTHY = f"REGISTER QUERY Numbers AS SELECT ?n {NUMBERS} WHERE {{ ?push <urn:number> ?n }}"
DOUBLED = " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(34))
MEGABYTES = "STR(?n)"
for _ in range(4):
    MEGABYTES = f'REPLACE({MEGABYTES}, ".", "{"a" * 40}")'
HASHES = ", ".join([f"SHA512({MEGABYTES})"] * 120)  # of a million letters and more; what stays of them is short
ROOM = 1 << 30  # bytes: of two processes at a time, and of the batch that is tried again
POISONS = {
    "Spacious": (
        f'?push <urn:number> ?n BIND("abcd" AS ?x0) {DOUBLED} BIND(STRLEN(?x34) AS ?length)',
        "its answer needs more memory than the 64 MiB that a query may have",
    ),
    "Lasting": (
        f"?push <urn:number> ?n BIND(CONCAT({HASHES}) AS ?length)",
        "its answer takes longer than 2 s of processor time, which is the limit",
    ),
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "data", "--time-limit", f"{SECONDS}s", "--state-limit", MEMORY)
    yield served
    served.stop()


def test_poisons_fail_by_name_and_the_others_go_on(served: Served, tmp_path: Path) -> None:
    served.ask("PUT", "/streams/numbers")
    served.ask("PUT", "/queries/Numbers", HEALTHY, "application/sparql-query")
    stop = threading.Event()
    pusher, subscriber = Pusher(served, 0, stop), Subscriber(served)
    pusher.start()
    subscriber.start()
    subscriber.await_more(4)
    before = memory(served)
    for name, (body, _) in POISONS.items():
        text = f"REGISTER QUERY {name} AS SELECT ?push ?length {NUMBERS} WHERE {{ {body} }}"
        served.ask("PUT", f"/queries/{name}", text, "application/sparql-query")
    for name, (_, reason) in POISONS.items():
        told, most = failed(served, name)
        assert most < before + ROOM
        assert str(told).startswith(reason), told
        served.ask("DELETE", f"/queries/{name}")
    subscriber.await_more(4)
    stop.set()
    pusher.join(PATIENCE_SECONDS)

    database = Database(DataDirectory(tmp_path / "data").database)
    log, registry = Log(database), Registry(database)
    logged = {
        number: entry.at
        for entry in log.read(0, log.tail())
        if entry.kind == "chunk"
        for number in _numbers(entry.payload)
    }
    assert pusher.acknowledged <= logged.keys()
    closed = max(logged.values()) + RANGE
    query = registry.query("Numbers")
    stored = _stored(AnswerStore(database, DataDirectory(tmp_path / "data").bell("answers")), query.id, closed)
    instants = range(query.registered // STEP * STEP + STEP, closed, STEP)
    assert {t: stored.get(t) for t in instants} == {
        t: frozenset(number for number, at in logged.items() if t - RANGE < at <= t) for t in instants
    }


def failed(served: Served, name: str) -> tuple[str, int]:
    """Why a query has failed, once it has, and how much memory there was in use meanwhile."""
    deadline, most = time.monotonic() + PATIENCE_SECONDS, 0
    while True:
        told = served.ask("GET", f"/queries/{name}")
        most = max(most, memory(served))
        if told["status"] == "failed":
            return told["failure"]["reason"], most
        assert time.monotonic() < deadline, f"{name} does not fail: {told}"
        time.sleep(0.2)  # there is no event for it


def memory(served: Served) -> int:
    """Bytes of all processes of a server that no other process has, as they share little."""
    sizes, parents = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            resident, shared = Path(f"/proc/{entry}/statm").read_text().split()[1:3]
            sizes[int(entry)] = (int(resident) - int(shared)) * os.sysconf("SC_PAGESIZE")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended while we looked

    def ours(pid: int) -> bool:
        return pid == served.process.pid or pid in parents and ours(parents[pid])

    return sum(size for pid, size in sizes.items() if ours(pid))
