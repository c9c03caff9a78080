"""Keyframes: what it costs to store answers whole, as changes that are found by comparing, and as changes that are
handed over; what it costs to read them, and how many bytes they are.

    python -m bench keyframes-100-10

The three take turns at each instant, over the same answers, each in a database of its own: queries whose windows slide,
so that at each instant a part of the rows of each goes and as many come. What is told is per answer.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from unittest import mock

import numpy as np

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.delta import delta_of
from csparql_spark.answers.delta_bytes import changed_rows, to_bytes
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.store import AnswerStore, StoredAnswer, keyframes
from csparql_spark.store.answer_batch import AnswerBatch

WAYS = ("whole", "compared", "handed")


def measure(rows: int, percent: int, queries: int = 200, instants: int = 12) -> dict[str, float]:
    """Answers of so many rows, of which so many in a hundred change at each instant."""
    with ExitStack() as stack:
        stores = {way: Kept(Path(stack.enter_context(tempfile.TemporaryDirectory())), way) for way in WAYS}
        before: list[Result] = []
        for instant in range(instants):
            now = [answer(rows, percent, query, instant) for query in range(queries)]
            for kept in stores.values():
                kept.write(instant, before, now)
            before = now
        numbers: dict[str, float] = {}
        for way, kept in stores.items():
            numbers |= {f"{way}_{name}": number for name, number in kept.numbers(queries, instants).items()}
        return numbers


def answer(rows: int, percent: int, query: int, instant: int) -> Result:
    step = max(1, rows * percent // 100)
    ids = np.arange(rows) + instant * step
    made = sorted(
        (
            f"<http://example.org/building{query % 10}/sensors/room{id:07d}>",
            f'"{(id * 37 + query) % 1000 / 10}"^^<http://www.w3.org/2001/XMLSchema#double>',
            1_700_000_000_000 + 100 * id,
        )
        for id in ids.tolist()
    )
    table = Result.bindings(("room", "value"), [[row[0] for row in made], [row[1] for row in made]])
    return Result.from_bytes(table.holding(np.array([row[2] for row in made])).to_bytes())


class Kept:
    """A database in which answers are kept in one way."""

    def __init__(self, path: Path, way: str) -> None:
        directory = DataDirectory(path).create()
        self._path, self._way = directory.database, way
        self._database = Database(directory.database).create()
        self._store = AnswerStore(self._database, directory.bell("answers"))
        self._took: list[float] = []

    def write(self, instant: int, before: list[Result], now: list[Result]) -> None:
        answers = [StoredAnswer(query, instant, 0, len(one), one.to_bytes()) for query, one in enumerate(now)]
        changes = [to_bytes(delta_of(*pair)) for pair in zip(before, now)] if self._way == "handed" else []
        with mock.patch.object(keyframes, "MOST_CHANGES", 0 if self._way == "whole" else keyframes.MOST_CHANGES):
            begun = time.perf_counter()
            batch = self._store.batch()
            for answer, change in zip_longest(answers, changes):
                batch.add(answer if change is None else _handed(batch, answer, change))
            self._store.write(batch)
            self._took.append((time.perf_counter() - begun) / len(answers))

    def numbers(self, queries: int, instants: int) -> dict[str, float]:
        self._database.fold()
        newest = []
        for query in range(queries):
            begun = time.perf_counter()
            for part in self._store.at(query, instants - 1):
                len(part.result)
            newest.append(time.perf_counter() - begun)
        ranges = []
        for query in range(queries):
            begun = time.perf_counter()
            for parts in self._store.each(query, range(instants)):
                len(parts[0].result)
            ranges.append((time.perf_counter() - begun) / instants)
        stored = self._database.connection.execute("SELECT sum(length(payload)) FROM answers").fetchone()[0]
        return {
            "write_us": 1e6 * statistics.median(self._took[1:]),
            "read_us": 1e6 * statistics.median(newest),
            "range_us": 1e6 * statistics.median(ranges),
            "bytes": stored / queries / instants,
        }


def _handed(batch: AnswerBatch, answer: StoredAnswer, change: bytes) -> StoredAnswer:
    """The change in the place of the answer, if it is wanted."""
    since = answer.instant - 1
    if not batch.wants_change(answer.query, answer.instant, since, answer.rows, changed_rows(change)):
        return answer
    return StoredAnswer(answer.query, answer.instant, 0, answer.rows, change, since=since)
