from __future__ import annotations

import numpy as np

from csparql_spark.kernel import native
from csparql_spark.kernel.compiled.columns import cut
from csparql_spark.kernel.limits import UNIONS

_library = native.library
assert _library is not None
_order, _unite, _turn, _distinct, _dense_ranks, _ordered = (
    _library.order,
    _library.unite,
    _library.turn,
    _library.distinct,
    _library.dense_ranks,
    _library.ordered,
)


def order_of(values: np.ndarray) -> np.ndarray:
    values = np.ascontiguousarray(values, np.int64)
    rows = np.empty(len(values), np.int64)
    _order(values, rows)
    return rows


def ordered(values: np.ndarray) -> np.ndarray:
    values = np.ascontiguousarray(values, np.int64)
    out = np.empty(len(values), np.int64)
    _ordered(values, out)
    return out


def unite(keys: np.ndarray, tags: np.ndarray, union: np.ufunc, now: int) -> tuple[np.ndarray, np.ndarray]:
    out_keys, out_tags = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    rows = _unite(keys, tags, UNIONS[union], now, out_keys, out_tags)
    out_keys, out_tags = cut(rows, out_keys, out_tags)
    return out_keys, out_tags


def turn(
    keys: np.ndarray,
    tags: np.ndarray,
    known: np.ndarray,
    shifts: np.ndarray,
    masks: np.ndarray,
    new: np.ndarray,
    skip: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    size = len(keys)
    out_keys, out_tags, out_known = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.bool_)
    _turn(keys, tags, known, shifts, masks, new, skip, out_keys, out_tags, out_known)
    return out_keys, out_tags, out_known


def distinct(values: np.ndarray) -> np.ndarray:
    values = np.ascontiguousarray(values, np.int64)
    out = np.empty(len(values), np.int64)
    (out,) = cut(_distinct(values, out), out)
    return out


def dense_ranks(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = np.ascontiguousarray(values, np.int64)
    out, places = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    (out,) = cut(_dense_ranks(values, out, places), out)
    return out, places
