"""Who waits is noted once, and since when."""

from __future__ import annotations

from csparql_spark.store.waiting_groups import WaitingGroup, WaitingGroups

from .opened import Opened


def test_a_group_waits_since_it_was_noted_first(store: Opened) -> None:
    waiting = WaitingGroups(store.database)
    assert waiting.groups() == {}
    waiting.note("g", queries=[9, 4], triples=70, now=1_000)
    waiting.note("h", queries=[5], triples=80, now=1_500)
    waiting.note("g", queries=[9], triples=70, now=2_000)
    assert waiting.groups() == {"g": WaitingGroup((9,), 70, 1_000), "h": WaitingGroup((5,), 80, 1_500)}
    assert (waiting.of(4), waiting.of(5)) == (None, WaitingGroup((5,), 80, 1_500))
    waiting.forget("g")
    waiting.forget("nobody")
    assert waiting.groups() == {"h": WaitingGroup((5,), 80, 1_500)}


def test_nothing_is_written_where_nothing_has_changed(store: Opened) -> None:
    waiting = WaitingGroups(store.database)
    waiting.note("g", queries=[4], triples=70, now=1_000)
    before = store.database.connection.total_changes
    waiting.note("g", queries=[4], triples=70, now=2_000)
    waiting.forget("h")
    assert store.database.connection.total_changes == before
