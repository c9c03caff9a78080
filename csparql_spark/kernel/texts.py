"""What functions about text give back, whichever of the two does it: texts as bytes and offsets; and what rows of text
are made with.

    read = columns(b'<urn:a> <urn:p> "x" .\\n', named=False)                # as LineColumns
    terms = read.terms
    terms.data[terms.offsets[2] : terms.offsets[3]].tobytes()              # b'"x"': the text with the id 2
    read.o                                                                 # [2]: ids, which count the texts
    RowFrame("{", ('"s":', '"o":'), "", ",", "},\n", skips=True)            # {"s":…,"o":…},

Invariants: offsets ascend from 0 to the length of the data, and are one more than the texts; a text is valid UTF-8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa


class TextColumn(NamedTuple):
    """Texts one after the other, as bytes of UTF-8; each begins at its offset (int32), and ends where the next
    begins."""

    data: np.ndarray
    offsets: np.ndarray


class LineColumns(NamedTuple):
    """The ids of each line (int32), and what they stand for."""

    s: np.ndarray
    p: np.ndarray
    o: np.ndarray
    terms: TextColumn
    g: np.ndarray
    graphs: TextColumn


class RowFrame(NamedTuple):
    """What stands around the cells of a row: what begins and ends it, before each of its cells (one text for each
    column) and after it, and between two. `skips`: a cell that is unbound is left out; otherwise its text is empty."""

    start: str
    before: tuple[str, ...]
    after: str
    between: str
    end: str
    skips: bool


class TableBody(NamedTuple):
    """What Arrow has of a table's two lists, one after the other: `terms` offsets and one more (int32), and a text of
    `text` bytes; the first and the last place of the only list of cells, and the cells, column by column (int32). Each
    part is filled up to a multiple of eight bytes."""

    terms: int
    text: int
    bytes: bytes


class Spelled(NamedTuple):
    """A text for each of some terms, and the places (int64) of those that are left to whoever asked, and are empty."""

    texts: pa.LargeStringArray
    doubtful: np.ndarray
