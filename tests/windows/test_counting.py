from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.windows.counting import TurnCount, arrive
from tests.examples import examples

extents = st.tuples(st.integers(1, 6), st.integers(1, 6))
pushes = st.lists(st.lists(st.integers(-20, 20), max_size=8), max_size=6)


def stamps(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def held(count: TurnCount) -> list[int]:
    """Which elements are seen: the numbers of those after which so many others came."""
    begin, end = count.view()
    return [number for number in range(1, count.total + 1) if begin <= count.total - number < end]


def test_the_picture_in_its_docstring() -> None:
    """
    TRIPLES 3 STEP 2      1 2│3 4│5 6│7          turns after the 2nd, 4th, 6th element
                          └──┘
                            └──┴──┘
    """
    count = TurnCount(size=3, step=2)
    assert arrive([count], stamps(1, 2, 3, 4, 5, 6, 7)) == 6
    assert list(count.turns) == [(2, 2), (4, 4), (6, 6)]
    assert (count.total, held(count)) == (7, [])
    seen = []
    for instant in (1, 2, 3, 4, 5, 6):
        count.see(instant)
        seen.append(held(count))
    assert seen == [[], [1, 2], [1, 2], [2, 3, 4], [2, 3, 4], [4, 5, 6]]


def test_a_step_beyond_the_size_leaves_elements_unseen() -> None:
    """
    TRIPLES 1 STEP 3      1 2 3│4 5 6│7
                              └┘    └┘
    """
    count = TurnCount(size=1, step=3)
    arrive([count], stamps(*range(1, 8)))
    count.see(3)
    assert held(count) == [3]
    count.see(100)
    assert held(count) == [6]


def test_turns_go_on_where_the_last_push_ended() -> None:
    """
    pushes        a a ┆ a ┆ ┆ a a a a
    STEP 3              │         │
    """
    count = TurnCount(3, 3)
    told = [arrive([count], stamps(*push)) for push in ((10, 10), (20,), (), (30, 31, 32, 33))]
    assert told == [None, 20, None, 32]
    assert list(count.turns) == [(20, 3), (32, 6)]


def test_each_turn_has_an_instant_of_its_own() -> None:
    """
    stamps       5   5   5   9   2 (late)   11
    instants     5   6   7   9  10          11
    """
    count = TurnCount(1, 1)
    arrive([count], stamps(5, 5, 5, 9, 2, 11))
    assert [instant for instant, _ in count.turns] == [5, 6, 7, 9, 10, 11]


def test_turns_come_after_what_was_told() -> None:
    for after, first in ((4, 5), (5, 6), (7, 8), (-3, 5), (None, 5)):
        count = TurnCount(1, 1)
        assert arrive([count], stamps(5, 5), after) == first + 1
        assert [instant for instant, _ in count.turns] == [first, first + 1]


def test_stamps_before_the_epoch_are_stamps_like_others() -> None:
    count = TurnCount(1, 1)
    assert arrive([count], stamps(-9, -9, -1)) == -1
    assert arrive([count], stamps(-5, 0), -1) == 1
    assert [instant for instant, _ in count.turns] == [-9, -8, -1, 0, 1]


def test_windows_that_count_the_same_turn_together() -> None:
    """
    STEP 2      ● ●│● ●│● ●│       one element that makes both turn makes one instant
    STEP 3      ● ● ●│● ● ●│
    instants      5 6 7   8         all are stamped 5
    """
    twos, threes = TurnCount(9, 2), TurnCount(9, 3)
    assert arrive([twos, threes], stamps(5, 5, 5, 5, 5, 5)) == 8
    assert list(twos.turns) == [(5, 2), (7, 4), (8, 6)] and list(threes.turns) == [(6, 3), (8, 6)]


def test_turns_that_are_not_told_need_no_instants_of_their_own() -> None:
    count = TurnCount(2, 1)
    assert arrive([count], stamps(5, 5, 4, 9), 7, apart=False) == 9
    assert [instant for instant, _ in count.turns] == [7, 7, 7, 9]
    count.see(7)
    assert held(count) == [2, 3]


def test_what_may_still_be_seen() -> None:
    """
    TRIPLES 2 STEP 2      1 2│3 4│5         seen up to 2: all five; up to 4: the last two of it, and what came since
    """
    count = TurnCount(2, 2)
    assert count.needed() == 0
    arrive([count], stamps(1, 2, 3, 4, 5))
    assert count.needed() == 5
    count.see(2)
    assert count.needed() == 5
    count.see(4)
    assert count.needed() == 3


def test_it_comes_back_from_its_state() -> None:
    count = TurnCount(3, 2)
    arrive([count], stamps(1, 2, 3, 4, 5))
    count.see(2)
    again = TurnCount(3, 2)
    again.restore(json.loads(json.dumps(count.state())))
    assert again == count


@given(st.lists(extents, min_size=1, max_size=3), pushes, st.none() | st.integers(-20, 20), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_turns_are_those_of_elements_counted_one_by_one(
    extents: list[tuple[int, int]], pushes: list[list[int]], after: int | None, apart: bool
) -> None:
    counts = [TurnCount(size, step) for size, step in extents]
    expected: list[list[tuple[int, int]]] = [[] for _ in counts]
    newest, number = after, 0
    for push in pushes:
        before, made = newest, None
        for stamp in push:
            number += 1
            turning = [turns for count, turns in zip(counts, expected) if number % count.step == 0]
            if turning:
                newest = made = stamp if newest is None else max(stamp, newest + apart)
            for turns in turning:
                turns.append((newest, number))
        assert arrive(counts, stamps(*push), before, apart=apart) == made
    assert [list(count.turns) for count in counts] == expected
    assert {count.total for count in counts} == {number}


@given(extents, st.lists(st.integers(0, 40), max_size=20), st.integers(0, 50), st.integers(0, 50))
@settings(max_examples=examples(200), deadline=None)
def test_what_is_seen_is_the_last_of_what_there_was_and_is_needed(
    extent: tuple[int, int], came: list[int], first: int, second: int
) -> None:
    count = TurnCount(*extent)
    arrive([count], stamps(*came))
    for instant in sorted((first, second)):
        upto = max((number for turn, number in count.turns if turn <= instant), default=count.viewed)
        count.see(instant)
        assert held(count) == list(range(1, count.total + 1))[max(0, upto - count.size) : upto]
        assert not held(count) or count.total - held(count)[0] + 1 <= count.needed()
        assert all(turn > instant for turn, _ in count.turns)
