"""Many queries over one stream: what an instant costs when a thousand are registered.

A hundred shapes (a kind of sensor and a threshold, joined with where it stands) times ten RANGEs, half of them under
ρdf; a thousand triples a second, STEP 1 s. Groups are fed as a worker feeds them, without Spark. An instant is met when
it takes less than the STEP.

    measure(1000)      # {"queries": 1000, "ms_per_instant": …, "slowest_ms": …, "met": True}
"""

from __future__ import annotations

import time

import numpy as np

from csparql_spark.pipeline.group import FAILURE, Group
from csparql_spark.pipeline.routing import Router
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import RDF, XSD
from csparql_spark.store import Entry, QueryRecord, StreamRecord

STREAM, KB = "http://ex.org/readings", "http://ex.org/kb"
SHAPES, RANGES, SENSORS, SECOND = 100, 10, 2_000, 1000


def background() -> Chunk:
    """Kinds of sensors in a tree below one kind, and the room of each sensor."""
    sub = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    triples = [(f"<urn:Kind{kind}>", sub, f"<urn:Kind{kind // 3}>") for kind in range(1, SHAPES)]
    triples += [(f"<urn:sensor{n}>", "<urn:room>", f"<urn:room{n % 50}>") for n in range(SENSORS)]
    return Chunk.from_triples(triples)


def text(shape: int, reach: int) -> str:
    under = "USING ENTAILMENT rho-df " if shape % 2 else ""
    return (f"REGISTER QUERY q{shape}x{reach} AS SELECT ?sensor ?room ?value FROM <{KB}> "
            f"FROM STREAM <{STREAM}> [RANGE {reach}s STEP 1s] {under}"
            f"WHERE {{ ?sensor a <urn:Kind{shape}> ; <urn:value> ?value ; <urn:room> ?room FILTER(?value > {shape}) }}")


def second(at: int, dice: np.random.Generator) -> Chunk:
    """A thousand triples: five hundred sensors say their kind and a value."""
    sensors, values = dice.integers(0, SENSORS, 500), dice.integers(0, 200, 500)
    triples = [(f"<urn:sensor{n}>", f"<{RDF}type>", f"<urn:Kind{n % SHAPES}>") for n in sensors]
    triples += [(f"<urn:sensor{n}>", "<urn:value>", f'"{value}"^^<{XSD}integer>') for n, value in zip(sensors, values)]
    return Chunk.from_triples(triples)


def measure(queries: int, seconds: int = 25) -> dict[str, object]:
    held: dict[str, Entry] = {}
    router, groups, dice = Router(held.get), {}, np.random.default_rng(7)
    seq = 0
    told = {"answers": 0, "rows": 0, "failed": 0}

    def feed(kind: str, at: int, subject: str | None, payload: bytes | None, rows: int = 0) -> None:
        nonlocal seq
        seq += 1
        entry = Entry(seq, kind, at, subject, rows, None, None, rows, payload)
        if kind == "background":
            held[subject] = entry
        for row in router.route(entry):
            for one in groups.setdefault(row.group, Group(row.group)).feed([row]):
                told["answers"] += 1
                told["rows"] += one.rows
                told["failed"] += one.part == FAILURE

    feed("stream", 0, STREAM, StreamRecord.draft(STREAM, name="readings", clock="arrival", delay=0).payload)
    feed("background", 0, KB, background().to_ipc())
    begun = time.perf_counter()
    for number in range(queries):
        record = QueryRecord.draft(f"q{number}", text=text(number % SHAPES, 1 + 3 * (number // SHAPES)), base=None)
        feed("register", 0, f"q{number}", record.payload)
    registered = time.perf_counter() - begun
    took = []
    for now in range(1, seconds + 1):
        chunk = second(now, dice)
        feed("chunk", SECOND * now - 500, STREAM, chunk.to_ipc(), len(chunk))
        before = time.perf_counter()
        feed("tick", SECOND * now, None, None)
        took.append(1000 * (time.perf_counter() - before))
    late = np.sort(took[len(took) // 2:])
    return {"queries": queries, "groups": len(groups), "register_ms": 1000 * registered / queries,
            "ms_per_instant": float(np.median(late)), "slowest_ms": float(late[-1]),
            "met": bool(late[-1] < SECOND), **told}

