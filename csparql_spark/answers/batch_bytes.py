"""Batch bytes: the bytes of a table, as Arrow would write them, without Arrow.

Arrow takes tens of microseconds to write a batch, however small it is, and a thousand queries write one each at an
instant. What it writes for tables of the same variables differs in a few numbers only, before the columns themselves:
how long these are, and where. So for each tuple of variables Arrow writes one table, and the others are made from it.

    body = body_of_lists(["<urn:a>", "<urn:b>"], [(0, 0), (1, -1)])
    written(arrow_bytes, ("s", "o"), 2, body)       # rows <urn:a> <urn:b>, and <urn:a> without ?o

Invariant: the bytes are those that `arrow_bytes` gives for the same table. Where what Arrow writes does not look as
expected (another version of it), nothing is made here: None.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple

from csparql_spark.kernel.texts import TableBody

Write = Callable[[tuple[str, ...], Sequence[str], Sequence[Sequence[int]]], bytes]

# Where Arrow has the numbers that differ: in a message's head, for columns as `bindings` has them.
BODY, BUFFERS, TERMS, CELLS, HEAD = 40, 248, 416, 448, 464
_BUFFERS, _NUMBER, _PAIR = struct.Struct("<12q"), struct.Struct("<q"), struct.Struct("<2i")


class BatchForm(NamedTuple):
    """What tables of the same variables have in common: the head, and the body up to the number of rows."""

    head: bytes
    names: bytes


def body_of_lists(terms: Sequence[str], columns: Sequence[Sequence[int]]) -> TableBody:
    """The body of a table of few cells: all its terms in their order, and their places in its rows."""
    texts = [term.encode() for term in terms]
    cells = struct.pack(f"<{len(columns) * len(columns[0])}i", *chain.from_iterable(columns))
    parts = (
        struct.pack(f"<{len(texts) + 1}i", *accumulate(map(len, texts), initial=0)),
        b"".join(texts),
        _PAIR.pack(0, len(cells) // 4),
        cells,
    )
    return TableBody(len(texts), len(parts[1]), b"".join(part + bytes(-len(part) & 7) for part in parts))


def written(arrow_bytes: Write, variables: tuple[str, ...], rows: int, body: TableBody) -> bytes | None:
    """A table of so many rows. There are terms and rows."""
    form = _form(arrow_bytes, variables)
    return None if form is None else _filled(form, rows * len(variables), rows, body)


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
        _filled(form, len(columns) * len(columns[0]), len(columns[0]), body_of_lists(terms, columns))
        == arrow_bytes(variables, terms, columns)
        for terms, columns in (one, other)
    )
    return form if alike else None


def _filled(form: BatchForm, cells: int, rows: int, body: TableBody) -> bytes:
    begin = len(form.names) + 16  # of the terms' offsets
    offsets, length, places = 4 * (body.terms + 1), body.text, 4 * cells
    data = begin + _padded(offsets)
    last = data + _padded(length)  # of the list of cells
    head = bytearray(form.head)
    _NUMBER.pack_into(head, BODY, last + 8 + _padded(places))
    _BUFFERS.pack_into(head, BUFFERS, begin, offsets, data, length, last, 0, last, 8, last + 8, 0, last + 8, places)
    _NUMBER.pack_into(head, TERMS, body.terms)
    _NUMBER.pack_into(head, CELLS, cells)
    return b"".join((head, form.names, _NUMBER.pack(rows), _PAIR.pack(0, body.terms), body.bytes))


def _padded(length: int) -> int:
    return length + (-length & 7)
