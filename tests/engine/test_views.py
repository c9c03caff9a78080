from __future__ import annotations

from unittest import mock

from csparql_spark.answers.snapshot import Snapshot
from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import Message
from csparql_spark.log import Entry
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand
from tests.engine.running import matched_anew, routed, said

ALL = (("?s", "<urn:p>", "?o"),)


def triple(s: object) -> tuple[str, str, str]:
    return f"<urn:{s}>", "<urn:p>", "<urn:o>"


def chunk(at: int, *subjects: str, stream: str = "urn:a") -> tuple:
    return at, "chunk", stream, [(triple(s), None) for s in subjects]


def asked(*windows: Seen, **more: object) -> Asked:
    return Asked(windows, ("s",), more.pop("patterns", ALL), **more)


def fed(log: list[Entry], watch: list | None = None) -> tuple[Group, list[Message]]:
    """One group, given the rows of the log one by one; `watch` takes how many views there are after each."""
    group, told = Group("key"), []
    for row in routed(log):
        told += group.feed([row])
        if watch is not None:
            watch.append(len(group._views.live()))
    return group, told


def shown(told: list[Message]) -> dict[int, dict[int, str]]:
    """What each query says at its instants: the subjects, one after the other."""
    return {
        query: {one.instant: "".join(row["s"][5:-1] for row in one.rows) for _, one in of}
        for query, of in said(told).items()
    }


# --- what is seen


def test_each_window_is_seen_as_of_its_own_last_step() -> None:
    """
    stream a   RANGE 4 STEP 4      ────(───a│───b────│───c────│─────        a at 3, b at 5, c at 9
    stream b   RANGE 9 STEP 6      ───x─────────│y──────────│───────        x at 2, y at 7
    instants                           4     6  8           12
    of a as of                         4     4  8           12
    of b as of                         0     6  6           12
    """
    query = asked(Seen("urn:a", 4, 4), Seen("urn:b", 9, 6))
    log = by_hand(
        (-1, "register", "q", query),
        chunk(2, "x", stream="urn:b"),
        chunk(3, "a"),
        chunk(5, "b"),
        chunk(7, "y", stream="urn:b"),
        chunk(9, "c"),
        (12, "tick", None),
    )
    assert shown(fed(log)[1]) == {4: {0: "", 4: "a", 6: "ax", 8: "bx", 12: "cy"}}


def test_with_every_windows_are_seen_as_of_their_last_step_too() -> None:
    """
    RANGE 4 STEP 4       ────│──a─│────│─b──│────│        a at 6, b at 13
    COMPUTE EVERY 7      ───────│──────│──────│           7 as of 4, 14 as of 12, 21 as of 20
    """
    log = by_hand(
        (0, "register", "q", asked(Seen("urn:a", 4, 4), every=7)),
        (0, "register", "r", asked(Seen("urn:a", 9, 4), every=7)),
        chunk(6, "a"),
        chunk(13, "b"),
        (21, "tick", None),
    )
    assert shown(fed(log)[1]) == {4: {7: "", 14: "", 21: ""}, 5: {7: "", 14: "a", 21: "b"}}


def test_a_window_with_gaps_is_seen_as_of_its_step_with_every() -> None:
    """
    RANGE 2 STEP 6       ────(─a│───(─b│────       a at 5, b at 11: seen at 8 as of 6, at 16 as of 12
    COMPUTE EVERY 8      ─────────│───────│─
    """
    log = by_hand(
        (0, "register", "q", asked(Seen("urn:a", 2, 6), every=8)),
        chunk(5, "a"),
        chunk(7, "x"),
        chunk(11, "b"),
        (16, "tick", None),
    )
    assert shown(fed(log)[1]) == {4: {8: "a", 16: "b"}}


def test_two_windows_of_one_range_over_one_stream_differ_by_their_steps() -> None:
    """
    RANGE 6 STEP 6, named v     ──────│─────│        at 8 it is seen as of 6, where b is not yet
    RANGE 6 STEP 4, named w     ────│───│───│        a at 5, b at 7
    """
    log = by_hand(
        (
            0,
            "register",
            "q",
            asked(
                Seen("urn:a", 6, 6, name="urn:v"), Seen("urn:a", 6, 4, name="urn:w"), patterns=(("<urn:v>", *ALL[0]),)
            ),
        ),
        (
            0,
            "register",
            "r",
            asked(
                Seen("urn:a", 6, 6, name="urn:v"), Seen("urn:a", 6, 4, name="urn:w"), patterns=(("<urn:w>", *ALL[0]),)
            ),
        ),
        chunk(5, "a"),
        chunk(7, "b"),
        (12, "tick", None),
    )
    assert shown(fed(log)[1]) == {4: {4: "", 6: "a", 8: "a", 12: "b"}, 5: {4: "", 6: "", 8: "ab", 12: "b"}}


def test_named_windows_are_graphs_and_bare_patterns_see_from_alone() -> None:
    named = asked(Seen("urn:a", 5, 5, name="urn:v"), graphs=("urn:g",), named=("urn:h",))
    bodies = {"q": ALL, "r": (("<urn:v>", *ALL[0]),), "s": (("<urn:h>", *ALL[0]),), "t": (("?g", *ALL[0]),)}
    log = by_hand(
        (0, "background", "urn:g", [triple("g")]),
        (0, "background", "urn:h", [triple("h")]),
        *(
            (0, "register", name, asked(*named.windows, patterns=body, graphs=("urn:g",), named=("urn:h",)))
            for name, body in bodies.items()
        ),
        chunk(3, "a"),
        (5, "tick", None),
    )
    assert shown(fed(log)[1]) == {6: {5: "g"}, 7: {5: "a"}, 8: {5: "h"}, 9: {5: "ah"}}


def test_a_window_that_holds_nothing_is_a_graph_too() -> None:
    log = by_hand(
        (0, "register", "q", Asked((Seen("urn:a", 5, 5, name="urn:v"),), ("g",), (("?g", *ALL[0]),))),
        (5, "tick", None),
        chunk(6, "a"),
        (10, "tick", None),
    )
    assert [one.rows for _, one in said(fed(log)[1])[4]] == [[], [{"g": "<urn:v>"}]]


def test_timestamps_are_those_of_what_the_query_sees() -> None:
    """
    a at 3 and 7, b at 4         f:timestamp
    RANGE 5 STEP 5               at 5: a 3, b 4        at 10: a 7
    the graph holds c            which has none
    """
    query = Asked((Seen("urn:a", 5, 5),), ("s", "when"), ALL, graphs=("urn:g",), stamped=("?s", "<urn:p>", "?o"))
    log = by_hand(
        (0, "background", "urn:g", [triple("c"), triple("b")]),
        (0, "register", "q", query),
        chunk(3, "a"),
        chunk(4, "b"),
        (5, "tick", None),
        chunk(7, "a"),
        (10, "tick", None),
    )
    whens = [
        [(row["s"][5:-1], row["when"].split('"')[1] if "when" in row else None) for row in one.rows]
        for _, one in said(fed(log)[1])[5]
    ]
    assert whens == [[("a", "3"), ("b", "4"), ("c", None)], [("a", "7"), ("b", None), ("c", None)]]


def test_timestamps_move_though_the_graph_stays() -> None:
    query = Asked((Seen("urn:a", 10, 5),), ("s", "when"), ALL, stamped=("?s", "<urn:p>", "?o"))
    log = by_hand((0, "register", "q", query), chunk(3, "a"), chunk(7, "a"), (10, "tick", None))
    assert [one.rows[0]["when"].split('"')[1] for _, one in said(fed(log)[1])[4]] == ["3", "7"]


# --- what is shared


def test_members_with_the_same_windows_share_a_view() -> None:
    windows = (Seen("urn:a", 4, 4), Seen("urn:b", 9, 6))
    log = by_hand(
        (-1, "register", "q", asked(*windows)),
        (-1, "register", "r", asked(*windows, every=3)),
        (-1, "register", "s", asked(*windows, output="ISTREAM")),
        chunk(2, "a"),
        (12, "tick", None),
    )
    with matched_anew(), mock.patch.object(Snapshot, "answer", autospec=True, side_effect=Snapshot.answer) as answer:
        group, told = fed(log)
    assert len(group._views.live()) == 1
    assert answer.call_count == 3  # before a, with it, and without it again: for all three
    assert shown(told) == {
        4: {0: "", 4: "a", 6: "a", 8: "", 12: ""},
        5: {0: "", 3: "", 6: "a", 9: "", 12: ""},
        6: {0: "", 4: "a", 6: "", 8: "", 12: ""},
    }


def test_steps_do_not_part_views_of_one_window_but_every_does() -> None:
    """
    RANGE 9                  a at 5, b at 7
    STEP 3 and STEP 2        one view: at each of their instants the window is seen as it is
    STEP 6, EVERY 4          another: at 8 as of 6: a
    STEP 4, EVERY 4          the first: at 8 as of 8: a and b
    """
    log = by_hand(
        (0, "register", "q", asked(Seen("urn:a", 9, 3))),
        (0, "register", "r", asked(Seen("urn:a", 9, 2))),
        (0, "register", "s", asked(Seen("urn:a", 9, 6), every=4)),
        (0, "register", "t", asked(Seen("urn:a", 9, 4), every=4)),
        chunk(5, "a"),
        chunk(7, "b"),
        (8, "tick", None),
    )
    group, told = fed(log)
    assert len(group._views.live()) == 2
    assert shown(told) == {
        4: {3: "", 6: "a"},
        5: {2: "", 4: "", 6: "a", 8: "ab"},
        6: {4: "", 8: "a"},
        7: {4: "", 8: "ab"},
    }


def test_a_member_that_counts_has_a_view_of_its_own() -> None:
    """Each has counted from its registration on.

    q   TRIPLES 2     a b│c d│
    r   TRIPLES 2       ·b c│d
    """
    query = asked(Seen("urn:a", 2, 2, "TRIPLES"))
    log = by_hand(
        (0, "register", "q", query),
        chunk(1, "a"),
        (1, "register", "r", query),
        chunk(2, "b"),
        chunk(3, "c"),
        chunk(4, "d"),
    )
    watched: list[int] = []
    assert shown(fed(log, watched)[1]) == {4: {2: "ab", 4: "cd"}, 6: {3: "bc"}}
    assert watched == [0, 0, 0, 1, 2, 2]


def test_what_came_before_a_registration_parts_views_until_no_window_sees_it() -> None:
    """
    stream a   RANGE 4 STEP 4     ─a─r──│──b────│──       r is registered after a
    stream b   RANGE 8 STEP 8
    """
    windows = (Seen("urn:a", 4, 4), Seen("urn:b", 8, 8))
    log = by_hand(
        (0, "register", "q", asked(*windows)),
        chunk(1, "a"),
        (2, "register", "r", asked(*windows)),
        (4, "tick", None),
        chunk(6, "b"),
        (8, "tick", None),
    )
    group, told = fed(log)
    assert shown(told) == {4: {4: "a", 8: "b"}, 6: {4: "", 8: "b"}}
    assert {view.since for view in group._views.live()} == {0}


def test_members_of_one_view_that_are_answered_in_two_ways_do_not_take_each_others_answers() -> None:
    """
    RANGE 4, STEP 2, twice        a at 1, b at 5: maintained, and answered at 2, 4, 6
    the same, EVERY 3             matched anew, at 3 and 6: at 3 as of 2
    """
    windows = (Seen("urn:a", 4, 2), Seen("urn:b", 9, 2))
    log = by_hand(
        (-1, "register", "q", asked(*windows)),
        (-1, "register", "r", asked(*windows, every=3)),
        chunk(1, "a"),
        chunk(3, "c"),
        (3, "tick", None),
        chunk(5, "b"),
        (12, "tick", None),
    )
    assert shown(fed(log)[1]) == {
        4: {0: "", 2: "a", 4: "ac", 6: "bc", 8: "b", 10: "", 12: ""},
        5: {0: "", 3: "a", 6: "bc", 9: "b", 12: ""},
    }
