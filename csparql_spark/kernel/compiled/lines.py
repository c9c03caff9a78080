from __future__ import annotations

import os
import struct

import numpy as np

from csparql_spark.kernel import native
from csparql_spark.kernel.texts import LineColumns, TextColumn

LONGEST = 2**31 - 1  # offsets are int32
SHORTEST = len('_:a <b:c> "" .\n')  # the shortest line that is read
_library = native.library
assert _library is not None
_lines = _library.lines
_seeds = struct.unpack("<2q", os.urandom(16))  # of this process: what is read does not depend on them


def columns(body: bytes, named: bool) -> LineColumns | None:
    if not body.endswith(b"\n"):
        body += b"\n"
    if len(body) > LONGEST:
        return None
    most = body.count(b"\n")
    if most > len(body) // SHORTEST:  # no room for what is not read
        return None
    s, p, o, g = (np.empty(size, np.int32) for size in (most, most, most, most if named else 0))
    # Pages that nothing is written to take no memory.
    data, offsets = np.empty(len(body), np.uint8), np.empty(3 * most + 1, np.int32)
    names, starts = np.empty(len(body) if named else 0, np.uint8), np.empty(len(g) + 1, np.int32)
    counts = np.empty(2, np.int64)
    if _lines(body, named, *_seeds, s, p, o, g, data, offsets, names, starts, counts) < 0:
        return None
    terms, graphs = counts.tolist()
    if not named:
        g = np.full(most, -1, np.int32)
    return LineColumns(s, p, o, _cut(data, offsets, terms), g, _cut(names, starts, graphs))


def _cut(data: np.ndarray, offsets: np.ndarray, count: int) -> TextColumn:
    """What was written, without the room beside it."""
    return TextColumn(data[: offsets[count]].copy(), offsets[: count + 1].copy())
