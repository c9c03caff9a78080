"""Turns: what a turn of a narrow window costs that counts, where one push makes thousands of them.

A group is fed as a worker feeds it, without Spark: one push, each triple (or each graph) of which makes a turn. What is
measured goes from the push to the bytes of the last answer, divided by the turns. Triples come in pairs, `?s :p ?o` and
`?s :q ?o`. Time is that of the processor, for others may use the machine, too.

    one           the triples of one predicate
    all           all triples
    join          both of a pair
    aggregate     how many of each predicate there are
    istream       ISTREAM of the triples of one predicate

    measure()          # {"one_triples_3_ms": …, "one_triples_100_ms": …, "one_elements_1_ms": …, …}
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import InstantAnswer
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Router, Row
from csparql_spark.store import QueryRecord, StreamRecord

STREAM = "http://ex.org/pairs"
TURNS, TIMES = 5_000, 3
BODIES = {
    "one": ("QUERY", "SELECT ?s ?o", "{ ?s <urn:p> ?o }"),
    "all": ("QUERY", "SELECT *", "{ ?s ?p ?o }"),
    "join": ("QUERY", "SELECT *", "{ ?s <urn:p> ?o . ?s <urn:q> ?b }"),
    "aggregate": ("QUERY", "SELECT ?p (COUNT(*) AS ?n)", "{ ?s ?p ?o } GROUP BY ?p"),
    "istream": ("ISTREAM", "SELECT ?s ?o", "{ ?s <urn:p> ?o }"),
}
WINDOWS = {  # and the triples of each turn
    "triples_3": ("RANGE TRIPLES 3 STEP 1", 1),
    "triples_100": ("RANGE TRIPLES 100 STEP 1", 1),
    "elements_1": ("ELEMENTS 1 STEP 1", 1),
    "triples_10000": ("RANGE TRIPLES 10000 STEP 10", 10),
}


def measure(turns: int = TURNS, times: int = TIMES) -> dict[str, float]:
    """By the query and its window: ms of a turn, the least of several times."""
    return {
        f"{body}_{window}_ms": min(_turn(body, window, turns) for _ in range(times))
        for window in WINDOWS
        for body in BODIES
    }


def _turn(body: str, window: str, turns: int) -> float:
    group, batches = Group("bench"), list(_batches(body, window, turns))
    for rows in batches[:-1]:
        list(group.feed(rows))
    begun = time.process_time()
    said = sum(isinstance(one, InstantAnswer) for one in group.feed(batches[-1]))
    took = time.process_time() - begun
    assert said == turns, f"{body}, {window}: {said} answers"
    return 1000 * took / turns


def _batches(body: str, window: str, turns: int) -> Iterator[list[Row]]:
    router = Router({}.get)
    extent, step = WINDOWS[window]
    kind, select, where = BODIES[body]
    chunk = _pairs(turns * step, stamped=extent.startswith("ELEMENTS"))
    stream = StreamRecord.draft(STREAM, name="pairs", clock="event" if chunk.unstamped == 0 else "arrival", delay=0)
    text = f"REGISTER {kind} q AS {select} FROM STREAM <{STREAM}> [{extent}] WHERE {where}"
    query = QueryRecord.draft("q", text=text, base=None)
    for entry in (
        Entry(1, "stream", 0, STREAM, payload=stream.payload),
        Entry(2, "register", 0, "q", payload=query.payload),
        Entry(3, "chunk", 1000, STREAM, len(chunk), chunk.first, chunk.last, chunk.unstamped, chunk.to_ipc()),
    ):
        yield list(router.route(entry))


def _pairs(count: int, *, stamped: bool) -> Chunk:
    """Triples of one push; stamped, each is a graph by itself."""
    places = np.arange(count)
    terms = [*(f"<urn:n{place}>" for place in range(count)), "<urn:p>", "<urn:q>"]
    objects = np.random.default_rng(5).integers(0, count, count)
    return Chunk.from_columns(
        pa.array(terms, pa.string()), places // 2, count + places % 2, objects, 1000 + places if stamped else None
    )
