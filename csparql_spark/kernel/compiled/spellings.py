from __future__ import annotations

import numpy as np
import pyarrow as pa

from csparql_spark.kernel import native
from csparql_spark.kernel.texts import Spelled

JSON, CSV, MOST_MORE = 0, 1, 40  # as `spellings.c` has them
_library = native.library
assert _library is not None
_spell = _library.spell


def json(terms: pa.StringArray) -> Spelled:
    return _spelled(terms, JSON)


def csv(terms: pa.StringArray) -> Spelled:
    return _spelled(terms, CSV)


def _spelled(terms: pa.StringArray, format: int) -> Spelled:
    if not len(terms):
        return Spelled(pa.array([], pa.large_string()), np.empty(0, np.int64))
    _, starts, data = terms.buffers()
    begins = np.frombuffer(starts, np.int32, len(terms) + 1, 4 * terms.offset)
    # Pages that nothing is written to take no memory.
    room = np.empty(int(begins[-1]) - int(begins[0]) + MOST_MORE * len(terms), np.uint8)
    offsets, doubtful = np.empty(len(terms) + 1, np.int64), np.empty(len(terms), np.int64)
    doubts = _spell(begins, data or b"", format, room, offsets, doubtful)
    texts = pa.LargeStringArray.from_buffers(len(terms), pa.py_buffer(offsets), pa.py_buffer(room))
    return Spelled(texts, doubtful[:doubts])
