from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel import native
from csparql_spark.kernel.compiled.columns import cut
from csparql_spark.kernel.limits import Field, TooMuchAtOnce

_library = native.library
assert _library is not None
_slices, _join, _pairs = _library.slices, _library.join, _library.pairs
TOO_MUCH = int(np.iinfo(np.int64).min)
ROOM = 64  # rows that there is always room for
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def slices(runs: Sequence[np.ndarray], low: np.ndarray, span: int, now: int, most: int) -> Rows:
    room = 2 * len(low) + ROOM
    while True:
        index, keys, tags = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        rows = _slices(low, span, now, most, index, keys, tags, *runs)
        if rows >= 0:
            index, keys, tags = cut(rows, index, keys, tags)
            return index, keys, tags
        if rows == TOO_MUCH:
            raise TooMuchAtOnce
        room = -1 - rows


def join(
    runs: Sequence[np.ndarray],
    low: np.ndarray,
    span: int,
    carried: np.ndarray,
    tags: np.ndarray,
    now: int,
    most: int,
    field: Field,
) -> tuple[np.ndarray, np.ndarray]:
    room = len(low) + ROOM
    while True:
        keys, until = np.empty(room, np.int64), np.empty(room, np.int64)
        rows = _join(low, span, carried, tags, now, most, *field, keys, until, *runs)
        if rows >= 0:
            keys, until = cut(rows, keys, until)
            return keys, until
        if rows == TOO_MUCH:
            raise TooMuchAtOnce
        room = -1 - rows


def pairs(sorted_values: np.ndarray, sought: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    room = len(sought) + ROOM
    while True:
        places, rows = np.empty(room, np.int64), np.empty(room, np.int64)
        total = _pairs(sorted_values, sought, most, places, rows)
        if total >= 0:
            places, rows = cut(total, places, rows)
            return places, rows
        if total == TOO_MUCH:
            raise TooMuchAtOnce
        room = -1 - total
