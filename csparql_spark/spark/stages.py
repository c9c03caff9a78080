"""Stages: how long the parts of micro-batches take, as Spark tells it of each, and summed up since the data directory
was made.

    stages = Stages(status)
    stages.sink(17, 0.004)               # what batch 17 had to say besides its answers is written
    stages.look(query)                   # now and then: reads what Spark has told, and says it in the status

The status "stages" is {"batches", "rows", "stages": {"addBatch": {"count", "seconds", "last_ms"}, …}}. Spark remembers
few batches (spark.sql.streaming.numRecentProgressUpdates); of those that it has forgotten before anybody looked, the
times are missing, and never wrong.
"""

from __future__ import annotations

import threading
from typing import TypedDict, cast

from pyspark.sql.streaming import StreamingQuery

from csparql_spark.store import Status

NAME = "stages"
STAGES = ("latestOffset", "getBatch", "queryPlanning", "addBatch", "commitOffsets", "walCommit", "triggerExecution")
SINK = "sink"


class StageTime(TypedDict):
    """How often a stage was gone through, and how long that took."""

    count: int
    seconds: float
    last_ms: float


class StageTotals(TypedDict):
    """The status."""

    batches: int
    rows: int
    stages: dict[str, StageTime]


class Stages:
    def __init__(self, status: Status) -> None:
        self._status = status
        nothing: StageTotals = {"batches": 0, "rows": 0, "stages": {}}
        before = cast(StageTotals, {**nothing, **(status.of(NAME) or {})})  # nobody but `look` writes it
        self.batches, self.rows, self._stages = before["batches"], before["rows"], before["stages"]
        self._last = self._sunk = -1  # the newest batch that was looked at, and the newest that was written
        self._lock = threading.Lock()  # the sink is called by another thread

    def sink(self, batch: int, seconds: float | None) -> None:
        """What a batch had to say is written, if there was anything."""
        with self._lock:
            self._sunk = batch
            if seconds is not None:
                self._took(SINK, 1000 * seconds)

    def look(self, query: StreamingQuery) -> None:
        """Take what Spark has told since the last look."""
        if self._last >= self._sunk:  # looking costs a little, and an idle engine is idle
            return
        new = [
            progress
            for progress in query.recentProgress
            if progress.batchId > self._last and "addBatch" in progress.durationMs
        ]
        if not new:
            return
        with self._lock:
            for progress in new:
                self._last = progress.batchId
                self.batches += 1
                self.rows += max(0, progress.numInputRows)
                for stage in STAGES:
                    if stage in progress.durationMs:
                        self._took(stage, progress.durationMs[stage])
            totals = {
                "batches": self.batches,
                "rows": self.rows,
                "stages": {stage: dict(took) for stage, took in self._stages.items()},
            }
        self._status.say(NAME, totals)

    def _took(self, stage: str, ms: float) -> None:
        took = self._stages.setdefault(stage, {"count": 0, "seconds": 0.0, "last_ms": 0.0})
        took["count"] += 1
        took["seconds"] = round(took["seconds"] + ms / 1000, 6)
        took["last_ms"] = round(ms, 3)
