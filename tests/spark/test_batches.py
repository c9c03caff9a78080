"""Where batches end, as the checkpoint says."""

from __future__ import annotations

import pytest

from csparql_spark.spark.batches import Batches

from ..store.opened import Opened

HEAD = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{"spark.sql.shuffle.partitions":"1"}}\n'


@pytest.fixture
def batches(store: Opened) -> Batches:
    (store.directory.checkpoint / "offsets").mkdir(parents=True)
    return Batches(store.directory, store.database)


def wrote(store: Opened, batch: int, text: str) -> None:
    (store.directory.checkpoint / "offsets" / str(batch)).write_text(text)


def test_a_batch_that_was_begun_with_its_end(store: Opened, batches: Batches) -> None:
    wrote(store, 17, HEAD + '{"seq": 41}')
    wrote(store, 18, HEAD + '{"seq": 52}\n')
    assert (batches.end(17), batches.end(18)) == (41, 52)


def test_a_batch_that_was_begun_before_its_tick(store: Opened, batches: Batches) -> None:
    store.put("chunk", 1000)
    wrote(store, 3, HEAD + '{"seq": 1, "tick": 2000}')
    assert batches.end(3) is None, "it has not come to its end"
    store.put("chunk", 1900)
    assert store.put("tick", 2000) == 3
    store.put("chunk", 2001)
    assert batches.end(3) == 3


@pytest.mark.parametrize("text", ["", "v1", HEAD, HEAD + "-", HEAD + "{}", HEAD + "[1]", HEAD + "5"])
def test_what_cannot_be_read_is_not_known(store: Opened, batches: Batches, text: str) -> None:
    assert batches.end(1) is None, "there is no such file"
    wrote(store, 1, text)
    assert batches.end(1) is None
