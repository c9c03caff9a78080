"""The contract of a log, held against both that there are: the one in SQLite, and the one in memory.

What they share is what entries, contents and guards are. How they decide and find is each one's own, so that where they
come to the same, it is what was meant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.disk import StoreError
from csparql_spark.disk.damage import Damaged
from csparql_spark.log import Draft, Entry, Refused
from csparql_spark.log.contents import (
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
    draft_of,
)
from csparql_spark.log.contract import ReadableLog, Reused
from csparql_spark.log.entries import KINDS, Keys, Relayed
from csparql_spark.log.guards import (
    Absent,
    AnyGuard,
    Every,
    IsPaused,
    IsSet,
    Once,
    Present,
    Room,
    Same,
    Unchanged,
    Unfailed,
    Unfilled,
    Unread,
    Unused,
    guard_of,
    text_of,
)
from tests.examples import examples
from tests.log.both import START, InMemory, InSqlite, Opened, holds, query, refusal, stream
from tests.store.opened import Hands

ONE, TWO = b"1" * 32, b"2" * 32

# --- appending


def test_an_entry_is_what_was_appended_with_a_place_and_a_stamp(log: Opened, hands: Hands) -> None:
    assert (log.reader.tail(), list(log.reader.read(0, 9))) == (0, [])
    draft = draft_of(TriplesPushed(b"\x00arrow", 3, first=-5, last=1 << 40, unstamped=1), "urn:s")
    first = log.writer.append(draft)
    hands.forward(5)
    second = log.writer.append(draft_of(TriplesPushed(None, 0), "urn:s"))
    assert [first, second] == [
        Entry(1, "chunk", START, "urn:s", 3, -5, 1 << 40, 1, b"\x00arrow"),
        Entry(2, "chunk", START + 5, "urn:s"),
    ]
    assert list(log.reader.read(0, log.reader.tail())) == [first, second]


def test_stamps_and_ticks(log: Opened, hands: Hands) -> None:
    def at(draft: Draft) -> int:
        return log.writer.append(draft).at

    push = draft_of(TriplesPushed(b"", 1), "urn:s")
    assert [at(push), at(draft_of(InstantPassed(3000)))] == [START, START - 1]  # what has arrived may have more
    assert [at(push), at(draft_of(InstantPassed(START + 7))), at(push)] == [START, START + 7, START + 8]
    assert [at(draft_of(InstantPassed(-7), "urn:s")), at(draft_of(InstantPassed(1 << 50), "urn:s")), at(push)] == [
        -7,
        1 << 50,
        START + 8,
    ]
    hands.wall -= 5000
    log.reopen()
    assert at(push) == START + 8


def test_who_is_refused_leaves_no_trace(log: Opened) -> None:
    made = log.writer.append(stream("urn:s"))
    keys = Keys(made.seq, (("k", ONE),), {})
    for beside in (keys, Relayed(made.seq, 5)):
        with pytest.raises(Refused):
            log.writer.append(Draft("chunk", "urn:s", beside=beside), Absent("streams", "urn:s"))
    assert list(log.reader.read(0, 9)) == [made]
    assert (log.writer.reply_to(made.seq, "k", ONE), log.writer.relayed_to(made.seq)) == (None, None)


def test_who_comes_after_the_end_is_told_so(log: Opened) -> None:
    log.writer.stop()
    with pytest.raises(StoreError, match="the log is closed"):
        log.writer.append(stream("urn:s"))
    if isinstance(log, InSqlite):
        log._begin()


# --- guards


def test_what_is_there_is_absent_present_and_the_same(log: Opened) -> None:
    for things, draft, end in (
        ("streams", stream("same"), StreamDropped()),
        ("queries", query("same"), QueryUnregistered()),
    ):
        made = [log.writer.append(draft).seq]
        assert [
            holds(log, guard)
            for guard in (
                Absent(things, "same"),
                Present(things, "same"),
                Same(things, made[0]),
                Same(things, made[0] + 1),
            )
        ] == [False, True, True, False]
        log.writer.append(draft_of(end, "same"))
        assert [
            holds(log, guard) for guard in (Absent(things, "same"), Present(things, "same"), Same(things, made[0]))
        ] == [True, False, False]
        made.append(log.writer.append(draft).seq)
        assert [holds(log, Same(things, id)) for id in made] == [False, True]


def test_a_query_fails_once(log: Opened) -> None:
    def unfailed(*ids: int) -> list[bool]:
        return [holds(log, Unfailed(id)) for id in ids]

    first, other = log.writer.append(query("q")).seq, log.writer.append(query("p")).seq
    assert unfailed(first, other, 99) == [True, True, False]
    failed = draft_of(QueryFailed(first, 5000, "too much", 4000), "q")
    entry = log.writer.append(failed, Unfailed(first))
    assert unfailed(first, other) == [False, True]
    with pytest.raises(Refused):
        log.writer.append(failed, Unfailed(first))
    log.reopen()
    assert unfailed(first, other) == [False, True]
    assert log.reader.last("q", "fail", log.reader.tail()) == entry
    assert entry in log.reader.registrations(0, log.reader.tail())
    log.writer.append(draft_of(QueryUnregistered(), "q"))
    again = log.writer.append(query("q")).seq
    assert unfailed(first, again) == [False, True]  # another one, under the same name


def test_a_query_is_paused_as_was_said_last(log: Opened) -> None:
    def paused(id: int) -> list[bool]:
        return [holds(log, IsPaused(id, paused)) for paused in (True, False)]

    first = log.writer.append(query("q")).seq
    second = log.writer.append(query("p", paused=True)).seq
    assert [paused(first), paused(second), paused(99)] == [[False, True], [True, False], [False, False]]
    log.writer.append(draft_of(QueryPaused(first, True), "q"))
    log.writer.append(draft_of(QueryPaused(second, False), "p"))
    assert [paused(first), paused(second)] == [[True, False], [False, True]]
    log.writer.append(draft_of(QueryUnregistered(), "q"))
    again = log.writer.append(query("q")).seq
    assert [paused(first), paused(again)] == [[False, False], [False, True]]


@pytest.mark.parametrize("kind, content", [("background", GraphSet), ("rules", RulesSet)])
def test_a_graph_or_rule_set_is_set_and_unchanged(log: Opened, kind: str, content: Callable[..., object]) -> None:
    def outcomes() -> list[bool]:
        return [holds(log, guard) for guard in (IsSet(kind, "urn:g"), *(Unchanged(kind, "urn:g", id) for id in ids))]

    something: object = b"" if kind == "background" else ""
    ids: list[int | None] = [None]
    assert outcomes() == [False, True]
    ids.append(log.writer.append(draft_of(content(something), "urn:g")).seq)
    assert outcomes() == [True, False, True]
    ids.append(log.writer.append(draft_of(content(something), "urn:g")).seq)
    assert outcomes() == [True, False, False, True]
    log.writer.append(draft_of(content(None), "urn:g"))
    assert outcomes() == [False, True, False, False]


def test_those_who_read_are_named_in_order(log: Opened) -> None:
    for name, text in (("z", "streams urn:a urn:b"), ("y", "graphs urn:a"), ("x", "streams urn:b"), ("w", "rules lab")):
        log.writer.append(query(name, text))

    def readers(*guard: object) -> tuple[str, ...]:
        refused = refusal(log, Unread(*guard))
        assert refused is None or refused.guard == Unread(*guard)
        return () if refused is None else refused.readers

    assert readers("streams", ("urn:b", "urn:c")) == ("z", "x")
    assert readers("streams", ("urn:b",), "z") == ("x",)
    assert [readers("graphs", ("urn:a",)), readers("graphs", ("urn:b",))] == [("y",), ()]
    assert [readers("rules", ("lab",)), readers("streams", ()), readers("rules", ("lab",), "w")] == [("w",), (), ()]
    log.writer.append(draft_of(QueryUnregistered(), "z"))
    log.writer.append(query("z", "streams urn:b"))
    log.reopen()
    assert readers("streams", ("urn:a", "urn:b")) == ("x", "z")


def test_a_stream_is_filled_by_the_query_of_a_name(log: Opened) -> None:
    assert holds(log, Unfilled("q"))
    made = log.writer.append(stream("urn:d", "q")).seq
    log.writer.append(stream("urn:e", "r"))
    log.writer.append(stream("urn:s"))
    guards = Unfilled("q"), Unfilled("q", made), Unfilled("q", made + 1), Unfilled("r", made), Unfilled("s")
    assert [holds(log, guard) for guard in guards] == [False, True, False, False, True]
    log.writer.append(draft_of(StreamDropped(), "urn:d"))
    assert [holds(log, guard) for guard in guards] == [True, True, True, False, True]


def test_room_is_counted(log: Opened) -> None:
    drafts = {
        "streams": (stream, StreamDropped()),
        "queries": (query, QueryUnregistered()),
        "graphs": (lambda name: draft_of(GraphSet(b"", 0), name), GraphSet(None)),
        "rules": (lambda name: draft_of(RulesSet("", 0), name), RulesSet(None)),
    }

    def room() -> dict[str, list[bool]]:
        return {things: [holds(log, Room(things, most)) for most in range(4)] for things in drafts}

    counts = dict.fromkeys(drafts, 0)
    for things, (make, end) in drafts.items():
        for name, change in (("a", 1), ("b", 1), ("a", -1), ("a", 0), ("b", 0), ("a", 1)):
            made = draft_of(end, name) if change < 1 and name == "a" else make(name)
            if change == 0 and things in ("streams", "queries"):
                continue  # there are two of a name only where nobody looks
            log.writer.append(made)
            counts[things] += change
            assert room() == {other: [most > counts[other] for most in range(4)] for other in drafts}
    log.reopen()
    assert room() == {other: [most > counts[other] for most in range(4)] for other in drafts}


def test_a_key_lets_a_push_in_once(log: Opened, hands: Hands) -> None:
    made = log.writer.append(stream("urn:s")).seq
    push = Draft("chunk", "urn:s", b"", beside=Keys(made, (("k", ONE),), {"accepted": 1, "seq": None}))
    entry = log.writer.append(push, Unused(made, "k", ONE))
    reply = {"accepted": 1, "seq": entry.seq, "at": entry.at}
    again, other = refusal(log, Unused(made, "k", ONE)), refusal(log, Unused(made, "k", TWO))
    assert again is not None and (again.guard, again.reply) == (Unused(made, "k", ONE), reply)
    assert other is not None and (other.guard, other.reply) == (Unused(made, "k", TWO), None)
    assert log.writer.reply_to(made, "k", ONE) == reply and log.writer.reply_to(made, "l", ONE) is None
    with pytest.raises(Reused):
        log.writer.reply_to(made, "k", TWO)
    assert [holds(log, Unused(made, "l", ONE)), holds(log, Unused(made + 1, "k", ONE))] == [True, True]
    assert log.writer.forget_keys(entry.at + 1000, kept_ms=1000) == 0
    assert log.writer.forget_keys(entry.at + 1001, kept_ms=1000) == 1
    assert holds(log, Unused(made, "k", ONE))


def test_of_the_keys_with_a_prefix_the_newest_are_kept(log: Opened) -> None:
    made = log.writer.append(stream("urn:s")).seq
    for names in (["k"], ["m 0", "m 1", "m 2"], ["m 3", "m 1", "m 4"]):
        keys = Keys(made, tuple((name, ONE) for name in names), {}, "m ", 4)
        log.writer.append(Draft("chunk", "urn:s", b"", beside=keys))
    known = {name for name in ("k", *(f"m {i}" for i in range(5))) if log.writer.reply_to(made, name, ONE)}
    assert known == {"k", "m 1", "m 2", "m 3", "m 4"}
    assert log.writer.forget_keys(START, kept_keys=2) == 3
    log.writer.append(draft_of(StreamDropped(), "urn:s"))
    assert log.writer.forget_keys(START) == 2


def test_an_answer_is_relayed_once_and_in_order(log: Opened) -> None:
    ids = [log.writer.append(draft).seq for draft in (query("q"), stream("urn:d", "q"))]
    assert [holds(log, Once(*ids, 1000)), log.writer.relayed_to(ids[0])] == [True, None]
    log.writer.append(Draft("chunk", "urn:d", beside=Relayed(ids[0], 1000)), Once(*ids, 1000))
    assert [holds(log, Once(*ids, instant)) for instant in (999, 1000, 1001)] == [False, False, True]
    assert log.writer.relayed_to(ids[0]) == 1000
    log.reopen()
    assert log.writer.relayed_to(ids[0]) == 1000
    log.writer.append(draft_of(StreamDropped(), "urn:d"))
    assert not holds(log, Once(*ids, 1001))


def test_of_every_guard_the_first_that_does_not_hold_is_named(log: Opened) -> None:
    yes, no, neither = Absent("streams", "urn:s"), Present("streams", "urn:s"), Room("queries", 0)
    assert holds(log, Every(())) and holds(log, Every((yes, Every((yes,)))))
    for guards, first in (((yes, no, neither), no), ((neither, no), neither), ((yes, Every((yes, no)), neither), no)):
        refused = refusal(log, Every(guards))
        assert refused is not None and refused.guard == first


# --- any history

NAMES = st.sampled_from(["a", "b"])
IDS = st.integers(1, 9)
INSTANTS = st.integers(-2, 6)
KEYS = st.sampled_from(["k", "m 1", "m 2", "m 3"])
DIGESTS = st.sampled_from([ONE, TWO])
PAUSED = st.booleans()
KIND = st.sampled_from(["background", "rules"])
THINGS = st.sampled_from(["streams", "queries"])
TEXTS = st.builds(
    lambda things, names: " ".join([things, *names]),
    st.sampled_from(["streams", "graphs", "rules"]),
    st.lists(NAMES, max_size=2),
)
STAMPS = st.one_of(st.none(), st.integers(START - 20, START + 20))

simple_guards = st.one_of(
    st.builds(Absent, THINGS, NAMES),
    st.builds(Present, THINGS, NAMES),
    st.builds(Same, THINGS, IDS),
    st.builds(IsPaused, IDS, PAUSED),
    st.builds(Unfailed, IDS),
    st.builds(IsSet, KIND, NAMES),
    st.builds(Unchanged, KIND, NAMES, st.one_of(st.none(), IDS)),
    st.builds(
        Unread,
        st.sampled_from(["streams", "graphs", "rules"]),
        st.lists(NAMES, max_size=2).map(tuple),
        st.one_of(st.none(), NAMES),
    ),
    st.builds(Unfilled, NAMES, st.one_of(st.none(), IDS)),
    st.builds(Room, st.sampled_from(["streams", "queries", "graphs", "rules"]), st.integers(0, 3)),
    st.builds(Unused, IDS, KEYS, DIGESTS),
    st.builds(Once, IDS, IDS, INSTANTS),
)
guards = st.one_of(simple_guards, st.lists(simple_guards, max_size=3).map(lambda all: Every(tuple(all))))
besides = st.one_of(
    st.none(),
    st.builds(Relayed, IDS, INSTANTS),
    st.builds(
        Keys,
        IDS,
        st.dictionaries(KEYS, DIGESTS, max_size=3).map(lambda keys: tuple(keys.items())),
        st.just({"accepted": 1, "seq": None, "said": "é"}),
        st.just("m "),
        st.sampled_from([None, 1, 2]),
    ),
)
contents = st.one_of(
    st.builds(StreamMade, NAMES, st.just("arrival"), st.just(0), st.one_of(st.none(), NAMES)),
    st.just(StreamDropped()),
    st.builds(QueryRegistered, TEXTS, st.none(), PAUSED),
    st.just(QueryUnregistered()),
    st.builds(QueryPaused, IDS, PAUSED),
    st.builds(QueryFailed, IDS, INSTANTS, st.just("why"), st.none() | INSTANTS),
    st.builds(GraphSet, st.sampled_from([None, b"", b"g"]), st.integers(0, 2)),
    st.builds(RulesSet, st.sampled_from([None, "", "r"]), st.integers(0, 2)),
    st.builds(TriplesPushed, st.sampled_from([b"", b"c"]), st.integers(0, 3), STAMPS, STAMPS, st.integers(0, 1)),
    st.builds(ElementsLost, st.just("it is lost"), STAMPS, STAMPS),
)
drafts = st.one_of(
    st.builds(draft_of, contents, NAMES),
    st.builds(draft_of, contents, NAMES),
    st.builds(draft_of, st.builds(InstantPassed, st.integers(START - 20, START + 20)), st.one_of(st.none(), NAMES)),
    st.just(draft_of(EntrySkipped())),
)
steps = st.lists(
    max_size=24,
    elements=st.one_of(
        st.tuples(st.just("append"), drafts, besides, st.one_of(st.none(), guards)),
        st.tuples(st.just("ask"), guards),
        st.tuples(st.just("fail"), st.builds(draft_of, contents, NAMES)),
        st.tuples(st.just("pass"), st.integers(-3, 9)),
        st.tuples(st.just("forget"), st.integers(0, 20), st.integers(0, 3)),
        st.tuples(st.just("reopen")),
    ),
)


def outcome(work: Callable[..., object], *values: object) -> object:
    """What comes of it, as a value."""
    try:
        found = work(*values)
        return list(found) if isinstance(found, Iterator) else found
    except Refused as refused:
        return "refused", refused.guard, refused.readers, refused.reply
    except (Damaged, Reused) as error:
        return type(error), str(error)


def readings(log: ReadableLog) -> dict[tuple[object, ...], object]:
    """All that can be read."""
    tail = log.tail()
    places = range(tail + 2)
    calls: dict[tuple[object, ...], Callable[[], object]] = {("tail",): log.tail}
    for after in places:
        calls |= {
            ("waiting_since", after): lambda after=after: log.waiting_since(after),
            ("read", after): lambda after=after: list(log.read(after, tail)),
            ("read", 0, after): lambda after=after: list(log.read(0, after)),
            ("logged_at", after): lambda after=after: [
                log.logged_at(START + more, after=after) for more in range(-2, 41)
            ],
            ("registrations", after): lambda after=after: list(log.registrations(after, tail)),
            ("outline", after): lambda after=after: log.outline(after, 3),
            ("one", after): lambda after=after: log.one(after),
            ("payload", after): lambda after=after: log.payload(after),
            ("size", after): lambda after=after: log.size(after),
        }
    for name in "ab":
        calls |= {
            ("forgotten", name): lambda name=name: log.forgotten(name),
            ("newest", name): lambda name=name: log.newest(name),
            ("totals", name): lambda name=name: tuple(log.totals(name)),
            ("recent", name): lambda name=name: log.recent(name),
            ("recent", name, 2): lambda name=name: log.recent(name, 2, tail - 2),
            ("ticked", name): lambda name=name: [
                log.ticked(name, START + more, after=2, upto=tail - 1) for more in range(-20, 21, 4)
            ],
            ("outlines", name): lambda name=name: log.outlines(name, after=tail // 2),
            ("outlines", name, "newest first"): lambda name=name: log.outlines(name, after=1, newest_first=True),
            ("chunks", name): lambda name=name: log.chunks(name, low=START, high=START + 9, after=1),
        }
        for after in (0, tail // 2):
            calls |= {
                ("reached", name, after): lambda name=name, after=after: [
                    log.reached(name, START + more, after=after) for more in range(-20, 41, 4)
                ],
                ("span", name, after): lambda name=name, after=after: log.span(name, after=after),
            }
        for kind in KINDS:
            calls |= {
                ("last", name, kind): lambda name=name, kind=kind: log.last(name, kind, tail),
                ("last_as_is", name, kind): lambda name=name, kind=kind: log.last_as_is(name, kind, tail // 2),
            }
    return {call: outcome(work) for call, work in calls.items()}


def test_what_was_appended_is_counted_by_stream(log: Opened) -> None:
    assert log.writer.appended("a") == (0, 0)
    for name, rows in (("a", 3), ("b", 5), ("a", 4)):
        log.writer.append(draft_of(TriplesPushed(b"", rows, None, None, rows), name))
    log.writer.append(draft_of(InstantPassed(START)))
    assert (log.writer.appended("a"), log.writer.appended("b")) == ((2, 7), (1, 5))


def test_the_clock_says_what_comes_next_is_stamped_with(log: Opened, hands: Hands) -> None:
    hands.forward(5)
    assert log.writer.append(draft_of(EntrySkipped())).at == log.writer.now() == START + 5
    log.writer.append(draft_of(InstantPassed(START + 9)))
    assert log.writer.append(draft_of(EntrySkipped())).at == START + 10


@given(steps)
@settings(max_examples=examples(60), deadline=None)
def test_any_history_is_the_same_in_both(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple]) -> None:
    hands = Hands(START)
    logs = InMemory(Path(), hands), InSqlite(tmp_path_factory.mktemp("log"), hands)
    memory, sqlite = logs
    try:
        for step in steps:
            match step:
                case ["append", draft, beside, guard]:
                    whole = Draft(
                        draft.kind,
                        draft.subject,
                        draft.payload,
                        draft.rows,
                        draft.first,
                        draft.last,
                        draft.unstamped,
                        draft.at,
                        beside,
                    )
                    written = None if guard is None else guard_of(text_of(guard))
                    assert outcome(memory.writer.append, whole, guard) == outcome(sqlite.writer.append, whole, written)
                case ["ask", guard]:
                    tick = draft_of(InstantPassed(0), "urn:clock")
                    assert outcome(memory.writer.append, tick, guard) == outcome(sqlite.writer.append, tick, guard)
                case ["fail", draft]:  # the transaction comes to nothing, whatever had been noted of it
                    broken = Draft(
                        draft.kind,
                        draft.subject,
                        draft.payload,
                        at=draft.at,
                        beside=Keys(1, (("k", ONE),), {"x": object()}),
                    )
                    with pytest.raises(StoreError):
                        sqlite.writer.append(broken)
                    for log in logs:  # it has read the clock: so has the other one now
                        log.writer.append(draft_of(EntrySkipped()))
                case ["pass", ms]:
                    hands.forward(max(ms, 0))
                    hands.wall += min(ms, 0)
                case ["forget", age, most]:
                    now = {log.writer.now() for log in logs}.pop()  # who has read a clock goes not back
                    assert len({log.writer.forget_keys(now, kept_ms=age, kept_keys=most) for log in logs}) == 1
                case ["reopen"]:
                    for log in logs:
                        log.reopen()
        assert readings(memory.reader) == readings(sqlite.reader)
        for id in range(1, 10):
            assert memory.writer.relayed_to(id) == sqlite.writer.relayed_to(id)
            for key in ("k", "m 1", "m 2", "m 3"):
                assert outcome(memory.writer.reply_to, id, key, ONE) == outcome(sqlite.writer.reply_to, id, key, ONE)
    finally:
        for log in logs:
            log.close()


@given(guards)
def test_a_guard_is_what_was_written(guard: AnyGuard) -> None:
    assert guard_of(text_of(guard)) == guard
    assert json.loads(text_of(guard))[0] == type(guard).__name__


@pytest.mark.parametrize(
    "text", ["", "5", "[]", '["Never"]', '["Absent", "streams"]', '["Every", 5]', "{}", '["Unused", 1, "k", "xyz"]']
)
def test_what_is_no_guard_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        guard_of(text)
