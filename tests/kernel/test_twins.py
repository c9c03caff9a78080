"""What is compiled does what its twin in numpy does, to the last bit."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import native
from csparql_spark.kernel.limits import UNBOUNDED, Field, TooMuchAtOnce
from csparql_spark.kernel.twin import join as twin_join
from csparql_spark.kernel.twin import merge as twin_merge
from csparql_spark.kernel.twin import probe as twin_probe
from csparql_spark.kernel.twin import sort as twin_sort
from tests.examples import examples

if native.library is None:
    pytest.skip(f"nothing to compare: {native.missing}", allow_module_level=True)

merge, probe, join, sort = (
    importlib.import_module(f"csparql_spark.kernel.compiled.{name}") for name in ("merge", "probe", "join", "sort")
)

LEAST, MOST = -(1 << 63), (1 << 63) - 1
few = st.integers(-5, 60)
any_int = st.integers(LEAST, MOST)
extremes = st.sampled_from([LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST])
values = st.one_of(st.lists(few, max_size=200), st.lists(any_int, max_size=80), st.lists(extremes, max_size=80))
tags = st.one_of(st.integers(0, 12), extremes)
unions = st.sampled_from([np.maximum, np.add])


def ints(of: Sequence[int]) -> np.ndarray:
    return np.array(of, dtype=np.int64)


@st.composite
def maps(draw: st.DrawFn, keys: st.SearchStrategy[int] = few) -> tuple[np.ndarray, np.ndarray]:
    rows = draw(st.dictionaries(keys | extremes, tags, max_size=120))
    return ints(sorted(rows)), ints([rows[key] for key in sorted(rows)])


@st.composite
def many(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """More rows than anybody would write down: where radix sorts, gallops and copies of whole pieces begin."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    size, spread = draw(st.sampled_from([1, 40, 300, 3000, 30000])), draw(st.sampled_from([1, 10, 40, 62]))
    keys = np.unique(random.integers(-(1 << spread) // 3, 1 << spread, size))
    return keys, random.integers(0, draw(st.sampled_from([1, 3, 100])), len(keys))


def same(one: Any, other: Any) -> None:
    one, other = (part if isinstance(part, tuple) else (part,) for part in (one, other))
    assert len(one) == len(other)
    for mine, theirs in zip(one, other):
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()


@given(maps() | many(), maps() | many(), st.integers(-1, 12) | extremes)
@settings(max_examples=examples(200), deadline=None)
def test_merge(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], now: int) -> None:
    one, other = ((keys[keys >= 0], tags_[keys >= 0]) for keys, tags_ in (one, other))
    dead = np.isin(other[0], one[0][one[1] > now])  # a key holds in one of them at most
    other = other[0], np.where(dead, LEAST, other[1])
    same(merge.merge(*one, *other, now), twin_merge.merge(*one, *other, now))
    same(merge.held(*one, now), twin_merge.held(*one, now))


@given(maps() | many(), values)
@settings(max_examples=examples(200), deadline=None)
def test_found(map_: tuple[np.ndarray, np.ndarray], sought: list[int]) -> None:
    for keys in (ints(sought), ints(sorted(sought)), map_[0][::3].copy(), map_[0][::-2].copy()):
        same(probe.found(map_[0], keys), twin_probe.found(map_[0], keys))


@given(
    st.lists(maps() | many(), max_size=4),
    st.lists(few | extremes, max_size=60),
    st.sampled_from([0, 1, 5, 1 << 40, MOST]),
    st.integers(-1, 12),
    st.sampled_from([0, 3, 50, UNBOUNDED]),
)
@settings(max_examples=examples(200), deadline=None)
def test_slices(runs: list[tuple[np.ndarray, np.ndarray]], low: list[int], span: int, now: int, most: int) -> None:
    flat = [column for run in runs for column in run]
    for sought in (ints(low), ints(sorted(low))):
        try:
            expected = rows_of(twin_join.slices(flat, sought, span, now, most))
        except TooMuchAtOnce:
            with pytest.raises(TooMuchAtOnce):
                join.slices(flat, sought, span, now, most)
        else:
            assert rows_of(join.slices(flat, sought, span, now, most)) == expected


@given(
    st.lists(maps() | many(), max_size=3),
    st.lists(st.tuples(few | extremes, st.integers(0, 1 << 40), tags), max_size=60),
    st.sampled_from([0, 1, 5]),
    st.sampled_from([Field(0, 15, 0), Field(2, 3, 50)]),
    st.sampled_from([0, 50, UNBOUNDED]),
)
@settings(max_examples=examples(200), deadline=None)
def test_join(
    runs: list[tuple[np.ndarray, np.ndarray]], rows: list[tuple[int, int, int]], span: int, field: Field, most: int
) -> None:
    flat = [column for run in runs for column in run]
    low, carried, until = (ints([row[place] for row in rows]) for place in range(3))
    arguments = flat, low, span, carried & ~(15 << 50), until, 3, most, field
    try:
        expected = rows_of(twin_join.join(*arguments))
    except TooMuchAtOnce:
        with pytest.raises(TooMuchAtOnce):
            join.join(*arguments)
    else:
        assert rows_of(join.join(*arguments)) == expected


def rows_of(columns: tuple[np.ndarray, ...]) -> list[tuple[int, ...]]:
    return sorted(zip(*(column.tolist() for column in columns)))


@given(st.lists(maps() | many(), max_size=4), maps() | many(), unions)
@settings(max_examples=examples(200), deadline=None)
def test_tags_of_what_is_looked_up_and_what_comes(
    runs: list[tuple[np.ndarray, np.ndarray]], new: tuple[np.ndarray, np.ndarray], union: np.ufunc
) -> None:
    flat = [column for run in runs for column in run]
    backwards = new[0][::-1].copy(), new[1][::-1].copy()
    for keys, given_ in (new, backwards):
        same(probe.tags_of(flat, keys, given_, union), twin_probe.tags_of(flat, keys, given_, union))
    mine, theirs = [column.copy() for column in flat], [column.copy() for column in flat]
    same(probe.absorb(mine, *new, union, LEAST), twin_probe.absorb(theirs, *new, union, LEAST))
    same(tuple(mine), tuple(theirs))
    same(probe.drop(mine, new[0], LEAST), twin_probe.drop(theirs, new[0], LEAST))
    same(tuple(mine), tuple(theirs))


@given(values.map(sorted), values, st.sampled_from([0, 3, UNBOUNDED]))
@example([3] * 200, [3] * 200, UNBOUNDED)
@settings(max_examples=examples(200), deadline=None)
def test_pairs(sorted_values: list[int], sought: list[int], most: int) -> None:
    for places in (ints(sought), ints(sorted(sought))):
        try:
            expected = twin_join.pairs(ints(sorted_values), places, most)
        except TooMuchAtOnce:
            with pytest.raises(TooMuchAtOnce):
                join.pairs(ints(sorted_values), places, most)
        else:
            same(join.pairs(ints(sorted_values), places, most), expected)


@given(values | many().map(lambda map_: np.random.default_rng(5).permutation(map_[0]).tolist()))
@example([MOST, LEAST, 0, MOST] * 50)
@settings(max_examples=examples(200), deadline=None)
def test_order_and_ranks(unsorted: list[int]) -> None:
    same(sort.order_of(ints(unsorted)), twin_sort.order_of(ints(unsorted)))
    same(sort.ordered(ints(unsorted)), twin_sort.ordered(ints(unsorted)))
    same(sort.dense_ranks(ints(unsorted)), twin_sort.dense_ranks(ints(unsorted)))
    same(sort.distinct(ints(sorted(unsorted))), twin_sort.distinct(ints(sorted(unsorted))))


@pytest.mark.parametrize("least", [0, -5, LEAST, 1 << 61])
@pytest.mark.parametrize("rows", [1, 2, 63, 64, 127, 128, 3000])
def test_order_of_the_widest_values_that_fit_beside_their_rows_and_of_wider_ones(least: int, rows: int) -> None:
    for bits in (62, 63, 64):
        highest = min(least + (1 << bits - rows.bit_length()) - 1, MOST)
        unsorted = np.random.default_rng(rows).choice(ints([least, least + 1, highest - 1, highest]), rows)
        unsorted[0], unsorted[-1] = highest, least
        same(sort.order_of(unsorted), twin_sort.order_of(unsorted))


@given(st.lists(st.tuples(few | extremes, tags), max_size=150), unions, st.sampled_from([LEAST, 0, 5]))
@settings(max_examples=examples(200), deadline=None)
def test_unite(rows: list[tuple[int, int]], union: np.ufunc, now: int) -> None:
    keys, tags_ = (ints([row[place] for row in rows]) for place in (0, 1))
    same(sort.unite(keys, tags_, union, now), twin_sort.unite(keys, tags_, union, now))


SHIFTS = {"pso": (8, 4, 0), "pos": (8, 0, 4), "spo": (4, 8, 0), "osp": (0, 4, 8)}  # of p, s and o: four bits each
SKIPPED = {"pso": 12, "pos": 4, "spo": 8, "osp": 4}


@given(st.sets(st.integers(0, (1 << 12) - 1), max_size=300), st.sampled_from(sorted(SHIFTS)), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_turn(keys: set[int], order: str, data: st.DataObject) -> None:
    sorted_ = ints(sorted(keys))
    known = np.array(data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys))), dtype=bool)
    arguments = sorted_, np.arange(len(keys)), known, ints(SHIFTS["pso"]), ints([15, 15, 15]), ints(SHIFTS[order])
    same(sort.turn(*arguments, SKIPPED[order]), twin_sort.turn(*arguments, 0))
    shuffled = np.random.default_rng(3).permutation(len(keys))
    same(sort.turn(sorted_[shuffled], *arguments[1:], 0), twin_sort.turn(sorted_[shuffled], *arguments[1:], 0))


def test_what_is_kept_does_not_keep_the_rest() -> None:
    keys, until = np.zeros(1000, np.int64), np.ones(1000, np.int64)
    for column in (*sort.unite(keys, until, np.maximum, 0), sort.distinct(keys), *merge.held(keys, until, 1)):
        assert column.base is None
