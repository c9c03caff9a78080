from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csparql_spark.disk.database import Database
from csparql_spark.log import Entry, LogWriter
from csparql_spark.log.contents import QueryFailed, QueryRegistered, draft_of
from csparql_spark.log.sqlite.relays import relay
from csparql_spark.store import QueryRecord, StoredAnswer, StreamRecord, retention, versions
from csparql_spark.store.order import AnswerOrder
from csparql_spark.store.waiting_groups import WaitingGroups
from tests.examples import examples

from .opened import Hands, Opened


def forget(
    store: Opened, *, position: int | None = None, keep_log: int = 0, reach: int = 0, keep_answers: int = 1000
) -> list[int]:
    """What is left, by seq."""
    store.retention.advance(store.log.tail() if position is None else position)
    before = store.log.outline(0, 10_000)
    gone = store.retention.forget(keep_log=keep_log, reach=reach, keep_answers=keep_answers)
    left = [entry.seq for entry in store.log.outline(0, 10_000)]
    assert gone == len(before) - len(left)
    return left


def test_a_reader_moves_forward_only(store: Opened) -> None:
    assert store.retention.position() == 0
    positions = []
    for seq in (5, 9, 7):
        store.retention.advance(seq)
        positions.append(store.retention.position())
    assert positions == [5, 9, 9]


def test_what_windows_reach_and_what_is_kept_besides(store: Opened) -> None:
    """
    at    1000  2000  3000  4000  5000  6000  7000  8000  9000  10000
    seq      1     2     3     4     5     6     7     8     9     10      read to here
                                           ├──── reach 3000 ──────────┤
                               ├ keep 2000 ┤
          └──── these go ─────┘
    """
    for at in range(1000, 11_000, 1000):
        store.put("chunk", at, "urn:s")
    assert forget(store, keep_log=2000, reach=3000) == [5, 6, 7, 8, 9, 10]


def test_never_beyond_the_reader(store: Opened) -> None:
    """
    at    1000  2000  3000  4000            90 000  99 000
    seq      1     2     3     4                 5       6
                         read to here
    """
    for at in (1000, 2000, 3000, 4000, 90_000, 99_000):
        store.put("chunk", at, "urn:s")
    assert forget(store, position=3) == [3, 4, 5, 6]
    assert forget(store, position=3) == [3, 4, 5, 6]
    assert forget(store, position=6) == [6]


def test_nothing_goes_before_anything_was_read(store: Opened) -> None:
    for at in (1000, 2000, 99_000):
        store.put("chunk", at, "urn:s")
    assert forget(store, position=0) == [1, 2, 3]


def test_ticks_go_and_the_newest_entry_stays(store: Opened) -> None:
    for at in (1000, 2000, 3000):
        store.put("tick", at)
    store.put("tick", 99_000, "urn:s")  # of an event clock: says nothing when it is read
    store.put("tick", 4000)
    assert forget(store, reach=1500) == [3, 5]
    assert forget(store) == [5]


def test_a_window_on_the_event_clock_reaches_back_on_its_own_clock(store: Opened) -> None:
    """
    stamps of urn:e (their place in the log), and how far a window reaches back from the newest

          1000 (2)       5000 (4)   8000 (3)     9000 (5)
                         ├───────── reach 4000 ──┤

    All of them arrived long ago: the reader has come to an entry of 1 000 000.
    """
    store.put("stream", 9, "urn:e", payload=b"{}")
    for at, last in ((10, 1000), (11, 8000), (12, 5000), (13, 9000)):
        store.put("chunk", at, "urn:e", last=last)
    store.put("chunk", 1_000_000, "urn:s")
    assert forget(store, reach=4000) == [1, 3, 4, 5, 6]
    assert forget(store, reach=1000) == [1, 3, 5, 6]


def test_no_window_reaches_back_in_a_stream_that_was_deleted(store: Opened) -> None:
    """
    stamps of urn:e (their place in the log)     9000 (2)    deleted (3)
                                       ├─ reach ─┤           ├ not to be kept any more, once this is read
    """
    store.put("stream", 9, "urn:e", payload=b"{}")
    store.put("chunk", 10, "urn:e", last=9000)
    store.put("drop", 11, "urn:e")
    store.put("chunk", 1_000_000, "urn:s")
    store.put("chunk", 1_000_001, "urn:s")
    assert forget(store, position=2, reach=4000) == [1, 2, 3, 4, 5]
    assert forget(store, position=4, reach=4000) == [4, 5]


def test_old_stamps_that_have_just_arrived_stay(store: Opened) -> None:
    store.put("chunk", 999_000, "urn:e", last=10)
    store.put("chunk", 999_500, "urn:e", last=900_000)
    store.put("chunk", 1_000_000, "urn:s")
    assert forget(store, reach=4000) == [1, 2, 3]


def test_a_window_reaches_back_from_what_was_read_not_from_what_is_to_come(store: Opened) -> None:
    """
    stamps of urn:e      1000 (2)   1500 (3)                          90 000 (5)
                         ├─ reach 4000 from where the reader is ─┤
                                    read to here
    """
    store.put("stream", 9, "urn:e", payload=b"{}")
    store.put("chunk", 10, "urn:e", last=1000)
    store.put("chunk", 11, "urn:e", last=1500)
    store.put("chunk", 1_000_000, "urn:s")
    store.put("chunk", 1_000_001, "urn:e", last=90_000)
    assert forget(store, position=4, reach=4000) == [1, 2, 3, 4, 5]
    assert forget(store, position=5, reach=4000) == [1, 4, 5]


def test_what_was_undone_goes_with_what_undid_it(store: Opened) -> None:
    stream = StreamRecord.draft("urn:s", name="s", clock="arrival", delay=0).payload
    query = QueryRecord.draft("q", text="", base=None).payload
    for kind in ("stream", "register", "unregister", "drop", "stream", "register", "background", "background"):
        store.put(
            kind,
            1000,
            {"stream": "urn:s", "drop": "urn:s", "background": "urn:g"}.get(kind, "q"),
            payload={"stream": stream, "register": query, "background": b"triples"}.get(kind),
        )
    streams, queries = store.registry.streams(), store.registry.queries()
    assert [stream.id for stream in streams] == [5] and [query.id for query in queries] == [6]
    assert forget(store, position=3) == [1, 4, 5, 6, 7, 8]  # not: what the reader has not seen undone
    assert forget(store) == [5, 6, 8]
    assert (store.registry.streams(), store.registry.queries()) == (streams, queries)
    assert store.log.last("urn:g", "background", store.log.tail()).seq == 8


def test_nothing_is_left_of_a_query_that_was_paused_and_deleted(store: Opened) -> None:
    query = QueryRecord.draft("q", text="", base=None).payload
    for kind in ("register", "pause", "resume", "pause", "unregister"):
        store.put(kind, 1000, "q", payload=query if kind == "register" else None)
    store.put("register", 1000, "other", payload=query)
    assert forget(store, keep_log=10_000) == [6]
    assert forget(store, keep_log=10_000) == [6]


def test_of_a_graph_and_of_a_rule_set_the_newest_stays_and_nothing_when_it_is_gone(store: Opened) -> None:
    for kind, name, payload in (
        ("background", "a", b"1"),
        ("rules", "a", b"1"),
        ("background", "a", b"2"),
        ("rules", "b", b"1"),
        ("rules", "a", None),
        ("background", "a", b"3"),
        ("background", "c", b"1"),
        ("background", "c", None),
        ("rules", "z", b"1"),
    ):
        store.put(kind, 1000, name, payload=payload)

    def settings() -> list[tuple[str, str, int]]:
        return [
            (set.kind, set.name, set.id) for kind in ("background", "rules") for set in store.registry.settings(kind)
        ]

    now = [("background", "a", 6), ("rules", "b", 4), ("rules", "z", 9)]
    assert settings() == now
    assert forget(store, position=4) == [2, 3, 4, 5, 6, 7, 8, 9]  # not: what the reader has not seen replaced
    assert settings() == now
    assert forget(store) == [4, 6, 9]
    assert settings() == now


def test_the_clock_is_held_by_what_is_left(store: Opened) -> None:
    """The newest stamp is that of an entry that was undone; the newest entry, a tick of an event clock, has none."""
    store.put("stream", 1000, "urn:e")
    store.put("register", 4000, "q")
    store.put("unregister", 5000, "q")
    store.put("tick", 7, "urn:e")
    forget(store)
    writer = store.reopen(Hands(2000))  # the wall clock was set back meanwhile
    assert writer.append(StreamRecord.draft("urn:s", name="s", clock="arrival", delay=0)).at == 5000


def test_places_are_not_given_again(store: Opened) -> None:
    for kind in ("register", "unregister"):
        store.put(kind, 1000, "q")
    forget(store)
    with store.database.transaction() as connection:
        connection.execute("DELETE FROM log")
    assert store.put("register", 2000, "q") == 3


def test_many_entries_go_in_small_transactions(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.store.retention.STEP_ENTRIES", 3)
    for at in range(20):
        store.put("chunk", at, "urn:s")
    transactions = []
    transaction = Database.transaction
    monkeypatch.setattr(
        Database, "transaction", lambda self, **options: transactions.append(options) or transaction(self, **options)
    )
    assert forget(store) == [20]
    assert len(transactions) > 19 // 3 and all(options == {"durable": False} for options in transactions)


def test_a_step_deletes_no_more_bytes_than_pushes_can_wait_for(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.store.retention.STEP_BYTES", 1000)
    for size in (400, 400, 400, 5000, 0, 0, 900, 100, 100):
        store.put("chunk", 10, "urn:s", payload=bytes(size))
    store.put("chunk", 20, "urn:s", payload=b"newest")
    left: list[tuple[int, ...]] = []
    transaction = Database.transaction

    def seen(self: Database, **options: object) -> contextlib.AbstractContextManager:
        left.append(tuple(entry.seq for entry in store.log.outline(0, 99)))
        return transaction(self, **options)

    monkeypatch.setattr(Database, "transaction", seen)
    assert forget(store) == [10]
    assert list(dict.fromkeys(left)) == [tuple(range(first, 11)) for first in (1, 3, 4, 5, 9, 10)], (
        "two, one, a large one alone, four, one"
    )


# --- the whole rule, entry by entry

kinds = st.sampled_from(
    [
        "stream",
        "drop",
        "register",
        "unregister",
        "pause",
        "resume",
        "fail",
        "background",
        "no background",
        "rules",
        "no rules",
        "chunk",
        "chunk",
        "chunk",
        "tick",
        "event tick",
    ]
)
logs = st.lists(
    st.tuples(kinds, st.sampled_from(["a", "b"]), st.integers(0, 4), st.none() | st.integers(0, 20)), max_size=16
)


def stays(entry: Entry, log: list[Entry], position: int, keep_log: int, reach: int) -> bool:
    def undone_by(kind: str, *, itself: bool, before: float = math.inf) -> bool:
        return any(
            later.kind == kind
            and later.subject == entry.subject
            and later.seq <= position
            and later.at < before
            and (later.seq > entry.seq or itself and later is entry)
            for later in log
        )

    stamped = [other for other in log if other.kind != "tick" or other.subject is None]
    read = [other for other in stamped if other.seq <= position]
    if not read or entry is log[-1] or entry is stamped[-1]:
        return True
    if entry.kind in ("register", "fail", "pause", "resume") and is_of_a_version_before(entry, log, position):
        return False
    match entry.kind:
        case "stream":
            return not undone_by("drop", itself=False)
        case "register" | "fail":
            return not undone_by("unregister", itself=False)
        case "pause" | "resume":
            return not undone_by("unregister", itself=False) and not any(
                undone_by(kind, itself=False, before=read[-1].at - keep_log - reach) for kind in ("pause", "resume")
            )
        case "drop" | "unregister":
            return not undone_by(entry.kind, itself=True)
        case "background" | "rules":
            gone = entry.payload is None and entry.seq <= position
            return not gone and not undone_by(entry.kind, itself=False)
    if entry.seq >= position:
        return True
    recent = entry.at >= read[-1].at - keep_log - reach
    if entry.kind == "tick":
        return recent and entry.subject is None
    stamps = [
        other.last
        for other in log
        if other.kind == "chunk" and other.subject == entry.subject and other.seq <= position and other.last is not None
    ]
    there = any(
        made.kind == "stream"
        and made.subject == entry.subject
        and not any(
            gone.kind == "drop" and gone.subject == made.subject and made.seq < gone.seq <= position for gone in log
        )
        for made in log
    )
    return recent or there and entry.last is not None and entry.last >= max(stamps) - reach


def is_of_a_version_before(entry: Entry, log: list[Entry], position: int) -> bool:
    """Whether the engine has read of a later version of its query than the one that it is of; nothing of any is kept
    here."""
    mine = [other for other in log if other.subject == entry.subject]
    end = max((other.seq for other in mine if other.kind == "unregister"), default=0)
    versions = [other.seq for other in mine if other.kind == "register" and other.seq > end]
    return any(entry.seq < version <= position for version in versions[1:])


@given(logs, st.integers(0, 16), st.integers(0, 6), st.integers(0, 6))
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_rule(store: Opened, log: list[tuple], position: int, keep_log: int, reach: int) -> None:
    at, rows = 0, []
    for kind, subject, later, last in log:
        at += later
        if kind == "event tick":
            rows.append(("tick", last or 0, subject, None, None))
        else:
            payload = None if kind.startswith("no ") else b'{"text": "", "base": null}'
            rows.append(
                (
                    kind.removeprefix("no "),
                    at,
                    None if kind == "tick" else subject,
                    last if kind == "chunk" else None,
                    payload,
                )
            )
    with store.database.transaction() as connection:
        for table in ("log", "engine_progress", "sqlite_sequence"):
            connection.execute(f"DELETE FROM {table}")
        connection.executemany("INSERT INTO log (kind, at, subject, last, payload) VALUES (?, ?, ?, ?, ?)", rows)
    entries = store.entries()
    settings = [store.registry.settings(kind) for kind in ("background", "rules")]
    queries = store.registry.queries()
    expected = [entry.seq for entry in entries if stays(entry, entries, position, keep_log, reach)]
    floor = LogWriter(store.database, store.directory.bell("log"))._last
    assert forget(store, position=position, keep_log=keep_log, reach=reach) == expected
    assert LogWriter(store.database, store.directory.bell("log"))._last == floor
    assert [store.registry.settings(kind) for kind in ("background", "rules")] == settings
    assert store.registry.queries() == queries
    assert forget(store, position=position, keep_log=keep_log, reach=reach) == expected


# --- answers


def answers_left(store: Opened) -> dict[int, list[tuple[int, int]]]:
    rows = store.database.connection.execute(
        "SELECT query, instant, part FROM answers ORDER BY query, instant, part"
    ).fetchall()
    return {query: [(instant, part) for q, instant, part in rows if q == query] for query, _, _ in rows}


def test_answers_stay_for_the_newest_instants_of_each_query(store: Opened) -> None:
    for name in ("q", "r"):
        store.writer.append(QueryRecord.draft(name, text="", base=None))
    store.answers.write(
        [
            StoredAnswer(query, instant, part, 0, b"")
            for query, instant, part in [
                (1, 1000, 0),
                (1, 2000, 0),
                (1, 2000, 1),
                (1, 3000, 0),
                (1, 3000, 1),
                (2, 500, 0),
            ]
        ]
    )
    store.retention.forget(keep_log=0, reach=0, keep_answers=2)
    assert answers_left(store) == {1: [(2000, 0), (2000, 1), (3000, 0), (3000, 1)], 2: [(500, 0)]}
    store.retention.forget(keep_log=0, reach=0, keep_answers=1)
    assert answers_left(store) == {1: [(3000, 0), (3000, 1)], 2: [(500, 0)]}


def test_answers_and_failures_go_with_their_query(store: Opened) -> None:
    for name in ("q", "r", "s"):
        store.writer.append(QueryRecord.draft(name, text="", base=None))
    store.answers.write(
        [StoredAnswer(query, 1000, 0, 0, b"") for query in (1, 2)],
        [(1, 2000, "why"), (2, 2000, "why"), (3, 2000, "why")],
    )
    store.append("unregister", "q")
    store.append("unregister", "s")  # it failed before it could answer
    again = store.writer.append(QueryRecord.draft("q", text="", base=None)).seq
    store.answers.write([StoredAnswer(again, 3000, 0, 0, b"")])
    store.retention.forget(keep_log=0, reach=0, keep_answers=10)
    assert answers_left(store) == {2: [(1000, 0)], again: [(3000, 0)]}
    assert [store.answers.failure(query) for query in (1, 2, 3)] == [None, (2000, "why"), None]


def versions_of(store: Opened, number: int) -> list[int]:
    """A query that is replaced so often."""
    made: list[int] = []
    for _ in range(number):
        content = QueryRegistered("SELECT", None)
        if made:
            content = QueryRegistered("SELECT", None, replaces=made[-1], origin=made[0])
        made.append(store.writer.append(draft_of(content, "q")).seq)
    return made


def settled(store: Opened, *, position: int | None = None, keep_answers: int = 1000) -> None:
    store.retention.advance(store.log.tail() if position is None else position)
    store.retention.forget(keep_log=0, reach=0, keep_answers=keep_answers)


def test_the_newest_instants_are_those_of_any_version(store: Opened) -> None:
    first, second, third = versions_of(store, 3)
    told = {first: (1000, 2000, 3000), second: (500, 2500), third: (3000,)}
    for version, instants in told.items():
        store.answers.write([StoredAnswer(version, instant, 0, 0, b"") for instant in instants])
    store.answers.write([], [(first, 4000, "for a reason")])

    def left(keep: int) -> dict[int, list[int]]:
        settled(store, keep_answers=keep)
        return {query: [instant for instant, _ in parts] for query, parts in answers_left(store).items()}

    assert left(6) == {version: list(instants) for version, instants in told.items()}
    assert left(5) == {first: [2000, 3000], second: [500, 2500], third: [3000]}
    assert [version.id for version in store.registry.versions("q")] == [first, second, third]
    assert store.answers.failure(first) == (4000, "for a reason")
    assert left(2) == {second: [2500], third: [3000]}
    assert [version.id for version in store.registry.versions("q")] == [second, third]
    assert store.answers.failure(first) is None
    store.answers.write([StoredAnswer(third, 4000, 0, 0, b"")])
    assert left(2) == {third: [3000, 4000]}
    assert [version.id for version in store.registry.versions("q")] == [third]
    # Who was there before is told that something is gone, whatever is known of the version that it knew.
    order = AnswerOrder(store.database)
    assert [(place.query, place.instant) for place in order.after(0, head=order.head(), limit=9)] == [
        (first, None),
        (third, 3000),
        (third, 4000),
    ]
    assert order.gone(first)[0] == 5 and order.gone(second) is None
    store.append("unregister", "q")
    settled(store)
    assert store.database.connection.execute("SELECT * FROM forgotten").fetchall() == []


def test_a_version_that_ends_where_another_one_began_keeps_its_end(store: Opened) -> None:
    """The one in between has said nothing; without it the first one would go on."""
    made = versions_of(store, 4)
    store.answers.write([StoredAnswer(made[1], 1000, 0, 0, b"")])
    settled(store, keep_answers=9)
    assert [(version.id, version.ended) for version in store.registry.versions("q")] == [
        (made[1], made[2]),
        (made[2], made[3]),
        (made[3], None),
    ]


def test_who_replaces_all_the_time_makes_nothing_grow(store: Opened) -> None:
    made = versions_of(store, 30)
    for version in made:
        store.answers.write([StoredAnswer(version, 1000, 0, 0, b"")], [(version, 2000, "for a reason")])
        store.append("fail", "q", payload=draft_of(QueryFailed(version, 2000, "for a reason"), "q").payload)
    settled(store, keep_answers=1000)
    settled(store, keep_answers=1000)
    kept = made[-1 - versions.MOST :]
    assert [version.id for version in store.registry.versions("q")] == kept
    assert list(answers_left(store)) == kept
    assert [query for query, _, _ in store.answers.failures()] == kept


@pytest.mark.parametrize("reason", ["not read", "waiting"])
def test_a_version_that_may_still_say_something_stays(store: Opened, reason: str) -> None:
    first, second = versions_of(store, 2)
    if reason == "waiting":
        WaitingGroups(store.database).note("g", queries=[first], triples=1, now=0)
    settled(store, position=first if reason == "not read" else None)
    assert [version.id for version in store.registry.versions("q")] == [first, second]
    WaitingGroups(store.database).forget("g")
    settled(store)
    assert [version.id for version in store.registry.versions("q")] == [second]


@pytest.mark.parametrize("later", [1, versions.MOST + 1])
@pytest.mark.parametrize("reason", ["not read", "waiting"])
def test_of_a_version_that_may_still_say_something_the_newest_stays(store: Opened, reason: str, later: int) -> None:
    """However many came after it, and whatever these have said."""
    first, *_, last = versions_of(store, 1 + later)
    store.answers.write([StoredAnswer(query, at, 0, 0, b"") for query in (first, last) for at in (1000, 2000)])
    if reason == "waiting":
        WaitingGroups(store.database).note("g", queries=[first], triples=1, now=0)
    settled(store, position=first if reason == "not read" else None, keep_answers=2)
    assert answers_left(store) == {first: [(2000, 0)], last: [(1000, 0), (2000, 0)]}
    WaitingGroups(store.database).forget("g")
    settled(store, keep_answers=2)
    assert answers_left(store) == {last: [(1000, 0), (2000, 0)]}


def test_answers_that_are_not_relayed_yet_stay(store: Opened) -> None:
    """
    instants of a stream query      1000   2000   3000   4000   5000
                                           relayed       ├─ the newest two
    """
    store.writer.append(StreamRecord.draft("urn:d", name="d", clock="derived", delay=0, producer="d"))
    query, plain = (store.writer.append(QueryRecord.draft(name, text="", base=None)).seq for name in ("d", "p"))
    for id in (query, plain):
        store.answers.write([StoredAnswer(id, instant, 0, 0, b"") for instant in range(1000, 6000, 1000)])

    def left(place: int | None) -> list[int]:
        if place is not None:
            with store.database.transaction() as connection:
                relay(connection, query, place)
        store.retention.forget(keep_log=0, reach=0, keep_answers=2)
        return [instant for instant, _ in answers_left(store)[query]]

    assert left(None) == [1000, 2000, 3000, 4000, 5000]
    assert [instant for instant, _ in answers_left(store)[plain]] == [4000, 5000]
    assert left(2000) == [3000, 4000, 5000]
    assert left(5000) == [4000, 5000]


def test_places_go_with_their_query(store: Opened) -> None:
    store.retention.advance(3)
    ids = [store.writer.append(QueryRecord.draft(name, text="", base=None)).seq for name in ("q", "r")]
    with store.database.transaction() as connection:
        for id in ids:
            relay(connection, id, 7)
    store.append("unregister", "q")
    store.retention.forget(keep_log=0, reach=0, keep_answers=1)
    assert store.database.connection.execute("SELECT query, instant FROM relayed").fetchall() == [(ids[1], 7)]
    assert [store.writer.relayed_to(id) for id in ids] == [None, 7]
    assert store.retention.position() == 3


def test_what_was_undone_is_found_by_the_index(store: Opened) -> None:
    """Not by comparing each registration with all of the log."""
    plan = [
        line.lstrip()
        for *_, line in store.log._database.connection.execute(
            f"EXPLAIN QUERY PLAN SELECT seq FROM log WHERE seq IN ({retention._UNDONE})", {"position": 9, "horizon": 9}
        )
    ]
    looked = [line for line in plan if " later " in f" {line}"]
    assert len(looked) == 4 and all("log_registry (subject=? AND kind=?" in line for line in looked)
    assert "SCAN made USING INDEX log_registry" in plan


def test_up_to_where_chunks_of_a_stream_are_gone_is_known(store: Opened) -> None:
    """What goes of other streams, ticks and what was undone are gaps that say nothing of it."""
    store.put("chunk", 1000, "urn:s")
    store.put("chunk", 1000, "urn:r")
    store.put("tick", 1000, "urn:s")
    store.put("chunk", 2000, "urn:s")
    for at in (8000, 9000):
        store.put("chunk", at, "urn:s")

    def places() -> list[int]:
        return [store.log.forgotten(stream) for stream in ("urn:s", "urn:r", "urn:t")]

    assert places() == [0, 0, 0]
    assert forget(store, keep_log=7500) == [4, 5, 6]
    assert places() == [1, 2, 0]
    assert forget(store, keep_log=5000) == [5, 6]
    assert places() == [4, 0, 0]  # there is no stream urn:r any more
    with store.database.transaction() as connection:  # as a version left it that noted nothing
        connection.execute("DELETE FROM status")
    assert places() == [6, 6, 6]
    assert forget(store, keep_log=5000) == [5, 6]
    assert places() == [6, 6, 6]
