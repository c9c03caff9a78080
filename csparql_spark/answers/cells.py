"""Cells: rows of ids, out of the text that the store answers with.

    ids_in(b"<i:3>\\t<i:14>\\n\\t<i:15>\\n", 2)        # [[3, 14], [-1, 15]]: -1 where a variable is unbound

Short texts, as most answers are, are read here at once, by columns of their bytes. Arrow reads long ones, in a thread
of its own: to wait for that one takes longer than to read a short text, all the more where the machine is busy.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

SHORT = 1 << 16  # bytes

_TAB, _LINE, _ZERO = b"\t\n0"
_TENS = 10 ** np.arange(19, dtype=np.int64)


def ids_in(text: bytes, width: int) -> np.ndarray:
    """One row for each line, with so many ids."""
    cells = text.translate(None, b"<i:>")
    return _short(cells, width) if len(cells) <= SHORT else _long(cells, width)


def _short(cells: bytes, width: int) -> np.ndarray:
    data = np.frombuffer(cells, np.uint8)
    ends = np.flatnonzero((data == _TAB) | (data == _LINE))
    lengths = np.diff(ends, prepend=-1) - 1
    ids = np.full(len(ends), -1, np.int64)
    bound = lengths > 0
    if bound.any():
        digits = np.delete(data, ends).astype(np.int64) - _ZERO
        lengths = lengths[bound]
        after = np.cumsum(lengths)
        places = np.repeat(after, lengths) - 1 - np.arange(len(digits))
        ids[bound] = np.add.reduceat(digits * _TENS[places], after - lengths)
    return ids.reshape(-1, width)


def _long(cells: bytes, width: int) -> np.ndarray:
    names = [str(place) for place in range(width)]
    table = pa.csv.read_csv(
        pa.py_buffer(cells),
        read_options=pa.csv.ReadOptions(column_names=names, use_threads=False),
        parse_options=pa.csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
        convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.int64())),
    )
    return np.stack([pc.fill_null(column, -1).to_numpy() for column in table.columns], axis=1)
