"""The window rule, compared with an enumeration over tiny timelines that looks at each instant and each element."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.language import ContinuousQuery, Window, parse
from csparql_spark.windows import rule
from csparql_spark.windows.grid import Grid
from csparql_spark.windows.rule import AlignedWindow, Alignment, Bounds, grid_of, is_known_before
from tests.engine.asked import Asked, Seen
from tests.store.conftest import store
from tests.store.opened import Opened

__all__ = ["store"]

# --- the naive twin: it counts up from before the timeline, and divides nothing

BEGIN, END = -24, 48  # of the timeline; all steps divide BEGIN


def naive_instants(step: int) -> list[int]:
    return list(range(BEGIN, END, step))


def naive_holds(window: Window, stamp: int, instant: int) -> bool:
    """Whether a window of time holds an element at an instant."""
    own = [t for t in naive_instants(window.step) if t <= instant][-1]
    return any(stamp == t for t in range(own - window.range + 1, own + 1))


def naive_visible(window: Window, stamps: list[int], instant: int) -> list[int]:
    if window.range is not None:
        return [place for place, stamp in enumerate(stamps) if naive_holds(window, stamp, instant)]
    taken: list[int] = []
    graphs: set[int] = set()
    arrived = [place for place, stamp in enumerate(stamps) if stamp <= instant]
    if window.triples is not None:
        while arrived and len(taken) < window.triples:
            taken.append(arrived.pop())
        return sorted(taken)
    for stamp in sorted({stamps[place] for place in arrived}, reverse=True):
        if len(graphs) < window.elements:
            graphs.add(stamp)
    return [place for place in arrived if stamps[place] in graphs]


STEPS = st.sampled_from([1, 2, 3, 4, 6, 8])
STAMPS = st.integers(0, 15)
INSTANTS = st.integers(0, 23)
TIMED = st.builds(
    lambda stream, length, step: Window(stream, range=length, step=step),
    st.sampled_from(["urn:a", "urn:b"]),
    st.integers(1, 9),
    STEPS,
)
COUNTED = st.one_of(
    st.builds(lambda n: Window("urn:a", triples=n, triples_step=n), st.integers(1, 4)),
    st.builds(lambda n: Window("urn:a", elements=n, elements_step=n), st.integers(1, 4)),
)


@given(st.one_of(TIMED, COUNTED), st.lists(STAMPS, max_size=8), INSTANTS)
def test_which_elements_a_window_holds(window: Window, stamps: list[int], instant: int) -> None:
    assert rule.visible(window, np.array(stamps, np.int64), instant).tolist() == naive_visible(window, stamps, instant)


@given(TIMED, STAMPS, INSTANTS)
def test_an_element_is_held_exactly_between_the_bounds(window: Window, stamp: int, instant: int) -> None:
    bounds = rule.bounds_of(window, instant)
    assert bounds.length == window.range
    assert rule.inside(np.array([stamp]), bounds.low, bounds.closes).tolist() == [naive_holds(window, stamp, instant)]
    assert rule.may_hold(stamp, stamp, bounds.low, bounds.closes) is naive_holds(window, stamp, instant)


@given(TIMED, STAMPS)
def test_an_element_leaves_when_it_was_said(window: Window, stamp: int) -> None:
    moving = dataclasses.replace(window, step=1)
    assert rule.at_once(window) == moving
    for one in (window, moving):
        later = [t for t in naive_instants(one.step) if t >= stamp + one.range]
        (until,), emptied = rule.until_of(one, np.array([stamp]), stamp).tolist(), rule.emptied(one, stamp)
        assert until == emptied == later[0]
        assert not any(naive_holds(one, stamp, t) for t in range(emptied, END))
        assert all(naive_holds(one, stamp, t) for t in naive_instants(one.step) if stamp <= t < emptied)


@given(TIMED, INSTANTS)
def test_what_no_later_instant_sees_is_all_up_to_the_horizon(window: Window, soonest: int) -> None:
    horizon = rule.horizon_of(window, soonest)
    visible = {stamp for stamp in range(BEGIN, END) for t in range(soonest, END) if naive_holds(window, stamp, t)}
    assert min(visible) == horizon + 1
    assert not any(rule.lasting(stamp, horizon, 7, 8) for stamp in range(BEGIN, horizon + 1))
    assert all(rule.lasting(stamp, horizon, 7, 8) for stamp in visible)
    # What a window that counts may still look at stays, whatever its stamp.
    assert rule.lasting(np.array([horizon, horizon]), horizon, np.array([7, 8]), 8).tolist() == [False, True]


@given(st.lists(TIMED, min_size=1, max_size=3), st.lists(STAMPS, max_size=8), INSTANTS)
def test_tags_show_each_window_what_it_holds(windows: list[Window], stamps: list[int], instant: int) -> None:
    """One graph for windows of several lengths and steps: an element is seen by its tag, once it has entered, and its
    tag says until when."""
    widest, lying = rule.aligned(windows)
    assert widest == max(window.range for window in windows)
    assert {(one.stream, widest - one.offset, one.every, (widest - one.offset) % one.every) for one in lying} == {
        (window.stream, window.range, window.step, one_phase(window)) for window in windows
    }
    times, oldest = np.array(stamps, np.int64), rule.oldest_tag(instant, widest)
    for one in lying:
        window = next(w for w in windows if (w.stream, w.range, w.step) == (one.stream, widest - one.offset, one.every))
        assert (one.phase, one.counts, one.graphs) == (one_phase(window), False, False)
        tags, entered = one.tags_of(times), times <= one.closes(instant)
        assert np.flatnonzero((tags > oldest) & entered).tolist() == naive_visible(window, stamps, instant)
        assert one.closes(instant) == rule.bounds_of(window, instant).closes
        assert one.stamp_of(oldest) == rule.bounds_of(window, instant).opens
        for tag in tags.tolist():
            found = [stamp for stamp in range(BEGIN, END) if one.tags_of(np.array([stamp])).tolist() == [tag]]
            assert found[-1] == one.stamp_of(tag)
        assert rule.ends_of(tags, widest).tolist() == rule.until_of(window, times, instant).tolist()


def one_phase(window: Window) -> int:
    """What its RANGE is more than so many steps: they are laid beside it, one after the other."""
    length = window.range
    while length >= window.step:
        length -= window.step
    return length


@given(TIMED, st.integers(0, 3), STAMPS, INSTANTS)
def test_windows_whose_ranges_differ_by_steps_are_looks_at_the_same_tags(
    window: Window, more: int, stamp: int, instant: int
) -> None:
    """
    STEP 4, RANGE 3 and 11       ⌈stamp + 3⌉ − 3, for both: at t the one sees what is tagged later than t − 3,
                                 the other what is tagged later than t − 11
    """
    wider = dataclasses.replace(window, range=window.range + more * window.step)
    (one,), (other,) = (rule.aligned([each]).windows for each in (window, wider))
    assert one == other
    (tag,) = one.tags_of(np.array([stamp])).tolist()
    for each in (window, wider):
        seen = stamp <= one.closes(instant) and tag > rule.oldest_tag(instant, each.range)
        assert seen is naive_holds(each, stamp, instant)


@given(st.lists(st.one_of(TIMED, TIMED, TIMED, COUNTED), min_size=1, max_size=3), st.none() | STEPS)
def test_windows_are_looked_at_as_of_every_instant_where_each_is_a_step_of_theirs(
    windows: list[Window], every: int | None
) -> None:
    query = dataclasses.replace(
        parse("SELECT * FROM STREAM <urn:a> [RANGE 1ms] { ?s ?p ?o }"), windows=tuple(windows), every=every
    )
    timed = [window for window in windows if window.range is not None]
    steps = {window.step for window in timed} if every is None else {every}
    instants = {t for step in steps for t in naive_instants(step)}
    turns = range(BEGIN, END) if every is None and len(timed) < len(windows) else ()  # at any time
    for window, look in zip(windows, rule.looks_of(query, windows), strict=True):
        own = None if window.range is None else set(naive_instants(window.step))
        together = own is not None and own.issuperset(instants.union(turns))
        assert look == (rule.at_once(window) if together else window)
    assert rule.has_tags(windows) is (len(timed) == len(windows) or len(windows) == 1)
    if grid_of(query) is not None:
        assert [t for t in range(BEGIN, END) if grid_of(query).at_or_after(t) == t] == sorted(instants)


@given(COUNTED, st.lists(STAMPS, max_size=12), st.integers(0, 12))
def test_ordinals_are_the_tags_of_what_is_counted(window: Window, stamps: list[int], last: int) -> None:
    """
    TRIPLES 3        ● ● ● ● ● ●            the tags are 1, 2, 3, …; up to the fifth it sees those later than 5 − 3
                         └───┘
    """
    (widest, (one,)), count = rule.aligned([window]), min(last, len(stamps))
    assert (widest, one.offset, one.counts, one.graphs) == (
        window.triples or window.elements,
        0,
        True,
        window.elements is not None,
    )
    ordinals = np.arange(1, count + 1)
    seen = np.flatnonzero(one.tags_of(ordinals) > rule.oldest_tag(count, widest))
    triples = dataclasses.replace(window, triples=widest, elements=None)
    assert seen.tolist() == naive_visible(triples, sorted(stamps)[:count], END)


def test_a_fact_that_always_holds_has_no_end() -> None:
    assert rule.ends_of(np.array([5, rule.END_OF_TIME]), 9).tolist() == [14, rule.END_OF_TIME]


def test_a_query_sees_what_was_logged_after_it() -> None:
    assert [place for place in range(6) if rule.logged_after(place, 3)] == [4, 5]
    assert rule.logged_after(np.arange(6), 3).tolist() == [False] * 4 + [True] * 2


def test_a_window_that_counts_opens_nowhere_and_empties_never() -> None:
    window = Window("urn:a", triples=2, triples_step=2)
    assert rule.bounds_of(window, 13) == Bounds(None, 13)
    assert rule.inside(np.array([-(10**15), 13, 14]), rule.bounds_of(window, 13).low, 13).tolist() == [
        True,
        True,
        False,
    ]
    assert rule.emptied(window, 7) == 7 and rule.at_once(window) == window
    assert rule.until_of(window, np.array([3, 4]), 13).tolist() == [14, 14]


def test_how_far_windows_reach() -> None:
    windows = [
        Window("urn:a", range=6, step=4),
        Window("urn:b", range=9, step=2),
        Window("urn:c", triples=100, triples_step=100),
    ]
    assert (rule.widest_of(windows), rule.slowest_of(windows)) == (9, 4)
    assert rule.reach_of(windows, {"urn:a": 5, "urn:c": 50}) == 11
    assert (rule.widest_of(windows[2:]), rule.slowest_of([]), rule.reach_of([], {})) == (0, 0, 0)
    assert rule.aligned(windows[:2]) == Alignment(
        9, (AlignedWindow("urn:a", 3, every=4, phase=2), AlignedWindow("urn:b", 0, every=2, phase=1))
    )


@pytest.mark.parametrize("low, high", [(low, high) for low in range(-1, 9, 3) for high in range(low, 9, 2)])
def test_the_log_finds_the_chunks_that_may_hold_something(store: Opened, low: int, high: int) -> None:
    """What the log asks in SQL is what the rule says of the first and the last stamp of a chunk."""
    spans = [(first, last) for first in range(0, 8, 2) for last in range(first, 8, 3)]
    for first, last in spans:
        store.append("chunk", "urn:a", payload=b"x", rows=2, first=first, last=last, at=100)
    found = [(entry.first, entry.last) for entry in store.log.chunks("urn:a", low=low, high=high, after=0)]
    assert found == [(first, last) for first, last in spans if rule.may_hold(first, last, low, high)]


# --- which instants a query has


def query(*windows: Seen, every: int | None = None) -> ContinuousQuery:
    return parse(Asked(windows, ("s",), (("?s", "?p", "?o"),), every=every).text)


TIME, OTHER, SAME = Seen("urn:a", 9, 6), Seen("urn:b", 10, 4), Seen("urn:b", 30, 6)
TRIPLES, ELEMENTS = Seen("urn:a", 3, 2, "TRIPLES"), Seen("urn:b", 5, 1, "ELEMENTS")


@pytest.mark.parametrize(
    "windows, every, grid, known",
    [
        ((TIME,), None, Grid((6,)), True),
        ((TIME, OTHER, SAME), None, Grid((4, 6)), True),  # the union, each grid once
        ((TIME, OTHER), 25, Grid((25,)), True),
        ((TRIPLES,), None, None, False),  # turns, whenever they come
        ((TRIPLES, ELEMENTS), None, None, False),
        ((TRIPLES, ELEMENTS), 25, Grid((25,)), True),
        ((TIME, ELEMENTS), None, Grid((6,)), False),  # and turns between them
        ((TIME, ELEMENTS), 25, Grid((25,)), True),
    ],
)
def test_which_instants_a_query_has(
    windows: tuple[Seen, ...], every: int | None, grid: Grid | None, known: bool
) -> None:
    asked = query(*windows, every=every)
    assert (grid_of(asked), is_known_before(asked)) == (grid, known)


def test_tumbling_windows_answer_once_in_a_range() -> None:
    assert grid_of(parse("SELECT * FROM STREAM <urn:a> [RANGE 5s] { ?s ?p ?o }")) == Grid((5000,))


@pytest.mark.parametrize(
    ("windows", "every", "share"),
    [
        ([Window("urn:a", range=10, step=1)], None, 0.1),
        ([Window("urn:a", range=10, step=10)], None, 1.0),
        ([Window("urn:a", range=10, step=15)], None, 1.0),
        # What is small, and all another each time, is little of what both hold.
        ([Window("urn:a", range=600, step=1), Window("urn:b", range=4, step=2)], None, 3 / 604),
        ([Window("urn:a", range=600, step=1)], 60, 0.1),
        ([Window("urn:a", triples=100, triples_step=5)], None, 0.05),
        ([Window("urn:a", range=600, step=1), Window("urn:b", triples=4, triples_step=2)], None, 0.5),
    ],
)
def test_the_share_that_is_another_is_that_of_all_they_hold(
    windows: list[Window], every: int | None, share: float
) -> None:
    assert rule.share_of(windows, every) == pytest.approx(share)
