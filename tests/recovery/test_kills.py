"""Kill -9 at random moments: nothing acknowledged is lost, nothing is told twice, and nobody notices for long.

Four pushers send numbered triples, a subscriber follows the answers, and meanwhile the engine, the web process, or both
are killed, ten times. Three queries say the same in three ways: from what was pushed, from what it entails, and from
the stream that a fourth query makes of it; a fifth is paused and resumed again and again, and says the same at the
instants that pass while it is not paused. Afterwards the log says what was acknowledged and when; from that alone
follows what each instant must have said:

    at        ●1 ●2   ●3       ●4
    ──────────────┬───────┬───────┬──▶
    instant t     {1,2}   {1,2,3} {3,4}          the numbers with t − RANGE < at ≤ t
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import parse
from csparql_spark.store import AnswerStore, Registry

RANGE, STEP = 3000, 500
KILLS = ["engine", "web", "web", "both", "engine", "web", "engine", "both", "web", "engine"]
PATIENCE_SECONDS = 400  # an engine needs ten seconds to start, and on a busy machine ten times that
# All of it is looked at afterwards, however long the machine takes for the kills.
KEPT = ("--keep-log", "1d", "--keep-answers", "1000000")
WINDOW = "[RANGE 3s STEP 500ms]"
QUERIES = {
    "Numbers": f"REGISTER QUERY Numbers AS SELECT ?n FROM STREAM <streams/numbers> {WINDOW} WHERE {{ ?push <urn:number> ?n }}",
    "Entailed": f"REGISTER QUERY Entailed AS SELECT ?n FROM <urn:schema> FROM STREAM <streams/numbers> {WINDOW} "
    "USING ENTAILMENT rho-df WHERE { ?push <urn:value> ?n }",
    "Turned": f"REGISTER QUERY Turned AS SELECT ?n FROM STREAM <streams/numbers> {WINDOW} WHERE {{ ?push <urn:number> ?n }}",
    "Copies": "REGISTER STREAM Copies AS CONSTRUCT { ?push <urn:copied> ?n } "
    "FROM STREAM <streams/numbers> [RANGE 500ms STEP 500ms] WHERE { ?push <urn:number> ?n }",
    "Copied": f"REGISTER QUERY Copied AS SELECT ?n FROM STREAM <streams/Copies> {WINDOW} WHERE {{ ?push <urn:copied> ?n }}",
}
SCHEMA = "<urn:number> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <urn:value> ."


class Served:
    """`csparql-spark serve`, as a user starts it."""

    def __init__(self, data: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "csparql_spark", "serve", "--data", str(data), "--port", "0", *KEPT, *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.process.stdout.readline().partition("http://127.0.0.1:")[2].split()[0])

    def ask(self, method: str, path: str, body: str = "", media_type: str = "text/plain") -> dict[str, object]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body.encode(), {"Content-Type": media_type})
            response = connection.getresponse()
            content = response.read()
            assert response.status in (200, 201, 204), content
            return json.loads(content or b"{}")
        finally:
            connection.close()

    def ask_until_told(self, method: str, path: str) -> dict[str, object]:
        """Ask again and again, as one may where asking twice is asking once."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self.ask(method, path)
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < deadline, "the web process does not come back"
                time.sleep(0.05)

    def kill(self, name: str) -> None:
        """Kill -9 one of the processes, if it is there at this moment."""
        module = {"web": "csparql_spark.server.process", "engine": "csparql_spark.spark.engine"}[name]
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                command = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
                parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended while we looked
            if module.encode() in command and parent == self.process.pid:
                os.kill(int(entry), signal.SIGKILL)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.process.stdout.close()


class Pusher(threading.Thread):
    """Sends numbers one by one; knows which ones were acknowledged. A number whose fate is unknown is not sent
    again."""

    def __init__(self, served: Served, first: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.served, self.numbers, self.stop_event = served, iter(range(first, first + 1_000_000)), stop
        self.acknowledged: set[int] = set()

    def run(self) -> None:
        while not self.stop_event.wait(0.05):
            number = next(self.numbers)
            try:
                told = self.served.ask(
                    "POST",
                    "/streams/numbers",
                    f'<urn:push/{number}> <urn:number> "{number}" .',
                    "application/n-triples",
                )
            except (OSError, http.client.HTTPException):
                continue  # not acknowledged
            assert told["accepted"] == 1
            self.acknowledged.add(number)


class Subscriber(threading.Thread):
    """Follows the answers over SSE, and comes back with Last-Event-ID whenever the connection breaks."""

    def __init__(self, served: Served) -> None:
        super().__init__(daemon=True)
        self.served = served
        self.told: list[tuple[int, frozenset[int]]] = []
        self.connections = 0
        self.grown = threading.Condition()

    def await_more(self, count: int) -> None:
        """Wait until so many more answers have come."""
        with self.grown:
            wanted = len(self.told) + count
            assert self.grown.wait_for(lambda: len(self.told) >= wanted, PATIENCE_SECONDS), "the answers have stopped"

    def run(self) -> None:
        last = None
        while True:
            try:
                for name, fields in self._events(last):
                    assert name == "answer", fields
                    said = json.loads(fields["data"])
                    last = fields["id"]
                    numbers = frozenset(int(row["n"]["value"]) for row in said["results"]["results"]["bindings"])
                    with self.grown:
                        self.told.append((said["at"], numbers))
                        self.grown.notify_all()
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)  # as a browser does: a pause, then again

    def _events(self, last: str | None) -> Iterator[tuple[str, dict[str, str]]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=PATIENCE_SECONDS)
        try:
            headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
            connection.request("GET", "/queries/Numbers/answers" + ("" if last else "?from=beginning"), headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise http.client.HTTPException(f"status {response.status}")
            self.connections += 1
            fields: dict[str, str] = {}
            while line := response.readline().decode():
                name, _, value = line.rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                elif "event" in fields:
                    yield fields["event"], fields
                    fields = {}
                else:
                    fields = {}
        finally:
            connection.close()


class Turns:
    """Pauses and resumes a query in turns; knows, from the log, which instants it must not answer."""

    def __init__(self, served: Served, data: Path) -> None:
        self.served = served
        self.log = Log(Database(DataDirectory(data).database))
        self.passed_over: list[tuple[int, int]] = []
        self._paused: int | None = None

    def next(self) -> None:
        kind = "pause" if self._paused is None else "resume"
        told = self.served.ask_until_told("POST", f"/queries/Turned/{kind}")
        assert told["status"] == {"pause": "paused", "resume": "running"}[kind]
        at = self.log.last("Turned", kind, self.log.tail()).at
        if self._paused is not None:
            self.passed_over.append((self._paused, at))
        self._paused = at if self._paused is None else None

    def over(self, instant: int) -> bool:
        """An instant has passed when the clock reads one more."""
        return any(paused <= instant < resumed for paused, resumed in self.passed_over)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "data")
    yield served
    served.stop()


def test_kills_lose_nothing_and_repeat_nothing(served: Served, tmp_path: Path) -> None:
    served.ask("PUT", "/streams/numbers")
    served.ask("PUT", "/graphs?graph=urn:schema", SCHEMA, "application/n-triples")
    for name, text in QUERIES.items():
        served.ask("PUT", f"/queries/{name}", text, "application/sparql-query")
    stop = threading.Event()
    pushers = [Pusher(served, 1_000_000 * number, stop) for number in range(4)]
    subscriber = Subscriber(served)
    for thread in (*pushers, subscriber):
        thread.start()
    dice = random.Random(20100530)
    subscriber.await_more(4)
    turns = Turns(served, tmp_path / "data")
    for victim in KILLS:
        turns.next()
        # Most kills must hit an engine at work, and some one that is just coming back.
        if victim != "web" and dice.random() < 0.7:
            subscriber.await_more(2)
        time.sleep(dice.uniform(0.2, 3.0))  # the random moment is the point: there is no event to wait for
        for name in ("engine", "web") if victim == "both" else (victim,):
            served.kill(name)
    assert len(turns.passed_over) == len(KILLS) // 2
    subscriber.await_more(4)
    stop.set()
    for pusher in pushers:
        pusher.join(PATIENCE_SECONDS)
    acknowledged = set().union(*(pusher.acknowledged for pusher in pushers))
    assert len(acknowledged) > 100

    database = Database(DataDirectory(tmp_path / "data").database)
    log, registry = Log(database), Registry(database)
    (stream,) = (made.iri for made in registry.streams() if made.clock == "arrival")
    logged = {
        number: entry.at
        for entry in log.read(0, log.tail())
        if entry.kind == "chunk" and entry.subject == stream
        for number in _numbers(entry.payload)
    }
    assert acknowledged <= logged.keys(), "an acknowledged push is not in the log"
    closed = max(logged.values()) + RANGE
    with subscriber.grown:
        assert subscriber.grown.wait_for(lambda: subscriber.told[-1][0] > closed, PATIENCE_SECONDS), (
            "the last windows did not close"
        )

    instants = range(registry.query("Numbers").registered // STEP * STEP + STEP, closed, STEP)
    expected = {t: frozenset(number for number, at in logged.items() if t - RANGE < at <= t) for t in instants}
    store = AnswerStore(database, DataDirectory(tmp_path / "data").bell("answers"))
    for name in ("Numbers", "Entailed", "Copied", "Turned"):
        stored = _stored(store, registry.query(name).id, closed)
        # Instants may have passed between the first registration and this one; those of the copies begin with the first copy.
        first = min(stored) if name == "Copied" else registry.query(name).registered // STEP * STEP + STEP
        told = {t: stored.get(t) for t in instants if t >= first}
        if name == "Turned":
            told = {t: said for t, said in told.items() if not turns.over(t)}
            assert not any(turns.over(t) for t in stored)
        assert told == {t: expected[t] for t in told}, name
        assert len(told) > len(instants) - 10 or name == "Turned" and len(told) > 10, name
    told_instants = [at for at, _ in subscriber.told]
    assert told_instants == list(range(told_instants[0], told_instants[-1] + STEP, STEP)), "SSE has a gap or a repeat"
    assert told_instants[0] == instants[0]
    assert {at: numbers for at, numbers in subscriber.told if at in expected} == expected
    assert subscriber.connections > 4, "the web process was never really gone"


def _stored(store: AnswerStore, query: int, upto: int) -> dict[int, frozenset[int]]:
    """What a query has said at each instant, up to one that it will come to."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (bounds := store.bounds(query)) is None or bounds[1] < upto:
        assert time.monotonic() < deadline, "the answers have stopped"
        store.wait(1.0)
    answers = store.after(query, 0, 1_000_000)
    assert len({answer.instant for answer in answers}) == len(answers), "an instant has two answers"
    return {answer.instant: _answered(answer.payload) for answer in answers}


def _numbers(payload: bytes) -> list[int]:
    return [int(parse(o).value) for _, _, o in Chunk.from_ipc(payload).triples()]


def _answered(payload: bytes) -> frozenset[int]:
    rows = Result.from_bytes(payload).table.rows()
    numbers = frozenset(int(parse(row["n"]).value) for row in rows)
    assert len(numbers) == len(rows)
    return numbers
