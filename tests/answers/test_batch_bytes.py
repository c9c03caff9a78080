"""Bytes that are made without Arrow are those that Arrow writes."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers import batch_bytes
from csparql_spark.answers.batch_bytes import body_of_lists, written
from csparql_spark.answers.bindings import Bindings, Result, _batch

names = st.lists(st.text("abcdé", min_size=1, max_size=9), min_size=1, max_size=4, unique=True).map(tuple)
texts = st.lists(st.text(max_size=12), min_size=1, max_size=9, unique=True).map(sorted)


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[str, ...], list[str], list[list[int]]]:
    """Variables, terms, and columns in which each term occurs."""
    variables, terms, rows = draw(names), draw(texts), draw(st.integers(1, 20))
    cells = [draw(st.integers(-1, len(terms) - 1)) for _ in range(rows * len(variables))]
    used = sorted({cell for cell in cells if cell >= 0})
    cells = [used.index(cell) if cell >= 0 else -1 for cell in cells]
    columns = [cells[place * rows : (place + 1) * rows] for place in range(len(variables))]
    return variables, [terms[place] for place in used], columns


@given(tables())
def test_as_arrow_writes_them(table) -> None:
    variables, terms, columns = table
    bindings = Bindings.from_lists(variables, terms, columns)
    arrays = Bindings.from_ids(
        variables, pa.array(terms, pa.string()), [np.array(one, np.int32) for one in columns], in_order=True
    )
    if terms:
        body = body_of_lists(terms, columns)
        assert written(_batch, variables, len(columns[0]), body) == _batch(variables, terms, columns)
    payload = Result.from_table(bindings).to_bytes()
    assert payload == Result.from_table(arrays).to_bytes()
    assert Result.from_bytes(payload).table == bindings == arrays
    assert bindings.rows() == arrays.rows() and len(bindings) == len(arrays)


@given(tables(), st.integers(0, 3))
def test_terms_that_no_row_has_are_left_out(table, more: int) -> None:
    variables, terms, columns = table
    others = ["\0" * (n + 1) for n in range(more)], ["\U0010ffff" * (13 + n) for n in range(more)]
    array = pa.array([*others[0], *terms, *others[1]], pa.string())
    ids = [np.array([-1 if cell < 0 else cell + more for cell in column], np.int32) for column in columns]
    some = Bindings.from_ids(variables, array, ids, in_order=True)
    sliced = Bindings.from_ids(variables, pa.concat_arrays([array[:1], array])[1:], ids, in_order=True)
    expected = bytes(_batch(variables, terms, columns))
    assert bytes(some.batch()) == bytes(sliced.batch()) == expected


def test_a_table_of_no_rows() -> None:
    nothing = Bindings.from_lists(("s", "o"), [], [(), ()])
    assert Result.from_table(nothing).to_bytes() == Result.bindings(("s", "o"), [[], []]).to_bytes()
    assert nothing.columns == Bindings(("s", "o"), [[], []]).columns


def test_where_arrow_writes_something_else_nothing_is_made() -> None:
    def other(*table) -> bytes:
        return b"!" + _batch(*table)

    assert written(other, ("s",), 1, body_of_lists(["<urn:a>"], [[0]])) is None
    with mock.patch.object(batch_bytes, "written", return_value=None):
        few = Result.from_table(Bindings.from_lists(("s",), ["<urn:a>"], [[0, -1]])).to_bytes()
    assert few == Result.bindings(("s",), [["<urn:a>", None]]).to_bytes()
