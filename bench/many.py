"""Many queries over one stream: what an instant costs when a thousand are registered.

A hundred shapes (a kind of sensor and a threshold, joined with where it stands) times ten RANGEs, half of them under
ρdf; a thousand triples a second, STEP 1 s. Groups are fed as a worker feeds them, without Spark. An instant is met when
it takes less than the STEP.

    measure(1000)      # {"queries": 1000, "ms_per_instant": …, "slowest_ms": …, "met": True}
"""

from __future__ import annotations

import time

import numpy as np

from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import QueryFailure
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import RDF, XSD
from csparql_spark.schedule.routing import Router
from csparql_spark.store import QueryRecord, StreamRecord

Triple = tuple[str, str, str]
STREAM, KB = "http://ex.org/readings", "http://ex.org/kb"
SHAPES, SENSORS, SECOND = 100, 2_000, 1000


def facts() -> list[Triple]:
    """Kinds of sensors in a tree below one kind, and the room of each sensor."""
    sub = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    triples = [(f"<urn:Kind{kind}>", sub, f"<urn:Kind{kind // 3}>") for kind in range(1, SHAPES)]
    return triples + [(f"<urn:sensor{n}>", "<urn:room>", f"<urn:room{n % 50}>") for n in range(SENSORS)]


def text(number: int, stream: str = STREAM) -> str:
    """The query of a number: each shape once, then each again with a wider RANGE."""
    shape, reach = number % SHAPES, 1 + 3 * (number // SHAPES)
    under = "USING ENTAILMENT rho-df " if shape % 2 else ""
    return (
        f"REGISTER QUERY q{number} AS SELECT ?sensor ?room ?value FROM <{KB}> "
        f"FROM STREAM <{stream}> [RANGE {reach}s STEP 1s] {under}"
        f"WHERE {{ ?sensor a <urn:Kind{shape}> ; <urn:value> ?value ; <urn:room> ?room FILTER(?value > {shape}) }}"
    )


def readings(count: int, dice: np.random.Generator) -> list[Triple]:
    """So many sensors say their kind and a value: two triples each."""
    sensors, values = dice.integers(0, SENSORS, count), dice.integers(0, 200, count)
    triples = [(f"<urn:sensor{n}>", f"<{RDF}type>", f"<urn:Kind{n % SHAPES}>") for n in sensors]
    return triples + [
        (f"<urn:sensor{n}>", "<urn:value>", f'"{value}"^^<{XSD}integer>') for n, value in zip(sensors, values)
    ]


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
                told["failed"] += isinstance(one, QueryFailure)

    feed("stream", 0, STREAM, StreamRecord.draft(STREAM, name="readings", clock="arrival", delay=0).payload)
    feed("background", 0, KB, Chunk.from_triples(facts()).to_ipc())
    begun = time.perf_counter()
    for number in range(queries):
        record = QueryRecord.draft(f"q{number}", text=text(number), base=None)
        feed("register", 0, f"q{number}", record.payload)
    registered = time.perf_counter() - begun
    took = []
    for now in range(1, seconds + 1):
        chunk = Chunk.from_triples(readings(500, dice))
        feed("chunk", SECOND * now - 500, STREAM, chunk.to_ipc(), len(chunk))
        before = time.perf_counter()
        feed("tick", SECOND * now, None, None)
        took.append(1000 * (time.perf_counter() - before))
    late = np.sort(took[len(took) // 2 :])
    return {
        "queries": queries,
        "groups": len(groups),
        "register_ms": 1000 * registered / queries,
        "ms_per_instant": float(np.median(late)),
        "slowest_ms": float(late[-1]),
        "met": bool(late[-1] < SECOND),
        **told,
    }
