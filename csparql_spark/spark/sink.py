"""The sink: each micro-batch's answers into the answer store, in one transaction.

Spark may run a batch again after a crash; answers are keyed by (query, instant, part), and the first one stands.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from csparql_spark.pipeline.group import FAILURE
from csparql_spark.store import AnswerStore, StoredAnswer


class AnswerSink:
    def __init__(self, answers: AnswerStore) -> None:
        self._answers = answers

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        table = batch.toArrow()
        if not table.num_rows:
            return
        told = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        self._answers.write((StoredAnswer(*row) for row in told if row[2] != FAILURE),
                            ((query, instant, reason.decode()) for query, instant, part, _, reason in told
                             if part == FAILURE))
