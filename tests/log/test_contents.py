"""Contents: the bytes are those that logs have always had, and what is read back is what was written."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.disk.damage import Damaged
from csparql_spark.log import Draft, Entry
from csparql_spark.log.contents import (
    AnyContent,
    ElementsLost,
    EntrySkipped,
    GraphSet,
    InstantPassed,
    QueryFailed,
    QueryPaused,
    QueryRegistered,
    QueryUnregistered,
    RulesSet,
    StreamDropped,
    StreamMade,
    TriplesPushed,
    content_of,
    draft_of,
)
from csparql_spark.log.entries import KINDS

COMPILED = {"version": 1, "body": "ASK {}"}

WRITTEN = [
    (StreamMade("t", "event", 0), Draft("stream", "s", b'{"name": "t", "clock": "event", "delay": 0}')),
    (
        StreamMade("\u00e9", "derived", 5, "q", "a/#", "text/turtle"),
        Draft(
            "stream",
            "s",
            b'{"name": "\\u00e9", "clock": "derived", "delay": 5, "producer": "q", "mqtt": "a/#", '
            b'"mqtt_format": "text/turtle"}',
        ),
    ),
    (StreamDropped(), Draft("drop", "s")),
    (QueryRegistered("ASK", None), Draft("register", "s", b'{"text": "ASK", "base": null}')),
    (
        QueryRegistered("", "urn:b", True, COMPILED),
        Draft(
            "register",
            "s",
            b'{"text": "", "base": "urn:b", "paused": true, "compiled": {"version": 1, "body": "ASK {}"}}',
        ),
    ),
    (
        QueryRegistered("ASK", None, reads={"streams": ["urn:s"], "graphs": [], "rules": []}),
        Draft(
            "register",
            "s",
            b'{"text": "ASK", "base": null, "reads": {"streams": ["urn:s"], "graphs": [], "rules": []}}',
        ),
    ),
    (
        QueryRegistered("ASK", None, replaces=17, origin=3),
        Draft("register", "s", b'{"text": "ASK", "base": null, "replaces": 17, "origin": 3}'),
    ),
    (QueryUnregistered(), Draft("unregister", "s")),
    (QueryPaused(7, True), Draft("pause", "s", b'{"id": 7}')),
    (QueryPaused(7, False), Draft("resume", "s", b'{"id": 7}')),
    (
        QueryFailed(7, 5000, "too \u00e9", 4000),
        Draft("fail", "s", b'{"id": 7, "instant": 5000, "reason": "too \\u00e9", "answered": 4000}'),
    ),
    (QueryFailed(7, -5, "why"), Draft("fail", "s", b'{"id": 7, "instant": -5, "reason": "why", "answered": null}')),
    (TriplesPushed(b"arrow", 3, -5, 9, 1), Draft("chunk", "s", b"arrow", 3, -5, 9, 1)),
    (InstantPassed(5), Draft("tick", "s", at=5)),
    (GraphSet(b"arrow", 2), Draft("background", "s", b"arrow", 2)),
    (GraphSet(None), Draft("background", "s")),
    (RulesSet("[r: \u00e9]", 1), Draft("rules", "s", b"[r: \xc3\xa9]", 1)),
    (RulesSet("", 0), Draft("rules", "s", b"")),
    (RulesSet(None), Draft("rules", "s")),
    (ElementsLost("it is lost", 5, 6), Draft("damaged", "s", b"it is lost", first=5, last=6)),
    (EntrySkipped(), Draft("skipped", "s")),
]


@pytest.mark.parametrize("content, draft", WRITTEN, ids=lambda value: value.kind if isinstance(value, Draft) else "")
def test_the_bytes_are_those_that_there_have_always_been(content: AnyContent, draft: Draft) -> None:
    assert draft_of(content, "s") == draft
    entry = Entry(
        1, draft.kind, draft.at or 99, "s", draft.rows, draft.first, draft.last, draft.unstamped, draft.payload
    )
    assert content_of(draft) == content_of(entry) == content


def test_there_is_a_content_of_each_kind() -> None:
    assert {draft.kind for _, draft in WRITTEN} == set(KINDS)
    assert {type(content) for content, _ in WRITTEN} == set(AnyContent.__args__)
    with pytest.raises(ValueError, match="the log holds an entry of the unknown kind 'other'"):
        content_of(Entry(1, "other", 0))


names = st.text(max_size=3)
some = st.one_of(st.none(), names)


@given(
    st.one_of(
        st.builds(StreamMade, names, names, st.integers(0, 9), some, some, some),
        st.builds(QueryRegistered, names, some, st.booleans(), st.one_of(st.none(), st.dictionaries(names, names))),
    )
)
def test_what_is_read_is_what_was_written(content: AnyContent) -> None:
    assert content_of(draft_of(content, "s")) == content


def test_what_is_damaged_is_said() -> None:
    entry = Entry(1, "register", 0, "q", damage="the entry 1 is damaged")
    with pytest.raises(Damaged, match="the entry 1 is damaged"):
        content_of(entry)
    assert content_of(dataclasses.replace(entry, kind="damaged")) == ElementsLost("the entry 1 is damaged")
