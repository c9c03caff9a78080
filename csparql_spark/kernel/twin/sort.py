from __future__ import annotations

from typing import Literal

import numpy as np

BITS = 63
DENSE = 8  # cells of a table for each value that is looked for in it


def order_of(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, np.int64)
    if _kind(values):
        return np.argsort(values, kind="stable")
    bits = len(values).bit_length()
    if values.min(initial=0) < 0 or int(values.max(initial=0)).bit_length() + bits > BITS:
        return np.argsort(values, kind="stable")
    # Numbers are sorted several times as quickly as it is found out in which order they are: the rows go with them.
    return np.sort((values << bits) | np.arange(len(values))) & ((1 << bits) - 1)


def _kind(values: np.ndarray) -> Literal["stable"] | None:
    """What was joined with sorted rows is nearly sorted: then a merge sort is several times as quick as the default."""
    sample = values[::64]
    return "stable" if 8 * np.count_nonzero(sample[1:] < sample[:-1]) < len(sample) else None


def ordered(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, np.int64)
    return np.sort(values, kind=_kind(values))


def unite(keys: np.ndarray, tags: np.ndarray, union: np.ufunc, now: int) -> tuple[np.ndarray, np.ndarray]:
    hold = tags > now
    keys, tags = keys[hold], tags[hold]
    if not len(keys):
        return keys, tags
    if union is np.maximum and tags.min() == tags.max():
        keys = distinct(np.sort(keys, kind=_kind(keys)))
        return keys, np.full(len(keys), tags[0])
    rows = order_of(keys)
    keys, tags = keys[rows], tags[rows]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], union.reduceat(tags, starts)


def turn(
    keys: np.ndarray,
    tags: np.ndarray,
    known: np.ndarray,
    shifts: np.ndarray,
    masks: np.ndarray,
    new: np.ndarray,
    skip: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    turned = np.zeros(len(keys), dtype=np.int64)
    for shift, mask, after in zip(shifts.tolist(), masks.tolist(), new.tolist()):
        turned |= ((keys >> shift) & mask) << after
    rows = order_of(turned)
    return turned[rows], tags[rows], known[rows]


def distinct(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, np.int64)
    if len(values) < 2:
        return values.copy()
    new = np.empty(len(values), dtype=bool)
    new[0] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]


def dense_ranks(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = np.asarray(values, np.int64)
    if not len(values):
        return values.copy(), values.copy()
    least = values.min()
    cell = values - least
    differing = int(np.bitwise_or.reduce(cell))
    shift = max(0, (differing & -differing).bit_length() - 1)  # all differ by multiples of two to this power
    if 0 <= differing >> shift < DENSE * len(values):  # a table of all that are possible takes no sorting
        cell >>= shift
        there = np.zeros((differing >> shift) + 1, dtype=bool)
        there[cell] = True
        return (np.flatnonzero(there) << shift) + least, (np.cumsum(there) - 1)[cell]
    rows = order_of(values)
    values = values[rows]
    new = np.concatenate([[True], values[1:] != values[:-1]])
    places = np.empty(len(values), dtype=np.int64)
    places[rows] = np.cumsum(new) - 1
    return values[new], places
