"""What peers that know tables, and not RDF, are given: the window as columns of numbers, anew at each slide.

Terms are numbers already, values are numbers beside them, the schema is closed: all of that is to their favour.
"""

from __future__ import annotations

import numpy as np

from bench.peers.job import Job


class Window:
    """The triples of a window as columns, oldest first."""

    def __init__(self, job: Job) -> None:
        self._columns = [np.ascontiguousarray(column) for column in job.full.T.astype(np.int32)]

    def moved(self, added: np.ndarray) -> list[np.ndarray]:
        """The columns after a slide: as many leave as come."""
        self._columns = [np.concatenate([column[len(added) :], new]) for column, new in zip(self._columns, added.T)]
        return self._columns


def ready(added: np.ndarray, removed: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(added.astype(np.int32))
