"""As many rows as there may be, and what is raised when there would be more.

if rows > most:
    raise TooMuchAtOnce
"""

from __future__ import annotations

import numpy as np

UNBOUNDED = int(np.iinfo(np.int64).max)  # as many rows as there are


class TooMuchAtOnce(Exception):
    """A search comes across more rows than whoever asked has room for."""
