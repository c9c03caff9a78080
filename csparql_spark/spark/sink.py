"""The sink: of each micro-batch which queries have failed, and what its answers have cost, in one transaction.

The answers themselves are in the store already (see `telling`). Spark may run a batch again after a crash: the first
failure of a query stands. What answers have cost is a hint: it may be counted again, and what cannot be read of it is
left out.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time

from pyspark.sql import DataFrame

from csparql_spark.pipeline.group import FAILURE, MEASURES
from csparql_spark.spark.stages import Stages
from csparql_spark.store import AnswerStore
from csparql_spark.store.measures import Cost, Measures


class Sink:
    def __init__(self, answers: AnswerStore, measures: Measures | None = None, stages: Stages | None = None) -> None:
        """Without `measures` or `stages`, none are written."""
        self._answers, self._measures, self._stages = answers, measures, stages

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        table = batch.toArrow()
        if not table.num_rows:
            self._written(batch_id, None)
            return
        begun = time.monotonic()
        rest = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        costs = [(told_at, costs_in(payload)) for _, told_at, part, _, payload in rest if part == MEASURES]

        def beside(connection: sqlite3.Connection) -> None:
            for told_at, of_group in costs if self._measures is not None else ():
                self._measures.write(connection, of_group, at=told_at)

        try:
            self._answers.write((), [(query, instant, reason.decode()) for query, instant, part, _, reason in rest
                                     if part == FAILURE], beside)
        except BaseException:
            if self._measures is not None:
                self._measures.forgotten()
            raise
        self._written(batch_id, time.monotonic() - begun)

    def _written(self, batch_id: int, seconds: float | None) -> None:
        if self._stages is not None:
            self._stages.sink(batch_id, seconds)


def costs_in(payload: bytes) -> list[Cost]:
    """What a group has told of its costs."""
    try:
        return [Cost(**one) for one in json.loads(payload)]
    except (ValueError, TypeError) as error:
        print(f"csparql-spark: what a batch has cost cannot be read: {error}", file=sys.stderr, flush=True)
        return []
