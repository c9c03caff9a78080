"""A grid: the instants at which a query answers. They are the multiples of its steps since the epoch.

    STEP 4s       0   4   8   12   16   …
    STEP 6s       0     6     12     18 …
    both          0   4 6 8   12   16 18 …

Invariant: `after(t)` is the smallest instant greater than t; instants of different queries with equal steps coincide.

    Grid((4000, 6000)).after(4000)       # 6000
    Grid((4000, 6000)).at_or_after(4000) # 4000
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    steps: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.steps or min(self.steps) <= 0:
            raise ValueError("a grid needs at least one step, and every step is positive")

    def after(self, t: int) -> int:
        return min((t // step + 1) * step for step in self.steps)

    def at_or_after(self, t: int) -> int:
        return self.after(t - 1)

    def at_or_before(self, t: int) -> int:
        return max(t // step * step for step in self.steps)

    def most_between(self, begin: int, upto: int) -> int:
        """How many instants there are with begin <= t <= upto, at most (those of several steps may coincide)."""
        return sum(max(0, upto // step - (begin - 1) // step) for step in self.steps)

    def between(self, begin: int, upto: int) -> Iterator[int]:
        """The instants t with begin <= t <= upto."""
        t = self.at_or_after(begin)
        while t <= upto:
            yield t
            t = self.after(t)
