"""Windows that are looked at as of different steps, and one that counts, slide by tags: what they say, until when it
holds, what is shared, and what is looked at for it.

Answers are compared with the naive twin of the pipeline, which knows no tags; `test_company` compares closures that are
shared with closures apart, byte for byte.
"""

from __future__ import annotations

import dataclasses
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.engine import closure_strategy, views
from csparql_spark.engine.evaluator_choice import why_snapshot
from csparql_spark.engine.group import Group
from csparql_spark.language import parse
from csparql_spark.log import Entry
from csparql_spark.windows.rule import AlignedWindow
from csparql_spark.windows.slides import Elements, Slides
from tests.engine.asked import Asked, Seen
from tests.engine.logs import BODIES, STREAMS, by_hand, entries, law, steps, written
from tests.engine.naive import Logged, content, looks_of
from tests.engine.running import DictState, Worker, in_one_go, matched_anew, routed, said
from tests.engine.test_laws import Cluster, everything, expected
from tests.examples import examples

RULES = "[(?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)] [(?a <urn:q> ?b) -> (?b <urn:p> ?a)]"
P = (("?s", "<urn:p>", "?o"),)
EXTENTS = ((5, 3), (6, 4), (8, 2), (3, 7), (14, 4), (12, 5), (4, 1))


def chunk(at: int, *subjects: str, stream: str = "urn:a") -> tuple:
    return at, "chunk", stream, [((f"<urn:{s}>", "<urn:p>", "<urn:o>"), None) for s in subjects]


def asked(*windows: Seen, **more: object) -> Asked:
    return Asked(windows, ("s",), P, **more)


def fed(log: list[Entry]) -> tuple[Group, dict[int, dict[int, dict[str, int | None]]]]:
    """One group, and what its queries say: by query and instant, subjects with until when they are told to hold."""
    group, found = Group("key"), {}
    for row in routed(log):
        for one in group.feed([row]):
            answer = Result.from_bytes(one.payload)
            until = [None] * len(answer) if answer.until is None else answer.until.tolist()
            rows = [row["s"][5:-1] for row in answer.table.rows()]
            found.setdefault(one.query, {})[one.instant] = dict(zip(rows, until, strict=True))
    return group, found


# --- random histories


@st.composite
def queries(draw: st.DrawFn, other: Asked) -> Asked:
    """One that sees the streams and the background that another does, through windows that are looked at as of several
    steps, or through one that counts."""
    streams = st.sampled_from(other.streams)
    timed = st.builds(lambda stream, extent: Seen(stream, *extent), streams, st.sampled_from(EXTENTS))
    every = draw(st.sampled_from([None, None, 3, 4, 10]))
    windows = draw(st.lists(timed, min_size=1, max_size=3))
    windows += [Seen(stream, 5, 3) for stream in other.streams if stream not in {one.stream for one in windows}]
    counting = st.builds(
        lambda stream, extent, unit: Seen(stream, *extent, unit),
        streams,
        st.sampled_from([(2, 2), (4, 1), (3, 2)]),
        st.sampled_from(["TRIPLES", "ELEMENTS"]),
    )
    match draw(st.sampled_from(["timed", "timed", "counting", "both", "both"])):
        case "counting" if len(other.streams) == 1:
            windows = [draw(counting)]
        case "both":
            windows += draw(st.lists(counting, min_size=1, max_size=2))
    body = draw(st.sampled_from(BODIES))
    return Asked(
        tuple(windows),
        *body,
        graphs=other.graphs,
        named=other.named,
        every=every,
        output=draw(st.sampled_from(["RSTREAM", "RSTREAM", "ISTREAM", "DSTREAM"])),
        paused=other.paused,
        rules=draw(st.sampled_from(["", RULES])),
    )


@st.composite
def logs(draw: st.DrawFn) -> list[Logged]:
    made = [
        (kind, number, subject, draw(queries(value)) if kind == "register" else value)
        for kind, number, subject, value in draw(steps())
    ]
    return written([("rules", 0, "mine", RULES), *made])


@given(logs())
@law(max_examples=examples(80))
def test_answers_are_what_the_log_says(log: list[Logged]) -> None:
    wanted = expected(log)
    assert all(why_snapshot(parse(entry.value.text)) is None for entry in log if entry.kind == "register")
    assert said(everything(in_one_go(entries(log)))) == wanted
    with matched_anew():
        assert said(everything(in_one_go(entries(log)))) == wanted


@given(logs(), st.data())
@law(max_examples=examples(80))
def test_batches_and_workers_cannot_be_seen(log: list[Logged], data: st.DataObject) -> None:
    """Nor what was waiting for its step when a batch ended, or the group came back from its state."""
    cluster = Cluster(data)
    cluster.run(log)
    assert {key: told for key, told in cluster.told.items() if told} == {
        key: told for key, told in in_one_go(entries(log)).items() if told
    }


@given(st.data())
@law(max_examples=examples(60))
def test_a_row_holds_until_the_first_look_without_it(data: st.DataObject) -> None:
    """
    RANGE 6 STEP 4       ────●──┼───┼────▶        stamped 9, seen at 12, gone at 16: told at 12 to hold until 16
                         8   9  12  16

    Until when it holds says the twin: it looks at each millisecond that follows, as if nothing more came into windows.
    """
    windows = data.draw(
        st.lists(st.builds(Seen, st.just("urn:a"), st.integers(1, 9), st.integers(1, 5)), min_size=2, max_size=3)
    )
    every = data.draw(st.sampled_from([None, None, 3, 6]))
    query = asked(*windows, every=every)
    lines: list[tuple] = [(0, "register", "q", query)]
    for at in range(1, 20, 3):
        lines.append(chunk(at, *data.draw(st.lists(st.sampled_from("ab"), max_size=2))))
    lines.append((30, "tick", None, None))
    log = [Logged(seq, 0, "stream", stream, clock) for seq, (stream, clock) in enumerate(STREAMS.items(), 1)]
    log += [Logged(seq, *line) for seq, line in enumerate(lines, len(log) + 1)]
    (told,) = fed(entries(log))[1].values()
    registered = next(entry for entry in log if entry.kind == "register")
    for look in looks_of(registered, log):
        heard = [entry for entry in log if registered.seq < entry.seq <= look.place]
        until: dict[str, int] = {}
        for window in looked_at(query):
            for element in content(window, look.instant, heard, []):
                gone = next(t for t in range(look.instant, 60) if element not in content(window, t, heard, []))
                subject = element[0][0][5:-1]
                until[subject] = max(gone, until.get(subject, gone))
        assert told[look.instant] == until


def looked_at(query: Asked) -> list[Seen]:
    """Its windows: one of whose steps each instant is one slides with every millisecond."""
    instants = (
        {t for t in range(120) if t % query.every == 0}
        if query.every
        else {t for window in query.windows for t in range(0, 120, window.step)}
    )
    return [
        dataclasses.replace(window, step=1) if all(t % window.step == 0 for t in instants) else window
        for window in query.windows
    ]


# --- what waits


def test_an_element_waits_for_the_step_that_sees_it_and_is_kept_meanwhile() -> None:
    """
    RANGE 6 STEP 4       ───────┼─●─────┼───────┼       x at 5 is seen at 8, and at 12 no more
    RANGE 2 STEP 3       ─────┼─●───┼─────┼─────┼       at 6 and, as of 6, at 8; at 9 no more
    instants                  3 4   6 8 9 12            so at 6 the row is told to hold until 9, at 8 until 12
    """
    query = asked(Seen("urn:a", 6, 4), Seen("urn:a", 2, 3))
    log = by_hand((0, "register", "q", query), chunk(5, "x"), (6, "tick", None), (12, "tick", None), (13, "tick", None))
    (told,) = fed(log)[1].values()
    assert told == {3: {}, 4: {}, 6: {"x": 9}, 8: {"x": 12}, 9: {"x": 12}, 12: {}}
    only = asked(Seen("urn:a", 6, 4), every=3)
    (told,) = fed(
        by_hand((0, "register", "q", only), *[(at, "tick", None) for at in (4,)], chunk(5, "x"), (12, "tick", None))
    )[1].values()
    assert told == {3: {}, 6: {}, 9: {"x": 12}, 12: {}}
    # The group comes back from its state before each row, and the same is said.
    state, back = DictState(), []
    for row in routed(log):
        back += Worker().work(row.group, [row], state)
    assert back == everything(in_one_go(log))


def test_what_waits_is_forgotten_when_no_step_will_see_it_any_more() -> None:
    """
    RANGE 2 STEP 4       ──────(─┼─●─(─┼                a at 3 is seen at 4; b at 5 never is; c at 7 waits for 8
    """
    query = asked(Seen("urn:a", 2, 4), Seen("urn:a", 2, 6))
    log = by_hand((0, "register", "q", query), chunk(3, "a"), chunk(5, "b"), chunk(7, "c"))
    group, told = fed(log)
    assert list(told.values()) == [{4: {"a": 8}, 6: {"a": 8, "b": 12}}]
    assert len(group.content) == 2  # b is seen as of 6 up to 12, and c waits
    for row in routed([*log, Entry(len(log) + 1, "tick", 12)])[-1:]:
        assert [Result.from_bytes(one.payload).table.rows() for one in group.feed([row])] == [
            [{"s": "<urn:b>"}, {"s": "<urn:c>"}],
            [],
        ]
    assert len(group.content) == 0


# --- what is shared


def closures_of(*queries: Asked) -> set[tuple[AlignedWindow, ...]]:
    """The closures of queries that have looked at all that came since they are there. As many are told apart where it
    is explained who shares them."""
    lines = [(0, "register", f"q{place}", query) for place, query in enumerate(queries)]
    group, _ = fed(by_hand(*lines, chunk(1, "x"), *[(at, "tick", None) for at in range(2, 42)]))
    sliding = group._views.closures._sliding
    assert all(len(known) == 1 for known in sliding.values())
    told = {one.shared_by for query in queries for one in closure_strategy.closures_of(parse(query.text), ())}
    assert len(told) == len(sliding)
    return {slide.windows for slide in sliding}


def test_closures_are_shared_where_streams_offsets_and_steps_agree() -> None:
    """
    RANGE 6 STEP 4, RANGE 3 STEP 3         one closure, whatever else is added to both RANGEs that
    RANGE 18 STEP 4, RANGE 15 STEP 3       is a multiple of both steps
    RANGE 7 STEP 4, RANGE 4 STEP 3         another: what is stamped 2 leaves the first at 8, this one at 12
    RANGE 6 STEP 2, RANGE 3 STEP 3         another: it sees more at 6
    """
    one, other = (Seen("urn:a", 6, 4), Seen("urn:a", 3, 3)), (Seen("urn:a", 18, 4), Seen("urn:a", 15, 3))
    first = (AlignedWindow("urn:a", 0, 4, 2), AlignedWindow("urn:a", 3, 3, 0))
    assert closures_of(asked(*one), asked(*other), asked(*one, every=5)) == {first}
    assert closures_of(asked(*one), asked(Seen("urn:a", 7, 4), Seen("urn:a", 4, 3))) == {
        first,
        (AlignedWindow("urn:a", 0, 4, 3), AlignedWindow("urn:a", 3, 3, 1)),
    }
    assert closures_of(asked(*one), asked(Seen("urn:a", 6, 2), Seen("urn:a", 3, 3))) == {
        first,
        (AlignedWindow("urn:a", 0, 2, 0), AlignedWindow("urn:a", 3, 3, 0)),
    }
    # As of its own instants: alone, or where all of its query's are steps of it.
    at_once = (AlignedWindow("urn:a", 0),)
    assert closures_of(asked(one[0]), asked(one[1]), asked(one[0], every=8)) == {at_once}
    assert closures_of(asked(one[0]), asked(one[0], every=6)) == {at_once, (AlignedWindow("urn:a", 0, 4, 2),)}
    assert closures_of(asked(Seen("urn:a", 8, 2), Seen("urn:a", 4, 4))) == {
        (AlignedWindow("urn:a", 0), AlignedWindow("urn:a", 4, 4, 0))
    }


def test_who_counts_has_a_closure_of_its_own() -> None:
    counting = Seen("urn:a", 2, 1, "TRIPLES")
    lines = [(0, "register", name, asked(counting)) for name in "qr"]
    group, told = fed(by_hand(*lines, chunk(1, "x"), chunk(2, "y", "z")))
    assert list(told.values()) == [{1: {"x": None}, 2: {"x": None, "y": None}, 3: {"y": None, "z": None}}] * 2
    assert sorted(slide.since for slide in group._views.closures._sliding) == [*told]


def test_what_leaves_a_window_that_counts_stays_as_long_as_another_sees_it() -> None:
    """
    TRIPLES 1            x───y──────────────x───            at 1 x, from 2 on y, from 9 on x
    RANGE 4 STEP 4       ───────│───────│───────│           as of 4 both, as of 8 nothing, as of 12 x
                         1   2  4       8   9   12
    """
    query = asked(Seen("urn:a", 1, 1, "TRIPLES"), Seen("urn:a", 4, 4))
    lines = [(0, "register", "q", query), chunk(1, "x"), chunk(2, "y"), (8, "tick", None), chunk(9, "x")]
    log = by_hand(*lines, (12, "tick", None), (16, "tick", None))
    (told,) = fed(log)[1].values()
    seen = {1: "x", 2: "y", 4: "xy", 8: "y", 9: "x", 12: "x", 16: "x"}
    assert told == {instant: dict.fromkeys(subjects) for instant, subjects in seen.items()}


# --- what is looked at


@pytest.mark.parametrize(
    "windows, every",
    [
        ((Seen("urn:a", 400, 2), Seen("urn:a", 400, 4)), None),
        ((Seen("urn:a", 401, 3), Seen("urn:a", 300, 2)), None),
        ((Seen("urn:a", 400, 4),), 6),
        ((Seen("urn:a", 400, 4, "TRIPLES"),), None),
        ((Seen("urn:a", 400, 3, "TRIPLES"),), 4),
        ((Seen("urn:a", 300, 2, "ELEMENTS"),), None),
        ((Seen("urn:a", 400, 4, "TRIPLES"), Seen("urn:a", 300, 2)), None),
    ],
)
def test_a_slide_looks_at_what_is_new(windows: tuple[Seen, ...], every: int | None) -> None:
    """Two triples come at each millisecond. Once the windows are full, no instant gathers more than came since a few
    steps before, by the summaries of slides alone, and nobody asks for what a window holds."""
    gathered: list[int] = []

    def noted(self: Slides, *arguments: object, **more: object) -> Elements:
        found = original(self, *arguments, **more)
        gathered.append(len(found.t))
        return found

    lines: list[tuple] = [(0, "register", "q", asked(*windows, every=every))]
    lines += [chunk(at, f"a{at % 50}", f"b{at % 50}") for at in range(1, 500)]
    log = by_hand(*lines)
    group, rows = Group("key"), routed(log)
    for row in rows[:-60]:
        list(group.feed([row]))
    told = []
    with mock.patch.object(views, "contents", side_effect=AssertionError("a window was gathered")):
        for name in ("new", "counted", "window"):
            original = getattr(Slides, name)
            with mock.patch.object(Slides, name, noted):
                mark = len(rows) - 60 + 20 * ("new", "counted", "window").index(name)
                for row in rows[mark : mark + 20]:
                    told += group.feed([row])
    assert told and max(gathered, default=0) <= 2 * 12
