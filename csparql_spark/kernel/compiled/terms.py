from __future__ import annotations

import os
import struct

import numpy as np
import pyarrow as pa

from csparql_spark.kernel import native

LEAST_TERMS, LEAST_BYTES = 256, 1 << 13
# Bytes of room in a column beyond what is asked for: a limit of memory counts what is not used, too.
MOST_SPARE = 16 << 20
_library = native.library
assert _library is not None
_encode, _find, _spread, _texts = _library.encode, _library.find, _library.spread, _library.texts
_sorted_texts = _library.sorted_texts


class Terms:
    """The columns that `terms.c` describes; ids do not depend on the seeds."""

    def __init__(self) -> None:
        self._count = 0
        self._seeds = struct.unpack("<2q", os.urandom(16))
        self._slots = np.zeros(2 * LEAST_TERMS, np.int64)
        self._offsets = np.zeros(LEAST_TERMS + 1, np.int64)
        self._data = np.empty(LEAST_BYTES, np.uint8)

    def __len__(self) -> int:
        return self._count

    def encode(self, terms: pa.StringArray) -> np.ndarray:
        ids = np.empty(len(terms), np.int64)
        if len(terms):
            wide = 8 if pa.types.is_large_string(terms.type) else 4
            _, starts, data = terms.buffers()
            begins = np.frombuffer(starts, f"<i{wide}", len(terms) + 1, wide * terms.offset).astype(np.int64)
            self._reserve(len(terms), int(begins[-1] - begins[0]))
            self._count = _encode(
                self._slots, self._offsets, self._data, self._count, *self._seeds, begins, data or b"", ids
            )
        return ids

    def _reserve(self, terms: int, size: int) -> None:
        """Have room for so many terms more, and so many bytes."""
        terms += self._count
        _lengthen(self._offsets, terms + 1)
        if 2 * terms > len(self._slots):
            slots = np.zeros(1 << (2 * terms - 1).bit_length(), np.int64)
            _spread(self._slots, slots)
            self._slots = slots
        _lengthen(self._data, int(self._offsets[self._count]) + size)

    def find(self, term: str) -> int:
        return _find(self._slots, self._offsets, self._data, self._count, *self._seeds, term.encode())

    def decode(self, ids: np.ndarray) -> list[str]:
        return _texts(self._offsets[: self._count + 1], self._data, np.ascontiguousarray(ids, np.int64))

    def sorted(self, ids: np.ndarray) -> tuple[np.ndarray, pa.StringArray]:
        order, offsets = np.empty(len(ids), np.int64), np.empty(len(ids) + 1, np.int32)
        text = _sorted_texts(
            self._offsets[: self._count + 1], self._data, np.ascontiguousarray(ids, np.int64), order, offsets
        )
        return order, pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(text))

    def array(self, ids: np.ndarray) -> pa.StringArray:
        return self._taken(ids).cast(pa.string())

    def _taken(self, ids: np.ndarray) -> pa.LargeStringArray:
        offsets, data = pa.py_buffer(self._offsets), pa.py_buffer(self._data)
        return pa.LargeStringArray.from_buffers(self._count, offsets, data).take(pa.array(ids, pa.int64()))

    def weight(self, kept: np.ndarray, longer: int) -> int:
        lengths = np.diff(self._offsets[: self._count + 1])
        return int(lengths[(lengths > longer) & ~kept].sum())

    def kept(self, ids: np.ndarray) -> Terms:
        table, terms = Terms(), self._taken(ids)
        table._reserve(len(terms), terms.nbytes)
        table.encode(terms)
        return table


def distinct(terms: pa.StringArray) -> tuple[pa.StringArray, np.ndarray]:
    table = Terms()
    ids = table.encode(terms)
    offsets = table._offsets[: len(table) + 1]
    data = table._data[: offsets[-1]].copy()
    return (
        pa.StringArray.from_buffers(len(table), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)),
        ids.astype(np.int32),
    )


def _lengthen(column: np.ndarray, least: int) -> None:
    """Have room in it for so many. It is made longer where it is, which needs no more memory than what is new of it:
    who has a view of it must be done with it."""
    if least > len(column):
        column.resize(least + min(len(column), MOST_SPARE // column.itemsize), refcheck=False)
