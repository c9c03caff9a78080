from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel import native
from csparql_spark.kernel.limits import Field, TooMuchAtOnce

_library = native.library
assert _library is not None
_found, _slices, _tags_of = _library.found, _library.slices, _library.tags_of
_absorb, _drop, _pairs, _join = _library.absorb, _library.drop, _library.pairs, _library.join
UNIONS: dict[np.ufunc, int] = {np.maximum: 0, np.add: 1}  # as `probe.c` numbers them
TOO_MUCH = int(np.iinfo(np.int64).min)
ROOM = 64  # rows that there is always room for
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def found(sorted_keys: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places, rows = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    hits = _found(sorted_keys, keys, places, rows)
    return places[:hits], rows[:hits]


def slices(runs: Sequence[np.ndarray], low: np.ndarray, span: int, now: int, most: int) -> Rows:
    room = 2 * len(low) + ROOM
    while True:
        index, keys, tags = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        rows = _slices(low, span, now, most, index, keys, tags, *runs)
        if rows >= 0:
            return index[:rows], keys[:rows], tags[:rows]
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
            return keys[:rows], until[:rows]
        if rows == TOO_MUCH:
            raise TooMuchAtOnce
        room = -1 - rows


def pairs(sorted_values: np.ndarray, sought: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    room = len(sought) + ROOM
    while True:
        places, rows = np.empty(room, np.int64), np.empty(room, np.int64)
        total = _pairs(sorted_values, sought, most, places, rows)
        if total >= 0:
            return places[:total], rows[:total]
        if total == TOO_MUCH:
            raise TooMuchAtOnce
        room = -1 - total


def tags_of(runs: Sequence[np.ndarray], keys: np.ndarray, tags: np.ndarray, union: np.ufunc) -> np.ndarray:
    tags = tags.copy()
    _tags_of(keys, UNIONS[union], tags, *runs)
    return tags


def absorb(
    runs: Sequence[np.ndarray], keys: np.ndarray, tags: np.ndarray, union: np.ufunc, zero: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    tags = tags.copy()
    grown, known = np.ones(len(keys), np.bool_), np.zeros(len(keys), np.bool_)
    dropped = np.zeros(len(runs) // 2, np.int64)
    _absorb(keys, tags, UNIONS[union], zero, grown, known, dropped, *runs)
    return tags, grown, known, dropped


def drop(runs: Sequence[np.ndarray], keys: np.ndarray, zero: int) -> np.ndarray:
    dropped = np.zeros(len(runs) // 2, np.int64)
    _drop(keys, zero, dropped, *runs)
    return dropped
