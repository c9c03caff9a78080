"""Changes: what it costs to tell only what is new (ISTREAM), beside telling the whole answer at each instant (RSTREAM),
and beside finding out what is new from two whole answers.

A window of some triples slides by 1 % or 10 %; every triple is a row of the answer. A group is fed as a worker feeds it,
without Spark, and what it would write to the state store after each instant is counted.

    measure()          # {"changes_ms_10000_1%": …, "whole_ms_…": …, "compared_ms_…": …, "times_…": …, "kept_kb_…": …}
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from unittest import mock

import numpy as np

from csparql_spark.engine import views
from csparql_spark.engine.group_state import StoredGroup, save
from csparql_spark.engine.messages import InstantAnswer
from csparql_spark.engine.state_keys import StateKey, ValueKind
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Router
from csparql_spark.store import QueryRecord, StreamRecord

STREAM, SECOND = "http://ex.org/edges", 1000
WARM, COUNTED = 3, 20  # slides after the window is full
SIZES = (1_000, 10_000, 100_000)


class Counting:
    """A state store that holds nothing of what is written, and counts what an answer to be compared with takes."""

    def __init__(self) -> None:
        self.bytes = 0

    def put(self, name: StateKey, value: bytes) -> None:
        if name.kind in (ValueKind.LAST_ANSWER, ValueKind.CHANGES):
            self.bytes += len(value)

    def drop(self, name: StateKey) -> None:
        pass

    def set_summary(self, summary: bytes) -> None:
        pass


def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, float]:
    """By the size of the window and how many percent of it a slide is: ms for an instant, and KB that are kept of what
    was answered, for each of the three ways."""
    numbers: dict[str, float] = {}
    for size in sizes:
        for percent in (1, 10):
            place = f"{size}_{percent}%"
            said = {}
            for name, output, by_rows in (
                ("changes", "ISTREAM ", True),
                ("compared", "ISTREAM ", False),
                ("whole", "", True),
            ):
                with nullcontext() if by_rows else mock.patch.object(views, "by_rows", lambda plan: False):
                    ms, kb, said[name] = _slid(output, size, percent)
                numbers[f"{name}_ms_{place}"] = ms
                if output:
                    numbers[f"{name}_kb_{place}"] = kb
            assert said["changes"] == said["compared"]
            numbers[f"times_{place}"] = numbers[f"compared_ms_{place}"] / numbers[f"changes_ms_{place}"]
    return numbers


def _slid(output: str, size: int, percent: int) -> tuple[float, float, list[bytes]]:
    """The median of ms for an instant, KB kept after one, and what was told."""
    seconds, count = 100 // percent, max(2, size * percent // 100)
    text = (
        f"REGISTER QUERY q AS SELECT {output}?a ?b FROM STREAM <{STREAM}> [RANGE {seconds}s STEP 1s] "
        "WHERE { ?a <urn:next> ?b }"
    )
    router, group, state = Router({}.get), StoredGroup("bench"), Counting()
    took, told, kept = [], [], 0
    for entry, warm in _log(text, size, count, seconds):
        rows = list(router.route(entry))
        begun = time.perf_counter()
        said = [one.payload for row in rows for one in group.feed([row]) if isinstance(one, InstantAnswer)]
        taken = time.perf_counter() - begun
        if entry.kind != "tick":
            came = taken
            continue
        save(group, state)
        if warm:
            kept = state.bytes
        else:
            took.append(1000 * (came + taken))
            told += said
    return float(np.median(took)), (state.bytes - kept) / COUNTED / 1000, told


def _log(text: str, size: int, count: int, seconds: int) -> Iterator[tuple[Entry, bool]]:
    """The entries, and whether they are not to be counted."""
    dice, seq = np.random.default_rng(5), 2
    yield (
        Entry(1, "stream", 0, STREAM, payload=StreamRecord.draft(STREAM, name="s", clock="arrival", delay=0).payload),
        True,
    )
    yield Entry(2, "register", 0, "q", payload=QueryRecord.draft("q", text=text, base=None).payload), True
    for second in range(seconds + WARM + COUNTED):
        warm = second < seconds + WARM
        ends = dice.integers(0, size, (count, 2)).tolist()
        chunk = Chunk.from_triples([(f"<urn:e{a}>", "<urn:next>", f"<urn:e{b}>") for a, b in ends])
        at, seq = SECOND * second + SECOND // 2, seq + 2
        yield Entry(seq - 1, "chunk", at, STREAM, len(chunk), None, None, len(chunk), chunk.to_ipc()), warm
        yield Entry(seq, "tick", SECOND * (second + 1)), warm
