"""Crowding: whether all that is held for queries is too much for the worker, and who fails then: the query that most is
held for, and not the one that asked last.

Groups are asked one after the other, each for its own largest query. Who is not the largest of all that have been asked
of late is spared: the one that is larger fails when its group is asked.

    crowding = Crowding(kernel, most=6 << 30)
    crowding.is_full                            # there may be too much: it costs nothing to look
    crowding.excess("1f0c…", held)              # a `TooMuch` for who holds most of this group, or None
"""

from __future__ import annotations

import time
from collections.abc import Callable

from csparql_spark.answers import confinement
from csparql_spark.answers.excess import most_is_held
from csparql_spark.answers.limits import TooMuch
from csparql_spark.engine.kernel_limits import KernelLimits

LEAST = 16 << 20  # bytes: for less no query fails because there is too much in all
PAUSE = 0.5  # seconds between two looks at what could be given back, if it was not too much then
STALE = 10.0  # seconds, after which what a group holds is no reason any more to spare others


class Crowding:
    def __init__(self, kernel: KernelLimits, most: int) -> None:
        """`most`: bytes of the process."""
        self._kernel, self._most = kernel, most
        self._looked = 0.0  # when there was nobody to fail
        # When each group was last asked, and what was held for the query of it that most is held for.
        self._held: dict[str, tuple[float, int]] = {}

    @property
    def is_full(self) -> bool:
        """Whether there may be too much in the process."""
        return self._kernel.size > self._most

    def excess(self, group: str, held: Callable[[], int]) -> TooMuch | None:
        """Why the query of a group fails that most is held for, of which so much is held; None if it does not."""
        if not self.is_full or (now := time.monotonic()) - self._looked < PAUSE:
            return None
        confinement.give_back()
        self._kernel.measure()
        if not self.is_full:
            self._looked = now
            return None
        most = held()
        self._held = {name: one for name, one in self._held.items() if now - one[0] < STALE and name != group}
        if most > LEAST and all(most >= other for _, other in self._held.values()):
            return most_is_held(self._kernel.size, self._most, most)
        self._looked = now
        self._held[group] = now, most  # another group's is larger, and fails when that is asked
        return None
