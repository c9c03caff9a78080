from __future__ import annotations

import itertools
import json

import pytest

from csparql_spark.log import Refused, contents
from csparql_spark.log.contents import QueryPaused, QueryRegistered
from csparql_spark.log.guards import Absent, Every, IsPaused, IsSet, Present, Same, Unchanged
from csparql_spark.store import QueryRecord, StreamRecord
from csparql_spark.store.registry import KnowledgeRecord

from .opened import Opened

TEMP = StreamRecord.draft("urn:temp", name="temp", clock="arrival", delay=0)
ROOM = StreamRecord.draft("urn:room", name="room", clock="event", delay=5000)
HOT = QueryRecord.draft("Hot", text="SELECT …", base="http://é/")
COLD = QueryRecord.draft("Cold", text="SELECT *", base=None)


def test_a_stream_is_there_from_its_making_to_its_end(store: Opened) -> None:
    assert store.registry.streams() == [] and store.registry.stream("urn:temp") is None
    temp, room = store.writer.append(TEMP), store.writer.append(ROOM)
    records = [
        StreamRecord(temp.seq, "urn:temp", temp.at, "temp", "arrival", 0),
        StreamRecord(room.seq, "urn:room", room.at, "room", "event", 5000),
    ]
    assert store.registry.streams() == records
    assert store.registry.stream("urn:room") == records[1]
    store.append("drop", "urn:temp")
    assert store.registry.streams() == records[1:] and store.registry.stream("urn:temp") is None


def test_a_query_is_there_from_its_registration_to_its_end(store: Opened) -> None:
    assert store.registry.queries() == [] and store.registry.query("Hot") is None
    hot, cold = store.writer.append(HOT), store.writer.append(COLD)
    records = [
        QueryRecord(hot.seq, "Hot", hot.at, "SELECT …", "http://é/"),
        QueryRecord(cold.seq, "Cold", cold.at, "SELECT *", None),
    ]
    assert store.registry.queries() == records
    assert store.registry.query("Cold") == records[1]
    assert store.registry.queries(after=hot.seq) == records[1:] and store.registry.queries(after=cold.seq) == []
    store.append("unregister", "Hot")
    assert store.registry.queries() == records[1:] and store.registry.query("Hot") is None


def test_a_query_that_is_replaced_has_versions(store: Opened) -> None:
    first = store.writer.append(HOT)
    cold = store.writer.append(COLD)
    store.writer.append(contents.draft_of(QueryPaused(first.seq, True), "Hot"))
    made = [first]
    for text in ("ASK", "SELECT"):
        content = QueryRegistered(text, None, replaces=made[-1].seq, origin=first.seq)
        made.append(store.writer.append(contents.draft_of(content, "Hot")))
    places = [entry.seq for entry in made]
    newest = QueryRecord(places[2], "Hot", made[2].at, "SELECT", None, replaces=places[1], origin=first.seq)
    assert store.registry.query("Hot") == newest and not newest.paused
    assert [query.id for query in store.registry.queries()] == [cold.seq, places[2]]
    assert store.registry.queries(after=places[1]) == [newest]
    assert store.registry.pauses() == {cold.seq: None, places[2]: None}
    versions = store.registry.versions("Hot")
    assert [(one.id, one.origin, one.replaces, one.ended) for one in versions] == [
        (places[0], first.seq, None, places[1]),
        (places[1], first.seq, places[0], places[2]),
        (places[2], first.seq, places[1], None),
    ]
    assert store.registry.ends("Hot") == [(one.id, one.ended) for one in versions]
    assert [store.registry.version(id) for id in places] == versions
    store.append("unregister", "Hot")
    assert store.registry.versions("Hot") == [] and store.registry.version(places[0]) is None
    again = store.writer.append(HOT)
    assert [one.id for one in store.registry.versions("Hot")] == [again.seq]


def test_a_registration_brings_its_compiled_form_or_none(store: Opened) -> None:
    form = {"version": 1, "body": "ASK {}"}
    store.writer.append(HOT)
    store.writer.append(QueryRecord.draft("Cold", text="SELECT *", base=None, compiled=form))
    assert [query.compiled for query in store.registry.queries()] == [None, form]
    assert store.registry.query("Cold").compiled == form


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_texts_that_are_remembered_and_longer_ones_are_told_apart(store: Opened, more: int) -> None:
    """Two that are as long, of which one byte is another one, each read twice; one of them begins paused."""
    length = contents.LONGEST + more - len(QueryRecord.draft("a", text="", base=None, paused=True).payload)
    texts = {name: name * length for name in "ab"}
    for name, text in texts.items():
        store.writer.append(QueryRecord.draft(name, text=text, base=None, paused=True))
    store.writer.append(QueryRecord.draft("c", text=texts["a"], base="http://é/"))
    for _ in range(2):
        assert [(query.name, query.text, query.base, query.paused) for query in store.registry.queries()] == [
            ("a", texts["a"], None, True),
            ("b", texts["b"], None, True),
            ("c", texts["a"], "http://é/", False),
        ]


def test_a_name_that_is_used_again_names_another_thing(store: Opened) -> None:
    ids = []
    for _ in range(3):
        ids.append((store.writer.append(TEMP).seq, store.writer.append(HOT).seq))
        assert (store.registry.stream("urn:temp").id, store.registry.query("Hot").id) == ids[-1]
        store.append("drop", "urn:temp")
        store.append("unregister", "Hot")
        assert store.registry.streams() == [] and store.registry.queries() == []
    assert len(set(ids)) == 3


def test_streams_and_queries_do_not_end_each_other(store: Opened) -> None:
    store.writer.append(StreamRecord.draft("same", name="same", clock="arrival", delay=0))
    store.writer.append(QueryRecord.draft("same", text="", base=None))
    store.append("drop", "same")
    assert store.registry.query("same") is not None
    store.writer.append(StreamRecord.draft("same", name="same", clock="arrival", delay=0))
    store.append("unregister", "same")
    assert store.registry.stream("same") is not None and store.registry.query("same") is None


@pytest.mark.parametrize("view, draft, ending", [("streams", TEMP, "drop"), ("queries", HOT, "unregister")])
def test_guards(store: Opened, view: str, draft: object, ending: str) -> None:
    subject = draft.subject
    must_not_be, must_be = Absent(view, subject), Present(view, subject)
    with pytest.raises(Refused) as caught:
        store.append(ending, subject, must_be)
    assert caught.value.guard == must_be
    made = store.writer.append(draft, must_not_be)
    with pytest.raises(Refused) as caught:
        store.writer.append(draft, must_not_be)
    assert caught.value.guard == must_not_be
    gone = store.append(ending, subject, must_be)
    with pytest.raises(Refused) as caught:
        store.append(ending, subject, must_be)
    assert caught.value.guard == must_be
    again = store.writer.append(draft, must_not_be)
    assert store.entries() == [made, gone, again]


def test_every_guard_must_let_the_entry_in(store: Opened) -> None:
    store.writer.append(TEMP)
    yes = Present("streams", "urn:temp")
    no, neither = Present("streams", "urn:room"), Present("queries", "Hot")
    for guards in itertools.product([yes, no, neither], repeat=2):
        refusals = [guard for guard in guards if guard != yes]
        before = store.log.tail()
        if not refusals:
            store.append("chunk", "urn:temp", Every(guards))
            continue
        first = next(guard for guard in guards if guard is not yes)
        with pytest.raises(Refused) as caught:
            store.append("chunk", "urn:temp", Every(guards))
        assert caught.value.guard == first
        assert store.log.tail() == before


def test_a_derived_stream_knows_its_producer(store: Opened) -> None:
    made = store.writer.append(StreamRecord.draft("urn:d", name="d", clock="derived", delay=0, producer="Hot"))
    store.writer.append(TEMP)
    assert store.registry.stream("urn:d") == StreamRecord(made.seq, "urn:d", made.at, "d", "derived", 0, "Hot")
    assert [stream.producer for stream in store.registry.streams()] == ["Hot", None]


@pytest.mark.parametrize("kind, other", [("background", "rules"), ("rules", "background")])
def test_a_setting_is_what_its_newest_entry_says(store: Opened, kind: str, other: str) -> None:
    assert store.registry.settings(kind) == [] and store.registry.setting(kind, "urn:g") is None
    store.append(kind, "urn:g", payload=b"1", rows=1)
    empty = store.append(kind, "urn:a", payload=b"", rows=0)
    newer = store.append(kind, "urn:g", payload=b"2", rows=2)
    store.append(other, "urn:g", payload=b"3", rows=3)
    records = [KnowledgeRecord(entry.seq, kind, entry.subject, entry.at, entry.rows) for entry in (empty, newer)]
    assert store.registry.settings(kind) == records
    assert store.registry.setting(kind, "urn:g") == records[1]
    store.append(kind, "urn:g")
    assert store.registry.settings(kind) == records[:1] and store.registry.setting(kind, "urn:g") is None
    assert [setting.rows for setting in store.registry.settings(other)] == [3]
    again = store.append(kind, "urn:g", payload=b"4", rows=4)
    assert store.registry.setting(kind, "urn:g") == KnowledgeRecord(again.seq, kind, "urn:g", again.at, 4)


def test_guards_of_settings(store: Opened) -> None:
    def let_in(guard: object) -> bool:
        try:
            store.append("tick", "urn:e", at=0, guard=guard)
        except Refused:
            return False
        return True

    def outcomes() -> list[bool]:
        return [let_in(IsSet("background", "urn:g")), *(let_in(Unchanged("background", "urn:g", id)) for id in ids)]

    ids = [None]
    assert outcomes() == [False, True]
    ids.append(store.append("background", "urn:g", payload=b"").seq)
    assert outcomes() == [True, False, True]
    store.append("rules", "urn:g", payload=b"")
    ids.append(store.append("background", "urn:g", payload=b"").seq)
    assert outcomes() == [True, False, False, True]
    store.append("background", "urn:g")
    assert outcomes() == [False, True, False, False]


@pytest.mark.parametrize("view, draft, ending", [("streams", TEMP, "drop"), ("queries", HOT, "unregister")])
def test_the_same_is_neither_gone_nor_made_again(store: Opened, view: str, draft: object, ending: str) -> None:
    guard = Same(view, store.writer.append(draft).seq)
    store.append("tick", "urn:e", at=0, guard=guard)
    store.append(ending, draft.subject)
    for _ in range(2):
        with pytest.raises(Refused):
            store.append("tick", "urn:e", at=0, guard=guard)
        store.writer.append(draft)


# --- pausing


def test_a_query_is_paused_as_the_newest_entry_says(store: Opened) -> None:
    for name, paused in (("q", False), ("p", True)):
        store.writer.append(QueryRecord.draft(name, text="", base=None, paused=paused))

    def paused() -> dict[str, bool]:
        begun = {"q": False, "p": True}
        pauses = store.registry.pauses()
        assert [
            begun[query.name] if pauses[query.id] is None else pauses[query.id] for query in store.registry.queries()
        ] == [query.paused for query in store.registry.queries()]
        told = {query.name: query.paused for query in store.registry.queries()}
        assert told == {name: store.registry.query(name).paused for name in told}
        return told

    assert paused() == {"q": False, "p": True}
    for name, paused_now in (("q", True), ("q", False), ("p", False), ("q", True)):
        query = store.registry.query(name)
        before = paused()
        entry = store.writer.append(query.pause(paused_now))
        assert (entry.kind, entry.subject) == ("pause" if paused_now else "resume", name)
        assert json.loads(entry.payload) == {"id": query.id}
        assert paused() == before | {name: paused_now}
    store.append("unregister", "q")
    store.writer.append(QueryRecord.draft("q", text="", base=None))
    assert paused() == {"q": False, "p": False}


def test_the_guard_of_what_stands(store: Opened) -> None:
    query = store.writer.append(QueryRecord.draft("q", text="", base=None)).seq
    record = store.registry.query("q")
    with pytest.raises(Refused):
        store.writer.append(record.pause(False), IsPaused(query, True))
    store.writer.append(record.pause(True), IsPaused(query, False))
    with pytest.raises(Refused):
        store.writer.append(record.pause(True), IsPaused(query, False))
    store.append("unregister", "q")
    store.writer.append(QueryRecord.draft("q", text="", base=None))
    for paused in (True, False):
        with pytest.raises(Refused):
            store.writer.append(record.pause(not paused), IsPaused(query, paused))
