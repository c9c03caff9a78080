"""Decisions: what the writer keeps of what there is, so as not to count it again, is what there is."""

from __future__ import annotations

import dataclasses

import pytest

from csparql_spark.disk import StoreError
from csparql_spark.log import Draft, Refused
from csparql_spark.log.contents import GraphSet, QueryRegistered, RulesSet, StreamMade, draft_of
from csparql_spark.log.entries import Keys
from csparql_spark.log.guards import Every, Guard, Room, Unfilled
from tests.store.opened import Opened

# It cannot be written: what is answered is no JSON.
BROKEN = Keys(1, (("k", b""),), {"answered": object()})
STREAM = draft_of(StreamMade("d", "derived", 0, "q"), "urn:d")
EMPTY = Every((Unfilled("q"), *(Room(things, 1) for things in ("streams", "queries", "graphs", "rules"))))


def holds(store: Opened, guard: Guard) -> bool:
    try:
        store.append("tick", "urn:clock", guard, at=0)
    except Refused:
        return False
    return True


@pytest.mark.parametrize(
    "draft",
    [
        STREAM,
        draft_of(QueryRegistered("", None), "q"),
        draft_of(GraphSet(b"", 0), "urn:g"),
        draft_of(RulesSet("", 0), "r"),
    ],
    ids=lambda draft: draft.kind,
)
def test_what_came_to_nothing_is_not_counted(store: Opened, draft: Draft) -> None:
    assert holds(store, EMPTY)
    with pytest.raises(StoreError, match="nothing of this request was kept"):
        store.writer.append(dataclasses.replace(draft, beside=BROKEN), EMPTY)
    assert holds(store, EMPTY)
    store.writer.append(draft, EMPTY)
    assert not holds(store, EMPTY)


@pytest.mark.parametrize("ending, draft", [("drop", STREAM), ("unregister", draft_of(QueryRegistered("", None), "q"))])
def test_what_was_to_be_undone_and_was_not_is_counted(store: Opened, ending: str, draft: Draft) -> None:
    assert holds(store, EMPTY)
    store.writer.append(draft)
    assert not holds(store, EMPTY)
    with pytest.raises(StoreError):
        store.writer.append(Draft(ending, draft.subject, beside=BROKEN))
    assert not holds(store, EMPTY)
    store.append(ending, draft.subject)
    assert holds(store, EMPTY)
