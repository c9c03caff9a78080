"""What /health says of an engine at work, of one that has done all there is, and of one that is stuck.

For example:

    ○ pushed   │ answered    ok, and it stays so: nothing waits, although no batch follows that would say so
                   ○ pushed, and the engine's JVM stands still      behind, ever more
                                                     it goes on     ok
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.recovery.test_kills import PATIENCE_SECONDS, Served

LIMIT_MS = 1500
TEXT = "REGISTER QUERY q AS SELECT ?n FROM STREAM <streams/s> [RANGE 3s STEP 1s] WHERE { ?push <urn:number> ?n }"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "data", "--lag-limit", f"{LIMIT_MS}ms", "--life-seconds", "0")
    yield served
    served.stop()


def jvm_of(served: Served) -> int:
    """Below the engine, which is below what a user has started."""
    parents, javas = {}, []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            if b"org.apache.spark.deploy.SparkSubmit" in Path(f"/proc/{entry}/cmdline").read_bytes():
                javas.append(int(entry))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended while we looked
    (jvm,) = [java for java in javas if parents[parents[java]] == served.process.pid]
    return jvm


def until(served: Served, fits: Callable[[dict], bool]) -> dict:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        told = served.ask("GET", "/health")
        engine = told["engine"]
        if told["status"] == "starting":
            assert engine["state"] == "starting" or (engine["position"] <= engine["began"] and engine["behind"])
        elif engine["state"] == "running":
            assert told["status"] == ("ok" if engine["lag_ms"] <= LIMIT_MS else "behind")
        if fits(told):
            return told
        assert time.monotonic() < deadline, told


def hear(served: Served, instant: int) -> None:
    """Wait until the answer of an instant is told."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_SECONDS)
    connection.request("GET", "/queries/q/answers?from=beginning", headers={"Accept": "text/event-stream"})
    with contextlib.closing(connection), connection.getresponse() as response:
        while line := response.readline():
            if line.startswith(b"data:") and json.loads(line[5:])["at"] == instant:
                return
    raise AssertionError("the answers have stopped")


def push(served: Served, second: int) -> None:
    served.ask(
        "POST",
        "/streams/s",
        f'<urn:push/{second}> <urn:number> "{second}" <urn:t:{1000 * second}> .',
        "application/n-quads",
    )


def test_the_health_of_an_engine(served: Served) -> None:
    served.ask("PUT", "/streams/s?clock=event")
    served.ask("PUT", "/queries/q", TEXT, "application/sparql-query")
    push(served, 1)
    push(served, 4)
    assert served.ask("GET", "/health")["status"] == "starting", "two entries wait for its first batch"
    assert served.process.stdout.readline() == "csparql-spark: the engine is ready\n"
    hear(served, 3000)
    told = until(served, lambda told: not told["engine"]["behind"])
    assert (told["status"], told["engine"]["lag_ms"]) == ("ok", 0)
    assert told["engine"]["position"] == told["log"]["tail"]
    jvm = jvm_of(served)
    os.kill(jvm, signal.SIGSTOP)
    try:
        push(served, 9)
        behind = until(served, lambda told: told["status"] != "ok")
        assert behind["status"] == "behind" and behind["engine"]["behind"] == 1
    finally:
        os.kill(jvm, signal.SIGCONT)
    hear(served, 8000)
    assert until(served, lambda told: not told["engine"]["behind"])["status"] == "ok"
