"""Which instants a query has: the multiples of its windows' steps, or of COMPUTE EVERY; and what a window sees at one.

    grid_of(parse("… [RANGE 10s STEP 4s] …"))      # Grid((4000,))
    grid_of(parse("… [RANGE TRIPLES 10] …"))       # None: its instants are turns (see windows.counting)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.windows.grid import Grid


def grid_of(query: ContinuousQuery) -> Grid | None:
    """The instants that a query has by time."""
    if query.every is not None:
        return Grid((query.every,))
    steps = tuple(sorted({window.step for window in query.windows if window.step is not None}))
    return Grid(steps) if steps else None


def is_known_before(query: ContinuousQuery) -> bool:
    """Whether the instants of a query are known before anything has arrived."""
    return query.every is not None or all(window.step is not None for window in query.windows)


class Bounds(NamedTuple):
    """What a window looks at, at some instant: elements stamped opens < t <= closes. One that counts opens nowhere."""

    opens: int | None
    closes: int


def bounds_of(window: Window, instant: int) -> Bounds:
    """Where a window opens and closes, as it is seen at an instant."""
    if window.range is None:
        return Bounds(None, instant)
    as_of = instant // window.step * window.step
    return Bounds(as_of - window.range, as_of)


def seen_by(window: Window, stamps: np.ndarray, instant: int) -> np.ndarray:
    """Which elements a window sees at an instant, of those with these stamps, in the order of the log. A window that
    counts sees the last ones up to the instant."""
    if window.range is not None:
        opens, closes = bounds_of(window, instant)
        return np.flatnonzero((stamps > opens) & (stamps <= closes))
    came = np.flatnonzero(stamps <= instant)
    if window.triples is not None:
        return came[-window.triples:]
    return came[np.isin(stamps[came], np.unique(stamps[came])[-window.elements:])]
