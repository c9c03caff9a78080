"""Processor time: what a thread has worked, and what was read of it a moment ago."""

from __future__ import annotations

import time

from csparql_spark import processor_time
from csparql_spark.processor_time import LATELY


def test_what_was_read_lately_is_hardly_earlier() -> None:
    for asked in range(2_000):
        before = processor_time.lately()
        if asked % 7 == 0:
            now = processor_time.now()
            assert 0.0 <= now.processor - before.processor <= LATELY + (now.clock - before.clock)
            assert now.clock >= before.clock


def test_what_is_older_is_read_again() -> None:
    processor_time.now()
    begun = time.thread_time()
    while time.thread_time() - begun < 5 * LATELY:
        pass  # it works
    assert processor_time.lately().processor >= begun + 4 * LATELY


def test_a_child_counts_at_once() -> None:
    before = processor_time.lately()
    processor_time.add(3.0)
    assert processor_time.lately().processor - before.processor >= 3.0
    assert processor_time.now().processor - before.processor >= 3.0
