from __future__ import annotations

import contextlib
import json
from unittest import mock

import pytest

from csparql_spark.answers.incremental import Incremental
from csparql_spark.answers.limits import Limits
from csparql_spark.answers.snapshot import Snapshot
from csparql_spark.engine import views
from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.log import Entry
from csparql_spark.schedule.routing import UNREADABLE
from csparql_spark.windows.content import END_OF_TIME
from tests.engine.asked import Asked
from tests.engine.logs import by_hand
from tests.engine.running import in_one_go, matched_anew, routed, said

ALL = (("?s", "<urn:p>", "?o"),)


def triple(s: object) -> tuple[str, str, str]:
    return f"<urn:{s}>", "<urn:p>", "<urn:o>"


def chunk(at: int, *subjects: str) -> tuple:
    return at, "chunk", "urn:a", [(triple(s), None) for s in subjects]


def pushed(at: int, **stamped: int) -> tuple:
    """A chunk for the stream on the event clock (delay 0): subjects and their stamps."""
    return at, "chunk", "urn:e", [(triple(s), t) for s, t in stamped.items()]


def asked(range: int, step: int, stream: str = "urn:a", graphs: tuple[str, ...] = ()) -> Asked:
    return Asked.over(stream, range, step, ("s",), ALL, graphs=graphs)


def fed(log: list[Entry]) -> tuple[Group, list[Message]]:
    """One group, given all rows of the log in one batch."""
    group = Group("key")
    return group, list(group.feed(routed(log)))


def shown(told: list[Message]) -> dict[int, dict[int, str]]:
    """What each query says at its instants: the subjects, one after the other."""

    def spelled(rows: list[dict[str, str]] | None) -> str:
        return "failed" if rows is None else "".join(row["s"][5:-1] for row in rows)

    return {query: {one.instant: spelled(one.rows) for _, one in of} for query, of in said(told).items()}


def test_both_edges_of_the_window_and_empty_ones_too() -> None:
    """
          1000        2000        3000        4000        5000
    ───a───┼─────b────┼c──────────┼───────────┼───────────┼──▶    RANGE 2s STEP 1s
          999  1500   2000 2001                       tick 5000
    """
    log = by_hand(
        (0, "register", "q", asked(2000, 1000)),
        chunk(999, "a"),
        chunk(1500, "b"),
        chunk(2000, "c"),
        chunk(2001, "d"),
        (5000, "tick", None),
    )
    assert shown(fed(log)[1]) == {4: {1000: "a", 2000: "abc", 3000: "bcd", 4000: "d", 5000: ""}}


def test_an_instant_is_answered_by_what_shows_that_it_has_passed() -> None:
    log = by_hand(
        (0, "register", "q", asked(1000, 1000)),
        chunk(1000, "a"),
        chunk(1000, "b"),
        chunk(1001, "c"),
        (1999, "tick", None),
        (2000, "tick", None),
    )
    group = Group("key")
    assert [[one.instant for one in group.feed([row])] for row in routed(log)] == [[], [], [], [1000], [], [2000]]


def test_a_query_sees_only_what_was_logged_after_it() -> None:
    log = by_hand(
        (0, "register", "q", asked(3000, 1000)),
        chunk(500, "a"),
        (600, "register", "r", asked(3000, 1000)),
        chunk(700, "b"),
        (4000, "tick", None),
    )
    assert shown(fed(log)[1]) == {
        4: {1000: "ab", 2000: "ab", 3000: "ab", 4000: ""},
        6: {1000: "b", 2000: "b", 3000: "b", 4000: ""},
    }


def test_late_elements_count_in_every_window_that_is_yet_to_be_answered() -> None:
    """
    stamps, in the order of arrival       1000   2500 (1000 and 2000 are answered)   1800 (late)   3000   3001

    RANGE 2s STEP 1s         1000: a      2000: a      3000: bcd, of which c is late      4000 …
    """
    log = by_hand(
        (0, "register", "q", asked(2000, 1000, "urn:e")),
        pushed(1, a=1000),
        pushed(2, b=2500),
        pushed(3, c=1800),
        pushed(4, d=3000),
        pushed(5, e=3001),
    )
    group, told = fed(log)
    assert shown(told) == {4: {1000: "a", 2000: "a", 3000: "bcd"}}
    assert group.members[4].progress.late == 1


def test_rows_that_it_has_seen_are_ignored() -> None:
    log = by_hand((0, "register", "q", asked(1000, 1000)), chunk(500, "a"), chunk(1500, "b"), chunk(2500, "c"))
    rows = routed(log)
    group = Group("key")
    told = list(group.feed(rows[:3]))
    assert list(group.feed(rows[:3])) == []
    told += group.feed(rows[1:])
    assert shown(told) == {4: {1000: "a", 2000: "b"}}


def test_an_empty_chunk_is_no_news() -> None:
    log = by_hand((0, "register", "q", asked(1000, 1000)), chunk(500, "a"), chunk(1500))
    assert fed(log)[1] == []


def test_after_its_end_a_query_says_nothing_and_its_name_may_be_used_again() -> None:
    log = by_hand(
        (0, "register", "q", asked(1000, 1000)),
        chunk(500, "a"),
        (1500, "unregister", "q", None),
        (1600, "register", "q", asked(1000, 1000)),
        chunk(1700, "b"),
        (2000, "tick", None),
    )
    # What arrives at 1700 shows that 1000 has passed, too late for the first one.
    assert shown(fed(log)[1]) == {7: {2000: "b"}}


def test_background_stands_beside_every_window_until_it_is_replaced() -> None:
    query = asked(1000, 1000, graphs=("urn:g", "urn:h"))
    log = by_hand(
        (0, "background", "urn:g", [triple("g")]),
        (0, "register", "q", query),
        chunk(500, "a"),
        (1000, "tick", None),
        (1100, "background", "urn:h", [triple("h"), triple("g")]),
        (2000, "tick", None),
        (2100, "background", "urn:g", []),
        (2200, "register", "r", query),
        (3000, "tick", None),
    )
    assert shown(fed(log)[1]) == {5: {1000: "ag", 2000: "gh", 3000: "gh"}, 11: {3000: "gh"}}


def test_queries_that_look_at_the_same_graph_share_it() -> None:
    log = by_hand(
        (0, "register", "q", asked(1000, 1000)),
        (0, "register", "r", Asked.over("urn:a", 1000, 500, ("o",), ALL)),
        (0, "register", "s", asked(2000, 1000)),
        chunk(500, "a"),
        (1000, "tick", None),
    )
    group, told = fed(log)
    assert [(one.query, one.instant) for one in told] == [(5, 500), (6, 1000), (4, 1000), (5, 1000)]
    assert {(view.windows[0].range, view.since) for view in group._views.live()} == {(1000, 0), (2000, 0)}


def test_a_shared_graph_is_as_old_as_the_row_and_not_only_as_the_instant() -> None:
    """
    log          q      1    tick 1000     r      900 (late for q)    1001
    1000 of q                nothing
    1000 of r                                                         the one of 900: RANGE 500
    """
    query = asked(500, 1000, "urn:e")
    log = by_hand(
        (0, "register", "q", query),
        pushed(1, a=1),
        (1000, "tick", "urn:e"),
        (2, "register", "r", query),
        pushed(3, b=900),
        pushed(4, c=1001),
    )
    assert shown(fed(log)[1]) == {4: {1000: ""}, 7: {1000: "b"}}


def test_what_has_not_changed_is_not_evaluated_again() -> None:
    log = by_hand(
        (0, "register", "q", asked(10_000, 1000)),
        chunk(500, "a"),
        (5000, "tick", None),
        chunk(5500, "a"),
        chunk(6500, "b"),
        (8000, "tick", None),
    )
    expected = {4: {**dict.fromkeys(range(1000, 7000, 1000), "a"), 7000: "ab", 8000: "ab"}}
    with matched_anew(), mock.patch.object(Snapshot, "answer", autospec=True, side_effect=Snapshot.answer) as asked_of:
        assert shown(fed(log)[1]) == expected
    assert asked_of.call_count == 2  # the second a is the same triple: the graph has not changed
    with mock.patch.object(Incremental, "answer", autospec=True, side_effect=Incremental.answer) as asked_of:
        assert shown(fed(log)[1]) == expected
    assert asked_of.call_count == 3  # but it holds longer now, and an answer says so


def test_a_view_is_dropped_when_nobody_looks_at_it_any_more() -> None:
    log = by_hand(
        (0, "register", "q", asked(5000, 1000)),
        chunk(500, "a"),
        (600, "register", "r", asked(5000, 1000)),
        chunk(700, "b"),
        (3000, "tick", None),
        (7000, "tick", None),
        (7100, "unregister", "q", None),
        (7200, "unregister", "r", None),
    )
    rows = routed(log)
    group = Group("key")
    views = []
    for row in rows:
        list(group.feed([row]))
        views.append(sorted(view.since for view in group._views.live()))
    # While the window reaches back behind the second registration, that query has a view of its own.
    assert views == [[], [], [], [], [0, 6], [0], [0], []]
    assert not group._views.live() and len(group.content) == 0


# --- failures


def test_too_many_rows_fail_the_query_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "LIMITS", Limits(rows=2))
    log = by_hand(
        (0, "register", "q", asked(1000, 1000)),
        (0, "register", "r", Asked.over("urn:a", 1000, 1000, ("o",), ALL, distinct=True)),
        chunk(500, "a", "b"),
        chunk(1500, "a", "b", "c"),
        chunk(2500, "a"),
        chunk(3500, "b"),
    )
    group, told = fed(log)
    assert [(one.query, one.instant, type(one)) for one in told] == [
        (4, 1000, InstantAnswer),
        (5, 1000, InstantAnswer),
        (4, 2000, QueryFailure),
        (5, 2000, InstantAnswer),
        (5, 3000, InstantAnswer),
    ]
    assert told[2] == QueryFailure(
        4, 2000, "the answer has more than 2 rows, which is the limit for one instant: add a LIMIT or a FILTER"
    )
    assert group.members[4].failed == told[2].reason and group.members[5].failed is None
    assert group.horizons() == {0: 4000 - 1000}  # of what only the failed one could see nothing is kept
    assert [view.plan for view in group._views.live()] == [group.members[5].plan]


@pytest.mark.parametrize("evaluator", [Snapshot, Incremental])
@pytest.mark.parametrize("method", ["move", "answer"])
@pytest.mark.parametrize(
    "error, reason", [(MemoryError(), "MemoryError"), (RuntimeError("out of luck"), "out of luck")]
)
def test_whatever_happens_in_the_evaluator_happens_to_one_query(
    evaluator: type, method: str, error: Exception, reason: str
) -> None:
    log = by_hand(
        (0, "register", "q", asked(3000, 1000)),
        (0, "register", "r", asked(2000, 1000)),
        chunk(500, "a"),
        chunk(1500, "b"),
        chunk(2500, "c"),
    )
    rows = routed(log)
    group = Group("key")
    whole = getattr(evaluator, method)
    calls = iter([error])

    def break_once(snapshot: Snapshot, *arguments: object, **options: object) -> object:
        if (failing := next(calls, None)) is not None:
            raise failing
        return whole(snapshot, *arguments, **options)

    with (
        mock.patch.object(evaluator, method, break_once),
        matched_anew() if evaluator is Snapshot else contextlib.nullcontext(),
    ):
        told = [one for row in rows for one in group.feed([row])]
    assert told[0] == QueryFailure(4, 1000, reason)
    assert shown(told) == {4: {1000: "failed"}, 5: {1000: "a", 2000: "ab"}}


def test_a_text_that_cannot_be_read_any_more_fails_its_query_once() -> None:
    log = by_hand(
        (0, "register", "q", asked(1000, 1000)),
        (7, "register", "bad", asked(1000, 1000)),
        chunk(500, "a"),
        (1000, "tick", None),
        (1100, "unregister", "bad", None),
    )
    log[4] = Entry(5, "register", 7, "bad", payload=json.dumps({"text": "SELECT nothing", "base": None}).encode())
    told = in_one_go(log)
    (failure,) = told.pop(UNREADABLE)
    assert isinstance(failure, QueryFailure) and failure[:2] == (5, 7)
    assert failure.reason.startswith("the query cannot be read: line 1, column 8: ")
    assert shown([one for of in told.values() for one in of]) == {4: {1000: "a"}}


def test_a_text_that_cannot_be_answered_any_more_fails_its_query_once() -> None:
    log = by_hand(
        (0, "register", "q", asked(1000, 1000)),
        (7, "register", "bad", asked(1000, 1000)),
        chunk(500, "a"),
        (1000, "tick", None),
    )
    text = asked(1000, 1000).text.replace("WHERE {", "WHERE { SERVICE <urn:x> { ?x ?y ?z } ")
    log[4] = Entry(5, "register", 7, "bad", payload=json.dumps({"text": text, "base": None}).encode())
    group, told = fed(log)
    assert told[0].query == 5 and told[0].reason.startswith("the query cannot be read: SERVICE is not supported")
    assert shown(told) == {5: {7: "failed"}, 4: {1000: "a"}} and list(group.members) == [4]


# --- forgetting


def test_horizons_are_what_the_next_instants_reach_back_to() -> None:
    log = by_hand(
        (0, "register", "q", asked(3000, 1000)),
        (0, "register", "r", asked(1000, 5000)),
        chunk(500, "a"),
        chunk(2500, "b"),
        (2600, "unregister", "q", None),
    )
    rows = routed(log)
    group = Group("key")
    horizons = []
    for row in rows:
        list(group.feed([row]))
        horizons.append(group.horizons())
    #            the stream is not known yet
    assert horizons == [{}, {}, {0: 1000 - 3000}, {0: 3000 - 3000}, {0: 5000 - 1000}]


def test_while_a_query_has_not_begun_nothing_is_forgotten() -> None:
    log = by_hand((0, "register", "q", asked(1000, 1000, "urn:e")), pushed(1, a=100))
    group, _ = fed(log)
    assert group.horizons() == {0: 1000 - 1000}
    late = by_hand(
        (0, "register", "q", asked(1000, 1000, "urn:e")),
        pushed(1, a=100),
        (2, "register", "r", asked(1000, 1000, "urn:e")),
    )
    group, _ = fed(late)
    assert group.horizons() == {}


def test_without_members_all_is_forgotten() -> None:
    log = by_hand((0, "register", "q", asked(1000, 1000)), chunk(500, "a"), (600, "unregister", "q", None))
    group, _ = fed(log)
    assert group.horizons() == {0: END_OF_TIME} and len(group.content) == 0
