"""Columns that had room for more rows than there are.

keys, tags = cut(rows, keys, tags)      # columns of these rows alone, however much room there was
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def cut(rows: int, *columns: np.ndarray) -> Iterator[np.ndarray]:
    """The first rows. Where they are less than half of what there was room for, they are copied: who keeps them does
    not keep the rest."""
    for column in columns:
        yield column if rows == len(column) else column[:rows].copy() if 2 * rows < len(column) else column[:rows]
