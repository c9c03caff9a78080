"""Progress: which instants have passed for one query, and where it begins.

A clock's reading c means: no element stamped c or earlier is expected any more, so every instant up to c may be
answered.

    arrival clock   an entry stamped `at` was logged        c = at - 1
                    a tick at T was logged                  c = T
    event clock     a chunk with newest stamp m arrived     c = m - delay - 1
    derived clock   what a query says at m arrived          c = m, also when it says nothing
                    somebody said that T has passed         c = T

A query over several streams has passed t when all their clocks have. It begins at the first instant after its
registration; on event clocks, at the first instant at or after the earliest element that it has seen when all its
streams have begun. Clocks never go back. An element is *late* when it arrives with a stamp that has already passed; it
still counts in every window that is yet to be answered.

All this depends only on the entries since the registration: not on other queries, and not on how entries are batched.
The arrival clock is one for all, so queries that are given the same entries may share it: what it read before a
registration is not later than that, and no instant of the query is.

    progress = Progress.begin(at=1000, clocks={"http://…/temp": Clock("arrival", 0)})
    progress.tick(None, 2000)
    progress.passed, progress.start()      # 2000, 1001
"""

from __future__ import annotations

from dataclasses import dataclass, field

from csparql_spark.windows.rule import BEGINNING_OF_TIME


@dataclass(frozen=True, slots=True)
class Clock:
    kind: str  # "arrival", "event", or "derived": the answers of a query, each whole
    delay: int = 0

    def reading(self, newest: int) -> int:
        """What it reads when the newest stamp of a chunk is this one."""
        return newest if self.kind == "derived" else newest - self.delay - 1


@dataclass(slots=True)
class Arrival:
    """The arrival clock, as far as entries have told it."""

    reading: int = BEGINNING_OF_TIME

    def logged(self, at: int) -> None:
        """An entry stamped `at` was logged."""
        self.reading = max(self.reading, at - 1)

    def tick(self, at: int) -> None:
        self.reading = max(self.reading, at)


@dataclass(slots=True)
class Progress:
    clocks: dict[str, Clock]
    registered: int
    shared: Arrival = field(default_factory=Arrival)  # it tells others the time, too
    own: int = BEGINNING_OF_TIME  # what was told to this query alone
    event: dict[str, int] = field(default_factory=dict)  # readings of the event clocks, by stream
    first: int | None = None  # earliest stamp seen on an event clock
    late: int = 0

    @classmethod
    def begin(cls, *, at: int, clocks: dict[str, Clock], shared: Arrival | None = None) -> Progress:
        return cls(
            clocks,
            at,
            Arrival() if shared is None else shared,
            event={stream: BEGINNING_OF_TIME for stream, clock in clocks.items() if clock.kind != "arrival"},
        )

    @property
    def arrival(self) -> int:
        """What the arrival clock reads."""
        return max(self.own, self.shared.reading)

    def arrived(self, stream: str, at: int, first: int, last: int) -> None:
        """A chunk of `stream` was logged at `at`, with stamps from `first` to `last` (both `at` on the arrival
        clock)."""
        self.own = max(self.own, at - 1)
        if stream in self.event:
            self.first = first if self.first is None else min(first, self.first)
            self.event[stream] = max(self.event[stream], self.clocks[stream].reading(last))

    def tick(self, stream: str | None, at: int) -> None:
        if stream is None:
            self.own = max(self.own, at)
        elif stream in self.event:
            self.event[stream] = max(self.event[stream], at)
            if self.clocks[stream].kind == "derived" and self.first is None:
                self.first = at  # the first that its producer says is nothing

    def reading(self, stream: str) -> int:
        return self.event.get(stream, self.arrival)

    def is_derived(self, stream: str | None) -> bool:
        """Whether a query says what comes there."""
        clock = None if stream is None else self.clocks.get(stream)
        return clock is not None and clock.kind == "derived"

    @property
    def passed(self) -> int:
        return min(self.reading(stream) for stream in self.clocks)

    def start(self) -> int | None:
        """The earliest time at which the first instant can lie; None while that is not known."""
        if not self.event:
            return self.registered + 1
        if self.first is None or BEGINNING_OF_TIME in self.event.values():
            return None
        return self.first if len(self.event) == len(self.clocks) else max(self.first, self.registered + 1)
