from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.windows.progress import Clock, Progress
from csparql_spark.windows.rule import BEGINNING_OF_TIME
from tests.examples import examples

ARRIVAL = Clock("arrival")


def event(delay: int = 0) -> Clock:
    return Clock("event", delay)


def said(progress: Progress) -> tuple[int, int | None]:
    return progress.passed, progress.start()


# --- the arrival clock


def test_before_anything_arrives_nothing_has_passed_and_the_beginning_is_known() -> None:
    assert said(Progress.begin(at=1000, clocks={"a": ARRIVAL})) == (BEGINNING_OF_TIME, 1001)


def test_entries_and_ticks_move_the_arrival_clock() -> None:
    """
    at        1000        1500       2000       2000      2600
    entry     register    chunk      chunk      tick      chunk
    passed                1499       1999       2000      2599
    """
    progress = Progress.begin(at=1000, clocks={"a": ARRIVAL})
    seen = []
    progress.arrived("a", 1500, 1500, 1500)
    seen.append(progress.passed)
    progress.arrived("a", 2000, 2000, 2000)
    seen.append(progress.passed)
    progress.tick(None, 2000)
    seen.append(progress.passed)
    progress.arrived("a", 2600, 2600, 2600)
    seen.append(progress.passed)
    assert seen == [1499, 1999, 2000, 2599]
    assert progress.start() == 1001


def test_the_arrival_clock_does_not_go_back() -> None:
    progress = Progress.begin(at=1000, clocks={"a": ARRIVAL})
    progress.tick(None, 5000)
    progress.arrived("a", 3000, 3000, 3000)
    progress.tick(None, 4000)
    assert progress.passed == 5000


def test_what_is_said_of_an_event_clock_does_not_move_the_arrival_clock() -> None:
    progress = Progress.begin(at=1000, clocks={"a": ARRIVAL})
    progress.tick("a", 9000)
    progress.tick("e", 9000)
    assert progress.passed == BEGINNING_OF_TIME


def test_one_arrival_clock_serves_all_streams() -> None:
    progress = Progress.begin(at=1000, clocks={"a": ARRIVAL, "b": ARRIVAL})
    progress.arrived("b", 4000, 4000, 4000)
    assert progress.reading("a") == progress.reading("b") == progress.passed == 3999


# --- event clocks


def test_stamps_move_an_event_clock_and_its_first_element_is_the_beginning() -> None:
    """
    arrives   1st         2nd             3rd          4th
    stamps    300…700     200 (late)      900…1000     650 (late)
    passed    699         699             999          999            delay 0: nothing up to here is expected
    begins    300         200             200          200            until it has begun, an earlier one may come
    """
    progress = Progress.begin(at=10, clocks={"e": event()})
    assert said(progress) == (BEGINNING_OF_TIME, None)
    seen = []
    for at, first, last in ((20, 300, 700), (21, 200, 200), (22, 900, 1000), (23, 650, 650)):
        progress.arrived("e", at, first, last)
        seen.append(said(progress))
    assert seen == [(699, 300), (699, 200), (999, 200), (999, 200)]


def test_the_delay_is_waited_for() -> None:
    """
    stamps     1000                     1600
                │         delay 500       │
    ────────────┼───┤499                  ┼───┤1099
    """
    progress = Progress.begin(at=10, clocks={"e": event(500)})
    progress.arrived("e", 20, 1000, 1000)
    assert said(progress) == (499, 1000)
    progress.arrived("e", 21, 1600, 1600)
    assert said(progress) == (1099, 1000)


def test_somebody_may_say_that_an_event_clock_has_passed() -> None:
    progress = Progress.begin(at=10, clocks={"e": event(500)})
    progress.tick("e", 3000)
    assert said(progress) == (3000, None)  # nothing was seen: where would it begin?
    progress.arrived("e", 20, 2500, 2600)  # late, and the first
    assert said(progress) == (3000, 2500)
    progress.tick("e", 2900)
    progress.tick("other", 9000)
    progress.tick(None, 9000)
    assert progress.passed == 3000


def test_arrival_says_nothing_of_an_event_clock() -> None:
    progress = Progress.begin(at=10, clocks={"e": event()})
    progress.arrived("e", 1_000_000, 50, 60)
    assert said(progress) == (59, 50)


# --- several streams


def test_what_has_passed_on_all_clocks_has_passed() -> None:
    """
    a (arrival)      ──────── 2999 ───────────────────── 7999 ──
    e (delay 100)    ─────────────────── 4899 ──────────────────
    f (delay 0)      ──── 1999 ─────────────────────────── 8999
    passed           never    never      1999            4899
    """
    progress = Progress.begin(at=10, clocks={"a": ARRIVAL, "e": event(100), "f": event()})
    seen = []
    for stream, at, stamp in (("f", 2000, 2000), ("a", 3000, 3000), ("e", 3000, 5000), ("f", 8000, 9000)):
        progress.arrived(stream, at, stamp, stamp)
        seen.append(progress.passed)
    assert seen == [BEGINNING_OF_TIME, BEGINNING_OF_TIME, 1999, 4899]


def test_with_several_event_clocks_it_begins_at_the_earliest_element_once_all_have_begun() -> None:
    progress = Progress.begin(at=10_000, clocks={"e": event(), "f": event()})
    progress.arrived("e", 10_001, 700, 800)
    assert progress.start() is None
    progress.arrived("f", 10_002, 400, 900)
    assert said(progress) == (799, 400)


def test_beside_an_arrival_clock_it_does_not_begin_before_its_registration() -> None:
    progress = Progress.begin(at=1000, clocks={"a": ARRIVAL, "e": event()})
    progress.arrived("e", 1100, 500, 600)
    assert progress.start() == 1001
    later = Progress.begin(at=1000, clocks={"a": ARRIVAL, "e": event()})
    later.arrived("e", 1100, 1500, 1600)
    assert later.start() == 1500


moves = st.lists(
    max_size=20,
    elements=st.tuples(
        st.sampled_from(["a", "e", "f", "tick a", "tick e", "tick f"]),
        st.integers(0, 30),
        st.integers(0, 60),
        st.integers(0, 9),
    ),
)


@given(st.sets(st.sampled_from(["a", "e", "f"]), min_size=1), moves)
@settings(max_examples=examples(150), deadline=None)
def test_readings_are_what_the_docstring_says_of_all_that_has_happened(
    streams: set[str], moves: list[tuple[str, int, int, int]]
) -> None:
    clocks = {stream: {"a": ARRIVAL, "e": event(3), "f": event(0)}[stream] for stream in streams}
    progress = Progress.begin(at=7, clocks=clocks)
    readings: dict[str, list[int]] = {stream: [BEGINNING_OF_TIME] for stream in streams}
    firsts: list[int] = []
    at = 7
    for what, later, stamp, length in moves:
        at += later
        if what in streams:
            first, last = (at, at) if what == "a" else (stamp, stamp + length)
            progress.arrived(what, at, first, last)
            for stream in streams & {"a"}:
                readings[stream].append(at - 1)
            if what != "a":
                readings[what].append(last - clocks[what].delay - 1)
                firsts.append(first)
        elif what.startswith("tick "):
            stream = what[-1]
            progress.tick(None if stream == "a" else stream, stamp)
            if stream in streams:
                readings[stream].append(stamp)
        assert progress.passed == min(max(of) for of in readings.values())
        events = streams - {"a"}
        if not events:
            assert progress.start() == 8
        elif not firsts or any(readings[stream] == [BEGINNING_OF_TIME] for stream in events):
            assert progress.start() is None
        else:
            assert progress.start() == max([min(firsts)] + [8] * ("a" in streams))
