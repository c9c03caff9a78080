"""A text of cells says the same however it is read: by columns of its bytes, by Arrow, and cell by cell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers import cells
from csparql_spark.answers.cells import ids_in

Rows = list[list[int]]
ROWS: st.SearchStrategy[Rows] = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.one_of(st.just(-1), st.integers(0, 2**62)), min_size=width, max_size=width), min_size=1, max_size=30
    )
)


def written(rows: Rows) -> bytes:
    return "".join("\t".join("" if id < 0 else f"<i:{id}>" for id in row) + "\n" for row in rows).encode()


@given(ROWS)
def test_rows_come_back(rows: Rows) -> None:
    text, width = written(rows), len(rows[0])
    assert ids_in(text, width).tolist() == rows
    assert cells._long(text.translate(None, b"<i:>"), width).tolist() == rows


def test_a_long_text_and_its_shorter_halves() -> None:
    rows = [[n, -1 if n % 3 else n * n, 7] for n in range(20_000)]
    text = written(rows)
    assert len(text) > 4 * cells.SHORT
    assert ids_in(text, 3).tolist() == rows
    assert [
        row for part in range(0, 20_000, 100) for row in ids_in(written(rows[part : part + 100]), 3).tolist()
    ] == rows
