"""Answers: what it costs to keep them, beside asking anew at each instant.

(a) Windows of some sizes that slide by 1 % or 10 %: a join of three patterns with a filter and groups, a join of a
    pattern with itself, and a single pattern; the whole way from new triples to the bytes of the answer.
(b) The experiments of the Laser paper: a window of some seconds that slides each second over a stream of some rate; µs
    for each triple that comes, for keeping what the window entails (◇, one pattern) or joins (one pattern with itself,
    and several rules at once, each of which joins two kinds of edges), and for writing all of it out at each instant.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from csparql_spark.answers.incremental import Incremental, Shared
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.snapshot import Dataset, Snapshot
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.windows.content import Content

XSD = "http://www.w3.org/2001/XMLSchema#"
LIMIT = 10_000_000
ROOMS, SENSORS = 50, 500
WARM = 3  # slides that are not counted
WINDOWS = (1, 10, 20, 40, 80)  # seconds
QUERIES = {
    "join": "SELECT ?room (AVG(?v) AS ?mean) (MAX(?v) AS ?most) (COUNT(*) AS ?n) WHERE { ?obs <urn:of> ?sensor . "
    "?obs <urn:value> ?v . ?sensor <urn:in> ?room FILTER(?v > 20) } GROUP BY ?room",
    "self": "SELECT ?a ?c WHERE { ?a <urn:next> ?b . ?b <urn:next> ?c }",
    "single": "SELECT ?a ?b WHERE { ?a <urn:next> ?b }",
}


class Stream:
    """Triples that come at instants 0, 1, 2 …: so many at each."""

    def __init__(self, content: Content, kind: str, entities: int, edges: int = 1) -> None:
        """`edges`: how many kinds of them there are."""
        encode = content.dictionary.encode
        self._content, self._kind = content, kind
        self._random, self._number = np.random.default_rng(5), 0
        self._of, self._value, self._in = encode(["<urn:of>", "<urn:value>", "<urn:in>"]).tolist()
        self._next = encode(["<urn:next>", *(f"<urn:next{n}>" for n in range(1, edges))])
        self._values = encode(f'"{n / 10}"^^<{XSD}decimal>' for n in range(400))
        self._sensors = encode(f"<urn:sensor{n}>" for n in range(SENSORS))
        self._rooms = encode(f"<urn:room{n}>" for n in range(ROOMS))
        self._entities = encode(f"<urn:e{n}>" for n in range(entities if kind != "join" else 0))

    def background(self) -> Facts:
        return Facts(
            self._sensors, np.full(SENSORS, self._in), self._rooms[np.arange(SENSORS) % ROOMS], np.full(SENSORS, ALWAYS)
        )

    def at(self, instant: int, count: int) -> Facts:
        if self._kind != "join":
            s, o = (self._entities[self._random.integers(0, len(self._entities), count)] for _ in range(2))
            p = self._next[np.arange(count) % len(self._next)]
            return Facts(s, p, o, np.full(count, instant))
        half = count // 2
        self._number += half
        observations = self._content.dictionary.encode(f"<urn:o{n}>" for n in range(self._number - half, self._number))
        sensors = self._sensors[self._random.integers(0, SENSORS, half)]
        values = self._values[self._random.integers(0, len(self._values), half)]
        return Facts(
            np.tile(observations, 2),
            np.repeat([self._of, self._value], half),
            np.concatenate([sensors, values]),
            np.full(2 * half, instant),
        )


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


def laser(kind: str, windows: tuple[int, ...] = WINDOWS, rates: tuple[int, ...] = (200, 400, 800)) -> dict[str, float]:
    """By the window's seconds and the stream's rate: µs for a triple that comes, for keeping the matches (`us`), and for
    writing them out besides (`answered_us`)."""
    return {
        f"{name}_{window}s_{rate}": value
        for rate in rates
        for window in windows
        for name, value in _taken([QUERIES[kind]], kind, window, rate).items()
    }


def laser_rules(
    counts: tuple[int, ...] = (2, 4, 8, 16), windows: tuple[int, ...] = WINDOWS, rate: int = 200
) -> dict[str, float]:
    """The same by the number of rules and the window's seconds: each joins one kind of edges with the next, so each
    triple matters to two of them."""
    return {
        f"{name}_{count}_{window}s": value
        for count in counts
        for window in windows
        for name, value in _taken(_rules(count), "rules", window, rate).items()
    }


def _rules(count: int) -> list[str]:
    kinds = ["next", *(f"next{n}" for n in range(1, count))]
    return [
        f"SELECT ?a ?c WHERE {{ ?a <urn:{one}> ?b . ?b <urn:{other}> ?c }}"
        for one, other in zip(kinds, kinds[1:] + kinds[:1])
    ]


def _taken(texts: list[str], kind: str, window: int, rate: int) -> dict[str, float]:
    """Each in a run of its own: what writes answers leaves nothing in the caches for what keeps matches."""
    return {
        "us": _for_a_triple(texts, kind, window, rate, answered=False),
        "answered_us": _for_a_triple(texts, kind, window, rate, answered=True),
    }


def _for_a_triple(texts: list[str], kind: str, window: int, rate: int, *, answered: bool) -> float:
    content = Content()
    stream = Stream(content, kind, window * rate, len(texts))
    facts = Expiration(content.dictionary)
    shared = Shared(facts.moving, content)
    queries = [Incremental(over_ids(text), text, shared) for text in texts]

    def slide(now: int, chunk: Facts) -> None:
        facts.expire(now - window)
        facts.insert(*chunk)
        for query in queries:
            query.move(after=now - window)
            if answered:
                query.answer(limit=LIMIT).to_bytes()

    taken = []
    for now in range(2 * window + 20):
        chunk = stream.at(now, rate)
        taken.append(_seconds(lambda: slide(now, chunk)))
    return 1e6 * float(np.mean(taken[window:])) / rate


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
