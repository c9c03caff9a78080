"""Threads are started in one order and ended in the opposite one, and hear of changes that concern them."""

from __future__ import annotations

import pytest

from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings

NAMES = ["LogWriter", "Ticker", "Fanout", "Delivery", "Relay", "Webhooks", "RetentionThread"]


def test_they_start_in_order_and_end_in_the_opposite_one(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, steps = Backend(settings), []
    for thread in backend.threads._in_order:
        for step in ("start", "stop"):
            mark = (step, type(thread).__name__)
            monkeypatch.setattr(thread, step, lambda mark=mark: steps.append(mark))
    backend.start()
    backend.close()
    assert steps == [*(("start", name) for name in NAMES), *(("stop", name) for name in reversed(NAMES))]


def test_those_that_were_started_are_ended_when_one_fails(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, steps = Backend(settings), []
    writer, ticker = backend.threads._in_order[:2]
    monkeypatch.setattr(writer, "start", lambda: steps.append("start"))
    monkeypatch.setattr(writer, "stop", lambda: steps.append("stop"))
    monkeypatch.setattr(ticker, "start", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        backend.start()
    backend.close()
    assert steps == ["start", "stop"]


def test_labels_of_blank_nodes_are_used_once(settings: Settings, backend: Backend) -> None:
    first = [backend.stores.blank_prefix() for _ in range(3)]
    other = Backend(settings)
    second = [other.stores.blank_prefix() for _ in range(3)]
    other.close()
    assert len({*first, *second}) == 6
