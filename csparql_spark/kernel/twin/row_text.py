from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.kernel.texts import RowFrame


def text_of(
    cells: pa.LargeStringArray, places: np.ndarray, first: int, frame: RowFrame, most: int
) -> tuple[bytes, int]:
    places = places[:, first:]
    if places.size and not -1 <= places.min() <= places.max() < len(cells):
        raise TypeError("a place that no text has")
    count = int(np.cumsum(_sizes(cells, places, frame)).searchsorted(most, side="right"))
    if not count:
        return b"", 0
    columns = []
    for name, column in zip(frame.before, places[:, :count]):
        texts = cells.take(pa.array(column, mask=column < 0))
        columns.append(_joined([name, texts if frame.skips else pc.fill_null(texts, ""), frame.after]))
    # pyarrow leaves a row of nothing but nulls out of the result: such a row gets one empty value.
    empty = reduce(pc.and_, (column.is_null() for column in columns))
    columns = [pc.if_else(empty, _text(""), columns[0]), *columns[1:]]
    rows = pc.binary_join_element_wise(*columns, _text(frame.between), null_handling="skip")
    # The strings of an array lie back to back in its data buffer: that buffer is the text.
    return _joined([frame.start, rows, frame.end]).buffers()[2].to_pybytes(), count


def _sizes(cells: pa.LargeStringArray, places: np.ndarray, frame: RowFrame) -> np.ndarray:
    """How many bytes each row has."""
    start, *before, after, between, end = (
        len(text.encode()) for text in (frame.start, *frame.before, frame.after, frame.between, frame.end)
    )
    lengths = np.append(pc.binary_length(cells).to_numpy(), 0)  # the last: of what is unbound
    there = places >= 0 if frame.skips else np.ones(places.shape, dtype=bool)
    around = np.array(before)[:, np.newaxis] + after
    gaps = np.maximum(there.sum(axis=0) - 1, 0) * between
    return start + (there * (lengths[places] + around)).sum(axis=0) + gaps + end


def _joined(pieces: list[str | pa.Array]) -> pa.Array:
    texts = [_text(piece) if isinstance(piece, str) else piece for piece in pieces]
    return pc.binary_join_element_wise(*texts, _text(""), null_handling="emit_null")


def _text(one: str) -> pa.Scalar:
    return pa.scalar(one, pa.large_string())
