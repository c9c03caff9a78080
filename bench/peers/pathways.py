"""Pathway: differential dataflow with a Python face. It is told what comes and leaves, and tells what changes.

Rows are given to a connector one by one, as there is no other way, and committed; a slide lasts from the commit to the
end of its time: what giving them takes before does not count. How the answer changes is told to a callback for each
row, as there is no other way to see it in the process; the callback only keeps it.
"""

from __future__ import annotations

import os
import queue
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

os.environ.setdefault("PATHWAY_DISABLE_TELEMETRY", "1")
import pathway as pw

from bench.peers.child import Timed
from bench.peers.job import Job
from bench.peers.workloads import ROOMS

Row = tuple[int, ...]
Change = tuple[dict[str, int], bool]
MOST_SECONDS = 600


class Triple(pw.Schema):
    s: int = pw.column_definition(primary_key=True)
    p: int = pw.column_definition(primary_key=True)
    o: int = pw.column_definition(primary_key=True)


class Slides(pw.io.python.ConnectorSubject):
    """The window, and then one slide after the other, each when the answer to the one before has been told."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job
        self.told: queue.Queue[list[Change]] = queue.Queue()
        self.taken: list[tuple[float, float, list[Change]]] = []

    def run(self) -> None:
        self._move(self.job.full, self.job.full[:0])
        for added, removed in self.job.moves():
            self._move(added, removed)

    def _move(self, added: np.ndarray, removed: np.ndarray) -> None:
        for s, p, o in removed.tolist():
            self.delete(s=s, p=p, o=o)
        for s, p, o in added.tolist():
            self.next(s=s, p=p, o=o)
        wall, cpu = time.perf_counter(), time.process_time()
        self.commit()
        changes = self.told.get(timeout=MOST_SECONDS)
        self.taken.append((time.perf_counter() - wall, time.process_time() - cpu, changes))


class Pathway:
    version = pw.__version__

    def whole(self, job: Job) -> Iterator[Timed]:
        self._job = job
        slides = Slides(job)
        window = pw.io.python.read(slides, schema=Triple, autocommit_duration_ms=None)
        s, p, o = job.background.astype(np.int64).T
        fixed = pw.debug.table_from_pandas(pd.DataFrame({"s": s, "p": p, "o": o}))
        answer = getattr(self, f"_{job.kind}")(window, fixed)
        names = answer.column_names()
        changes: dict[int, list[Change]] = {}
        early: list[Change] = []  # of the background alone

        def changed(key: object, row: dict[str, int], time: int, is_addition: bool) -> None:
            changes.setdefault(time, []).append((row, is_addition))

        def ended(at: int) -> None:
            if at in changes:
                (early.extend if at == 0 else slides.told.put)(changes.pop(at))

        pw.io.subscribe(answer, on_change=changed, on_time_end=ended)
        pw.run(monitoring_level=pw.MonitoringLevel.NONE, terminate_on_error=True)
        whole: Counter[Row] = Counter()
        for number, (wall, cpu, changed_rows) in enumerate(slides.taken):
            for row, came in [*early, *changed_rows]:
                whole[tuple(row[name] for name in names)] += 1 if came else -1
            early.clear()
            if number > job.warm:  # the first is the full window
                yield wall, cpu, np.array(sorted(whole.elements()), dtype=np.int64).reshape(-1, job.arity)

    def _single(self, window: pw.Table, fixed: pw.Table) -> pw.Table:
        return window.select(pw.this.s, pw.this.o)

    def _self(self, window: pw.Table, fixed: pw.Table) -> pw.Table:
        other = window.copy()
        return window.join(other, window.o == other.s).select(a=window.s, c=other.o)

    def _analytic(self, window: pw.Table, fixed: pw.Table) -> pw.Table:
        read = self._read(window, fixed, 200)
        return read.groupby(pw.this.room).reduce(
            pw.this.room, total=pw.reducers.sum(pw.this.v), most=pw.reducers.max(pw.this.v), n=pw.reducers.count()
        )

    def _many(self, window: pw.Table, fixed: pw.Table) -> pw.Table:
        """The queries are a table: one dataflow for all of them."""
        n = np.arange(len(self._job.queries))
        queries = pw.debug.table_from_pandas(
            pd.DataFrame({"n": n, "room": self._job.names["room"] + n % ROOMS, "least": 10 * (n // ROOMS)})
        )
        read = self._read(window, fixed, 0)
        found = read.join(queries, read.room == queries.room).select(
            queries.n, read.s, read.sensor, read.v, queries.least
        )
        return found.filter(pw.this.v > pw.this.least).select(pw.this.n, pw.this.s, pw.this.sensor, pw.this.v)

    def _read(self, window: pw.Table, fixed: pw.Table, least: int) -> pw.Table:
        """Observations above a value: s, sensor, room, v."""
        said = np.flatnonzero(self._job.tenths >= 0)
        values = pw.debug.table_from_pandas(pd.DataFrame({"term": said, "v": self._job.tenths[said].astype(np.int64)}))
        of, value = (window.filter(pw.this.p == self._job.names[name]) for name in ("of", "value"))
        warm = value.join(values, value.o == values.term).select(value.s, values.v).filter(pw.this.v > least)
        placed = of.join(fixed, of.o == fixed.s).select(of.s, sensor=of.o, room=fixed.o)
        return placed.join(warm, placed.s == warm.s).select(placed.s, placed.sensor, placed.room, warm.v)

    def _closure(self, window: pw.Table, fixed: pw.Table) -> pw.Table:
        edges = pw.Table.concat_reindex(window.select(pw.this.s, pw.this.o), fixed.select(pw.this.s, pw.this.o))

        def step(paths: pw.Table, edges: pw.Table) -> dict[str, pw.Table]:
            further = paths.join(edges, paths.o == edges.s).select(s=paths.s, o=edges.o)
            both = pw.Table.concat_reindex(edges.select(pw.this.s, pw.this.o), further)
            return {"paths": both.groupby(pw.this.s, pw.this.o).reduce(pw.this.s, pw.this.o)}

        begin = edges.groupby(pw.this.s, pw.this.o).reduce(pw.this.s, pw.this.o)
        return pw.iterate(
            lambda paths, edges: {**step(paths, edges), "edges": edges}, paths=pw.iterate_universe(begin), edges=edges
        ).paths

    def _rdfs(self, window: pw.Table, fixed: pw.Table) -> pw.Table:
        supers, domains, ranges = (
            pw.debug.table_from_pandas(
                pd.DataFrame({"p": pairs[:, 0].astype(np.int64), "c": pairs[:, 1].astype(np.int64)})
            )
            for pairs in (self._job.supers, self._job.domains, self._job.ranges)
        )
        type_ = self._job.names["type"]
        derived = pw.Table.concat_reindex(
            window.join(supers, window.p == supers.p).select(s=window.s, p=supers.c, o=window.o),
            window.join(domains, window.p == domains.p).select(s=window.s, p=type_, o=domains.c),
            window.join(ranges, window.p == ranges.p).select(s=window.o, p=type_, o=ranges.c),
        )
        once = derived.groupby(pw.this.s, pw.this.p, pw.this.o).reduce(pw.this.s, pw.this.p, pw.this.o)
        return pw.Table.concat_reindex(window.select(pw.this.s, pw.this.p, pw.this.o), once)
