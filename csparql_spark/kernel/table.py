"""The body of a table: the terms that its cells name, each once and in their order, and the cells as places among them.

    terms = pa.array(["a", "b", "c"])                        # in their order
    body = body_of(terms, [np.array([2, 0]), np.array([2, -1])])   # of two rows; -1: unbound
    body.terms, body.text                                    # (2, 2): "a" and "c"
    parted(body, 4)                                          # these, and the cells [1, 0, 1, -1]

Columns are int32 or int64; there is one at least.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from csparql_spark.kernel import native
from csparql_spark.kernel.texts import TableBody

if native.library is not None:
    from csparql_spark.kernel.compiled.table import body_of
else:
    from csparql_spark.kernel.twin.table import body_of

__all__ = ["body_of", "parted"]


def parted(body: TableBody, cells: int) -> tuple[pa.StringArray, np.ndarray]:
    """The terms, and so many cells, of a body that is not copied for it."""
    whole = pa.py_buffer(body.bytes)
    text = _padded(4 * (body.terms + 1))
    terms = pa.StringArray.from_buffers(body.terms, whole.slice(0, 4 * (body.terms + 1)), whole.slice(text, body.text))
    return terms, np.frombuffer(body.bytes, np.int32, cells, text + _padded(body.text) + 8)


def _padded(size: int) -> int:
    return size + (-size & 7)
