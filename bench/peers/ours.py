"""Ours: what a worker of the server does at an instant, without Spark.

Explicit facts are kept by `Expiration`; answers by `Incremental`, up to their bytes. `Told` stops where it is known which
rows have come and gone: beside peers that only tell what changes; `Kept` where the matches are kept. Where a workload
asks for entailment alone (closure, rdfs), what is timed is the materialization, as at peers.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from bench.closure import IS_IN
from bench.peers.job import Job
from bench.peers.rows import group, visible
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.incremental import Incremental, Shared
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.tables import Table
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.rules.preparing import closed, prepare
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.windows.content import Content

LIMIT = 10_000_000


class Ours:
    version = "this tree"

    def prepare(self, job: Job) -> None:
        self._job, self._content = job, Content()
        self._dictionary = self._content.dictionary
        self._ids = self._dictionary.encode(job.terms)
        self._now = job.width - 1
        self._facts = self._materialization()
        self._facts.insert(*self._columns(job.full), np.repeat(np.arange(job.width), job.count))
        shared = Shared(self._facts.moving, self._content)
        self._queries = (
            []
            if job.kind in ("closure", "rdfs")
            else [Incremental(over_ids(text), text, shared) for text in job.queries]
        )

    def _materialization(self) -> Expiration:
        job, background = self._job, self._columns(self._job.background)
        if job.kind == "rdfs":
            rules = rules_of(("rho-df",), {})
            prepared = prepare(rules, self._dictionary, closed(rules, self._dictionary, background), None)
            facts = Expiration(self._dictionary, prepared.rules)
            facts.load_closed(*prepared.background, np.full(len(prepared.background[0]), ALWAYS))
            return facts
        facts = Expiration(self._dictionary, [IS_IN] if job.kind == "closure" else [])
        facts.insert(*background, np.full(len(background[0]), ALWAYS))
        return facts

    def _columns(self, triples: np.ndarray) -> list[np.ndarray]:
        return [self._ids[triples[:, column]].astype(np.int64) for column in range(3)]

    def ready(self, added: np.ndarray, removed: np.ndarray) -> Facts:
        self._now += 1
        return Facts(*self._columns(added), np.full(len(added), self._now))

    def slide(self, given: Facts) -> list[bytes]:
        gone = self._now - self._job.width
        self._facts.expire(gone)
        self._facts.insert(*given)
        for query in self._queries:
            query.move(after=gone)
        return self._told()

    def _told(self) -> list[bytes]:
        return [query.answer(limit=LIMIT).to_bytes() for query in self._queries]

    def rows(self, answer: list[bytes]) -> np.ndarray:
        if not self._queries:
            return self._entailed()
        place = {term: number for number, term in enumerate(self._job.terms)}
        told = [np.empty((0, self._job.arity), np.int64)]
        for number, said in enumerate(answer):
            table = Result.from_bytes(said).table
            if self._job.kind == "analytic":
                told.append(np.array([group(row, place) for row in table.rows()]).reshape(-1, 4))
                continue
            terms, ids = table.encoded()
            places = np.array([place[term] for term in terms.to_pylist()], dtype=np.int64)
            columns = [places[column] for column in ids]
            if self._job.kind == "many":
                columns = [np.full(len(table), number), *columns[:2], self._job.tenths[columns[2]]]
            told.append(np.stack(columns, axis=1))
        return np.concatenate(told)

    def _entailed(self) -> np.ndarray:
        facts = self._facts.visible(self._now - self._job.width)
        places = np.full(int(self._ids.max()) + 1, -1)
        places[self._ids] = np.arange(len(self._ids))
        rows = np.stack([places[column] for column in facts[:3]], axis=1)
        return visible(rows, self._job)

    def close(self) -> None:
        self._queries = []


class Kept(Ours):
    """The matches only; what they make is written when the time is taken."""

    def _told(self) -> list[bytes]:
        return []

    def rows(self, answer: list[bytes]) -> np.ndarray:
        return super().rows(super()._told())


class Told(Ours):
    """Which rows have come and gone; the answer itself is put together from that when the time is taken."""

    def prepare(self, job: Job) -> None:
        super().prepare(job)
        self._rows: list[Counter[tuple[int, ...]]] = [Counter() for _ in self._queries]
        self._changes: list[tuple[int, Table, int]] = []  # not put together yet: of which query, and with which sign

    def _told(self) -> list[bytes]:
        for number, query in enumerate(self._queries):
            found = query.changed()
            if found is None:
                self._rows[number].clear()
                self._changes = [change for change in self._changes if change[0] != number]
                self._changes.append((number, query.rows(), 1))
            else:
                self._changes += [(number, found.come, 1), (number, found.gone, -1)]
        return []

    def rows(self, answer: list[bytes]) -> np.ndarray:
        for number, rows, sign in self._changes:
            bag = self._rows[number]
            for row in zip(*(column.tolist() for column in rows.columns.values())):
                bag[row] += sign
        self._changes = []
        return super().rows([self._whole(number) for number in range(len(self._queries))])

    def _whole(self, number: int) -> bytes:
        query, rows = self._queries[number], list(self._rows[number].elements())
        columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(query.plan.variables)).T.copy()
        names = [f"?{name}" for name in query.plan.variables]
        (answer,) = query.answers_of(Table(dict(zip(names, columns, strict=True)), len(rows), None))
        return answer.to_bytes()
