"""Rows and their numbers: what is compiled against its twin, and both against dictionaries and counters."""

from __future__ import annotations

from collections import Counter
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import native
from csparql_spark.kernel import rows as module
from csparql_spark.kernel.limits import MOST_TIMES, TooMuchAtOnce
from csparql_spark.kernel.twin import rows as twin
from tests.examples import examples

both = pytest.mark.parametrize("functions", [module, twin], ids=["as it is", "numpy"])
cells = st.integers(-1, 2) | st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 40])
small = st.integers(-1, 2) | st.sampled_from([-(1 << 31), (1 << 31) - 1])
Row = tuple[int, ...]


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, st.SearchStrategy[list[Row]], list[type]]:
    """A width, rows of it, and the types of its columns."""
    kinds = draw(st.lists(st.sampled_from([np.int64, np.int32]), min_size=1, max_size=4))
    row = st.tuples(*[cells if kind is np.int64 else small for kind in kinds])
    return len(kinds), st.lists(row, max_size=40), kinds


def columns_of(rows: list[Row], kinds: list[type]) -> list[np.ndarray]:
    return [np.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]


@both
@given(st.data())
@settings(max_examples=examples(200), deadline=None)
def test_numbers_of_rows(functions: ModuleType, data: st.DataObject) -> None:
    _, lists, kinds = data.draw(tables())
    rows = data.draw(lists)
    numbers, firsts = functions.dense_rows(columns_of(rows, kinds))
    assert numbers.dtype == firsts.dtype == np.int64
    known: dict[Row, int] = {}
    assert numbers.tolist() == [known.setdefault(row, len(known)) for row in rows]
    assert firsts.tolist() == [rows.index(row) for row in known]


@both
@given(st.lists(st.integers(0, 5), max_size=40), st.lists(st.integers(0, 5), max_size=40))
@settings(max_examples=examples(200), deadline=None)
def test_rows_without_an_equal(functions: ModuleType, mine: list[int], theirs: list[int]) -> None:
    numbers, firsts = twin.dense_rows([np.array(mine + theirs, np.int64)])
    found = functions.unpaired(numbers, len(mine), len(firsts))
    for rows, others, places in zip((mine, theirs), (theirs, mine), found):
        left, alone = Counter(others), []
        for place, row in enumerate(rows):
            if left[row]:
                left[row] -= 1
            else:
                alone.append(place)
        assert places.tolist() == alone


@given(st.data())
@settings(max_examples=examples(200), deadline=None)
def test_bags_count_up_and_down(data: st.DataObject) -> None:
    width, lists, kinds = data.draw(tables())
    bags, counts, numbers = (module.RowBag(width), twin.RowBag(width)), Counter(), {}
    for rows in data.draw(st.lists(lists, max_size=5)):
        signs = data.draw(st.none() | st.lists(st.integers(-2, 3), min_size=len(rows), max_size=len(rows)))
        before = {row for row, count in counts.items() if count > 0}
        for row, sign in zip(rows, signs or [1] * len(rows)):
            numbers.setdefault(row, len(numbers))
            counts[row] += sign
        after = {row for row, count in counts.items() if count > 0}
        by_number = list(numbers)
        said = []
        for bag in bags:
            given_, came, went = bag.add(columns_of(rows, kinds), None if signs is None else np.array(signs, np.int64))
            assert given_.tolist() == [numbers[row] for row in rows]
            assert {by_number[number] for number in came.tolist()} == after - before
            assert {by_number[number] for number in went.tolist()} == before - after
            assert len(bag) == len(numbers) and bag.counts.tolist() == [counts[row] for row in numbers]
            some = np.arange(len(bag))[::-2]
            assert bag.often(some).tolist() == bag.counts[some].tolist()
            said.append((came.tolist(), went.tolist()))
        assert said[0] == said[1]
    sought = data.draw(lists)
    for bag in bags:
        assert bag.find(columns_of(sought, kinds)).tolist() == [numbers.get(row, -1) for row in sought]
        written = bag.columns(np.arange(len(bag)))
        assert list(zip(*(column.tolist() for column in written))) == list(numbers)
        assert bag.nbytes >= 8 * width * len(bag)


@both
def test_a_row_has_its_number_again_when_it_comes_back(functions: ModuleType) -> None:
    bag = functions.RowBag(1)
    one, gone = np.array([7]), np.array([-1])
    assert [part.tolist() for part in bag.add([one])] == [[0], [0], []]
    assert [part.tolist() for part in bag.add([one], gone)] == [[0], [], [0]]
    assert [part.tolist() for part in bag.add([one], gone)] == [[0], [], []]
    assert [part.tolist() for part in bag.add([np.array([7, 7, 8, 8])], np.array([1, 1, 1, -1]))] == [
        [0, 0, 1, 1],
        [0],
        [],
    ]


@both
@pytest.mark.parametrize("width", [1, 3, 100, 101, 130])
def test_many_rows_of_many_columns(functions: ModuleType, width: int) -> None:
    chance = np.random.default_rng(3)
    size = 40_000 // width
    rows = np.concatenate([np.arange(size) // 3, chance.integers(0, size, size)])
    columns = [rows * (place + 1) for place in range(width)]
    numbers, firsts = functions.dense_rows(columns)
    known: dict[int, int] = {}
    assert numbers.tolist() == [known.setdefault(row, len(known)) for row in rows.tolist()]
    assert rows[firsts].tolist() == list(known)
    bag = functions.RowBag(width)
    for part in np.array_split(np.arange(len(rows)), 7):
        bag.add([column[part] for column in columns])
    assert len(bag) == len(known) and int(bag.counts.sum()) == len(rows)
    assert bag.find([column[:50] for column in columns]).tolist() == numbers[:50].tolist()
    assert bag.columns(numbers[:9])[-1].tolist() == columns[-1][:9].tolist()


def test_columns_need_not_be_contiguous() -> None:
    values = np.arange(20) % 6
    numbers, _ = module.dense_rows([values[::2], values[::-2]])
    assert numbers.tolist() == twin.dense_rows([values[::2], values[::-2]])[0].tolist()


def test_rows_that_meet_in_a_slot_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds of nothing let hashes be foreseen; what comes out does not depend on them."""
    if native.library is None:
        pytest.skip(f"there is no hash: {native.missing}")
    from csparql_spark.kernel.compiled import rows as compiled

    columns = [np.arange(5_000) % 700, np.arange(5_000) % 11]
    expected = module.dense_rows(columns)
    monkeypatch.setattr(compiled, "_seeds", (0, 0))
    assert [part.tolist() for part in module.dense_rows(columns)] == [part.tolist() for part in expected]


@both
def test_a_bag_takes_no_more_than_it_may(functions: ModuleType) -> None:
    bag = functions.RowBag(2, most=40_000)
    columns = [np.arange(50), np.arange(50)]
    bag.add(columns)
    for many in (columns[0][:1].repeat(100_000), np.arange(100_000)):
        with pytest.raises(TooMuchAtOnce):
            bag.add([many, many])
        assert len(bag) == 50 and bag.counts.tolist() == [1] * 50
    with pytest.raises(OverflowError):
        bag.add([np.ones(1, np.int64)] * 2, np.array([-MOST_TIMES - 1]))
    assert bag.nbytes <= 40_000


@both
def test_counts_that_were_asked_for_stay_as_they_were(functions: ModuleType) -> None:
    bag = functions.RowBag(1)
    bag.add([np.arange(3)])
    before = bag.counts
    bag.add([np.arange(100_000)])
    assert before.tolist() == [1, 1, 1]
