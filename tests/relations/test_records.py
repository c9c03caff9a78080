from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.relations.records import KeysTooWide, Records
from tests.examples import examples


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(1, 9), st.integers(3, 31), st.data())
def test_equal_rows_have_equal_keys_and_come_back(width: int, bits: int, data: st.DataObject) -> None:
    records = Records(width, bits)
    cells = st.one_of(st.integers(0, 3), st.integers(0, (1 << bits) - 1))
    known: dict[int, tuple[int, ...]] = {}
    for _ in range(3):
        rows = data.draw(st.lists(st.tuples(*[cells] * width), max_size=8))
        columns = [np.array([row[place] for row in rows], dtype=np.int64) for place in range(width)]
        keys = records.pack(columns)
        assert [tuple(row) for row in zip(*(records.column(keys, place).tolist() for place in range(width)))] == rows
        assert (keys >= 0).all()
        for key, row in zip(keys.tolist(), rows):
            assert known.setdefault(key, row) == row
    assert len(set(known.values())) == len(known)


def test_what_has_too_many_bits_is_refused() -> None:
    records = Records(2, 4)
    assert records.pack([np.array([15]), np.array([0])]).tolist() == [15 << 4]
    with pytest.raises(KeysTooWide):
        records.pack([np.array([3]), np.array([16])])
    with pytest.raises(KeysTooWide):
        Records(2, 40)


def test_only_what_does_not_fit_side_by_side_gets_numbers() -> None:
    columns = [np.arange(100)] * 4
    narrow, wide = Records(4, 15), Records(4, 20)
    narrow.pack(columns)
    wide.pack(columns)
    wide.pack(columns)
    assert (narrow.given, wide.given) == (0, 100)
    assert narrow.nbytes == 0 and wide.nbytes >= 24 * 100
