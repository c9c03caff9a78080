"""Counting: windows that hold the last n elements of a stream, and are seen anew whenever m more have arrived.

Elements are counted in the order of the log, from the registration on. Each m-th one makes a *turn*: an instant at which
the window holds the n elements up to it (fewer, while there are not as many).

    TRIPLES 3 STEP 2      ● ●│● ●│● ●│●          turns after the 2nd, 4th, 6th element
                          └──┘                    the first window holds 2 elements,
                            └──┴──┘               the third the last 3 of 6

The instant of a turn is the stamp of the element that made it, or one millisecond after what was answered before, whichever is
later: so each answer has an instant of its own, however many elements come at once. A triple is an element of its own for
TRIPLES; for ELEMENTS, all triples of one push that have the same stamp are one.

    count = Count(size=3, step=2)
    count.arrived(np.array([1, 1, 5]), -1)   # the stamps of what came, in order
    count.turns                              # [(1, 2)]: at instant 1, after 2 elements
    count.see(1)
    count.view()                             # (1, 3): the elements after which 1 or 2 others came
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True)
class Count:
    size: int
    step: int
    total: int = 0                                              # elements so far
    seen: int = 0                                               # up to this one the window was seen last
    turns: deque[tuple[int, int]] = field(default_factory=deque)      # to come: the instant, and up to which element

    def arrived(self, stamps: np.ndarray, after: int) -> int | None:
        """Elements have arrived, with these stamps, in this order; turns are told later than `after`. Returns the
        newest turn's instant, if there is one among them."""
        first = self.step - self.total % self.step - 1
        instant = None
        for stamp, place in zip(stamps[first::self.step].tolist(), range(first, len(stamps), self.step), strict=True):
            after = instant = max(stamp, after + 1)
            self.turns.append((instant, self.total + place + 1))
        self.total += len(stamps)
        return instant

    def see(self, instant: int) -> None:
        """Take the turns up to an instant: the window is seen as it was at the last of them."""
        while self.turns and self.turns[0][0] <= instant:
            self.seen = self.turns.popleft()[1]

    def view(self) -> tuple[int, int]:
        """What is seen: elements after which at least so many, and less than so many, others came."""
        return self.total - self.seen, self.total - self.seen + min(self.size, self.seen)

    def needed(self) -> int:
        """How many of the newest elements may still be seen."""
        return min(self.total, self.total - self.seen + self.size)

    def state(self) -> list[object]:
        return [self.total, self.seen, list(map(list, self.turns))]

    def restore(self, state: list[object]) -> None:
        self.total, self.seen, turns = state
        self.turns = deque(map(tuple, turns))
