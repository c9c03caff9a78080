"""Judging: whether what was measured minute by minute has stayed where it was.

The first sixth of the time is for warming up. Then the mean of the second sixth is compared with that of the last one,
and a straight line is laid through all but the first:

    │   ╭╮    ·  ·    ·       ·  ·  · │        flat: the last mean is at most 10 % above the early one, and so is
    │ ╭╯ ╰·  ·  ·  ·    ·  ·      ·   │        what the line climbs from its beginning to its end
    │╭╯  |early|                |last |

    judged([600.0, 710.2, …], part=0.1, small=8)        # Verdict(early=…, last=…, climb=…, flat=True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SIXTHS = 6
MEMORY_PART, SIZE_PART = 0.10, 0.25
SMALL_MB = 8.0  # no role is blamed for so little


class Verdict(NamedTuple):
    early: float
    last: float
    climb: float  # of the straight line, from the second sixth to the end
    most: float
    flat: bool

    def told(self) -> dict[str, object]:
        return {**self._asdict(), "percent": 100 * (self.last / self.early - 1) if self.early else 0.0}


def judged(series: Sequence[float], *, part: float, small: float) -> Verdict:
    """Of points at even distances. To grow by less than `small` is no growth; to shrink is none either."""
    points = np.asarray(series, float)
    sixth = max(1, len(points) // SIXTHS)
    early, last, rest = points[sixth : 2 * sixth], points[-sixth:], points[sixth:]
    if not len(early) or len(rest) < 2:
        raise ValueError(f"{len(points)} points are too few to judge: it takes 3 at least")
    slope = np.polyfit(np.arange(len(rest)), rest, 1)[0]
    climb, allowed = float(slope * (len(rest) - 1)), max(small, part * float(early.mean()))
    grown = float(last.mean() - early.mean())
    return Verdict(
        float(early.mean()), float(last.mean()), climb, float(rest.max()), grown <= allowed and climb <= allowed
    )
