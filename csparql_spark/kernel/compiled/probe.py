from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel import native
from csparql_spark.kernel.limits import UNIONS

_library = native.library
assert _library is not None
_found, _tags_of, _absorb, _drop = _library.found, _library.tags_of, _library.absorb, _library.drop


def found(sorted_keys: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places, rows = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    hits = _found(sorted_keys, keys, places, rows)
    return places[:hits], rows[:hits]


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
