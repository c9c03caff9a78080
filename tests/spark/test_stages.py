"""How long the parts of micro-batches take, as it is told by Spark."""

from __future__ import annotations

from types import SimpleNamespace

from csparql_spark.spark.stages import Stages
from csparql_spark.store import Status

from ..store.opened import Opened


def batch(number: int, rows: int, **ms: int) -> SimpleNamespace:
    return SimpleNamespace(batchId=number, numInputRows=rows, durationMs=ms)


def test_batches_are_summed_up(store: Opened) -> None:
    stages = Stages(store.status)
    idle = batch(2, 0, latestOffset=1000)  # nothing was there to do
    query = SimpleNamespace(
        recentProgress=[batch(0, 3, latestOffset=2, addBatch=90), batch(1, 4, addBatch=100, other=7), idle]
    )
    stages.look(query)
    assert store.status.of("stages") is None  # nobody has heard of a batch
    stages.sink(0, 0.004)
    stages.sink(1, None)  # it had no answers
    for _ in range(2):  # what was looked at is not counted again
        stages.look(query)
        assert store.status.of("stages") == {
            "batches": 2,
            "rows": 7,
            "stages": {
                "sink": {"count": 1, "seconds": 0.004, "last_ms": 4.0},
                "latestOffset": {"count": 1, "seconds": 0.002, "last_ms": 2},
                "addBatch": {"count": 2, "seconds": 0.19, "last_ms": 100},
            },
        }


def test_a_new_engine_goes_on_counting(store: Opened) -> None:
    for number in (5, 6):
        stages = Stages(Status(store.database))
        stages.sink(number, 0.001)
        stages.look(SimpleNamespace(recentProgress=[batch(number, 1, addBatch=10)]))
    told = store.status.of("stages")
    assert (told["batches"], told["stages"]["addBatch"]["seconds"], told["stages"]["sink"]["count"]) == (2, 0.02, 2)
