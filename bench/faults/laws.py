"""The laws, checked from outside: from the log, the answer store, and what clients were told.

    verdict = judged(data, acknowledged, subscriber, patience=120)
    verdict.broken                  # [] if all hold
    verdict.numbers                 # {"acknowledged": 812, "instants": 96, …}

- What was acknowledged is in the log, at the place that was told, once.
- The answers are those that a replay of the log gives, byte by byte, at every instant.
- The subscriber was told each instant once, in order, none left out, and what the store holds.
- At each instant, the numbers are those whose stamps are in the window: from the log alone, without any of our engine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from csparql_spark.answers.bindings import Result
from csparql_spark.asking.replay import answer
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.messages import QueryFailure
from csparql_spark.log import Log
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import parse
from csparql_spark.schedule.routing import failures_of
from csparql_spark.store import AnswerStore, Registry

RANGE = 3000
PREDICATE = "<urn:number>"


@dataclass
class Verdict:
    numbers: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.broken


class Told(Protocol):
    told: list[tuple[int, frozenset[int]]]
    notices: list

    def reached(self, instant: int, patience: float) -> bool: ...


def judged(data: Path, acknowledged: Mapping[int, int], subscriber: Told | None, *, patience: float) -> Verdict:
    directory = DataDirectory(data)
    database = Database(directory.database)
    log, registry, verdict = Log(database), Registry(database), Verdict()
    names = {query.id: query.name for query in registry.queries()}
    pushed = _pushed(log, log.tail())
    if pushed:
        _await_instant(log, max(at for at, _ in pushed.values()) + RANGE, patience)
    tail = log.tail()
    entries = list(log.read(0, tail))
    if not entries or entries[0].seq != 1:
        verdict.broken.append("the beginning of the log is gone")
    _acknowledged(verdict, acknowledged, entries)
    replayed = {}
    for told in answer(iter(entries), failures=failures_of(entries)):
        if isinstance(told, QueryFailure):
            verdict.broken.append(f"in a replay {names.get(told.query, told.query)} fails: {told.reason}")
        else:
            replayed[told.query, told.instant, told.part] = told.payload
    store = AnswerStore(database, directory.bell("answers"))
    for query, name in names.items():
        of_query = {key: payload for key, payload in replayed.items() if key[0] == query}
        _as_replayed(verdict, store, query, name, of_query, patience)
    said = {
        instant: _numbers(payload) for (query, instant, _), payload in replayed.items() if names.get(query) == "Numbers"
    }
    for instant, numbers in said.items():
        expected = {number for number, (at, _) in pushed.items() if instant - RANGE < at <= instant}
        if numbers != expected:
            verdict.broken.append(f"at {instant} the numbers are not those of the window: {numbers ^ expected}")
    if subscriber is not None:
        _told(verdict, subscriber, said, patience)
    verdict.numbers |= {"entries": len(entries), "acknowledged": len(acknowledged), "answers": len(replayed)}
    return verdict


def _acknowledged(verdict: Verdict, acknowledged: Mapping[int, int], entries: list) -> None:
    seqs: dict[int, int] = {}
    times: Counter[int] = Counter()
    for entry in entries:
        if entry.kind == "chunk":
            for number in _in_chunk(entry.payload):
                seqs[number] = entry.seq
                times[number] += 1
    lost = acknowledged.keys() - seqs.keys()
    if lost:
        verdict.broken.append(f"{len(lost)} acknowledged pushes are not in the log, such as {min(lost)}")
    moved = [number for number, seq in acknowledged.items() if number in seqs and seqs[number] != seq]
    if moved:
        verdict.broken.append(f"{len(moved)} pushes are not where the log said, such as {min(moved)}")
    twice = [number for number, count in times.items() if count > 1]
    if twice:
        verdict.broken.append(f"{len(twice)} pushes are counted twice, such as {min(twice)}")
    floor = 0  # a stamp may be that of the entry before it; after a tick at t it is later than t
    for entry in entries:
        if entry.kind != "tick" and entry.at < floor:
            verdict.broken.append(f"the stamps of the log go back at {entry.seq}")
            break
        if entry.kind != "tick" or entry.subject is None:
            floor = max(floor, entry.at + (entry.kind == "tick"))


def _as_replayed(verdict: Verdict, store: AnswerStore, query: int, name: str, replayed: dict, patience: float) -> None:
    if not replayed:
        return
    last = max(instant for _, instant, _ in replayed)
    deadline = time.monotonic() + patience
    while (bounds := store.bounds(query)) is None or bounds[1] < last:
        if (failure := store.failure(query)) is not None:
            verdict.broken.append(f"{name} has failed: {failure[1]}")
            return
        if time.monotonic() > deadline:
            verdict.broken.append(f"{name} does not come to {last}: its answers are {bounds}")
            return
        time.sleep(0.2)
    stored = {
        (query, told.instant, told.part): told.payload
        for told in store.after(query, -1 << 62, 1 << 40)
        if told.instant <= last
    }
    if lacking := replayed.keys() - stored.keys():
        verdict.broken.append(f"{len(lacking)} answers of {name} are missing, such as that at {min(lacking)[1]}")
    if more := stored.keys() - replayed.keys():
        verdict.broken.append(f"{len(more)} answers of {name} are in no replay, such as that at {min(more)[1]}")
    if other := [key for key in stored.keys() & replayed.keys() if stored[key] != replayed[key]]:
        verdict.broken.append(
            f"{len(other)} answers of {name} are other ones in a replay, such as that at {min(other)[1]}"
        )


def _told(verdict: Verdict, subscriber: Told, said: Mapping[int, frozenset[int]], patience: float) -> None:
    if not subscriber.reached(max(said), patience):
        verdict.broken.append(f"the subscriber does not hear of {max(said)}")
    told = [at for at, _ in subscriber.told if at <= max(said)]
    if told != sorted(said):
        verdict.broken.append(
            f"the subscriber was told {len(told)} instants ({len(set(told))} of them different) instead of {len(said)}"
        )
    if any(at in said and numbers != said[at] for at, numbers in subscriber.told):
        verdict.broken.append("the subscriber was told something else than what the query says")
    if gaps := [notice for notice in subscriber.notices if notice.kind == "gap"]:
        verdict.broken.append(f"the subscriber was told {len(gaps)} gaps, such as {gaps[0].data}")
    verdict.numbers["told"] = len(told)


def _await_instant(log: Log, instant: int, patience: float) -> None:
    """Until the log says that the instant has passed."""
    deadline = time.monotonic() + patience
    while not any(entry.kind == "tick" and entry.at >= instant for entry in log.outline(max(0, log.tail() - 50), 50)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the instant {instant} does not pass")
        time.sleep(0.1)


def _pushed(log: Log, tail: int) -> dict[int, tuple[int, int]]:
    """Each number that is in the log, with its stamp and its place."""
    return {
        number: (entry.at, entry.seq)
        for entry in log.read(0, tail)
        if entry.kind == "chunk"
        for number in _in_chunk(entry.payload)
    }


def _in_chunk(payload: bytes) -> list[int]:
    return [int(parse(o).value) for _, p, o in Chunk.from_ipc(payload).triples() if p == PREDICATE]


def _numbers(payload: bytes) -> frozenset[int]:
    return frozenset(int(parse(row["n"]).value) for row in Result.from_bytes(payload).table.rows())
