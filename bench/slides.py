"""Slides: what an instant costs in windows of several sizes when as much is new in each of them.

A group is fed as a worker feeds it, without Spark: a batch has 200 new triples and the tick after them, and what is
measured goes from there to the bytes of the answer and to what no window sees again; what is then written into the
state is measured apart. The queries are paused until their windows are full. Answers are as large whatever the window:
what is asked for are the alarms, or the edges of one node, and of both there are twenty in a window. Time is that of
the processor, for others may use the machine, too.

    selective     RSTREAM of the alarms, over 20,000 nodes
    terms         the same, over as many nodes as there are triples in the window
    rho-df        RSTREAM of what is linked with a node: each edge is a link by the schema
    ranges        two queries, one of whom looks half as far back
    event         stamps of the producer, out of order by two seconds
    counting      TRIPLES instead of RANGE
    elements      as many ELEMENTS, which are a push each
    steps         two windows of one query, one of which moves at each second instant
    both          TRIPLES beside RANGE, in one graph
    every         COMPUTE EVERY 1 s over a window whose STEP is 2 s

    measure((20_000,), ("selective",))     # {"selective_20000_median_ms": …, "selective_20000_mean_ms": …, …}
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from csparql_spark.engine.group_state import StoredGroup, save
from csparql_spark.engine.messages import InstantAnswer
from csparql_spark.engine.state_keys import StateKey
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Router
from csparql_spark.store import QueryRecord, StreamRecord

STREAM, OTHER, SCHEMA = "http://ex.org/edges", "http://ex.org/rare", "http://ex.org/schema"
SECOND, NEW, ALARMS = 1000, 200, 20
DELAY = 2 * SECOND
WARM = 5  # instants that are not counted
FEWEST, LEAST, MOST_SECONDS = 1000, 10, 30.0  # instants that are measured: so many, or at least, and for so long
SIZES = (20_000, 200_000, 1_000_000)
NODES = 20_000
ALARM, NODE = "{ ?a <urn:alarm> ?b }", "{ <urn:rare> <urn:link> ?b }"
CASES = ("selective", "terms", "rho-df", "ranges", "event", "counting", "elements", "steps", "every", "both")


class Stored:
    """A state store in memory, which counts the bytes that are written into it."""

    def __init__(self) -> None:
        self.values: dict[StateKey, bytes] = {}
        self.written = 0
        self._summary: bytes | None = None

    def summary(self) -> bytes | None:
        return self._summary

    def set_summary(self, summary: bytes) -> None:
        self._summary = summary
        self.written += len(summary)

    def keys(self) -> Iterator[StateKey]:
        return iter(self.values)

    def get(self, key: StateKey) -> bytes:
        return self.values[key]

    def put(self, key: StateKey, value: bytes) -> None:
        self.values[key] = value
        self.written += len(value)

    def drop(self, key: StateKey) -> None:
        del self.values[key]

    def clear(self) -> None:
        self.values.clear()


class Batch(NamedTuple):
    """What came at once, and how many instants pass with it that are measured."""

    entries: list[Entry]
    measured: bool


def measure(sizes: tuple[int, ...] = SIZES, cases: tuple[str, ...] = CASES, most: int = 5000) -> dict[str, float]:
    """By the query and the size of its window: ms of a slide, and of what is written then, and its bytes. So many
    slides are measured at most: those of 1,000,000 triples, once through."""
    numbers: dict[str, float] = {}
    for case in cases:
        for size in sizes:
            took, wrote, written = _slides(case, size, most)
            place = f"{case}_{size}"
            numbers |= {
                f"{place}_median_ms": float(np.median(took)),
                f"{place}_mean_ms": float(np.mean(took)),
                f"{place}_slowest_ms": float(np.max(took)),
                f"{place}_state_ms": float(np.median(wrote)),
                f"{place}_state_bytes": float(np.median(written)),
                f"{place}_slides": len(took),
            }
        for kind in ("median", "mean"):
            first, last = (numbers[f"{case}_{size}_{kind}_ms"] for size in (sizes[0], sizes[-1]))
            numbers[f"{case}_{kind}_times"] = last / first
    return numbers


def _slides(case: str, size: int, most: int) -> tuple[list[float], list[float], list[int]]:
    """Of each slide ms until all is said, ms until all is stored, and bytes that are stored."""
    router, group, state = Router({}.get), StoredGroup("bench"), Stored()
    took, wrote, written = list[float](), list[float](), list[int]()
    begun = 0.0
    for batch in _log(case, size, most):
        rows = [row for entry in batch.entries for row in router.route(entry)]
        start = time.process_time()
        said = [one for one in group.feed(rows) if isinstance(one, InstantAnswer)]
        end = time.process_time()
        state.written = 0
        save(group, state)
        if batch.measured:
            assert said, f"{case}: nobody has said anything"
            took.append(1000 * (end - start))
            wrote.append(1000 * (time.process_time() - end))
            written.append(state.written)
            begun = begun or start
            if len(took) > WARM + LEAST and end - begun > MOST_SECONDS:
                break
    return took[WARM:], wrote[WARM:], written[WARM:]


def _queries(case: str, size: int) -> list[str]:
    seconds = size // NEW

    def windows(*extents: str) -> str:
        return " ".join(f"FROM STREAM <{stream}> [{extent}]" for stream, extent in zip((STREAM, OTHER), extents))

    def query(body: str, *extents: str, graphs: str = "") -> str:
        return f"REGISTER QUERY q AS SELECT * {windows(*extents)} {graphs} WHERE {body}"

    long = f"RANGE PT{seconds}S STEP PT1S"
    match case:
        case "rho-df":
            return [query(NODE, long, graphs=f"FROM <{SCHEMA}> USING ENTAILMENT rho-df")]
        case "ranges":
            return [query(ALARM, long), query(ALARM, f"RANGE PT{max(1, seconds // 2)}S STEP PT1S")]
        case "counting":
            return [query(ALARM, f"RANGE TRIPLES {size} STEP {NEW}")]
        case "elements":
            return [query(ALARM, f"ELEMENTS {seconds} STEP 1")]
        case "both":
            return [query(ALARM, f"RANGE TRIPLES {size} STEP {NEW}", long)]
        case "every":
            text = query(ALARM, f"RANGE PT{seconds}S STEP PT2S")
            return [text.replace("QUERY q AS", "QUERY q COMPUTE EVERY 1s AS")]
        case "steps":
            return [query(ALARM, long, f"RANGE PT{seconds}S STEP PT2S")]
        case _:
            return [query(ALARM, long)]


def _log(case: str, size: int, most: int) -> Iterator[Batch]:
    seconds, seq = size // NEW, 0
    event = case == "event"

    def entry(
        kind: str, at: int, subject: str | None = None, chunk: Chunk | None = None, payload: bytes = b""
    ) -> Entry:
        nonlocal seq
        seq += 1
        if chunk is None:
            return Entry(seq, kind, at, subject, payload=payload)
        return Entry(seq, kind, at, subject, len(chunk), chunk.first, chunk.last, chunk.unstamped, chunk.to_ipc())

    for stream in (STREAM, OTHER):
        made = StreamRecord.draft(
            stream, name=stream[-5:], clock="event" if event else "arrival", delay=DELAY if event else 0
        )
        yield Batch([entry("stream", 0, stream, payload=made.payload)], False)
    schema = Chunk.from_triples([("<urn:next>", "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>", "<urn:link>")])
    yield Batch([entry("background", 0, SCHEMA, payload=schema.to_ipc())], False)
    ids = list[int]()
    for number, text in enumerate(_queries(case, size)):
        name = f"q{number}"
        text = text.replace("QUERY q ", f"QUERY {name} ", 1)
        draft = QueryRecord.draft(name, text=text, base=None, paused=True)
        yield Batch([entry("register", 0, name, payload=draft.payload)], False)
        ids.append(seq)
    chunks = _chunks(size, size if case == "terms" else NODES, event)
    for second in range(seconds + WARM + min(most, max(FEWEST, seconds))):
        at = SECOND * second + SECOND // 2
        entries = []
        if second == seconds:
            entries += [
                entry("resume", at, f"q{number}", payload=json.dumps({"id": id}).encode())
                for number, id in enumerate(ids)
            ]
        entries.append(entry("chunk", at, STREAM, next(chunks)))
        entries.append(entry("tick", SECOND * (second + 1)))
        yield Batch(entries, second > seconds)


def _chunks(size: int, nodes: int, event: bool) -> Iterator[Chunk]:
    """What comes in each second."""
    dice, second = np.random.default_rng(5), 0
    alarms = max(1, size // NEW // ALARMS)
    while True:
        ends = dice.integers(0, nodes, 2 * NEW)
        terms, ids = np.unique(ends, return_inverse=True)
        texts = [*(f"<urn:e{term}>" for term in terms.tolist()), "<urn:next>", "<urn:alarm>", "<urn:rare>"]
        subjects, verbs = ids[:NEW].copy(), np.full(NEW, len(terms))
        if second % alarms == 0:
            verbs[0], subjects[1] = len(terms) + 1, len(terms) + 2
        stamps = None
        if event:
            stamps = SECOND * second + SECOND // 2 - dice.integers(0, DELAY, NEW)
        yield Chunk.from_columns(pa.array(texts, pa.string()), subjects, verbs, ids[NEW:], stamps)
        second += 1
