"""Rows that come and go under keys, against a counter."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.maintained import numbered_rows as module
from csparql_spark.answers.maintained.keyed_bag import KeyedBag
from csparql_spark.kernel.limits import TooMuchAtOnce
from tests.examples import examples

Row = tuple[int, ...]  # its key, and its cells


def found(bag: KeyedBag, wanted: list[int]) -> Counter[Row]:
    places, columns, counts = bag.of(np.array(wanted, dtype=np.int64))
    rows: Counter[Row] = Counter()
    for place, *row, count in zip(places.tolist(), *(column.tolist() for column in columns), counts.tolist()):
        rows[wanted[place], *row] += count
    return rows


@pytest.mark.parametrize("spare", [0, 4096])
@settings(max_examples=examples(150), deadline=None)
@given(width=st.integers(0, 3), seed=st.integers(0, 10**9))
def test_the_rows_under_a_key_are_found(spare: int, width: int, seed: int) -> None:
    random, there = Random(seed), Counter[Row]()
    keys = 5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SPARE", spare)
        bag = KeyedBag(width, 1 << 20)
        for _ in range(10):
            came = [
                (random.randrange(keys), *random.choices([-1, 0, 1 << 40], k=width))
                for _ in range(random.randint(0, 9))
            ]
            there.update(came)
            gone = random.sample(sorted(there.elements()), min(there.total(), random.randint(0, 6)))
            there.subtract(gone)
            there += Counter()
            numbers, *columns = np.array(came + gone, dtype=np.int64).reshape(-1, width + 1).T.copy()
            bag.add(numbers, columns, np.repeat([1, -1], [len(came), len(gone)]))
            assert len(bag) == len(there)
            wanted = random.sample(range(-1, keys), 3)
            assert found(bag, wanted) == Counter({row: n for row, n in there.items() if row[0] in wanted})
            columns, counts = bag.all()
            everything = Counter[Row]()
            for *row, count in zip(*(column.tolist() for column in columns), counts.tolist(), strict=True):
                everything[tuple(row)] += count
            assert everything.total() == there.total()
            if random.random() < 0.3:
                left = sorted({row[0] for row in there})
                bag.keep(np.array(left, dtype=np.int64))
                there = Counter({(left.index(key), *row): count for (key, *row), count in there.items()})
            assert bag.nbytes > 0 or not len(bag)


def test_it_takes_no_more_room_than_it_may() -> None:
    bag = KeyedBag(1, 100_000)
    with pytest.raises(TooMuchAtOnce):
        bag.add(np.zeros(9000, dtype=np.int64), [np.arange(9000)], np.ones(9000, dtype=np.int64))
