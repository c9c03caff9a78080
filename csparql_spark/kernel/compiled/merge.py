from __future__ import annotations

import numpy as np

from csparql_spark.kernel import native
from csparql_spark.kernel.compiled.columns import cut

_library = native.library
assert _library is not None
_merge, _held = _library.merge, _library.held


def merge(
    keys: np.ndarray, tags: np.ndarray, more_keys: np.ndarray, more_tags: np.ndarray, now: int
) -> tuple[np.ndarray, np.ndarray]:
    size = len(keys) + len(more_keys)
    out_keys, out_tags = np.empty(size, np.int64), np.empty(size, np.int64)
    rows = _merge(keys, tags, more_keys, more_tags, now, out_keys, out_tags)
    out_keys, out_tags = cut(rows, out_keys, out_tags)
    return out_keys, out_tags


def held(keys: np.ndarray, tags: np.ndarray, now: int) -> tuple[np.ndarray, np.ndarray]:
    out_keys, out_tags = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    out_keys, out_tags = cut(_held(keys, tags, now, out_keys, out_tags), out_keys, out_tags)
    return out_keys, out_tags
