"""Batch reports: of each micro-batch which queries have failed, what its answers have cost, and that it has ended, in
one transaction.

The answers themselves are in the store already, and so are failures (see `answer_writer`). Spark may run a batch again
after a crash: the first failure of a query stands. What answers have cost is a hint: it may be counted again, and what
cannot be read of it is left out.

Invariant: when Spark notes that a batch has ended, what the database looked like by then stands beside the checkpoint.
"""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import DataFrame

from csparql_spark.engine.messages import BatchCosts, QueryFailure
from csparql_spark.spark.batches import Batches
from csparql_spark.spark.report_rows import ReportRow, report_of
from csparql_spark.spark.stages import Stages
from csparql_spark.store import AnswerStore
from csparql_spark.store.measures import Cost
from csparql_spark.store.witness import Witness


class BatchReports:
    def __init__(
        self,
        answers: AnswerStore,
        stages: Stages | None = None,
        batches: Batches | None = None,
        witness: Witness | None = None,
    ) -> None:
        """What is not given is not written."""
        self._answers, self._stages, self._batches, self._witness = answers, stages, batches, witness

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        table = batch.toArrow()
        begun = time.monotonic()
        rows = list(map(ReportRow._make, zip(*(column.to_pylist() for column in table.columns), strict=True)))
        reports = [(report_of(row), row.instant) for row in rows]
        costs = [(at, costs_in(report.payload)) for report, at in reports if isinstance(report, BatchCosts)]
        end = self._batches.end(batch_id) if self._batches is not None else None
        if reports or end is not None:
            failures = [
                (report.query, report.instant, report.reason)
                for report, _ in reports
                if isinstance(report, QueryFailure)
            ]
            self._answers.write((), failures, costs=costs, end=end)
        if self._witness is not None:
            self._witness.write()
        if self._stages is not None:
            self._stages.sink(batch_id, time.monotonic() - begun if reports else None)


def costs_in(payload: bytes) -> list[Cost]:
    """What a group has told of its costs."""
    try:
        return [Cost(**one) for one in json.loads(payload)]
    except (ValueError, TypeError) as error:
        print(f"csparql-spark: what a batch has cost cannot be read: {error}", file=sys.stderr, flush=True)
        return []
