from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel.limits import UNBOUNDED, Field, TooMuchAtOnce

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def slices(runs: Sequence[np.ndarray], low: np.ndarray, span: int, now: int, most: int) -> Rows:
    parts = []
    high = np.where(low > UNBOUNDED - span, UNBOUNDED, low + np.int64(span))
    for keys, tags in zip(runs[::2], runs[1::2]):
        first = keys.searchsorted(low)
        index, rows = _expanded(first, keys.searchsorted(high) - first, most)
        most -= len(rows)
        hold = tags[rows] > now
        parts.append((index[hold], keys[rows[hold]], tags[rows[hold]]))
    if not parts:
        nothing = np.empty(0, np.int64)
        return nothing, nothing.copy(), nothing.copy()
    index, keys, tags = (np.concatenate(columns) for columns in zip(*parts))
    return index, keys, tags


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
    index, keys, until = slices(runs, low, span, now, most)
    shift, mask, place = field
    return carried[index] | ((keys >> shift) & mask) << place, np.minimum(tags[index], until)


def pairs(sorted_values: np.ndarray, sought: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    first = sorted_values.searchsorted(sought)
    return _expanded(first, sorted_values.searchsorted(sought, side="right") - first, most)


def _expanded(first: np.ndarray, counts: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """So many rows from there on, for each place."""
    total = int(counts.sum())
    if total > most:
        raise TooMuchAtOnce
    places = np.repeat(np.arange(len(first)), counts)
    return places, np.arange(total) + np.repeat(first - np.cumsum(counts) + counts, counts)
