from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from csparql_spark.kernel.texts import TableBody


def body_of(terms: pa.StringArray, columns: Sequence[np.ndarray]) -> TableBody:
    cells = np.concatenate(columns).astype(np.int32)
    used = np.zeros(len(terms) + 1, dtype=bool)  # the last is of what is unbound
    used[cells] = True
    used[-1] = False
    places = np.flatnonzero(used)
    numbers = np.empty(len(used), dtype=np.int32)
    numbers[places] = np.arange(len(places), dtype=np.int32)
    numbers[-1] = -1
    named = terms.take(pa.array(places))
    _, offsets, text = named.buffers()
    ends = np.frombuffer(offsets, np.int32, len(named) + 1) if len(named) else np.zeros(1, np.int32)
    parts = (
        ends.tobytes(),
        memoryview(text or b"")[: ends[-1]].tobytes(),
        struct.pack("<2i", 0, len(cells)),
        numbers[cells].tobytes(),
    )
    return TableBody(len(named), len(parts[1]), b"".join(part + bytes(-len(part) & 7) for part in parts))
