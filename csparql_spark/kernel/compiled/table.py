from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from csparql_spark.kernel import native
from csparql_spark.kernel.texts import TableBody

_library = native.library
assert _library is not None
_table_body = _library.table_body


def body_of(terms: pa.StringArray, columns: Sequence[np.ndarray]) -> TableBody:
    _, starts, text = terms.buffers()
    first = terms.offset
    offsets = memoryview(starts).cast("i")[first : first + len(terms) + 1] if starts is not None else _NONE
    numbers = np.empty(2, np.int64)
    body = _table_body(offsets, text or b"", numbers, *map(np.ascontiguousarray, columns))
    return TableBody(int(numbers[0]), int(numbers[1]), body)


_NONE = np.zeros(1, np.int32)  # the offsets of no terms
