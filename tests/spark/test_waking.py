"""Groups that wait for their backgrounds are given a row, also where nothing comes into the log."""

# ruff: noqa: F811  fixtures are imported, and named by parameters

from __future__ import annotations

from csparql_spark.schedule.routing import wake
from csparql_spark.spark import source
from csparql_spark.spark.source import LogReader
from csparql_spark.store.waiting_groups import WaitingGroups

from ..store.opened import Hands
from .pushed import Pushed
from .test_source import ALL, at, hands, reader, rows, store  # noqa: F401  fixtures


def test_who_waits_for_a_background_is_woken(store: Pushed, reader: LogReader, hands: Hands) -> None:
    """By a batch without entries, four times a second, and by all others."""
    end = store.stream("urn:a")
    waiting = WaitingGroups(store.database)
    assert reader.latestOffset(at(end), ALL) == at(end)
    waiting.note("g", queries=[7], triples=9, now=1)
    first = reader.latestOffset(at(end), ALL)
    assert first == {"seq": end, "wake": hands.wall}
    assert reader.latestOffset(first, ALL) == first, "it was woken just now"
    (span,) = reader.partitions(at(end), first)
    assert rows(reader.read(span)) == [wake("g")]
    hands.steady += 1000 * source.WAKE_SECONDS
    hands.wall += 1
    second = reader.latestOffset(first, ALL)
    assert second == {"seq": end, "wake": hands.wall} != first
    reader.commit(second)
    pushed = store.chunk("a")
    (span,) = reader.partitions(second, at(pushed))
    assert rows(reader.read(span))[0] == wake("g")
    waiting.forget("g")
    hands.steady += 1000 * source.WAKE_SECONDS
    assert reader.latestOffset(second, ALL) == second


def test_to_the_end_nobody_is_woken(store: Pushed, reader: LogReader) -> None:
    end = store.stream("urn:a")
    WaitingGroups(store.database).note("g", queries=[7], triples=9, now=1)
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset(at(end), ALL) == at(end)
