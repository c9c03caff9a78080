from __future__ import annotations

import numpy as np

TINY = 64  # rows that are put in order by a sort of their places: what is quick for many takes more calls


def merge(
    keys: np.ndarray, tags: np.ndarray, more_keys: np.ndarray, more_tags: np.ndarray, now: int
) -> tuple[np.ndarray, np.ndarray]:
    (keys, tags), (less, fewer) = held(keys, tags, now), held(more_keys, more_tags, now)
    if len(keys) < len(less):
        keys, tags, less, fewer = less, fewer, keys, tags
    if not len(less):
        return keys, tags
    if len(keys) <= TINY:
        both = np.concatenate((keys, less))
        order = both.argsort(kind="stable")
        return both[order], np.concatenate((tags, fewer))[order]
    # Sorting two sorted runs is merging them, for a merge sort. The lowest bit says where a key comes from: the tags
    # follow in the order that they have already.
    both = np.empty(len(keys) + len(less), dtype=np.uint64)
    np.left_shift(keys.view(np.uint64), 1, out=both[: len(keys)])
    np.left_shift(less.view(np.uint64), 1, out=both[len(keys) :])
    both[len(keys) :] |= 1
    both.sort(kind="stable")
    from_less = (both & 1).astype(np.bool_)
    all_tags = np.empty(len(both), dtype=np.int64)
    all_tags[from_less] = fewer
    all_tags[~from_less] = tags
    both >>= 1
    return both.view(np.int64), all_tags


def held(keys: np.ndarray, tags: np.ndarray, now: int) -> tuple[np.ndarray, np.ndarray]:
    hold = tags > now
    return keys[hold], tags[hold]
