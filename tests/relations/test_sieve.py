from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.relations.sieve import Sieve
from tests.examples import examples

keys = st.lists(st.integers(0, (1 << 63) - 1), max_size=50)


@given(keys, keys, st.integers(0, 20))
@settings(max_examples=examples(60), deadline=None)
def test_what_is_there_passes(there: list[int], others: list[int], size: int) -> None:
    sieve = Sieve(size)
    sieve.add(np.array(there, np.int64))
    passing = sieve.passing(np.array(there + others, np.int64)).tolist()
    assert passing[: len(there)] == list(range(len(there)))


def test_most_that_is_not_there_is_held_back() -> None:
    sieve = Sieve(10_000)
    sieve.add(np.arange(0, 20_000, 2) << 26)
    assert not sieve.full and not sieve.too_large(10_000) and sieve.too_large(1_000)
    assert len(sieve.passing(np.arange(1, 20_001, 2) << 26)) < 1_500
    while not sieve.full:
        sieve.add(np.arange(10_000) + 7)
