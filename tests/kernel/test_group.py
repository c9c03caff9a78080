"""Values reduced by group: what is compiled against its twin in numpy, and both against `math.fsum` and fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import group as module
from csparql_spark.kernel import native
from csparql_spark.kernel.limits import MOST_TIMES, TooMuchAtOnce
from csparql_spark.kernel.twin import group as twin
from tests.examples import examples

both = pytest.mark.parametrize("functions", [module, twin], ids=["as it is", "numpy"])
LEAST, MOST = -(1 << 63), (1 << 63) - 1
TINY, HUGE = 5e-324, 1.7976931348623157e308
whole = st.integers(-9, 9) | st.integers(LEAST, MOST) | st.sampled_from([LEAST, LEAST + 1, MOST])
finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-100, 100),
    st.sampled_from([0.0, -0.0, TINY, -TINY, 2.0**-1022, HUGE, -HUGE, 0.1, 1 + 2.0**-52, 2.0**53, -(2.0**53), 1e16]),
)
doubles = finite | st.sampled_from([math.nan, math.inf, -math.inf])
often = st.integers(-3, 3) | st.sampled_from([MOST_TIMES, -MOST_TIMES, 1 << 20])
GROUPS = 4


def rows_of(values: st.SearchStrategy, kind: type) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    rows = st.lists(st.tuples(st.integers(0, GROUPS - 1), values, often), max_size=40)
    return rows.map(
        lambda rows: tuple(
            np.array([row[place] for row in rows], dtype) for place, dtype in enumerate((np.int64, kind, np.int64))
        )
    )


def nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def shown(column: np.ndarray) -> list[str]:
    return [repr(value) for value in column.tolist()]


@given(rows_of(whole, np.int64), rows_of(doubles, np.float64))
@settings(max_examples=examples(200), deadline=None)
def test_counts_and_extremes(integers: tuple[np.ndarray, ...], reals: tuple[np.ndarray, ...]) -> None:
    for groups, values, _ in (integers, reals):
        found, naive = module.reduced(groups, values, GROUPS), twin.reduced(groups, values, GROUPS)
        assert [column.dtype for column in found] == [column.dtype for column in naive]
        assert [shown(column) for column in found] == [shown(column) for column in naive]
        for group in range(GROUPS):
            mine = values[groups == group].tolist()
            assert found[0][group] == len(mine)
            if mine and all(value == value for value in mine):
                assert (found[1][group], found[2][group]) == (min(mine), max(mine))


@both
@given(rows_of(whole, np.int64), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_sums_of_integers(functions: ModuleType, rows: tuple[np.ndarray, ...], data: st.DataObject) -> None:
    groups, values, times = rows
    sums, there = functions.IntegerSums(GROUPS), np.arange(GROUPS)
    cut = data.draw(st.integers(0, len(groups)))
    for part in (slice(cut), slice(cut, None)):
        sums.add(groups[part], values[part], times[part])
    exact = [0] * GROUPS
    for group, value, often_ in zip(groups.tolist(), values.tolist(), times.tolist()):
        exact[group] += value * often_
    assert sums.exact(there) == exact
    fit = [LEAST <= value <= MOST for value in exact]
    found, told = sums.of(there)
    assert told.tolist() == fit and found.tolist() == [value if fits else 0 for value, fits in zip(exact, fit)]
    once = functions.IntegerSums()
    once.add(groups, values)
    assert once.counts.tolist() == np.bincount(groups).tolist()


@both
@given(rows_of(finite, np.float64), st.data())
@settings(max_examples=examples(300), deadline=None)
@example((np.zeros(3, np.int64), np.array([HUGE, HUGE, -HUGE]), np.ones(3, np.int64)), None)
@example((np.zeros(2, np.int64), np.array([HUGE, 2.0**970]), np.ones(2, np.int64)), None)  # half a unit: to even
@example((np.zeros(3, np.int64), np.array([1.0, 2.0**-53, TINY]), np.ones(3, np.int64)), None)
@example((np.zeros(2, np.int64), np.array([2.0**-1022, -TINY]), np.ones(2, np.int64)), None)
def test_sums_of_doubles_are_rounded_once(
    functions: ModuleType, rows: tuple[np.ndarray, ...], data: st.DataObject | None
) -> None:
    groups, values, times = rows
    sums, there = functions.DoubleSums(GROUPS), np.arange(GROUPS)
    cut = 0 if data is None else data.draw(st.integers(0, len(groups)))
    for part in (slice(cut), slice(cut, None)):
        sums.add(groups[part], values[part], times[part])
    exact = [Fraction(0)] * GROUPS
    for group, value, often_ in zip(groups.tolist(), values.tolist(), times.tolist()):
        exact[group] += Fraction(value) * often_
    assert shown(sums.of(there)) == [repr(nearest(value)) for value in exact]
    counts = np.zeros(GROUPS, np.int64)
    np.add.at(counts, groups, times)
    assert sums.counts.tolist() == counts.tolist()


@both
@given(st.lists(st.floats(allow_nan=True, width=64), max_size=30), st.randoms(use_true_random=False))
@settings(max_examples=examples(200), deadline=None)
def test_a_sum_is_what_fsum_says_whatever_the_order(
    functions: ModuleType, values: list[float], chance: random.Random
) -> None:
    def added() -> str:
        sums = functions.DoubleSums(1)
        sums.add(np.zeros(len(values), np.int64), np.array(values, np.float64))
        return repr(sums.of(np.zeros(1, np.int64)).tolist()[0])

    first = added()
    chance.shuffle(values)
    assert added() == first
    try:
        assert first == repr(math.fsum(values))
    except ValueError:  # both infinities
        assert first == "nan"
    except OverflowError:  # on the way, or in the end
        infinite = [value for value in values if not math.isfinite(value)]
        assert first == repr(sum(infinite) if infinite else nearest(sum(map(Fraction, values))))


@both
@given(rows_of(doubles, np.float64), rows_of(doubles, np.float64), st.randoms(use_true_random=False))
@settings(max_examples=examples(200), deadline=None)
def test_what_comes_and_goes_leaves_no_trace(
    functions: ModuleType, stays: tuple[np.ndarray, ...], goes: tuple[np.ndarray, ...], chance: random.Random
) -> None:
    groups, values, _ = (np.concatenate(pair) for pair in zip(stays, goes))
    order = list(range(len(groups)))
    chance.shuffle(order)
    sums, fresh, there = functions.DoubleSums(GROUPS), functions.DoubleSums(GROUPS), np.arange(GROUPS)
    sums.add(groups[order], values[order])
    sums.add(goes[0], goes[1], np.full(len(goes[0]), -1))
    fresh.add(stays[0], stays[1])
    assert sums.of(there).tobytes() == fresh.of(there).tobytes()
    assert sums.counts.tolist() == fresh.counts.tolist()


@given(rows_of(doubles, np.float64), rows_of(doubles, np.float64), st.permutations(range(GROUPS)), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_tables_are_merged_and_taken_apart_alike(
    one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...], places: list[int], taken: bool
) -> None:
    said = []
    named = np.array(places)
    for functions in (module, twin):
        mine, theirs = functions.DoubleSums(), functions.DoubleSums()
        mine.add(*one)
        theirs.add(*other)
        mine.merge(theirs, named[: len(theirs)], taken)
        together = functions.DoubleSums(GROUPS)
        together.add(*one)
        together.add(named[other[0]], other[1], -other[2] if taken else other[2])
        there = np.arange(len(mine))
        assert shown(mine.of(there)) == shown(together.of(there))
        assert mine.counts.tolist() == together.counts[there].tolist()
        kept = mine.kept(there[::-1].copy())
        assert shown(kept.of(there)) == shown(mine.of(there[::-1].copy()))
        mine.merge(mine, there, True)
        assert mine.counts.tolist() == [0] * len(there)
        assert shown(mine.of(there)) == ["0.0"] * len(there)
        said.append(shown(kept.of(there)))
    assert said[0] == said[1]


@given(rows_of(whole, np.int64), rows_of(whole, np.int64), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_tables_of_integers_are_merged(one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...], taken: bool) -> None:
    said = []
    for functions in (module, twin):
        mine, theirs = functions.IntegerSums(GROUPS), functions.IntegerSums()
        mine.add(*one)
        theirs.add(*other)
        mine.merge(theirs, np.arange(len(theirs)), taken)
        said.append(
            (mine.exact(np.arange(GROUPS)), mine.counts.tolist(), mine.kept(np.array([1, 1])).exact(np.arange(2)))
        )
    assert said[0] == said[1]


@both
def test_many_rows_of_many_groups(functions: ModuleType) -> None:
    chance = np.random.default_rng(5)
    groups = chance.integers(0, 300, 20_000)
    values = chance.normal(0, 1, 20_000) * 10.0 ** chance.integers(-9, 9, 20_000)
    sums = functions.DoubleSums()
    for part in np.split(np.arange(20_000), 40):
        sums.add(groups[part], values[part])
    assert len(sums) == 300
    assert sums.of(np.arange(300)).tolist() == [math.fsum(values[groups == group].tolist()) for group in range(300)]


@both
def test_a_table_takes_no_more_than_it_may(functions: ModuleType) -> None:
    sums = functions.DoubleSums(most=100_000)
    sums.add(np.arange(100), np.full(100, 0.5))
    before = sums.nbytes
    for groups, values in ((np.array([1 << 40]), np.ones(1)), (np.array([2, 9_000]), np.ones(2))):
        with pytest.raises(TooMuchAtOnce):
            sums.add(groups, values)
        assert len(sums) == 100 and sums.nbytes == before
        assert sums.of(np.arange(100)).tolist() == [0.5] * 100
    with pytest.raises(TooMuchAtOnce):
        functions.DoubleSums(1 << 40, most=100_000)
    assert sums.nbytes <= 100_000


def test_values_that_are_far_apart_make_a_table_wider_if_they_may() -> None:
    if native.library is None:
        pytest.skip(f"integers of Python are as wide as they are: {native.missing}")
    sums = module.DoubleSums(100, most=20_000)
    sums.add(np.zeros(1, np.int64), np.ones(1))
    with pytest.raises(TooMuchAtOnce):
        sums.add(np.array([3, 120]), np.array([TINY, HUGE]))
    assert len(sums) == 100 and sums.of(np.array([0, 3])).tolist() == [1.0, 0.0]
    few = module.DoubleSums(100, most=100 * 5 * 8)
    few.add(np.arange(100), np.full(100, 0.5))
    others = module.DoubleSums(100)
    others.add(np.zeros(2, np.int64), np.array([math.inf, 1.0]))
    for come in (
        lambda: few.add(np.zeros(2, np.int64), np.array([math.inf, 1.0])),
        lambda: few.merge(others, np.arange(100)),
    ):
        with pytest.raises(TooMuchAtOnce):  # what is counted apart takes as much again
            come()
        assert few.of(np.arange(100)).tolist() == [0.5] * 100 and few.counts.tolist() == [1] * 100
        assert few.nbytes <= 100 * 5 * 8
    wide = module.DoubleSums(100)
    wide.add(np.array([3, 4, 3]), np.array([TINY, HUGE, -1.0]))
    assert wide.nbytes == 100 * (34 + 1) * 8
    assert wide.of(np.array([3, 4])).tolist() == [-1.0, HUGE]


@both
def test_nothing_comes_so_often_that_it_overflows(functions: ModuleType) -> None:
    for sums, value in ((functions.DoubleSums(1), 1.0), (functions.IntegerSums(1), 1)):
        for times in (MOST_TIMES + 1, LEAST):
            with pytest.raises(OverflowError, match="more than 2,147,483,648 times"):
                sums.add(np.zeros(1, np.int64), np.array([value]), np.array([times]))


@both
@pytest.mark.parametrize("kind, values", [("IntegerSums", np.ones(3, np.int64)), ("DoubleSums", np.ones(3))])
def test_counts_that_were_asked_for_stay_as_they_were(functions: ModuleType, kind: str, values: np.ndarray) -> None:
    sums = getattr(functions, kind)(3)
    sums.add(np.arange(3), values)
    before = sums.counts
    sums.add(np.arange(100_000), np.repeat(values[:1], 100_000))
    assert before[:3].tolist() == [1, 1, 1]
