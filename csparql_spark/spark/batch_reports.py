"""The sink: of each micro-batch which queries have failed, what its answers have cost, and that it has ended, in one
transaction.

The answers themselves are in the store already (see `answer_writer`). Spark may run a batch again after a crash: the
first failure of a query stands. What answers have cost is a hint: it may be counted again, and what cannot be read of
it is left out.

Invariant: when Spark notes that a batch has ended, what the database looked like by then stands beside the checkpoint.
"""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import DataFrame

from csparql_spark.engine.group import FAILURE, MEASURES
from csparql_spark.spark.batches import Batches
from csparql_spark.spark.stages import Stages
from csparql_spark.store import AnswerStore
from csparql_spark.store.measures import Cost
from csparql_spark.store.witness import Witness


class Sink:
    def __init__(self, answers: AnswerStore, stages: Stages | None = None, batches: Batches | None = None,
                 witness: Witness | None = None) -> None:
        """What is not given is not written."""
        self._answers, self._stages, self._batches, self._witness = answers, stages, batches, witness

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        table = batch.toArrow()
        begun = time.monotonic()
        rest = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        costs = [(told_at, costs_in(payload)) for _, told_at, part, _, payload in rest if part == MEASURES]
        end = self._batches.end(batch_id) if self._batches is not None else None
        if rest or end is not None:
            failures = [(query, instant, reason.decode()) for query, instant, part, _, reason in rest
                        if part == FAILURE]
            self._answers.write((), failures, costs=costs, end=end)
        if self._witness is not None:
            self._witness.write()
        if self._stages is not None:
            self._stages.sink(batch_id, time.monotonic() - begun if rest else None)


def costs_in(payload: bytes) -> list[Cost]:
    """What a group has told of its costs."""
    try:
        return [Cost(**one) for one in json.loads(payload)]
    except (ValueError, TypeError) as error:
        print(f"csparql-spark: what a batch has cost cannot be read: {error}", file=sys.stderr, flush=True)
        return []
