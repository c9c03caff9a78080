"""Row text: the rows of a table in a format of lines, piece by piece, whatever they would be together.

A table tells each term once, and a row only which ones it has: a megabyte that stands in a million rows is a terabyte
of text. So rows are written some at a time, as many as have about a megabyte of terms, and a row that is longer than
that, cell by cell.

    form = RowForm(spell, cell, "{", ",", "},")
    text = RowText(table, form)                 # what cannot be written at all, is found out here
    b"".join(text.pieces())                     # every time the same

Each term is spelled once, if they are few enough that their spellings can be held; else once for the rows that are
written together.

Invariants: the pieces depend on the table alone, taken together. Besides the table, no more is held than the spellings
of `HELD` bytes of terms, and what a piece is made from, or the longest term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.answers.bindings import Bindings
from csparql_spark.kernel.sort import dense_ranks

BLOCK = 50_000  # rows that are looked at together
AT_ONCE = 1 << 20  # bytes of terms in the rows that are written together, unless that is one row
LONG_ROW = 4 << 20  # bytes of terms in a row that is written cell by cell
HELD = 16 << 20  # bytes of terms whose spellings are held for all rows
SPELLED = 10_000  # terms that are spelled at once


@dataclass(frozen=True)
class RowForm:
    """How a format writes rows: `spell` gives the spellings of terms, `cell` makes a column of a name and such
    spellings (null: unbound), and the others begin, part and end a row. `choosy`: `spell` may raise."""

    spell: Callable[[pa.StringArray], pa.Array]
    cell: Callable[[str, pa.Array], pa.Array]
    start: str
    between: str
    end: str
    choosy: bool = False


class RowText:
    def __init__(self, table: Bindings, form: RowForm) -> None:
        """Raises what `spell` raises."""
        self._names, self._length, self._form = table.variables, table.length, form
        self.terms, self._ids = table.encoded()
        self._spellings: pa.Array | None = None
        if self.terms.nbytes <= HELD:
            self._spellings = pa.concat_arrays([*self._spelled(), text_array([])])
        elif form.choosy:
            for _ in self._spelled():
                pass

    def _spelled(self) -> Iterator[pa.Array]:
        for first in range(0, len(self.terms), SPELLED):
            yield self._form.spell(self.terms.slice(first, SPELLED))

    def pieces(self) -> Iterator[bytes]:
        form = self._form
        lengths = np.append(pc.binary_length(self.terms).to_numpy().astype(np.int64), 0)  # the last: of what is unbound
        for begin in range(0, self._length, BLOCK):
            count = min(BLOCK, self._length - begin)
            rows = [column[begin : begin + count] for column in self._ids]
            if not rows:
                yield (form.start + form.end).encode() * count
                continue
            sizes = reduce(np.add, (lengths[column] for column in rows))
            for first, last in _cuts(sizes):
                cut = [column[first:last] for column in rows]
                if last - first == 1 and sizes[first] > LONG_ROW:
                    yield from self._long_row(cut)
                else:
                    yield lines(self._cells(cut), last - first, form.start, form.between, form.end)

    def _cells(self, rows: list[np.ndarray]) -> list[pa.Array]:
        spellings = self._spellings
        if spellings is None:
            used, places = dense_ranks(np.concatenate(rows))
            unbound = int(used.searchsorted(0))  # 1 if some cell is, or 0
            spellings = self._form.spell(self.terms.take(pa.array(used[unbound:])))
            rows = np.split(places - unbound, len(rows))
        return [
            self._form.cell(name, spellings.take(pa.array(column, mask=column < 0)))
            for name, column in zip(self._names, rows)
        ]

    def _long_row(self, row: list[np.ndarray]) -> Iterator[bytes]:
        """One row, of which no two cells are held at a time."""
        form, gap = self._form, b""
        yield form.start.encode()
        for name, column in zip(self._names, row):
            spelled = self._spellings
            place = column
            if spelled is None:
                spelled = self._form.spell(self.terms.take(pa.array(column[column >= 0])))
                place = np.where(column < 0, -1, 0)
            cell = form.cell(name, spelled.take(pa.array(place, mask=place < 0)))
            if not cell.null_count:
                yield gap + cell[0].as_buffer().to_pybytes()
                gap = form.between.encode()
        yield form.end.encode()


def text_size(table: Bindings) -> int:
    """How many bytes the terms of all rows have, each as often as it is there."""
    terms, ids = table.encoded()
    lengths = np.append(pc.binary_length(terms).to_numpy().astype(np.int64), 0)
    blocks = (column[begin : begin + BLOCK] for column in ids for begin in range(0, table.length, BLOCK))
    return sum(int(lengths[block].sum()) for block in blocks)


def _cuts(sizes: np.ndarray) -> Iterator[tuple[int, int]]:
    """Where rows of these sizes are cut, so that none but a single one has more than `AT_ONCE` together."""
    totals = np.cumsum(sizes)
    begin, before = 0, 0
    while begin < len(sizes):
        end = max(begin + 1, int(np.searchsorted(totals, before + AT_ONCE, side="right")))
        yield begin, end
        begin, before = end, int(totals[end - 1])


def lines(columns: list[pa.Array], length: int, start: str, between: str, end: str) -> bytes:
    """The text of rows: each its values in order, nulls left out, between a start and an end."""
    if not columns or not length:
        return (start + end).encode() * length
    # pyarrow leaves a row of nothing but nulls out of the result: such a row gets one empty value.
    empty = reduce(pc.and_, (column.is_null() for column in columns))
    columns = [pc.if_else(empty, text(""), columns[0]), *columns[1:]]
    cells = joined([*columns], text(between), null_handling="skip")
    rows = joined([text(start), cells, text(end)], text(""))
    # The strings of an array lie back to back in its data buffer: that buffer is the text.
    return rows.buffers()[2].to_pybytes()


def joined(pieces: list[pa.Array | pa.Scalar], gap: pa.Scalar, null_handling: str = "emit_null") -> pa.Array:
    return pc.binary_join_element_wise(*pieces, gap, null_handling=null_handling)


def text(one: str) -> pa.Scalar:
    return pa.scalar(one, pa.large_string())


def text_array(texts: list[str]) -> pa.Array:
    return pa.array(texts, pa.large_string())
