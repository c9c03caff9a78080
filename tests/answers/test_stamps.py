from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.stamps import stamps_of
from csparql_spark.windows.content import Elements
from tests.examples import examples

ids = st.integers(0, 3)
windows = st.lists(st.lists(st.tuples(ids, ids, ids, st.integers(-9, 9)), max_size=10), min_size=1, max_size=3)


def window(*held: tuple[int, int, int, int]) -> Elements:
    s, p, o, t = (np.array([element[place] for element in held], dtype=np.int64) for place in range(4))
    return Elements(s, p, o, np.zeros_like(s), t)


def test_the_latest_stamp_counts_in_whichever_window_it_is() -> None:
    stamp = stamps_of([window((1, 2, 3, 1100), (1, 2, 3, 1900), (1, 2, 4, 5)), window((1, 2, 3, 1500), (7, 2, 3, -2))])
    assert [stamp(1, 2, 3), stamp(1, 2, 4), stamp(7, 2, 3)] == [1900, 5, -2]


def test_what_no_window_holds_has_no_stamp() -> None:
    stamp = stamps_of([window((1, 2, 3, 1100))])
    assert [stamp(1, 2, 2), stamp(1, 3, 3), stamp(0, 2, 3), stamp(1 << 40, 2, 3)] == [None] * 4
    assert stamps_of([window()])(1, 2, 3) is None


def test_a_stamp_is_a_number_of_python() -> None:
    assert type(stamps_of([window((1, 2, 3, 0))])(1, 2, 3)) is int


@given(windows, ids, ids, ids)
@settings(max_examples=examples(300), deadline=None)
def test_it_is_the_maximum(held: list[list[tuple]], s: int, p: int, o: int) -> None:
    found = [element[3] for of in held for element in of if element[:3] == (s, p, o)]
    assert stamps_of([window(*of) for of in held])(s, p, o) == max(found, default=None)
