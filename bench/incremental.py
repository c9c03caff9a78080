"""Answers: what it costs to keep them, beside asking anew at each instant.

(a) Windows of some sizes that slide by 1 % or 10 %: a join of three patterns with a filter and groups, a join of a
    pattern with itself, and a single pattern; the whole way from new triples to the bytes of the answer.
(b) The experiments of the Laser paper: a window of some seconds that slides each second over a stream of some rate; µs
    for each triple that comes, for keeping what the window entails (◇, one pattern) or joins (one pattern with itself).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from csparql_spark.answers.incremental import Incremental, Shared
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.snapshot import Dataset, Snapshot
from csparql_spark.entailment.expiration import Expiration
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.runs import ALWAYS
from csparql_spark.windows.content import Content

XSD = "http://www.w3.org/2001/XMLSchema#"
LIMIT = 10_000_000
ROOMS, SENSORS = 50, 500
WARM = 3                # slides that are not counted
QUERIES = {
    "join": "SELECT ?room (AVG(?v) AS ?mean) (MAX(?v) AS ?most) (COUNT(*) AS ?n) WHERE { ?obs <urn:of> ?sensor . "
            "?obs <urn:value> ?v . ?sensor <urn:in> ?room FILTER(?v > 20) } GROUP BY ?room",
    "self": "SELECT ?a ?c WHERE { ?a <urn:next> ?b . ?b <urn:next> ?c }",
    "single": "SELECT ?a ?b WHERE { ?a <urn:next> ?b }"}


class Stream:
    """Triples that come at instants 0, 1, 2 …: so many at each."""

    def __init__(self, content: Content, kind: str, entities: int) -> None:
        encode = content.dictionary.encode
        self._content, self._kind = content, kind
        self._random, self._number = np.random.default_rng(5), 0
        self._of, self._value, self._in, self._next = encode(
            ["<urn:of>", "<urn:value>", "<urn:in>", "<urn:next>"]).tolist()
        self._values = encode(f'"{n / 10}"^^<{XSD}decimal>' for n in range(400))
        self._sensors = encode(f"<urn:sensor{n}>" for n in range(SENSORS))
        self._rooms = encode(f"<urn:room{n}>" for n in range(ROOMS))
        self._entities = encode(f"<urn:e{n}>" for n in range(entities if kind != "join" else 0))

    def background(self) -> Facts:
        return Facts(self._sensors, np.full(SENSORS, self._in), self._rooms[np.arange(SENSORS) % ROOMS],
                     np.full(SENSORS, ALWAYS))

    def at(self, instant: int, count: int) -> Facts:
        if self._kind != "join":
            s, o = (self._entities[self._random.integers(0, len(self._entities), count)] for _ in range(2))
            return Facts(s, np.full(count, self._next), o, np.full(count, instant))
        half = count // 2
        self._number += half
        observations = self._content.dictionary.encode(f"<urn:o{n}>" for n in range(self._number - half, self._number))
        sensors = self._sensors[self._random.integers(0, SENSORS, half)]
        values = self._values[self._random.integers(0, len(self._values), half)]
        return Facts(np.tile(observations, 2), np.repeat([self._of, self._value], half),
                     np.concatenate([sensors, values]), np.full(2 * half, instant))


def compared(kind: str, sizes: tuple[int, ...] = (1_000, 10_000, 100_000)) -> dict[str, float]:
    """By the size of the window and how many percent of it a slide is: ms for an answer by both evaluators, and how
    many times the snapshot evaluator's time is the other's."""
    numbers: dict[str, float] = {}
    for size in sizes:
        for percent in (1, 10):
            fast, slow = _compared(kind, size, percent, 5)
            place = f"{size}_{percent}%"
            numbers |= {f"incremental_ms_{place}": fast, f"snapshot_ms_{place}": slow, f"times_{place}": slow / fast}
    return numbers


def _compared(kind: str, size: int, percent: int, slides: int) -> tuple[float, float]:
    window, count = 100 // percent, max(2, size * percent // 100)
    content = Content()
    stream = Stream(content, kind, size)
    plan = over_ids(QUERIES[kind])
    facts = Expiration(content.dictionary)
    query = Incremental(plan, QUERIES[kind], Shared(facts.moving, content))
    snapshot = Snapshot(plan, content)
    background = stream.background()
    facts.insert(*background)
    arrived = [stream.at(instant, count) for instant in range(window)]
    for chunk in arrived[:-1]:
        facts.insert(*chunk)
    incremental, asked = [], []
    for slide in range(WARM + slides):
        now = window - 1 + slide
        chunk = arrived[-1] if not slide else stream.at(now, count)
        arrived[now % window] = chunk
        said: list[bytes] = []
        incremental.append(_seconds(lambda: said.append(_moved(facts, query, now, window, chunk))))
        s, p, o, _ = (np.concatenate(column) for column in zip(*arrived, background))
        asked.append(_seconds(lambda: said.append(_asked(snapshot, Dataset((s, p, o))))))
        assert said[0] == said[1]
    return tuple(1000 * float(np.median(taken[WARM:])) for taken in (incremental, asked))


def _moved(facts: Expiration, query: Incremental, now: int, window: int, chunk: Facts) -> bytes:
    facts.expire(now - window)
    facts.insert(*chunk)
    query.move(after=now - window)
    return query.answer(limit=LIMIT).to_bytes()


def _asked(snapshot: Snapshot, dataset: Dataset) -> bytes:
    snapshot.move(dataset)
    return snapshot.answer(limit=LIMIT).to_bytes()


def laser(kind: str, windows: tuple[int, ...] = (1, 10, 20, 40, 80), rates: tuple[int, ...] = (200, 400, 800)) -> dict[
        str, float]:
    """By the window's seconds and the stream's rate: µs for a triple that comes, for keeping the matches."""
    return {f"us_{window}s_{rate}": _kept(kind, window, rate) for rate in rates for window in windows}


def _kept(kind: str, window: int, rate: int) -> float:
    content = Content()
    stream = Stream(content, kind, window * rate)
    facts = Expiration(content.dictionary)
    query = Incremental(over_ids(QUERIES[kind]), QUERIES[kind], Shared(facts.moving, content))
    taken = []
    for now in range(2 * window + 20):
        chunk = stream.at(now, rate)
        taken.append(_seconds(lambda: _kept_at(facts, query, now, window, chunk)))
    return 1e6 * float(np.mean(taken[window:])) / rate


def _kept_at(facts: Expiration, query: Incremental, now: int, window: int, chunk: Facts) -> None:
    facts.expire(now - window)
    facts.insert(*chunk)
    query.move(after=now - window)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
