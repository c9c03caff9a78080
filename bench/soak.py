"""Soak: memory, while ever new terms go by.

Each triple that comes has a subject and an object that were never seen before, and goes when its window has moved on.
What a worker holds must depend on what its windows hold, not on what has gone by: the term dictionary is compacted, and
the relations follow it. Two queries over the same stream, hence two groups, as in a worker of Spark: one sees what the
windows say, the other what that entails with a small schema.

    python -m bench.soak                    50 million terms; a line of JSON for each million
    python -m bench.soak 5000000
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from csparql_spark.engine.group_state import StoredGroup, restore, save
from csparql_spark.engine.messages import QueryFailure
from csparql_spark.engine.state_keys import StateKey
from csparql_spark.log import Draft, Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Router
from csparql_spark.store.registry import QueryRecord, StreamRecord

TERMS = 50_000_000
CHUNK = 10_000  # triples
CHUNKS = 10  # in a window
PROPERTIES = 50
RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
STREAM, SCHEMA = "urn:stream", "urn:schema"
WINDOW = f"FROM STREAM <{STREAM}> [RANGE {CHUNKS}s STEP 1s]"
STATED = f"REGISTER QUERY Stated AS SELECT ?x ?y {WINDOW} WHERE {{ ?x <urn:p7> ?y }}"
ENTAILED = (
    f"REGISTER QUERY Entailed AS SELECT (COUNT(*) AS ?n) {WINDOW} FROM <{SCHEMA}> USING ENTAILMENT rho-df "
    f"WHERE {{ ?x a <urn:c0> }}"
)


def measure(terms: int, every: int = 1_000_000) -> dict[str, float]:
    """What is left when so many terms have gone by: MB resident, and what the groups hold."""
    lines = list(soaked(terms, every))
    full = lines[len(lines) // 5 :]  # not while the first windows fill up
    return {**lines[-1], "least_mb": min(line["mb"] for line in full), "most_mb": max(line["mb"] for line in full)}


def soaked(terms: int, every: int) -> Iterator[dict[str, float]]:
    """A line for each `every` terms."""
    worker, start, done = _Worker(), time.monotonic(), 0
    for number in range(terms // (2 * CHUNK)):
        worker.take(Draft("chunk", STREAM, _chunk(number).to_ipc(), rows=CHUNK))
        done += 2 * CHUNK
        if done % every < 2 * CHUNK:
            yield {"terms": done, "seconds": time.monotonic() - start, "mb": _resident(), **worker.held()}


class _Worker:
    """The groups of a log, and what is kept of them, as a worker of Spark holds them; a batch is one entry."""

    def __init__(self) -> None:
        self._seq = 0
        self._background: dict[str, Entry] = {}
        self._router = Router(self._background.get)
        self._groups: dict[str, StoredGroup] = {}
        self._states: dict[str, _State] = {}
        self.take(StreamRecord.draft(STREAM, name="stream", clock="event", delay=0))
        self.take(Draft("background", SCHEMA, _schema().to_ipc()))
        self.take(QueryRecord.draft("Stated", text=STATED, base=None))
        self.take(QueryRecord.draft("Entailed", text=ENTAILED, base=None))

    def take(self, draft: Draft) -> None:
        self._seq += 1
        entry = Entry(self._seq, draft.kind, 0, draft.subject, draft.rows, payload=draft.payload)
        if entry.kind == "background":
            self._background[entry.subject] = entry
        batches: dict[str, list] = {}
        for row in self._router.route(entry):
            batches.setdefault(row.group, []).append(row)
        for key, rows in batches.items():
            state = self._states.setdefault(key, _State())
            group = self._groups[key] = restore(key, state, self._groups.get(key))
            for told in group.feed(sorted(rows, key=lambda row: row.seq)):
                if isinstance(told, QueryFailure):
                    raise RuntimeError(f"a query of the soak has failed: {told.reason}")
            save(group, state)

    def held(self) -> dict[str, int]:
        """How many terms the dictionaries hold, how many triples the windows."""
        contents = [group.content for group in self._groups.values()]
        return {
            "in_dictionaries": sum(len(content.dictionary) for content in contents),
            "in_windows": sum(map(len, contents)),
            "kept_mb": sum(state.size for state in self._states.values()) / 1e6,
        }


class _State:
    """A group's share of a state store."""

    def __init__(self) -> None:
        self._summary: bytes | None = None
        self._values: dict[StateKey, bytes] = {}

    @property
    def size(self) -> int:
        return sum(map(len, self._values.values()))

    def summary(self) -> bytes | None:
        return self._summary

    def set_summary(self, summary: bytes) -> None:
        self._summary = summary

    def keys(self) -> Iterator[StateKey]:
        return iter(list(self._values))

    def get(self, name: StateKey) -> bytes:
        return self._values[name]

    def put(self, name: StateKey, value: bytes) -> None:
        self._values[name] = value

    def drop(self, name: StateKey) -> None:
        del self._values[name]

    def clear(self) -> None:
        self._values.clear()


def _chunk(number: int) -> Chunk:
    """What comes in a second: each subject and each object is a new one."""
    first = number * CHUNK
    terms = [f"<urn:p{n}>" for n in range(PROPERTIES)]
    terms += [f"<urn:subject/{n}>" for n in range(first, first + CHUNK)]
    terms += [f"<urn:object/{n}>" for n in range(first, first + CHUNK)]
    n = np.arange(CHUNK)
    return Chunk.from_columns(
        pa.array(terms), PROPERTIES + n, n % PROPERTIES, PROPERTIES + CHUNK + n, np.full(CHUNK, 1000 * number + 500)
    )


def _schema() -> Chunk:
    """A tree of 156 classes, and a domain for every fifth property."""
    classes = [(depth, n) for depth in range(4) for n in range(5**depth)]
    names = {key: f"<urn:c{number}>" for number, key in enumerate(classes)}
    triples = [(names[depth, n], f"<{RDFS}subClassOf>", names[depth - 1, n // 5]) for depth, n in classes if depth]
    triples += [(f"<urn:p{n}>", f"<{RDFS}domain>", names[3, n]) for n in range(0, PROPERTIES, 5)]
    return Chunk.from_triples(triples)


def _resident() -> float:
    """MB of this process, without what only waits to be collected."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    terms = int(sys.argv[1]) if sys.argv[1:] else TERMS
    for line in soaked(terms, 1_000_000):
        print(
            json.dumps(
                {
                    "bench": "soak",
                    **{key: round(value, 1) if isinstance(value, float) else value for key, value in line.items()},
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
