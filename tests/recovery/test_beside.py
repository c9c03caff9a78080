"""A query whose background is large, under rules, beside one that has none: what it waits for keeps nobody else waiting,
and it is told what it would have been told without waiting, also where the engine is killed meanwhile.

    healthy   │ │ │ │ │ │ │ │ │ │ │
    large       registered  ░░░░░░░░░ │││ │ │       closing; then all that was due, in its order
    engine                     ✗ killed, closes again
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from csparql_spark.asking.replay import answer_log
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.messages import InstantAnswer
from csparql_spark.log import Log
from csparql_spark.store import AnswerStore, Registry
from tests.recovery.test_kills import PATIENCE_SECONDS, Served

SUB = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
TRIPLES, LEVELS = 60_000, 24  # what follows is so many times as much
HEALTHY = "REGISTER QUERY Healthy AS SELECT ?s FROM STREAM <streams/s> [RANGE 2s STEP 500ms] WHERE { ?s <urn:now> ?o }"
LARGE = (
    "REGISTER QUERY Large USING ENTAILMENT rho-df AS SELECT ?s ?o FROM <urn:large> "
    f"FROM STREAM <streams/s> [RANGE 2s STEP 500ms] WHERE {{ ?s <urn:now> ?x . ?s <urn:p{LEVELS}> ?o }}"
)
GRAPH = "".join(
    (
        *(f"<urn:p{level}> {SUB} <urn:p{level + 1}> .\n" for level in range(LEVELS)),
        *(f"<urn:s{i}> <urn:p0> <urn:o{i}> .\n" for i in range(TRIPLES)),
    )
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "data")
    yield served
    served.stop()


@pytest.mark.parametrize("killed", [False, True], ids=["left alone", "killed"])
def test_a_large_background_keeps_nobody_waiting(served: Served, killed: bool, tmp_path: Path) -> None:
    served.ask("PUT", "/streams/s")
    served.ask("PUT", "/graphs?graph=urn:large", GRAPH, "application/n-triples")
    served.ask("PUT", "/queries/Healthy", HEALTHY, "application/sparql-query")
    push(served, 1)
    directory = DataDirectory(tmp_path / "data")
    database = Database(directory.database)
    answers, registry = AnswerStore(database, directory.bell("answers")), Registry(database)
    healthy = registry.query("Healthy").id
    until(answers, lambda: answers.newest_instant(healthy) is not None)

    with stopped_when_begun(directory.closed):
        served.ask("PUT", "/queries/Large", LARGE, "application/sparql-query")
        push(served, 2)
        large = registry.query("Large").id
        until(answers, lambda: bool(waiting(served)))
        if killed:
            served.kill("engine")
        else:
            now = answers.newest_instant(healthy)
            until(answers, lambda: answers.newest_instant(healthy) > now + 1_000)
    until(answers, lambda: answers.newest_instant(large) is not None)
    push(served, 3)
    reached = answers.newest_instant(large)
    until(answers, lambda: answers.newest_instant(large) > reached + 3_000)
    until(answers, lambda: not waiting(served))

    order = database.connection.execute("SELECT query, instant FROM answers ORDER BY position").fetchall()
    first = order.index((large, min(instant for query, instant in order if query == large)))
    begun = order[first][1]
    if not killed:
        assert [instant for query, instant in order[:first] if query == healthy and instant > begun]
    told = {
        (query.id, instant): answers.at(query.id, instant)[0].payload
        for query in registry.queries()
        for instant in answers.instants(query.id, 0, 1 << 62, 10_000)
    }
    log = Log(database)
    again = {
        (one.query, one.instant): one.payload
        for one in answer_log(log)
        if isinstance(one, InstantAnswer) and (one.query, one.instant) in told
    }
    assert again == told
    assert instants(told, large) == list(range(begun, max(instants(told, large)) + 1, 500)), "none is left out"


@contextlib.contextmanager
def stopped_when_begun(directory: Path) -> Iterator[None]:
    """The first process that closes a background there stops when it has begun, and goes on at the end, if it is there
    still: however quick it is, one can see that it is waited for."""
    over, found = threading.Event(), list[int]()

    def look() -> None:
        while not over.wait(0.001):
            if any(directory.glob("*.part")) and (process := next(closing(directory), None)) is not None:
                os.kill(process, signal.SIGSTOP)
                found.append(process)
                return

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


def closing(directory: Path) -> Iterator[int]:
    """The children that close a background: they have nothing open but what they write it to."""
    for descriptors in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            opened = [one.readlink() for one in descriptors.iterdir() if int(one.name) > 2]
            if opened and all(one.is_relative_to(directory) for one in opened):
                yield int(descriptors.parts[2])


def push(served: Served, number: int) -> None:
    served.ask("POST", "/streams/s", f"<urn:s{number}> <urn:now> <urn:x> .", "application/n-triples")


def waiting(served: Served) -> list[object]:
    """The queries that `/health` says are waiting for a background."""
    return [name for one in served.ask("GET", "/health").get("preparing", []) for name in one["queries"]]


def until(answers: AnswerStore, told: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not told():
        assert time.monotonic() < deadline
        answers.wait(0.1)


def instants(told: dict[tuple[int, int], bytes], query: int) -> list[int]:
    return sorted(instant for one, instant in told if one == query)
