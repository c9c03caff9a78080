from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np


def found(sorted_keys: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = sorted_keys.searchsorted(keys)
    if not len(sorted_keys):
        return rows[:0], rows[:0]
    places = (sorted_keys.take(rows, mode="clip") == keys).nonzero()[0]
    return places, rows[places]


def tags_of(runs: Sequence[np.ndarray], keys: np.ndarray, tags: np.ndarray, union: np.ufunc) -> np.ndarray:
    result = tags.copy()
    for run_keys, run_tags in _pairs(runs):
        places, rows = found(run_keys, keys)
        result[places] = union(result[places], run_tags[rows])
    return result


def absorb(
    runs: Sequence[np.ndarray], keys: np.ndarray, tags: np.ndarray, union: np.ufunc, zero: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    tags = tags.copy()
    grown, known, dropped = np.ones(len(keys), dtype=bool), np.zeros(len(keys), dtype=bool), []
    for run_keys, run_tags in _pairs(runs):
        places, rows = found(run_keys, keys)
        known[places] = True
        before = run_tags[rows]
        after = union(before, tags[places])
        grows = after != before
        grown[places[~grows]] = False
        dropped.append(np.count_nonzero(before[grows] != zero))
        run_tags[rows[grows]] = zero
        if union is not np.maximum:  # otherwise, what has grown is the new tag
            tags[places] = after
    return tags, grown, known, np.array(dropped, np.int64)


def drop(runs: Sequence[np.ndarray], keys: np.ndarray, zero: int) -> np.ndarray:
    dropped = []
    for run_keys, run_tags in _pairs(runs):
        _, rows = found(run_keys, keys)
        dropped.append(np.count_nonzero(run_tags[rows] != zero))
        run_tags[rows] = zero
    return np.array(dropped, np.int64)


def _pairs(runs: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return zip(runs[::2], runs[1::2])
