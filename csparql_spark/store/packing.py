"""Packing: payloads of answers as they are stored, compressed.

    stored = packed(payload)                # b"Z…", a third of it, or the payload itself where that is not worth while
    unpacked(stored, len(payload)) == payload

Terms of an answer begin alike, and LZ4 sees that at gigabytes a second: it costs a few microseconds to write a payload
and one to read it, and spares SQLite two thirds of the pages. The same payload is stored as the same bytes by one
version of the library (pyarrow has it on board). What is read is marked by its first byte, which no answer begins with.

Invariant: nothing is made that is longer than `size`, whatever the bytes say: they are damaged then, `ValueError`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MARK = b"Z"
LEAST = 256  # bytes that are worth while


def packed(payload: bytes) -> bytes:
    if len(payload) < LEAST and payload[:1] != MARK:
        return payload
    shorter = MARK + _codec().compress(payload, asbytes=True)
    return shorter if len(shorter) < len(payload) or payload[:1] == MARK else payload


def unpacked(stored: bytes, size: int | None) -> bytes:
    """`size`: of the payload; None if it is from before payloads were packed. Raises `ValueError`."""
    if size is None or stored[:1] != MARK:
        return stored
    if size > 255 * len(stored):  # LZ4 makes no more of it
        raise ValueError(f"{len(stored)} bytes cannot have been {size}")
    try:
        return _codec().decompress(memoryview(stored)[1:], size, asbytes=True)
    except OSError as error:
        raise ValueError(str(error)) from error


@cache
def _codec() -> pa.Codec:
    import pyarrow as pa  # who only looks which answers there are need not wait for it

    return pa.Codec("lz4_raw")
