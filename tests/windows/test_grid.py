from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.windows.grid import Grid
from tests.examples import examples

steps = st.lists(st.integers(1, 30), min_size=1, max_size=3).map(tuple)


def naive(steps: tuple[int, ...], low: int, high: int) -> list[int]:
    """The instants t with low <= t <= high, each t being tried."""
    return [t for t in range(low, high + 1) if any(t % step == 0 for step in steps)]


def test_the_picture_in_its_docstring() -> None:
    assert list(Grid((4,)).between(0, 16)) == [0, 4, 8, 12, 16]
    assert list(Grid((6,)).between(0, 18)) == [0, 6, 12, 18]
    assert list(Grid((4, 6)).between(0, 18)) == [0, 4, 6, 8, 12, 16, 18]


@given(steps, st.integers(-200, 200))
@settings(max_examples=examples(200), deadline=None)
def test_after_is_the_smallest_instant_that_is_greater(steps: tuple[int, ...], t: int) -> None:
    assert Grid(steps).after(t) == naive(steps, t + 1, t + 30)[0]
    assert Grid(steps).at_or_after(t) == naive(steps, t, t + 30)[0]


@given(steps, st.integers(-100, 100), st.integers(-20, 100))
@settings(max_examples=examples(100), deadline=None)
def test_between_has_both_ends(steps: tuple[int, ...], begin: int, length: int) -> None:
    assert list(Grid(steps).between(begin, begin + length)) == naive(steps, begin, begin + length)


@given(steps, st.integers(-100, 100), st.integers(-20, 100))
@settings(max_examples=examples(100), deadline=None)
def test_there_are_at_most_as_many_instants_as_the_steps_have_together(
    steps: tuple[int, ...], begin: int, length: int
) -> None:
    most = Grid(steps).most_between(begin, begin + length)
    assert most == sum(len(list(Grid((step,)).between(begin, begin + length))) for step in steps)
    assert most >= len(list(Grid(steps).between(begin, begin + length)))


def test_how_many_instants_there_are_is_known_without_counting_them() -> None:
    assert Grid((1,)).most_between(1, 253_402_300_799_999) == 253_402_300_799_999
    assert Grid((4, 6)).most_between(0, 12) == 7  # 0 and 12 are counted twice


def test_instants_are_exact_far_from_the_epoch() -> None:
    century = 100 * 366 * 86_400_000
    for t in (253_402_300_799_999, -62_135_596_800_000, 1_700_000_000_000):
        for step in (1, 7, 86_400_000, century):
            after = Grid((step,)).after(t)
            assert after % step == 0 and after - step <= t < after


def test_equal_steps_give_equal_instants_wherever_they_begin() -> None:
    grid = Grid((7, 10))
    for begin, other in itertools.combinations(range(40), 2):
        assert [t for t in grid.between(begin, 90) if t >= other] == list(grid.between(other, 90))


@pytest.mark.parametrize("steps", [(), (0,), (5, 0), (5, -1)])
def test_steps_are_positive_and_there_is_one(steps: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="a grid needs at least one step, and every step is positive"):
        Grid(steps)
