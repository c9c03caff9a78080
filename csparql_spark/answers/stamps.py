"""When a triple came: the latest stamp that it has in the windows of a query.

For example:

    stamp = stamps_of([elements])
    stamp(3, 1, 4)            # 17000, or None if no window holds the triple
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from csparql_spark.windows.content import Elements


def stamps_of(windows: Iterable[Elements]) -> Callable[[int, int, int], int | None]:
    """A way to find the stamp of a triple of ids."""
    s, p, o, _, t = (np.concatenate(column) for column in zip(*windows, strict=True))
    order = np.lexsort((t, o, p, s))
    columns = [column[order] for column in (s, p, o)]
    t = t[order]

    def stamp(*triple: int) -> int | None:
        low, high = 0, len(t)
        for column, id in zip(columns, triple, strict=True):
            part = column[low:high]
            low, high = low + int(np.searchsorted(part, id)), low + int(np.searchsorted(part, id, side="right"))
        return int(t[high - 1]) if low < high else None

    return stamp
