"""Sorting and what goes with it, as Python's own `sorted` and dictionaries have it: the functions that run here, and
those in numpy."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import sort
from csparql_spark.kernel.twin import sort as twin
from tests.examples import examples

both = pytest.mark.parametrize("functions", [sort, twin], ids=["as it is", "numpy"])
MOST = (1 << 63) - 1
mixed = st.lists(st.integers(-5, 60) | st.integers(-(1 << 63), MOST), max_size=300)
near = st.builds(
    lambda least, steps, shift: [least + (step << shift) for step in steps],
    st.integers(-100, 1 << 40),
    st.lists(st.integers(0, 300), max_size=300),
    st.sampled_from([0, 3, 20]),
)


def ints(of: list[int]) -> np.ndarray:
    return np.array(of, dtype=np.int64)


@both
@given(mixed | near, st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_values_and_their_ranks(functions: ModuleType, values: list[int], nearly: bool) -> None:
    values = sorted(values) if nearly else values
    array = ints(values)
    assert functions.ordered(array).tolist() == array[functions.order_of(array)].tolist() == sorted(values)
    assert functions.distinct(ints(sorted(values))).tolist() == sorted(set(values))
    there, places = functions.dense_ranks(array)
    assert there.tolist() == sorted(set(values)) and there[places].tolist() == values


@both
@given(
    st.sampled_from([3, 1 << 40, 1 << 62]).flatmap(lambda most: st.lists(st.integers(-1, most), max_size=300)),
    st.booleans(),
)
@settings(max_examples=examples(100), deadline=None)
def test_equal_values_stay_in_the_order_that_they_have(functions: ModuleType, values: list[int], nearly: bool) -> None:
    """Also those that leave no bits for the place of their row."""
    values = sorted(values) if nearly else values
    expected = sorted(range(len(values)), key=values.__getitem__)
    assert functions.order_of(ints(values)).tolist() == expected
    if len(values) and max(values) < 1 << 31:
        assert functions.order_of(np.array(values, dtype=np.int32)).tolist() == expected


@both
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 9)), max_size=200), st.sampled_from([-4, 0, 5]))
@settings(max_examples=examples(100), deadline=None)
def test_each_key_has_the_union_of_its_tags(functions: ModuleType, rows: list[tuple[int, int]], now: int) -> None:
    keys, tags = (ints([row[place] for row in rows]) for place in (0, 1))
    for union, of in ((np.maximum, max), (np.add, sum)):
        found = functions.unite(keys, tags, union, now)
        expected = {
            key: of([tag for other, tag in rows if other == key and tag > now]) for key, tag in rows if tag > now
        }
        assert list(zip(*(column.tolist() for column in found))) == sorted(expected.items())
