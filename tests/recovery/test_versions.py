"""Kill -9 around replacements: a query is replaced again and again while the engine, the web process, or both are killed.
Each request makes one version, each instant is answered once, by one of them, and who listens hears all of it.

    at        ●1 ●2   ●3       ●4
    ──────────────┬───────┬───v2──┬──▶           version 2 sees what was logged after it
    instant t     {1,2}   {1,2,3} {4}
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Entry, Log
from csparql_spark.store import AnswerStore, Registry
from tests.recovery.test_kills import (
    PATIENCE_SECONDS,
    RANGE,
    STEP,
    Pusher,
    Served,
    Subscriber,
    _answered,
    _numbers,
    _stored,
)

KILLS = ["engine", "web", "both", "web", "engine", "both"]
TEXTS = [
    f"REGISTER QUERY Numbers AS SELECT ?n FROM STREAM <streams/numbers> [RANGE 3s STEP {STEP}ms] WHERE {{ ?push {verb} ?n }}"
    for verb in ("<urn:number>", "?verb")
]
# The same windows beside another stream: it is in another group.
ELSEWHERE = TEXTS[0].replace(" WHERE", " FROM STREAM <streams/silence> [RANGE 3s STEP 500ms] WHERE")


class Listening(Subscriber):
    """It hears from version to version."""

    def __init__(self, served: Served) -> None:
        super().__init__(served)
        self.versions: list[int] = []

    def run(self) -> None:
        last = None
        while True:
            try:
                for name, fields in self._events(last):
                    last = fields.get("id", last)
                    if name == "replaced":
                        continue
                    assert name == "answer", fields
                    said = json.loads(fields["data"])
                    numbers = frozenset(int(row["n"]["value"]) for row in said["results"]["results"]["bindings"])
                    with self.grown:
                        self.versions.append(said["version"])
                        self.told.append((said["at"], numbers))
                        self.grown.notify_all()
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)


def replaced(served: Served, text: str, version: int) -> int:
    """Replace the query in this version, asking until that is told; the next version."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_SECONDS)
        try:
            headers = {"Content-Type": "application/sparql-query", "If-Match": f'"{version}"'}
            connection.request("PUT", "/queries/Numbers", text.encode(), headers)
            response = connection.getresponse()
            content = response.read()
            if response.status < 500:
                assert response.status == 200, content
                return json.loads(content)["version"]
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        assert time.monotonic() < deadline, "the web process does not come back"
        time.sleep(0.05)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "data")
    yield served
    served.stop()


def test_kills_around_replacements(served: Served, tmp_path: Path) -> None:
    for stream in ("numbers", "silence"):
        served.ask("PUT", f"/streams/{stream}")
    version = served.ask("PUT", "/queries/Numbers", TEXTS[0], "application/sparql-query")["version"]
    made, stop = [version], threading.Event()
    pushers = [Pusher(served, 1_000_000 * number, stop) for number in range(2)]
    listening = Listening(served)
    for thread in (*pushers, listening):
        thread.start()
    dice = random.Random(17)
    listening.await_more(4)
    for number, victim in enumerate(KILLS, 1):
        text = (TEXTS[0], TEXTS[1], ELSEWHERE)[number % 3]
        asking = threading.Thread(target=lambda text=text: made.append(replaced(served, text, made[-1])))
        asking.start()
        time.sleep(dice.uniform(0.0, 0.05))  # the random moment is the point: there is no event to wait for
        for name in ("engine", "web") if victim == "both" else (victim,):
            served.kill(name)
        asking.join(PATIENCE_SECONDS)
        assert len(made) == number + 1
        if dice.random() < 0.7:  # else the next one comes while the engine starts
            listening.await_more(2)
    listening.await_more(4)
    stop.set()
    for pusher in pushers:
        pusher.join(PATIENCE_SECONDS)

    database = Database(DataDirectory(tmp_path / "data").database)
    log, registry = Log(database), Registry(database)
    entries = list(log.read(0, log.tail()))
    versions = [entry for entry in entries if entry.kind == "register"]
    assert [entry.seq for entry in versions] == made and [one.id for one in registry.versions("Numbers")] == made
    pushed = [
        (entry, number)
        for entry in entries
        if entry.kind == "chunk" and entry.subject.endswith("/numbers")
        for number in _numbers(entry.payload)
    ]
    closed = max(entry.at for entry, _ in pushed) + RANGE
    expected = {
        version.seq: said(version, end, pushed, closed)
        for version, end in zip(versions, [*versions[1:], None], strict=True)
    }
    store = AnswerStore(database, DataDirectory(tmp_path / "data").bell("answers"))
    _stored(store, made[-1], closed)
    stored = {
        version: {
            answer.instant: _answered(answer.payload)
            for answer in store.after(version, 0, 1_000_000)
            if answer.instant <= closed
        }
        for version in made
    }
    assert stored == expected
    instants = sorted(instant for some in stored.values() for instant in some)
    assert instants == list(range(instants[0], instants[-1] + STEP, STEP)), "an instant has no answer, or two"
    with listening.grown:
        assert listening.grown.wait_for(lambda: listening.told[-1][0] > closed, PATIENCE_SECONDS)
        heard = list(zip(listening.versions, listening.told, strict=True))
    told = [(version, at, numbers) for version, (at, numbers) in heard if at <= closed]
    assert len({(version, at) for version, at, _ in told}) == len(told), "SSE repeats an answer"
    assert {version: {at: numbers for one, at, numbers in told if one == version} for version in made} == expected


def said(version: Entry, end: Entry | None, pushed: list[tuple[Entry, int]], closed: int) -> dict[int, frozenset[int]]:
    """What a version has said by then, from what was logged while it was there."""
    last = closed if end is None else min(closed, end.at)
    seen = [
        (entry, number) for entry, number in pushed if version.seq < entry.seq and (end is None or entry.seq < end.seq)
    ]
    return {
        t: frozenset(number for entry, number in seen if t - RANGE < entry.at <= t)
        for t in range((version.at // STEP + 1) * STEP, last + 1, STEP)
    }
