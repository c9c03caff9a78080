"""The body of a table is the same by both, and says what the table says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import native
from csparql_spark.kernel.table import parted
from csparql_spark.kernel.twin import table as twin
from tests.examples import examples

if native.library is None:
    pytest.skip(f"nothing to compare: {native.missing}", allow_module_level=True)

from csparql_spark.kernel.compiled import table

texts = st.text(max_size=5) | st.sampled_from(["", "x" * 40, "é", "😀", "\x00"])


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.StringArray, list[np.ndarray]]:
    """With many more terms than cells, too: those are found otherwise."""
    terms = sorted(draw(st.sets(texts, max_size=12)))
    more = draw(st.sampled_from([0, 0, 2000]))
    terms = sorted({*terms, *(f"t{number:05}" for number in range(more))})
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(0, 12))
    cell = st.integers(-1, len(terms) - 1)
    wide = [draw(st.sampled_from([np.int32, np.int64])) for _ in range(columns)]
    strides = [draw(st.sampled_from([1, 1, 2, -1])) for _ in range(columns)]
    skipped = draw(st.integers(0, 2))
    array = pa.array(["skipped"] * skipped + terms, pa.string())[skipped:]
    cells = [np.array(draw(st.lists(cell, min_size=rows, max_size=rows)), kind) for kind in wide]
    return array, [np.repeat(column, abs(step))[::step] for column, step in zip(cells, strides)]


@given(tables())
@settings(max_examples=examples(500), deadline=None)
def test_bodies(made: tuple[pa.StringArray, list[np.ndarray]]) -> None:
    terms, columns = made
    body = table.body_of(terms, columns)
    assert body == twin.body_of(terms, columns)
    named, cells = parted(body, sum(map(len, columns)))
    wanted = [None if cell < 0 else terms[cell].as_py() for column in columns for cell in column.tolist()]
    there = named.to_pylist()
    assert there == sorted({text for text in wanted if text is not None})
    assert [None if cell < 0 else there[cell] for cell in cells.tolist()] == wanted
