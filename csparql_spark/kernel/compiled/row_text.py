from __future__ import annotations

from itertools import accumulate

import numpy as np
import pyarrow as pa

from csparql_spark.kernel import native
from csparql_spark.kernel.texts import RowFrame

_library = native.library
assert _library is not None
_row_text = _library.row_text


def text_of(
    cells: pa.LargeStringArray, places: np.ndarray, first: int, frame: RowFrame, most: int
) -> tuple[bytes, int]:
    _, starts, data = cells.buffers()
    offsets = np.frombuffer(starts, np.int64, len(cells) + 1, 8 * cells.offset)
    around = [text.encode() for text in _around(frame)]
    ends = np.array([0, *accumulate(map(len, around))], np.int64)
    count = np.empty(1, np.int64)
    text = _row_text(offsets, data or b"", places.reshape(-1), first, ends, b"".join(around), frame.skips, most, count)
    return text, int(count[0])


def _around(frame: RowFrame) -> list[str]:
    """As `row_text.c` wants it: before first cells, before others, and at the end of rows with cells and without."""
    start, before, after, between, end, _ = frame
    return [*(start + name for name in before), *(after + between + name for name in before), after + end, start + end]
