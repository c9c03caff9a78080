"""Row text: the rows of a table in a format of lines, piece by piece, whatever they would be together.

A table tells each term once, and a row only which ones it has: a megabyte that stands in a million rows is a terabyte
of text. So rows are written some at a time, as many as have a megabyte together, and a row that is longer than that,
cell by cell.

    form = RowForm(spell, '"{}":'.format, "", "{", ",", "},")
    text = RowText(table, form)                 # what cannot be written at all, is found out here
    b"".join(text.pieces())                     # every time the same

Each term is spelled once, if the spellings are small enough to be held; else once for the rows that are written
together.

Invariants: the pieces depend on the table alone, taken together. Besides the table, no more is held than `HELD` bytes
of spellings, and what a piece is made from, or the longest term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.answers.bindings import Bindings
from csparql_spark.kernel.row_text import text_of
from csparql_spark.kernel.sort import dense_ranks
from csparql_spark.kernel.texts import RowFrame

BLOCK = 50_000  # rows that are looked at together
AT_ONCE = 1 << 20  # bytes of rows that are written together, and of terms that are spelled together, but for one alone
HELD = 32 << 20  # bytes of spellings that are held for all rows
SPELLED = 10_000  # terms that are spelled together


@dataclass(frozen=True)
class RowForm:
    """How a format writes rows: `spell` gives the spellings of terms, `before` is what stands before a cell of a
    variable, `after` behind it, and the others begin, part and end a row. `skips`: an unbound cell is left out;
    otherwise it is empty. `choosy`: `spell` may raise."""

    spell: Callable[[pa.StringArray], pa.LargeStringArray]
    before: Callable[[str], str]
    after: str
    start: str
    between: str
    end: str
    skips: bool = True
    choosy: bool = False

    def frame(self, names: tuple[str, ...]) -> RowFrame:
        before = tuple(self.before(name) for name in names)
        return RowFrame(self.start, before, self.after, self.between, self.end, self.skips)


class RowText:
    def __init__(self, table: Bindings, form: RowForm) -> None:
        """Raises what `spell` raises."""
        self._length, self._form = table.length, form
        self._frame = form.frame(table.variables)
        self.terms, self._places = table.encoded()
        self._spellings = self._held()

    def _held(self) -> pa.LargeStringArray | None:
        """The spellings of all terms, if they are small enough."""
        held: list[pa.LargeStringArray] = []
        size = 0
        for first, last in self._together():
            if size > HELD and not self._form.choosy:
                return None
            spelled = self._form.spell(self.terms.slice(first, last - first))
            size += spelled.nbytes
            held = [*held, spelled] if size <= HELD else []
        if size > HELD:
            return None
        return held[0] if len(held) == 1 else pa.concat_arrays(held)

    def _together(self) -> Iterator[tuple[int, int]]:
        """Which terms are spelled together."""
        if self.terms.nbytes <= AT_ONCE and len(self.terms) <= SPELLED:
            return iter([(0, len(self.terms))])
        lengths = pc.binary_length(self.terms).to_numpy().astype(np.int64)
        return _cuts(lengths + AT_ONCE // SPELLED, AT_ONCE)

    def pieces(self) -> Iterator[bytes]:
        for begin in range(0, self._length, BLOCK):
            places = [column[begin : begin + BLOCK] for column in self._places]
            if not places:
                yield (self._form.start + self._form.end).encode() * min(BLOCK, self._length - begin)
            elif self._spellings is not None:
                yield from self._rows(self._spellings, np.stack(places))
            else:
                yield from self._spelled_rows(np.stack(places))

    def _rows(self, cells: pa.LargeStringArray, places: np.ndarray) -> Iterator[bytes]:
        """Rows whose cells are spelled."""
        first, count = 0, places.shape[1]
        while first < count:
            text, written = text_of(cells, places, first, self._frame, AT_ONCE)
            if written:
                yield text
            else:
                yield from self._long_row(places[:, first], lambda place: cells[place])
            first += written or 1

    def _spelled_rows(self, places: np.ndarray) -> Iterator[bytes]:
        """Rows whose cells are spelled for as many of them as have not too much text together."""
        lengths = np.append(pc.binary_length(self.terms).to_numpy().astype(np.int64), 0)  # the last: of what is unbound
        sizes = reduce(np.add, (lengths[column] for column in places))
        for first, last in _cuts(sizes, AT_ONCE):
            if last - first == 1 and sizes[first] > AT_ONCE:
                yield from self._long_row(places[:, first], self._spelled)
                continue
            used, cells = dense_ranks(places[:, first:last].reshape(-1))
            unbound = int(used.searchsorted(0))  # 1 if some cell is, or 0
            spellings = self._form.spell(self.terms.take(pa.array(used[unbound:])))
            yield from self._rows(spellings, (cells - unbound).astype(np.int32).reshape(len(places), -1))

    def _spelled(self, place: int) -> pa.LargeStringScalar:
        return self._form.spell(self.terms.slice(place, 1))[0]

    def _long_row(self, row: np.ndarray, cell: Callable[[int], pa.LargeStringScalar]) -> Iterator[bytes]:
        """One row, of which no two cells are held at a time."""
        frame, begun = self._frame, False
        for name, place in zip(frame.before, row.tolist()):
            if place < 0 and frame.skips:
                continue
            yield ((frame.after + frame.between if begun else frame.start) + name).encode()
            if place >= 0:
                yield cell(place).as_buffer().to_pybytes()
            begun = True
        yield ((frame.after if begun else frame.start) + frame.end).encode()


def text_size(table: Bindings) -> int:
    """How many bytes the terms of all rows have, each as often as it is there."""
    terms, ids = table.encoded()
    lengths = np.append(pc.binary_length(terms).to_numpy().astype(np.int64), 0)
    blocks = (column[begin : begin + BLOCK] for column in ids for begin in range(0, table.length, BLOCK))
    return sum(int(lengths[block].sum()) for block in blocks)


def _cuts(sizes: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Where what has these sizes is cut, so that nothing but a single one has more than `most` together."""
    totals = np.cumsum(sizes)
    begin, before = 0, 0
    while begin < len(sizes):
        end = max(begin + 1, int(np.searchsorted(totals, before + most, side="right")))
        yield begin, end
        begin, before = end, int(totals[end - 1])
