"""The rows of a table as text: the text of each distinct term is there once, and a row says which ones it has.

    cells = pa.array(["1", "2"], pa.large_string())
    places = np.array([[0, 1, -1], [1, -1, -1]], np.int32)      # of three rows, one line for each column; -1: unbound
    frame = RowFrame("(", ("a=", "b="), "", " ", ")", skips=True)
    text_of(cells, places, 0, frame, most=99)                   # (b"(a=1 b=2)(a=2)()", 3)
    text_of(cells, places, 0, frame, most=15)                   # (b"(a=1 b=2)(a=2)", 2)

What comes back is the text of as many rows, from one on, as have no more than `most` bytes together, and how many they
are: none, if the first one has more. There is a column at least. No text is begun before it is known how large it is.
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.row_text import text_of
else:
    from csparql_spark.kernel.twin.row_text import text_of

__all__ = ["text_of"]
