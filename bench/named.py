"""Named windows: what an instant costs that looks into two of them, maintained, and matched anew.

Two windows over one stream, one half as long as the other, slide by 200 new triples; all that came are triples of one
predicate, but for one in a hundred. A group is fed as a worker feeds it, without Spark: an instant begins with its
triples and ends with the bytes of its answer. The query is paused until its windows are full.

    measure()          # {"maintained_ms_count_20000": …, "anew_ms_count_20000": …, "times_count_20000": …, …}
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from unittest import mock

import numpy as np

from csparql_spark.answers.bindings import Result
from csparql_spark.engine import member
from csparql_spark.engine.group_state import StoredGroup
from csparql_spark.engine.messages import InstantAnswer
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Router
from csparql_spark.store import QueryRecord, StreamRecord

STREAM, SECOND, NEW = "http://ex.org/edges", 1000, 200
WARM, COUNTED = 2, 10  # instants that are answered
SIZES = (20_000, 200_000)
BODIES = {
    "count": "?w ?n WHERE { WINDOW ?w { SELECT (COUNT(*) AS ?n) { ?a <urn:next> ?b } } }",
    "join": "?w ?a ?c WHERE { WINDOW ?w { ?a <urn:alarm> ?b . ?b <urn:next> ?c } }",
    "minus": "?w ?a WHERE { WINDOW ?w { ?a <urn:alarm> ?b MINUS { ?b <urn:next> ?c } } }",
    "across": "?a ?c WHERE { WINDOW <urn:short> { ?a <urn:alarm> ?b } WINDOW <urn:long> { ?b <urn:next> ?c } }",
}


def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, float]:
    """By the query and the size of the longer window: ms for an instant, by both evaluators."""
    numbers: dict[str, float] = {}
    for size in sizes:
        for name, body in BODIES.items():
            place = f"{name}_{size}"
            numbers[f"maintained_ms_{place}"], maintained = _instant(body, size)
            with mock.patch.object(member, "why_snapshot", lambda query: "it is measured"):
                numbers[f"anew_ms_{place}"], anew = _instant(body, size)
            assert maintained == anew and len(anew) == WARM + COUNTED
            numbers[f"times_{place}"] = numbers[f"anew_ms_{place}"] / numbers[f"maintained_ms_{place}"]
    return numbers


def _instant(body: str, size: int) -> tuple[float, list[bytes]]:
    """The median of ms for an instant, and what was said."""
    seconds = size // NEW
    text = "REGISTER QUERY q AS SELECT " + body.replace(
        "WHERE",
        f"FROM NAMED WINDOW <urn:short> ON <{STREAM}> [RANGE PT{max(1, seconds // 2)}S STEP PT1S] "
        f"FROM NAMED WINDOW <urn:long> ON <{STREAM}> [RANGE PT{seconds}S STEP PT1S] WHERE",
        1,
    )
    router, group = Router({}.get), StoredGroup("bench")
    took, told = [], []
    for entry in _log(text, size, seconds):
        rows = list(router.route(entry))
        begun = time.perf_counter()
        said = [one.payload for row in rows for one in group.feed([row]) if isinstance(one, InstantAnswer)]
        taken = 1000 * (time.perf_counter() - begun)
        if entry.kind != "tick":
            came = taken
        elif said:
            took.append(came + taken)
            told += [Result.from_table(Result.from_bytes(payload).table).to_bytes() for payload in said]
    return float(np.median(took[WARM:])), told


def _log(text: str, size: int, seconds: int) -> Iterator[Entry]:
    dice, seq = np.random.default_rng(5), 2
    stream = StreamRecord.draft(STREAM, name="s", clock="arrival", delay=0)
    yield Entry(1, "stream", 0, STREAM, payload=stream.payload)
    yield Entry(2, "register", 0, "q", payload=QueryRecord.draft("q", text=text, base=None, paused=True).payload)
    for second in range(seconds + WARM + COUNTED):
        at = SECOND * second + SECOND // 2
        if second == seconds:
            seq += 1
            yield Entry(seq, "resume", at, "q", payload=json.dumps({"id": 2}).encode())
        ends = dice.integers(0, size, (NEW, 2)).tolist()
        verbs = ["<urn:alarm>" if number % 100 == 0 else "<urn:next>" for number in range(NEW)]
        chunk = Chunk.from_triples(
            [(f"<urn:e{a}>", verb, f"<urn:e{b}>") for verb, (a, b) in zip(verbs, ends, strict=True)]
        )
        seq += 2
        yield Entry(seq - 1, "chunk", at, STREAM, len(chunk), None, None, len(chunk), chunk.to_ipc())
        yield Entry(seq, "tick", SECOND * (second + 1))
