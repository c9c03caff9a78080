"""What functions about text give back, whichever of the two does it.

texts.data[texts.offsets[3] : texts.offsets[4]]     # the bytes of the text with the id 3
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TextColumn(NamedTuple):
    """TextColumn one after the other, as bytes of UTF-8; each begins at its offset (int32), and ends where the next
    begins."""

    data: np.ndarray
    offsets: np.ndarray


class LineColumns(NamedTuple):
    """The ids of each line (int32), and what they stand for."""

    s: np.ndarray
    p: np.ndarray
    o: np.ndarray
    terms: TextColumn
    g: np.ndarray
    graphs: TextColumn
