"""When a batch is due, and how much of the log it takes.

A trigger of Spark costs about the same for one triple as for a hundred thousand. So small tails are held back until
something in them can be answered: an instant has passed, a query was registered or deleted. They go anyway when they
have grown large, or old. A batch is bounded, in triples and in answers, so that catching up goes in steps of even size,
and what has been answered is told before everything is. Where the last step was full and took less than a second, the
next may be larger: a quick query over a long log should not wait for triggers. None of this changes an answer: it only
moves the cuts between batches.

    due = Due(router)
    due.end(start, outline, now)       # the seq to read to; `start` itself when nothing is due
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from csparql_spark.log import Entry
from csparql_spark.schedule.routing import Router
from csparql_spark.windows.progress import Clock

DUE_AT_ONCE = frozenset({"tick", "register", "unregister", "pause", "resume", "fail", "background", "rules"})


@dataclass(frozen=True, slots=True)
class BatchLimits:
    batch_rows: int = 500_000  # triples in one batch, at most (a single chunk may be larger)
    most_rows: int = 2_000_000  # the same, where so many take no longer than `full_ms`
    full_ms: int = 1000
    batch_answers: int = 5_000  # answers in one batch, about (one entry may make more due)
    large_rows: int = 100_000  # a tail of this size is worth a trigger
    hold_ms: int = 1000  # the longest that a tail waits


class FullBatch(NamedTuple):
    """Where it ends, how many triples it has, and when it was begun."""

    end: int
    rows: int
    at: int


class Due:
    def __init__(self, router: Router, limits: BatchLimits = BatchLimits()) -> None:
        self._router = router
        self._limits = limits
        self._passed: dict[str, int] = {}  # readings of the event clocks, as far as outlines have shown them
        self._ticked: int | None = None  # the newest tick of the arrival clock that was let through
        self._full: FullBatch | None = None  # the last batch, if there was more than it could take

    def end(self, start: int, outline: list[Entry], now: int, *, finish: bool = False) -> int:
        """How far to read. `outline`: the next entries after `start`, without payloads; `now`: the arrival clock;
        `finish`: hold nothing back."""
        rows, answers, end = 0, 0, start
        due = finish
        most, self._full = self._most(start, now), None
        for entry in outline:
            if rows and rows + entry.rows > most or answers >= self._limits.batch_answers:
                self._full = FullBatch(end, rows, now)
                return end
            rows += entry.rows
            end = entry.seq
            due = due or self._makes_due(entry)
            if entry.kind == "tick" and entry.subject is None:
                answers += self._answers(entry.at)
        if not outline:
            return start
        # What is stamped far ahead is old, too: the clock was set back, or the stamp is damaged.
        if due or rows >= self._limits.large_rows or abs(now - outline[0].at) >= self._limits.hold_ms:
            return end
        return start

    def _most(self, start: int, now: int) -> int:
        """How many triples the next batch has at most: where the last one was full, as many as are done in `full_ms` at
        its pace, but no more than twice as many as it had."""
        limits, full = self._limits, self._full
        if full is None or full.end != start or now <= full.at:
            return limits.batch_rows
        paced = min(full.rows * limits.full_ms // (now - full.at), 2 * full.rows, limits.most_rows)
        return max(paced, limits.batch_rows)

    def pass_over(self, outline: list[Entry]) -> None:
        """These are read already: what they have shown to have passed is due no more."""
        for entry in outline:
            self._makes_due(entry)
            if entry.kind == "tick" and entry.subject is None:
                self._ticked = entry.at

    def _answers(self, tick: int) -> int:
        """How many answers a tick of the arrival clock makes due, at most; queries on other clocks count as well."""
        before, self._ticked = self._ticked, tick
        if before is None or before >= tick:
            return 0
        return sum(
            routed.grid.most_between(before + 1, tick)
            for routed in self._router.queries.values()
            if routed.grid is not None and not routed.paused
        )

    def _makes_due(self, entry: Entry) -> bool:
        if entry.kind in DUE_AT_ONCE:
            return True
        if entry.kind != "chunk" or entry.last is None or entry.subject is None:
            return False
        clock = self._router.clock(entry.subject)
        readers = [
            routed for routed in self._router.queries.values() if entry.subject in routed.streams and not routed.paused
        ]
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
