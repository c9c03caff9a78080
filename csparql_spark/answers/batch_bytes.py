"""Batch bytes: the bytes of a table of few cells, as Arrow would write them, without Arrow.

Arrow takes tens of microseconds to write a batch, however small it is. What it writes for tables of the same variables
differs in a few numbers only, before the columns themselves: how long these are, and where. So for each tuple of
variables Arrow writes one table, and the others are made from it.

    terms = ["<urn:a>", "<urn:b>"]
    written(arrow_bytes, ("s", "o"), terms, [(0, 0), (1, -1)])      # rows <urn:a> <urn:b>, and <urn:a> with ?o unbound

Invariant: the bytes are those that `arrow_bytes` gives for the same table. Where what Arrow writes does not look as
expected (another version of it), nothing is made here: None.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple

Write = Callable[[tuple[str, ...], Sequence[str], Sequence[Sequence[int]]], bytes]

# Where Arrow has the numbers that differ: in a message's head, for columns as `bindings` has them.
BODY, BUFFERS, TERMS, CELLS, HEAD = 40, 248, 416, 448, 464
_BUFFERS, _NUMBER, _PAIR = struct.Struct("<12q"), struct.Struct("<q"), struct.Struct("<2i")


class BatchForm(NamedTuple):
    """What tables of the same variables have in common: the head, and the body up to the number of rows."""

    head: bytes
    names: bytes


def written(
    arrow_bytes: Write, variables: tuple[str, ...], terms: Sequence[str], columns: Sequence[Sequence[int]]
) -> bytes | None:
    """A table: its terms, and for each variable a column of places among them. There are terms and rows."""
    form = _form(arrow_bytes, variables)
    return None if form is None else _filled(form, terms, columns)


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
    alike = names > 0 and all(_filled(form, *table) == arrow_bytes(variables, *table) for table in (one, other))
    return form if alike else None


def _filled(form: BatchForm, terms: Sequence[str], columns: Sequence[Sequence[int]]) -> bytes:
    texts = [term.encode() for term in terms]
    text = b"".join(texts)
    count, rows = len(texts), len(columns[0])
    cells = rows * len(columns)
    begin = len(form.names) + 16  # of the terms' offsets
    offsets, length = 4 * count + 4, len(text)
    data = begin + _padded(offsets)
    last = data + _padded(length)  # of the list of cells
    head = bytearray(form.head)
    _NUMBER.pack_into(head, BODY, last + 8 + _padded(4 * cells))
    _BUFFERS.pack_into(head, BUFFERS, begin, offsets, data, length, last, 0, last, 8, last + 8, 0, last + 8, 4 * cells)
    _NUMBER.pack_into(head, TERMS, count)
    _NUMBER.pack_into(head, CELLS, cells)
    return b"".join(
        (
            head,
            form.names,
            _NUMBER.pack(rows),
            _PAIR.pack(0, count),
            struct.pack(f"<{count + 1}i", *accumulate(map(len, texts), initial=0)),
            bytes(-offsets & 7),
            text,
            bytes(-length & 7),
            _PAIR.pack(0, cells),
            struct.pack(f"<{cells}i", *chain.from_iterable(columns)),
            bytes(-4 * cells & 7),
        )
    )


def _padded(length: int) -> int:
    return length + (-length & 7)
