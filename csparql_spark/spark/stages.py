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

from pyspark.sql.streaming import StreamingQuery

from csparql_spark.store import Status

NAME = "stages"
STAGES = ("latestOffset", "getBatch", "queryPlanning", "addBatch", "commitOffsets", "walCommit", "triggerExecution")
SINK = "sink"


class Stages:
    def __init__(self, status: Status) -> None:
        self._status = status
        before = status.of(NAME) or {}
        self.batches: int = before.get("batches", 0)
        self.rows: int = before.get("rows", 0)
        self._stages: dict[str, dict[str, float]] = before.get("stages", {})
        self._last = self._sunk = -1          # the newest batch that was looked at, and the newest that was written
        self._lock = threading.Lock()         # the sink is called by another thread

    def sink(self, batch: int, seconds: float | None) -> None:
        """What a batch had to say is written, if there was anything."""
        with self._lock:
            self._sunk = batch
            if seconds is not None:
                self._took(SINK, 1000 * seconds)

    def look(self, query: StreamingQuery) -> None:
        """Take what Spark has told since the last look."""
        if self._last >= self._sunk:          # looking costs a little, and an idle engine is idle
            return
        new = [told for told in query.recentProgress if told.batchId > self._last and "addBatch" in told.durationMs]
        if not new:
            return
        with self._lock:
            for told in new:
                self._last = told.batchId
                self.batches += 1
                self.rows += max(0, told.numInputRows)
                for stage in STAGES:
                    if stage in told.durationMs:
                        self._took(stage, told.durationMs[stage])
            said = {"batches": self.batches, "rows": self.rows,
                    "stages": {stage: dict(took) for stage, took in self._stages.items()}}
        self._status.say(NAME, said)

    def _took(self, stage: str, ms: float) -> None:
        took = self._stages.setdefault(stage, {"count": 0, "seconds": 0.0, "last_ms": 0.0})
        took["count"] += 1
        took["seconds"] = round(took["seconds"] + ms / 1000, 6)
        took["last_ms"] = round(ms, 3)
