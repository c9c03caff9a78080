"""Counting: windows that hold the last n elements of a stream, and are seen anew whenever m more have arrived.

Elements are counted in the order of the log, from the registration on. Each m-th one makes a *turn*: an instant at
which the window holds the n elements up to it (fewer, while there are not as many).

    TRIPLES 3 STEP 2      ● ●│● ●│● ●│●          turns after the 2nd, 4th, 6th element
                          └──┘                    the first window holds 2 elements,
                            └──┴──┘               the third the last 3 of 6

The instant of a turn is the stamp of the element that made it, or one millisecond after what was answered before,
whichever is later: so each answer has an instant of its own, however many elements come at once. Windows over one
stream that count the same elements turn together, at one instant. Where turns are not answered themselves (COMPUTE
EVERY), several may have one instant. A triple is an element of its own for TRIPLES; for ELEMENTS, all triples of one
push that have the same stamp are one.

    count = TurnCount(size=3, step=2)
    arrive([count], np.array([1, 1, 5]))     # the stamps of what came, in order
    count.turns                              # [(1, 2)]: at instant 1, after 2 elements
    count.see(1)
    count.view()                             # (1, 3): the elements after which 1 or 2 others came
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from csparql_spark.windows.rule import WindowSpec
from csparql_spark.windows.slide_graphs import ranks_of
from csparql_spark.windows.slides import Elements


class CountedSpec(WindowSpec, Protocol):
    """What is said of a window that may count."""

    @property
    def triples_step(self) -> int | None: ...
    @property
    def elements_step(self) -> int | None: ...


CountState = tuple[int, int, list[tuple[int, int]]]  # in a state store, as JSON


@dataclass(slots=True)
class TurnCount:
    """How far the elements are counted that a window looks at."""

    size: int
    step: int
    total: int = 0  # elements so far
    viewed: int = 0  # up to this one the window was looked at last
    turns: deque[tuple[int, int]] = field(default_factory=deque)  # to come: the instant, and up to which element

    def see(self, instant: int) -> None:
        """Take the turns up to an instant: the window is seen as it was at the last of them."""
        while self.turns and self.turns[0][0] <= instant:
            self.viewed = self.turns.popleft()[1]

    def turns_within(self, number: int) -> bool:
        """Whether one of the next so many elements makes a turn."""
        return self.total % self.step + number >= self.step

    def view(self) -> tuple[int, int]:
        """What is seen: elements after which at least so many, and less than so many, others came."""
        return self.total - self.viewed, self.total - self.viewed + min(self.size, self.viewed)

    def between(self, first: int, last: int) -> tuple[int, int]:
        """The elements after the `first`-th up to the `last`-th: those after which at least so many, and less than so
        many, others came."""
        return self.total - last, self.total - first

    def needed(self) -> int:
        """How many of the newest elements may still be seen."""
        return min(self.total, self.total - self.viewed + self.size)

    def state(self) -> CountState:
        return self.total, self.viewed, list(self.turns)

    def restore(self, state: CountState) -> None:
        self.total, self.viewed, turns = state
        self.turns = deque((instant, number) for instant, number in turns)


def ordinals_of(elements: Elements, last: int, *, graphs: bool = False) -> np.ndarray:
    """Which one each of these is, the `last`-th being the last of them, none between them missing. With `graphs`, the
    triples of one entry with one stamp are one."""
    if not graphs:
        return np.arange(last - len(elements.t) + 1, last + 1)
    ranks = ranks_of(elements.seq, elements.t)
    return ranks + (last - ranks.max(initial=0))


def count_of(window: CountedSpec) -> TurnCount | None:
    """The count of a window, if it counts."""
    if window.triples is not None:
        return TurnCount(window.triples, window.triples_step or window.triples)
    if window.elements is not None:
        return TurnCount(window.elements, window.elements_step or window.elements)
    return None


def arrive(
    counts: Collection[TurnCount], stamps: np.ndarray, after: int | None = None, *, apart: bool = True
) -> int | None:
    """Elements that all of these count have arrived, with these stamps, in this order. Turns come later than `after`
    and, `apart`, than each other. Returns the instant of the newest turn, if there is one among them."""
    turning = np.zeros(len(stamps), dtype=bool)
    for count in counts:
        turning[count.step - count.total % count.step - 1 :: count.step] = True
    places = np.flatnonzero(turning)
    nth = np.arange(len(places)) * apart
    instants = np.maximum.accumulate(stamps[places] - nth)
    if after is not None:
        instants = np.maximum(instants, after + apart)
    instants += nth
    for count in counts:
        reached = count.total + places + 1
        own = reached % count.step == 0
        count.turns.extend(zip(instants[own].tolist(), reached[own].tolist(), strict=True))
        count.total += len(stamps)
    return int(instants[-1]) if len(instants) else None
