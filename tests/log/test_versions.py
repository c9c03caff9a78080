"""Versions of a query, held against both logs: one entry puts the next in the place of the one before."""

from __future__ import annotations

import pytest

from csparql_spark.log import Refused
from csparql_spark.log.contents import QueryFailed, QueryPaused, QueryRegistered, QueryUnregistered, draft_of
from csparql_spark.log.guards import Absent, AnyGuard, Every, IsPaused, Once, Present, Room, Same, Unfailed, Unread
from tests.log.both import Opened, holds, query, stream


def test_a_query_is_replaced_in_one_entry(log: Opened) -> None:
    """Its newest version is there in the place of the one before, which is known as long as the query is."""

    def held(*guards: AnyGuard) -> list[bool]:
        return [holds(log, guard) for guard in guards]

    first = log.writer.append(query("q", "streams a", paused=True)).seq
    made = log.writer.append(stream("urn:d", "q")).seq
    assert held(Room("queries", 1), Room("queries", 2)) == [False, True]
    log.writer.append(draft_of(QueryPaused(first, False), "q"))
    next = draft_of(QueryRegistered("streams b", None, replaces=first, origin=first), "q")
    second = log.writer.append(next, Every((Same("queries", first), IsPaused(first, False)))).seq
    for _ in range(2):
        assert held(Same("queries", first), Same("queries", second), Present("queries", "q")) == [False, True, True]
        assert held(Room("queries", 1), Room("queries", 2)) == [False, True]
        assert held(IsPaused(first, False), IsPaused(second, False)) == [False, True]
        assert held(Unread("streams", ("a",)), Unread("streams", ("b",))) == [True, False]
        assert held(Unfailed(first), Unfailed(second)) == [True, True]
        # What the version before has told last may still have to go into the log.
        assert held(Once(first, made, 5), Once(second, made, 5)) == [True, True]
        log.reopen()
    with pytest.raises(Refused):  # somebody was quicker
        log.writer.append(next, Same("queries", first))
    log.writer.append(draft_of(QueryFailed(first, 5000, "late"), "q"), Unfailed(first))
    assert held(Unfailed(first), Unfailed(second)) == [False, True]
    log.writer.append(draft_of(QueryFailed(second, 5000, "too"), "q"), Unfailed(second))
    assert held(Unfailed(first), Unfailed(second)) == [False, False]
    log.writer.append(draft_of(QueryUnregistered(), "q"))
    assert held(Absent("queries", "q"), Room("queries", 1)) == [True, True]
    assert held(Once(first, made, 5), Once(second, made, 5), Unfailed(first)) == [False] * 3
