"""Versions: a query is replaced in place. The version before ends where the next one begins, without a gap, and nobody
else is told anything else.

The laws draw replacements, too, in whichever group the next version is.
"""

from __future__ import annotations

import dataclasses
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.asking.replay import answer_log
from csparql_spark.engine.background_wait import BackgroundWait
from csparql_spark.engine.group import Group
from csparql_spark.engine.group_state import restore
from csparql_spark.engine.messages import QueryFailure
from csparql_spark.log import Draft, Entry
from csparql_spark.log.contents import draft_of, registered
from csparql_spark.schedule.routing import DAMAGED, REPLACED, UNREADABLE, Router, wake
from tests.engine.asked import Asked
from tests.engine.logs import by_hand, entries, law, logs
from tests.engine.naive import Logged
from tests.engine.running import DictState, Worker, in_one_go, routed, said
from tests.engine.test_closings import Drawn, any_background
from tests.engine.test_pausing import asked, chunk, pause, resume, told
from tests.examples import examples
from tests.log.both import InMemory, InSqlite
from tests.store.opened import Hands

FIRST = 4  # the place of the first entry that is written by hand


def register(at: int, query: Asked, name: str = "q") -> tuple:
    return at, "register", name, query


def tick(at: int) -> tuple:
    return at, "tick", None


@pytest.mark.parametrize("instant", [2000, 2001], ids=["at an instant", "between two"])
def test_one_version_answers_up_to_where_the_next_one_begins(instant: int) -> None:
    """Each instant has one answer, of the one or of the other; what came before is not seen by who comes later."""
    assert told(
        register(0, asked()),
        register(0, asked(), "r"),
        chunk(500, "a"),
        tick(1000),
        chunk(1500, "b"),
        register(instant, asked(range=9000)),
        chunk(2500, "c"),
        tick(4000),
    ) == {
        4: [(1000, "a"), (2000, "ab")],
        5: [(1000, "a"), (2000, "ab"), (3000, "abc"), (4000, "bc")],
        9: [(3000, "c"), (4000, "c")],
    }


@pytest.mark.parametrize("output, first", [("RSTREAM", "ab"), ("ISTREAM", "ab"), ("DSTREAM", "")])
def test_a_version_begins_with_what_has_changed_since_nothing(output: str, first: str) -> None:
    query = asked(range=1000, output=output)
    said = told(register(0, query), chunk(500, "a", "b"), register(1100, query), chunk(1500, "a", "b"), tick(3000))
    assert said[4] == [(1000, first)]
    assert said[6] == [(2000, first), (3000, "ab" if output == "DSTREAM" else "")]


def test_on_the_event_clock_each_version_has_instants_of_its_own() -> None:
    query = asked(stream="urn:e")
    assert told(
        register(0, query),
        chunk(10, "a", stamp=500, stream="urn:e"),
        chunk(11, "b", stamp=2500, stream="urn:e"),
        register(12, query),
        chunk(13, "c", stamp=900, stream="urn:e"),
        chunk(14, "d", stamp=2600, stream="urn:e"),
    ) == {4: [(1000, "a"), (2000, "a")], 7: [(1000, "c"), (2000, "c")]}


def test_who_is_paused_ends_without_an_answer_and_the_next_one_is_as_its_entry_says() -> None:
    paused = Asked.over("urn:a", 1000, 1000, ("s",), (("?s", "<urn:p>", "?o"),), paused=True)
    lines = (
        register(0, asked()),
        pause(100),
        chunk(500, "a"),
        register(1500, paused),
        chunk(2500, "b"),
        resume(3100, id=7),
        chunk(3500, "c"),
        tick(4000),
    )
    assert told(*lines) == {7: [(4000, "c")]}
    router = Router()
    known = [(router.route(entry), router.queries.get("q"))[1] for entry in by_hand(*lines)]
    assert [(one.id, one.paused) for one in known[3:] if one] == [
        (4, False),
        (4, True),
        (4, True),
        (7, True),
        (7, True),
        (7, False),
        (7, False),
        (7, False),
    ]


def test_who_has_failed_is_replaced_and_runs_again() -> None:
    broken = Asked.over("urn:a", 1000, 1000, ("s",), (("?s", "<urn:p>", "?o"),))
    log = by_hand(
        register(0, broken), chunk(500, "a"), tick(1000), register(1500, asked()), chunk(1600, "b"), tick(2000)
    )
    group, said = Group("g"), []
    for row in routed(log):
        if row.seq == 7:
            said.append(group._fail(group.members[4], 1500, ValueError("for a reason")))
        said += group.feed([row])
    assert [type(one) is QueryFailure for one in said] == [False, True, False]
    assert [(one.query, one.instant) for one in said] == [(4, 1000), (4, 1500), (7, 2000)]
    assert set(group.members) == {7}


def test_a_version_in_another_group_ends_where_it_is() -> None:
    log = by_hand(register(0, asked()), register(0, asked(stream="urn:e")), chunk(500, "a"), tick(3000))
    a, e = (row.group for row in routed(log) if row.kind == "register")
    assert [(row.group, row.seq, row.kind) for row in routed(log) if row.seq < 6] == [
        (a, 4, "register"),
        (a, 5, REPLACED),
        (e, 5, "register"),
    ]
    assert in_one_go(log) == {a: [], e: []}
    # In its own group it ends with the registration itself.
    assert [row.kind for row in routed(by_hand(register(0, asked()), register(0, asked(step=500))))] == ["register"] * 2


def test_a_registration_that_is_damaged_ends_the_version_before_all_the_same() -> None:
    log = by_hand(register(0, asked()), register(0, asked()), chunk(500, "a"), tick(3000))
    log[4] = dataclasses.replace(log[4], payload=None, damage="the entry 5 is damaged")
    rows = routed(log)
    a = rows[0].group
    assert [(row.group, row.seq, row.kind) for row in rows] == [
        (a, 4, "register"),
        (a, 5, REPLACED),
        (UNREADABLE, 5, DAMAGED),
    ]
    told = in_one_go(log)
    assert told[a] == [] and [(type(one), one.query) for one in told[UNREADABLE]] == [(QueryFailure, 5)]


def test_replacing_two_thousand_times_leaves_one() -> None:
    state, worker = DictState(), Worker()
    lines = [line for at in range(1, 2001) for line in (register(at, asked(step=1 + at % 7)), chunk(at, "a"))]
    rows, sizes = routed(by_hand(*lines)), []
    for begin in range(0, len(rows), 500):
        worker.work("g", rows[begin : begin + 500], state)
        sizes.append(len(state.kept or b"") + sum(map(len, state.values.values())))
    group = restore("g", state)
    assert len(group.members) == 1 and len([key for key in state.values if key.kind.name == "REGISTRATION"]) == 1
    assert max(sizes[2:]) < 3 * min(sizes[2:])


@given(logs, st.data())
@law(max_examples=examples(25))
def test_whichever_log_it_is_in_a_history_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, log: list[Logged], data: st.DataObject
) -> None:
    """In memory and in SQLite, opened again on the way; each version names the one that it replaces, as it does there."""
    written, held, answered = with_versions(entries(log)), [], []
    cut = data.draw(st.integers(0, len(written)), label="opened again after")
    for kind in (InMemory, InSqlite):
        hands = Hands(0)
        opened = kind(tmp_path_factory.mktemp("log"), hands)
        try:
            for place, entry in enumerate(written):
                if place == cut:
                    opened.reopen()
                if entry.kind != "tick":
                    hands.forward(max(0, entry.at - hands.wall))
                opened.writer.append(draft(entry))
            held.append(list(opened.reader.read(0, opened.reader.tail())))
            answered.append(list(answer_log(opened.reader)))
        finally:
            opened.close()
    assert held[0] == held[1] and answered[0] == answered[1]
    assert said(answered[0]) == said([one for saying in in_one_go(held[0]).values() for one in saying])


def with_versions(log: list[Entry]) -> list[Entry]:
    """The same, where registrations say what they replace."""
    live: dict[str | None, tuple[int, int]] = {}
    made = []
    for entry in log:
        if entry.kind == "unregister":
            live.pop(entry.subject, None)
        if entry.kind == "register":
            before, origin = live.get(entry.subject, (None, None))
            content = dataclasses.replace(registered(entry.payload or b""), replaces=before, origin=origin)
            entry = dataclasses.replace(entry, payload=draft_of(content, entry.subject).payload)
            live[entry.subject] = entry.seq, origin or entry.seq
        made.append(entry)
    return made


def draft(entry: Entry) -> Draft:
    return Draft(
        entry.kind, entry.subject, entry.payload, entry.rows, entry.first, entry.last, entry.unstamped, entry.at
    )


def test_who_is_deleted_while_versions_wait_takes_them_along() -> None:
    """None of them is there afterwards, whichever had been taken, and which were held."""
    log = by_hand(
        register(0, asked()),
        chunk(500, "a"),
        tick(1000),
        register(1500, asked(step=500)),
        register(1600, asked(step=200)),
        register(1600, asked(), "r"),
        (1700, "unregister", "q", None),
        tick(3000),
    )
    state, ready = DictState(), [False]
    with mock.patch.object(BackgroundWait, "_closing", any_background):
        group = restore("g", state)
        group.close_by(Drawn(lambda: ready[0]))
        said = list(group.feed(routed(log)))
        assert group.waiting and said == []
        ready[0] = True
        said = list(group.feed([wake("g")]))
    assert set(group.members) == {9} and {one.query for one in said} == {9}
