from __future__ import annotations

import numpy as np

from csparql_spark.kernel import native

_library = native.library
assert _library is not None
_merge, _held = _library.merge, _library.held


def merge(
    keys: np.ndarray, tags: np.ndarray, more_keys: np.ndarray, more_tags: np.ndarray, now: int
) -> tuple[np.ndarray, np.ndarray]:
    size = len(keys) + len(more_keys)
    out_keys, out_tags = np.empty(size, np.int64), np.empty(size, np.int64)
    rows = _merge(keys, tags, more_keys, more_tags, now, out_keys, out_tags)
    return _cut(rows, out_keys, out_tags)


def held(keys: np.ndarray, tags: np.ndarray, now: int) -> tuple[np.ndarray, np.ndarray]:
    out_keys, out_tags = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    return _cut(_held(keys, tags, now, out_keys, out_tags), out_keys, out_tags)


def _cut(rows: int, keys: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if rows == len(keys):
        return keys, tags
    if 2 * rows < len(keys):  # what is kept does not hold what is not
        return keys[:rows].copy(), tags[:rows].copy()
    return keys[:rows], tags[:rows]
