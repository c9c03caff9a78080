"""Lanes: places for work, who has them, and who waits for one.

    lane = Lane(places=2, waiting=12)
    lane.enter("sparql", "203.0.113.9")         # None: there is a place; a `Turn` to be waited for; raises `Full`
    lane.leave("sparql", "203.0.113.9")         # the place is that of the next one

A place that becomes free is given to the kind that has the fewest, of one kind to the client that has the fewest, then
to the one that has used the lane for the shortest time since somebody began to wait, of one client to the part of what
it does (a stream, say) for which that is so, and then in the order in which they came. Where as many wait as may,
whoever comes is sent home, unless a client, or a kind, crowds the queue: then the last of those is sent home in its
stead. So nobody's crowd keeps others out.

Invariants: `places` work at most, `waiting` wait at most, whatever their kinds. What was used is remembered of some
thousands at most. It is no lock: whoever uses a lane holds one.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_REMEMBERED = 4096  # clients, and parts of what they do


class Full(Exception):
    """As many wait as may, and none of them crowds the queue."""


@dataclass(eq=False)
class Turn:
    """Of somebody who waits."""

    kind: str
    client: str
    part: str = ""
    told: threading.Event = field(default_factory=threading.Event)
    sent_home: bool = False  # others are let in instead

    def tell(self, *, sent_home: bool = False) -> None:
        self.sent_home = sent_home
        self.told.set()


@dataclass
class Lane:
    places: int
    waiting: int
    kinds: Counter[str] = field(default_factory=Counter)  # of those that work
    clients: Counter[str] = field(default_factory=Counter)
    queue: list[Turn] = field(default_factory=list)
    used: dict[tuple[str, ...], float] = field(default_factory=dict)  # seconds, by client, and by client and part

    def enter(self, kind: str, client: str, part: str = "") -> Turn | None:
        """`part`: of what the client does."""
        if self.kinds.total() < self.places:
            self._begin(kind, client)
            return None
        turn = Turn(kind, client, part)
        if len(self.queue) >= self.waiting:
            last = self._crowding(turn)
            if last is None:
                raise Full
            self.queue.remove(last)
            last.tell(sent_home=True)
        self.queue.append(turn)
        return turn

    def leave(self, kind: str, client: str, part: str = "", seconds: float = 0.0) -> None:
        """`seconds`: for how long it has worked."""
        for counts, one in ((self.kinds, kind), (self.clients, client)):
            counts[one] -= 1
            if not counts[one]:
                del counts[one]
        if not self.queue or len(self.used) > MOST_REMEMBERED:
            self.used.clear()
        if self.queue:
            for whose in ((client,), (client, part)):
                self.used[whose] = self.used.get(whose, 0.0) + seconds
            following = min(self.queue, key=self._claim)
            self.queue.remove(following)
            self._begin(following.kind, following.client)
            following.tell()

    def close(self) -> None:
        """All who wait are sent home."""
        while self.queue:
            self.queue.pop().tell(sent_home=True)

    def _claim(self, turn: Turn) -> tuple[float, ...]:
        """The least has the next place."""
        return (
            self.kinds[turn.kind],
            self.clients[turn.client],
            self.used.get((turn.client,), 0.0),
            self.used.get((turn.client, turn.part), 0.0),
        )

    def _begin(self, kind: str, client: str) -> None:
        self.kinds[kind] += 1
        self.clients[client] += 1

    def _crowding(self, new: Turn) -> Turn | None:
        """The last of those who have more in the queue than a new one would have, with one for itself."""
        by: tuple[Callable[[Turn], str], ...] = (lambda turn: turn.client, lambda turn: turn.kind)
        for whose in by:
            counts = Counter(whose(turn) for turn in self.queue)
            most, count = counts.most_common(1)[0]
            if count > counts[whose(new)] + 1:
                return next(turn for turn in reversed(self.queue) if whose(turn) == most)
        return None
