"""The sink: each micro-batch's answers into the answer store, in one transaction, and what they have cost beside them.

Spark may run a batch again after a crash; answers are keyed by (query, instant, part), and the first one stands. What
they have cost is a hint: it may be counted again, and what cannot be read of it is left out.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Collection

from pyspark.sql import DataFrame

from csparql_spark.pipeline.group import FAILURE, MEASURES
from csparql_spark.spark.stages import Stages
from csparql_spark.store import AnswerStore, StoredAnswer
from csparql_spark.store.measures import Cost, Measures


class AnswerSink:
    def __init__(self, answers: AnswerStore, measures: Measures | None = None, stages: Stages | None = None) -> None:
        """Without `measures` or `stages`, none are written."""
        self._answers, self._measures, self._stages = answers, measures, stages

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        table = batch.toArrow()
        if not table.num_rows:
            self._written(batch_id, None)
            return
        begun = time.monotonic()
        told = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        costs = costs_in([payload for _, _, part, _, payload in told if part == MEASURES])

        def beside(connection: sqlite3.Connection) -> None:
            if self._measures is not None and costs:
                self._measures.write(connection, costs, at=time.time() * 1000)

        try:
            self._answers.write((StoredAnswer(*row) for row in told if row[2] >= 0),
                                ((query, instant, reason.decode()) for query, instant, part, _, reason in told
                                 if part == FAILURE), beside)
        except BaseException:
            if self._measures is not None:
                self._measures.forgotten()
            raise
        self._written(batch_id, time.monotonic() - begun)

    def _written(self, batch_id: int, seconds: float | None) -> None:
        if self._stages is not None:
            self._stages.sink(batch_id, seconds)


def costs_in(payloads: Collection[bytes]) -> list[Cost]:
    """What groups have told of their costs."""
    try:
        return [Cost(**one) for payload in payloads for one in json.loads(payload)]
    except (ValueError, TypeError) as error:
        print(f"csparql-spark: what a batch has cost cannot be read: {error}", file=sys.stderr, flush=True)
        return []
