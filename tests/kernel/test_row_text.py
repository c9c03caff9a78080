"""Rows are written by both alike, up to where there is no room; and never more than there is room for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import native
from csparql_spark.kernel.texts import RowFrame
from csparql_spark.kernel.twin import row_text as twin
from tests.examples import examples

if native.library is None:
    pytest.skip(f"nothing to compare: {native.missing}", allow_module_level=True)

from csparql_spark.kernel.compiled import row_text

texts = st.text(max_size=6) | st.sampled_from(["", "x" * 40, "é", "😀", "\x00", '{"type":"uri","value":"urn:a"}'])
around = st.text("<>{é", max_size=3)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.LargeStringArray, np.ndarray, RowFrame]:
    cells, columns, length = draw(st.lists(texts, max_size=9)), draw(st.integers(1, 4)), draw(st.integers(0, 12))
    places = draw(
        st.lists(
            st.lists(st.integers(-1, len(cells) - 1), min_size=length, max_size=length),
            min_size=columns,
            max_size=columns,
        )
    )
    before = tuple(draw(around) for _ in range(columns))
    frame = RowFrame(draw(around), before, *(draw(around) for _ in range(3)), draw(st.booleans()))
    skipped = draw(st.integers(0, 2))
    array = pa.array(["skipped"] * skipped + cells, pa.large_string())[skipped:]
    return array, np.array(places, np.int32).reshape(columns, length), frame


def naive(cells: pa.LargeStringArray, places: np.ndarray, first: int, frame: RowFrame, most: int) -> tuple[bytes, int]:
    """Row by row, cell by cell."""
    there, told, count = [*cells.to_pylist(), None], b"", 0
    for row in places.T.tolist()[first:]:
        found = [(name, there[place]) for name, place in zip(frame.before, row)]
        bound = [name + (cell or "") + frame.after for name, cell in found if cell is not None or not frame.skips]
        line = f"{frame.start}{frame.between.join(bound)}{frame.end}".encode()
        if len(told) + len(line) > most:
            break
        told, count = told + line, count + 1
    return told, count


@given(tables(), st.data())
@settings(max_examples=examples(500), deadline=None)
def test_rows(table: tuple[pa.LargeStringArray, np.ndarray, RowFrame], data: st.DataObject) -> None:
    cells, places, frame = table
    first = data.draw(st.integers(0, places.shape[1]))
    whole, count = naive(cells, places, first, frame, 1 << 62)
    assert count == places.shape[1] - first
    for most in (1 << 62, len(whole), max(len(whole) - 1, 0), data.draw(st.integers(0, len(whole))), 0):
        expected = naive(cells, places, first, frame, most)
        assert row_text.text_of(cells, places, first, frame, most) == expected
        assert twin.text_of(cells, places, first, frame, most) == expected


def test_many_rows() -> None:
    """So many that others run meanwhile."""
    random = np.random.default_rng(7)
    cells = pa.array([f'"{number}"' * (1 + number % 5) for number in range(5_000)], pa.large_string())
    places = random.integers(-1, len(cells), (3, 60_000)).astype(np.int32)
    frame = RowFrame("{", ('"a":', '"b":', '"é":'), "", ",", "},", skips=True)
    whole = row_text.text_of(cells, places, 0, frame, 1 << 62)
    assert whole == naive(cells, places, 0, frame, 1 << 62) == twin.text_of(cells, places, 0, frame, 1 << 62)
    first, told = 0, []
    while first < 60_000:
        text, count = row_text.text_of(cells, places, first, frame, 1 << 16)
        assert (text, count) == twin.text_of(cells, places, first, frame, 1 << 16) and 0 < len(text) <= 1 << 16
        told, first = [*told, text], first + count
    assert (b"".join(told), first) == whole


def test_more_columns_than_a_call_takes_arguments() -> None:
    cells, places = pa.array(["x"], pa.large_string()), np.zeros((1000, 2), np.int32)
    frame = RowFrame("", tuple(map(str, range(1000))), "", "\t", "\n", skips=True)
    assert row_text.text_of(cells, places, 0, frame, 1 << 20) == naive(cells, places, 0, frame, 1 << 20)


@pytest.mark.parametrize("place", [-2, 1, (1 << 31) - 1, -(1 << 31)])
def test_a_place_that_no_text_has(place: int) -> None:
    cells, places = pa.array(["x"], pa.large_string()), np.array([[0, place]], np.int32)
    for text_of in (row_text.text_of, twin.text_of):
        with pytest.raises(TypeError, match="a place that no text has"):
            text_of(cells, places, 0, RowFrame("", ("",), "", "", "\n", skips=True), 99)
