"""Decisions: what the writer keeps of what there is, so as not to count it again, is what there is."""

from __future__ import annotations

import dataclasses

import pytest

from csparql_spark.disk import StoreError
from csparql_spark.log import Draft, Refused
from csparql_spark.log.contents import GraphSet, QueryRegistered, RulesSet, StreamMade, draft_of
from csparql_spark.log.entries import Keys
from csparql_spark.log.fold import Fold
from csparql_spark.log.guards import (
    Absent,
    AnyGuard,
    Every,
    IsPaused,
    IsSet,
    Reads,
    Room,
    Same,
    Unchanged,
    Unfilled,
    Unread,
)
from csparql_spark.log.sqlite.decisions import Decisions
from tests.store.opened import Opened

# It cannot be written: what is answered is no JSON.
BROKEN = Keys(1, (("k", b""),), {"answered": object()})
STREAM = draft_of(StreamMade("d", "derived", 0, "q"), "urn:d")
EMPTY = Every((Unfilled("q"), *(Room(things, 1) for things in ("streams", "queries", "graphs", "rules"))))


def holds(store: Opened, guard: AnyGuard) -> bool:
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


def read(query: QueryRegistered) -> Reads:
    return Reads(frozenset(query.text.split()))


def test_what_a_query_reads_that_came_to_nothing_is_not_remembered(store: Opened) -> None:
    """Another query gets its place."""
    decisions = Decisions(read)
    for text, read_by, wanted in (("urn:b", "urn:b", ("q",)), ("urn:a", "urn:b", ()), ("urn:a", "urn:a", ("q",))):
        with pytest.raises(ZeroDivisionError), store.database.transaction() as connection:
            payload = draft_of(QueryRegistered(text, None), "q").payload
            connection.execute(
                "INSERT INTO log (kind, at, subject, payload) VALUES ('register', 1, 'q', ?)", (payload,)
            )
            refusal = decisions.refusal(connection, Unread("streams", (read_by,)))
            assert (() if refusal is None else refusal.readers) == wanted
            raise ZeroDivisionError
        decisions.forget()


def test_what_is_damaged_is_there_for_the_fold_as_it_is_for_statements(store: Opened) -> None:
    store.writer.append(draft_of(StreamMade("a", "arrival", 0), "urn:a"))
    store.writer.append(draft_of(StreamMade("d", "derived", 0, "q"), "urn:d"))
    store.writer.append(draft_of(QueryRegistered("urn:a", None, paused=True), "q"))
    store.writer.append(draft_of(QueryRegistered("urn:a", None), "other"))
    store.writer.append(draft_of(GraphSet(b"triples", 1), "urn:g"))
    store.writer.append(draft_of(RulesSet("[r: (?x <urn:p> ?y) -> (?y <urn:p> ?x)]", 1), "r"))
    with store.database.transaction() as connection:
        connection.execute("UPDATE log SET payload = zeroblob(length(payload)) WHERE subject != 'other'")
    fold = Fold(read)
    for entry in store.entries():
        fold.take(entry)
    guards = [
        *(Absent(things, name) for things, name in (("streams", "urn:a"), ("streams", "urn:d"), ("queries", "q"))),
        *(Same(things, id) for things in ("streams", "queries") for id in range(1, 5)),
        *(IsPaused(id, paused) for id in (3, 4) for paused in (False, True)),
        *(Unread("streams", (name,)) for name in ("urn:a", "urn:d")),
        *(IsSet(kind, name) for kind, name in (("background", "urn:g"), ("rules", "r"), ("rules", "none"))),
        *(Unchanged(kind, name, id) for kind, name in (("background", "urn:g"), ("rules", "r")) for id in (None, 5, 6)),
        *(Room(things, most) for things in ("streams", "queries", "graphs", "rules") for most in (1, 2, 3)),
        Unfilled("q"),
    ]
    decisions = Decisions(read)
    for guard in guards:
        mine, theirs = fold.refusal(guard), decisions.refusal(store.database.connection, guard)
        assert (mine is None, mine and mine.readers) == (theirs is None, theirs and theirs.readers), guard
