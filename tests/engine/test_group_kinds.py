"""Groups whose queries look through windows of all kinds, and tell all or what has changed."""

from __future__ import annotations

from typing import NamedTuple
from unittest import mock

import pytest

from csparql_spark.answers.limits import Limits
from csparql_spark.engine import member as members
from csparql_spark.engine import views
from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import QueryFailure
from csparql_spark.windows.content import END_OF_TIME
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand
from tests.engine.running import routed, said
from tests.engine.test_group import ALL, chunk, fed, pushed, shown, triple

INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


class Written(NamedTuple):
    """A query as somebody wrote it."""

    text: str
    paused: bool = False


# --- windows that count


def counting(size: int, step: int, stream: str = "urn:a", unit: str = "TRIPLES", **more: object) -> Asked:
    return Asked((Seen(stream, size, step, unit),), ("s",), ALL, **more)


def test_a_window_that_counts_reports_when_it_is_full_and_never_by_time() -> None:
    """
    RANGE TRIPLES 3         a b c│d e ┆ f│g ┆ ┆          ┆ ticks: in quiet hours nothing is said
    """
    log = by_hand(
        (0, "register", "q", counting(3, 3)),
        chunk(10, "a", "b"),
        chunk(20, "c", "d"),
        chunk(30, "e"),
        (40, "tick", None),
        chunk(50, "f", "g"),
        (60, "tick", None),
        (9000, "tick", None),
    )
    group = Group("key")
    assert [shown(group.feed([row])) for row in routed(log)] == [
        {},
        {},
        {4: {20: "abc"}},
        {},
        {},
        {4: {50: "def"}},
        {},
        {},
    ]


def test_equal_triples_are_two_of_the_window_and_one_of_the_graph() -> None:
    log = by_hand(
        (0, "register", "q", counting(3, 3)), chunk(10, "a", "b", "a"), chunk(20, "c"), chunk(30, "c"), chunk(40, "c")
    )
    assert shown(fed(log)[1]) == {4: {10: "ab", 40: "c"}}


def test_a_window_that_counts_may_slide() -> None:
    """
    RANGE TRIPLES 3 STEP 2      a b│c d│e f│       in one push: each turn has an instant of its own
                                └──┘
                                  └──┴──┘
    """
    log = by_hand((0, "register", "q", counting(3, 2)), chunk(10, "a", "b", "c", "d", "e", "f"), chunk(11, "g", "h"))
    assert shown(fed(log)[1]) == {4: {10: "ab", 11: "bcd", 12: "def", 13: "fgh"}}


def test_elements_are_the_triples_of_a_push_with_one_stamp() -> None:
    """
    ELEMENTS 2 STEP 1       push 1: a b at 5, c at 7      push 2: d at 7       (two pushes are two elements)
    """
    log = by_hand((0, "register", "q", counting(2, 1, "urn:e", "ELEMENTS")), pushed(1, a=5, b=5, c=7), pushed(2, d=7))
    assert shown(fed(log)[1]) == {4: {5: "ab", 7: "abc", 8: "cd"}}


def test_elements_are_counted_in_the_order_of_the_log_however_late_they_are() -> None:
    """
    RANGE TRIPLES 2 STEP 1       stamps 100, 7 (late), 8 (late), 101
    instants                            100, 101,      102,      103: one after the other
    """
    log = by_hand(
        (0, "register", "q", counting(2, 1, "urn:e")),
        pushed(1, a=100),
        pushed(2, b=7),
        pushed(3, c=8),
        pushed(4, d=101),
    )
    group, told = fed(log)
    assert shown(told) == {4: {100: "a", 101: "ab", 102: "bc", 103: "cd"}}
    # What may be seen once more is kept, however old it is.
    assert (group.horizons(), group.places()) == ({0: END_OF_TIME}, {0: 7})


def test_stamps_before_the_epoch_count_like_others() -> None:
    log = by_hand(
        (0, "register", "q", counting(1, 1, "urn:e")),
        pushed(1, a=-9, b=-9),
        pushed(2, c=-1),
        pushed(3, d=-4),
        pushed(4, e=-4),
    )
    assert shown(fed(log)[1]) == {4: {-9: "a", -8: "b", -1: "c", 0: "d", 1: "e"}}


def test_a_query_that_counts_sees_what_was_logged_after_it() -> None:
    log = by_hand(
        (0, "register", "q", counting(2, 2)),
        chunk(1, "a"),
        (2, "register", "r", counting(2, 2)),
        chunk(3, "b"),
        chunk(4, "c"),
    )
    assert shown(fed(log)[1]) == {4: {3: "ab"}, 6: {4: "bc"}}


def test_windows_that_count_one_stream_turn_together() -> None:
    """
    TRIPLES 1 STEP 1, named v      a│b│c│
    TRIPLES 3 STEP 1, named w      a│b│c│         the new one, beside the last three of which it is one
    """
    query = Asked(
        (Seen("urn:a", 1, 1, "TRIPLES", "urn:v"), Seen("urn:a", 3, 1, "TRIPLES", "urn:w")),
        ("s", "x"),
        (("<urn:v>", *ALL[0]), ("<urn:w>", "?x", "<urn:p>", "?o")),
    )
    log = by_hand((0, "register", "q", query), chunk(10, "a", "b"), chunk(20, "c"))
    pairs = [(one.instant, [row["s"][5:-1] + row["x"][5:-1] for row in one.rows]) for _, one in said(fed(log)[1])[4]]
    assert pairs == [(10, ["aa"]), (11, ["ba", "bb"]), (20, ["ca", "cb", "cc"])]


def test_each_stream_has_a_count_of_its_own() -> None:
    """
    stream a   TRIPLES 2        a   b│      d   e│
    stream f   TRIPLES 2          c       x│              f is on an event clock, and nobody waits for it
    """
    query = Asked((Seen("urn:a", 2, 2, "TRIPLES"), Seen("urn:f", 2, 2, "TRIPLES")), ("s",), ALL)
    log = by_hand(
        (0, "register", "q", query),
        chunk(1, "a"),
        (2, "chunk", "urn:f", [(triple("c"), 1)]),
        chunk(3, "b"),
        (4, "chunk", "urn:f", [(triple("x"), 2)]),
        chunk(5, "d"),
        chunk(6, "e"),
    )
    assert shown(fed(log)[1]) == {4: {3: "ab", 4: "abcx", 6: "cdex"}}


def test_beside_a_window_of_time_turns_wait_for_the_clock() -> None:
    """
    TRIPLES 2 STEP 2                a   b│   c    d│
    RANGE 10 STEP 10                          │           │
    instants                           7     10   14     20      a turn sees the window of time as of its last step
    """
    query = Asked(
        (Seen("urn:e", 2, 2, "TRIPLES", "urn:v"), Seen("urn:e", 10, 10, name="urn:w")), ("g", "s"), (("?g", *ALL[0]),)
    )
    log = by_hand(
        (0, "register", "q", query),
        pushed(1, a=3),
        pushed(2, b=7),
        pushed(3, c=12),
        pushed(4, d=14),
        (20, "tick", "urn:e"),
    )
    group = Group("key")
    told = [
        [
            (one.instant, ["".join(row["s"][5:-1] for row in one.rows if row["g"] == f"<urn:{name}>") for name in "vw"])
            for _, one in said(group.feed([row])).get(4, [])
        ]
        for row in routed(log)
    ]
    assert told == [[], [], [], [(7, ["ab", ""]), (10, ["ab", "ab"])], [], [(14, ["cd", "ab"]), (20, ["cd", "cd"])]]


def test_what_a_turn_may_see_is_kept_though_the_next_step_does_not_see_it() -> None:
    """
    RANGE 5 STEP 5       ──ab│──(d──│       next is 10, which sees d; the turn at 6 still sees the window of 5
    TRIPLES 1 STEP 1       ab   c
    """
    query = Asked((Seen("urn:e", 5, 5), Seen("urn:e", 1, 1, "TRIPLES")), ("s",), ALL)
    log = by_hand(
        (0, "register", "q", query),
        pushed(1, a=3, b=4),
        (5, "tick", "urn:e"),
        pushed(2, c=6),
        (6, "tick", "urn:e"),
        pushed(3, d=8),
    )
    group = Group("key")
    horizons, told = [], {}
    for row in routed(log):
        told |= shown(group.feed([row])).get(4, {})
        horizons.append(group.horizons().get(0))
    assert told == {3: "a", 4: "b", 5: "ab", 6: "abc"}
    assert horizons == [None, -5, 0, 0, 0, 0]


def test_with_every_turns_are_no_instants_and_the_newest_is_seen() -> None:
    """
    TRIPLES 2 STEP 1       a b c d│e│            many at once: none of them has to wait for an instant of its own
    COMPUTE EVERY 5               ─────│─────│
    """
    log = by_hand(
        (0, "register", "q", counting(2, 1, every=5)),
        chunk(4, "a", "b", "c", "d"),
        (5, "tick", None),
        chunk(6, "e"),
        (10, "tick", None),
        (15, "tick", None),
    )
    assert shown(fed(log)[1]) == {4: {5: "cd", 10: "de", 15: "de"}}


def test_a_query_that_counts_and_has_failed_counts_no_more() -> None:
    log = by_hand(
        (0, "register", "q", counting(3, 3)),
        (0, "register", "r", counting(1, 1)),
        chunk(10, "a", "b", "c"),
        chunk(20, "d", "e", "f"),
    )
    with mock.patch.object(views, "LIMITS", Limits(rows=2)):
        group, told = fed(log)
    assert shown(told)[4] == {10: "failed"} and len(shown(told)[5]) == 6
    assert not group.members[4].counts[0].turns and group.places() == {0: 7}


def test_too_many_turns_at_once_fail_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 3)
    log = by_hand(
        (0, "register", "q", counting(1, 1)),
        (0, "register", "r", counting(2, 2)),
        chunk(10, *"abc"),
        chunk(20, *"defg"),
    )
    _, told = fed(log)
    assert shown(told) == {4: {10: "a", 11: "b", 12: "c", 20: "failed"}, 5: {10: "ab", 20: "cd", 21: "ef"}}
    assert [one.reason for one in told if isinstance(one, QueryFailure)] == [
        "so many elements have come at once that its windows have turned 4 times, and at most 3 instants are answered "
        "at once: delete the query and register it again with a larger STEP, or with COMPUTE EVERY"
    ]


# --- what has changed


def test_istream_tells_what_is_new_and_dstream_what_has_ceased() -> None:
    """
    RANGE 2s STEP 1s      ──a──│──b──│──a──│─────│─────│
    window                    a     ab    ab     a
    new                       a      b                         empty answers are told too
    ceased                                       b     a
    """
    entries = [chunk(500, "a"), chunk(1500, "b"), chunk(2500, "a"), (5000, "tick", None)]
    log = by_hand(
        (0, "register", "q", Asked.over("urn:a", 2000, 1000, ("s",), ALL, output="ISTREAM")),
        (0, "register", "r", Asked.over("urn:a", 2000, 1000, ("s",), ALL, output="DSTREAM")),
        *entries,
    )
    assert shown(fed(log)[1]) == {
        4: {1000: "a", 2000: "b", 3000: "", 4000: "", 5000: ""},
        5: {1000: "", 2000: "", 3000: "", 4000: "b", 5000: "a"},
    }


def test_rows_are_new_as_often_as_they_have_become_more() -> None:
    rows = (("?s", "?p", "<urn:o>"),)
    log = by_hand(
        (0, "register", "q", Asked.over("urn:a", 5000, 1000, ("p",), rows, output="ISTREAM")),
        chunk(500, "a"),
        chunk(1500, "b", "c"),
        (3000, "tick", None),
    )
    assert [(one.instant, len(one.rows)) for _, one in said(fed(log)[1])[4]] == [(1000, 1), (2000, 2), (3000, 0)]


def test_of_graphs_the_triples_are_compared() -> None:
    made = (("<urn:lot>", "<urn:holds>", "?o"), ("?s", "<urn:in>", "<urn:lot>"))
    query = Asked((Seen("urn:a", 2, 1, "TRIPLES"),), (), ALL, made=made, output="DSTREAM")
    log = by_hand((0, "register", "q", query), chunk(1, "a"), chunk(2, "b"), chunk(3, "c"))
    assert [(one.instant, one.rows) for _, one in said(fed(log)[1])[4]] == [
        (1, []),
        (2, []),
        (3, [{"s": "<urn:a>", "p": "<urn:in>", "o": "<urn:lot>"}]),
    ]


def test_what_was_before_is_dropped_when_a_query_fails() -> None:
    log = by_hand(
        (0, "register", "q", Asked.over("urn:a", 1000, 1000, ("s",), ALL, output="ISTREAM")),
        chunk(500, "a"),
        chunk(1500, "a", "b", "c"),
        chunk(2500, "a"),
    )
    rows = routed(log)
    group = Group("key")
    with mock.patch.object(views, "LIMITS", Limits(rows=2)):
        told = [one for row in rows[:3] for one in group.feed([row])]
        assert group.members[4].before is not None
        told += group.feed(rows[3:])
    assert shown(told) == {4: {1000: "a", 2000: "failed"}} and group.members[4].before is None


# --- the queries of the reference


def test_two_streams_with_grids_of_their_own_and_every() -> None:
    """
    cars     RANGE 5s STEP 1s      ──────────c─│───d─e──│─────────│      c at 57s, d at 64s, e at 66s
    spots    RANGE 2m STEP 1m      ──lot───────│                         at 50s: seen from 60s on
    EVERY 10s                      50s        60s      70s       80s
    """
    query = Asked(
        (Seen("urn:a", 5000, 1000), Seen("urn:b", 120_000, 60_000)),
        ("s", "x"),
        (("?s", "<urn:in>", "?z"), ("?x", "<urn:zone>", "?z")),
        every=10_000,
    )
    cars = [
        (at, "chunk", "urn:a", [((f"<urn:{car}>", "<urn:in>", "<urn:z>"), None)])
        for at, car in ((57_000, "c"), (64_000, "d"), (66_000, "e"))
    ]
    spots = [(50_000, "chunk", "urn:b", [(("<urn:lot>", "<urn:zone>", "<urn:z>"), None)])]
    log = by_hand((45_000, "register", "q", query), *spots, *cars, (80_000, "tick", None))
    assert [(one.instant, [row["s"] for row in one.rows]) for _, one in said(fed(log)[1])[4]] == [
        (50_000, []),
        (60_000, ["<urn:c>"]),
        (70_000, ["<urn:e>"]),
        (80_000, []),
    ]


def test_a_rise_after_the_news() -> None:
    """
    news     n about s at 10        trend    s up at 5 and 20, t up at 8
    """
    text = """REGISTER QUERY q AS PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>
        SELECT ?sym (f:timestamp(?news, <urn:about>, ?sym) AS ?when)
        FROM STREAM <urn:a> [RANGE 15ms STEP 5ms] FROM STREAM <urn:e> [RANGE 15ms STEP 5ms]
        WHERE { ?news <urn:about> ?sym . ?sym <urn:moved> <urn:up> .
                FILTER(f:timestamp(?sym, <urn:moved>, <urn:up>) > f:timestamp(?news, <urn:about>, ?sym)) }"""
    up = [((f"<urn:{sym}>", "<urn:moved>", "<urn:up>"), t) for sym, t in (("s", 5), ("t", 8), ("s", 20))]
    news = [((f"<urn:n{sym}>", "<urn:about>", f"<urn:{sym}>"), None) for sym in "st"]
    log = by_hand(
        (0, "register", "q", Written(text)),
        *((t, "chunk", "urn:e", [(rise, t)]) for rise, t in up[:2]),
        (10, "chunk", "urn:a", news),
        (20, "chunk", "urn:e", up[2:]),
        (26, "tick", None),
        (26, "tick", "urn:e"),
    )
    assert [(one.instant, one.rows) for _, one in said(fed(log)[1])[4]] == [
        (5, []),
        (10, []),
        (15, []),
        (20, [{"sym": "<urn:s>", "when": f'"10"^^{INTEGER}'}]),
        (25, []),
    ]


def test_spikes_over_a_long_base() -> None:
    """Two windows of one stream, and what is new since the instant before.

    short   RANGE 10 STEP 5      ───20──│──21──│──30──│──────│        30 > the mean of 20, 21 and 30, and 5
    long    RANGE 60 STEP 5
    """
    text = """PREFIX s: <urn:> REGISTER ISTREAM <urn:spikes> AS SELECT ?room ?now
        FROM NAMED WINDOW <urn:short> ON <urn:a> [RANGE PT0.010S STEP PT0.005S]
        FROM NAMED WINDOW <urn:long> ON <urn:a> [RANGE PT0.060S STEP PT0.005S]
        WHERE { WINDOW <urn:short> { ?room s:celsius ?now }
          { SELECT ?room (AVG(?t) AS ?base) WHERE { WINDOW <urn:long> { ?room s:celsius ?t } } GROUP BY ?room }
          FILTER(?now > ?base + 5) }"""
    read = [
        (at, "chunk", "urn:a", [(("<urn:r>", "<urn:celsius>", f'"{degrees}"^^{INTEGER}'), None)])
        for at, degrees in ((3, 20), (8, 21), (13, 30))
    ]
    log = by_hand((0, "register", "q", Written(text)), *read, (30, "tick", None))
    assert [(one.instant, [row["now"][1:3] for row in one.rows]) for _, one in said(fed(log)[1])[4]] == [
        (5, []),
        (10, []),
        (15, ["30"]),
        (20, []),
        (25, []),
        (30, []),
    ]


def test_leavers_of_the_last_elements() -> None:
    """
    ELEMENTS 2 STEP 1, DSTREAM      {a b}  {c}  {d}          at the third, a and b have fallen out
    """
    text = """PREFIX p: <urn:> REGISTER DSTREAM <urn:leavers> AS CONSTRUCT { ?s p:left ?o } FROM <urn:g>
        FROM NAMED WINDOW <urn:w> ON <urn:a> [ELEMENTS 2 STEP 1]
        WHERE { ?o a p:Lot . WINDOW <urn:w> { ?s p:p ?o } }"""
    lot = ("<urn:o>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<urn:Lot>")
    log = by_hand(
        (0, "background", "urn:g", [lot]),
        (0, "register", "q", Written(text)),
        chunk(1, "a", "b"),
        chunk(2, "c"),
        chunk(3, "d"),
    )
    assert shown(fed(log)[1]) == {5: {1: "", 2: "", 3: "ab"}}


def test_silence_is_seen_by_a_window_with_gaps() -> None:
    """
    RANGE 2 STEP 5       ─a─────│──(a─│──────│        meters that sent nothing in the last 2
    """
    text = """REGISTER QUERY q AS SELECT ?m FROM <urn:g> FROM STREAM <urn:a> [RANGE 2ms STEP 5ms]
        WHERE { ?m a <urn:Meter> . FILTER NOT EXISTS { ?m <urn:p> ?w } }"""
    meters = [(f"<urn:{m}>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<urn:Meter>") for m in "ab"]
    log = by_hand(
        (0, "background", "urn:g", meters),
        (0, "register", "q", Written(text)),
        chunk(1, "a"),
        chunk(9, "a"),
        (15, "tick", None),
    )
    assert [(one.instant, [row["m"][5:-1] for row in one.rows]) for _, one in said(fed(log)[1])[5]] == [
        (5, ["a", "b"]),
        (10, ["b"]),
        (15, ["a", "b"]),
    ]
