"""Batch bytes: the bytes of a table, as Arrow would write them, without Arrow.

Arrow takes tens of microseconds to write a batch, however small it is, and a thousand queries write one each at an
instant. What it writes for tables of the same variables differs in a few numbers only, before the columns themselves:
how long these are, and where. So for each tuple of variables Arrow writes one table, and the others are made from it.

    terms = TermTexts.of(["<urn:a>", "<urn:b>"])
    written(arrow_bytes, ("s", "o"), terms, Cells.of([(0, 0), (1, -1)]))  # rows <urn:a> <urn:b>, and <urn:a> without ?o

Invariant: the bytes are those that `arrow_bytes` gives for the same table. Where what Arrow writes does not look as
expected (another version of it), nothing is made here: None.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple

import pyarrow as pa

Write = Callable[[tuple[str, ...], Sequence[str], Sequence[Sequence[int]]], bytes]

# Where Arrow has the numbers that differ: in a message's head, for columns as `bindings` has them.
BODY, BUFFERS, TERMS, CELLS, HEAD = 40, 248, 416, 448, 464
_BUFFERS, _NUMBER, _PAIR = struct.Struct("<12q"), struct.Struct("<q"), struct.Struct("<2i")


class TermTexts(NamedTuple):
    """Texts one after the other, and where each begins and the last ends, as Arrow has them."""

    terms: int
    offsets: bytes
    text: bytes | memoryview

    @classmethod
    def of(cls, terms: Sequence[str]) -> TermTexts:
        texts = [term.encode() for term in terms]
        offsets = struct.pack(f"<{len(texts) + 1}i", *accumulate(map(len, texts), initial=0))
        return cls(len(texts), offsets, b"".join(texts))

    @classmethod
    def of_array(cls, array: pa.StringArray) -> TermTexts | None:
        """Those of an array; None if it is a part of another one."""
        _, offsets, text = array.buffers()
        if array.offset or offsets is None:
            return None
        ends = memoryview(offsets).cast("i")
        count = len(array)
        return cls(count, ends[: count + 1].tobytes(), memoryview(text or b"")[: ends[count]])


class Cells(NamedTuple):
    """The places of terms in the rows of a table, column by column."""

    rows: int
    places: bytes

    @classmethod
    def of(cls, columns: Sequence[Sequence[int]]) -> Cells:
        rows = len(columns[0])
        return cls(rows, struct.pack(f"<{rows * len(columns)}i", *chain.from_iterable(columns)))


class BatchForm(NamedTuple):
    """What tables of the same variables have in common: the head, and the body up to the number of rows."""

    head: bytes
    names: bytes


def written(arrow_bytes: Write, variables: tuple[str, ...], texts: TermTexts, cells: Cells) -> bytes | None:
    """A table: the texts of its terms, and its cells, which are places among them. There are terms and rows."""
    form = _form(arrow_bytes, variables)
    return None if form is None else _filled(form, texts, cells)


@lru_cache(256)
def _form(arrow_bytes: Write, variables: tuple[str, ...]) -> BatchForm | None:
    """`None` if tables of these variables cannot be made so: that is tried out."""
    if not variables:
        return None
    one = ["<urn:a>"], [(0,)] * len(variables)
    other = ["<urn:a>", "<urn:bc>", '"d"'], [(0, 2, -1, 1, 0)] * len(variables)
    arrow = arrow_bytes(variables, *one)
    names = len(arrow) - HEAD - 8 - (8 + 8 + 8) - (8 + _padded(4 * len(variables)))
    form = BatchForm(arrow[:HEAD], arrow[HEAD : HEAD + names])
    alike = names > 0 and all(
        _filled(form, TermTexts.of(terms), Cells.of(columns)) == arrow_bytes(variables, terms, columns)
        for terms, columns in (one, other)
    )
    return form if alike else None


def _filled(form: BatchForm, texts: TermTexts, cells: Cells) -> bytes:
    begin = len(form.names) + 16  # of the terms' offsets
    offsets, length, places = len(texts.offsets), len(texts.text), len(cells.places)
    data = begin + _padded(offsets)
    last = data + _padded(length)  # of the list of cells
    head = bytearray(form.head)
    _NUMBER.pack_into(head, BODY, last + 8 + _padded(places))
    _BUFFERS.pack_into(head, BUFFERS, begin, offsets, data, length, last, 0, last, 8, last + 8, 0, last + 8, places)
    _NUMBER.pack_into(head, TERMS, texts.terms)
    _NUMBER.pack_into(head, CELLS, places // 4)
    return b"".join(
        (
            head,
            form.names,
            _NUMBER.pack(cells.rows),
            _PAIR.pack(0, texts.terms),
            texts.offsets,
            bytes(-offsets & 7),
            texts.text,
            bytes(-length & 7),
            _PAIR.pack(0, places // 4),
            cells.places,
            bytes(-places & 7),
        )
    )


def _padded(length: int) -> int:
    return length + (-length & 7)
