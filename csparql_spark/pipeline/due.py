"""When a batch is due, and how much of the log it takes.

A trigger of Spark costs about the same for one triple as for a hundred thousand. So small tails are held back until
something in them can be answered: an instant has passed, a query was registered or deleted. They go anyway when they
have grown large, or old. A batch is bounded, so that catching up after a pause goes in steps of even size. None of this
changes an answer: it only moves the cuts between batches.

    due = Due(router)
    due.end(start, outline, now)       # the seq to read to; `start` itself when nothing is due
"""

from __future__ import annotations

from dataclasses import dataclass

from csparql_spark.pipeline.routing import Router
from csparql_spark.store.log import Entry
from csparql_spark.windows.progress import Clock

ALWAYS = frozenset({"tick", "register", "unregister", "background", "rules"})


@dataclass(frozen=True, slots=True)
class Limits:
    batch_rows: int = 500_000        # triples in one batch, at most (a single chunk may be larger)
    large_rows: int = 100_000        # a tail of this size is worth a trigger
    hold_ms: int = 1000              # the longest that a tail waits


class Due:
    def __init__(self, router: Router, limits: Limits = Limits()) -> None:
        self._router = router
        self._limits = limits
        self._passed: dict[str, int] = {}        # readings of the event clocks, as far as outlines have shown them

    def end(self, start: int, outline: list[Entry], now: int, *, finish: bool = False) -> int:
        """How far to read. `outline`: the next entries after `start`, without payloads; `now`: the arrival clock;
        `finish`: hold nothing back."""
        rows, end = 0, start
        due = finish
        for entry in outline:
            if rows and rows + entry.rows > self._limits.batch_rows:
                return end
            rows += entry.rows
            end = entry.seq
            due = due or self._makes_due(entry)
        if not outline:
            return start
        if due or rows >= self._limits.large_rows or now - outline[0].at >= self._limits.hold_ms:
            return end
        return start

    def _makes_due(self, entry: Entry) -> bool:
        if entry.kind in ALWAYS:
            return True
        if entry.kind != "chunk" or entry.last is None:
            return False
        clock = self._router.clock(entry.subject)
        readers = [routed for routed in self._router.queries.values() if entry.subject in routed.streams]
        if any(routed.counts for routed in readers):
            return True
        if clock["kind"] == "arrival":
            return False
        passed = Clock(**clock).reading(entry.last)
        before = self._passed.get(entry.subject)
        self._passed[entry.subject] = passed if before is None else max(passed, before)
        if before is None:
            return True
        return any(routed.grid is not None and routed.grid.after(before) <= passed for routed in readers)
