"""Arrears: what answers take that are each in time, and together keep the others waiting for ever.

    debt = Debt()                       # of answers that each take long: what is beyond the time between instants
    debt.note(6_000, 3.0, limits)
    arrears = Arrears()                 # of answers that are each soon there
    arrears.begin(); arrears.end(5_001, entry=17, arrival=…); arrears.check(limits)

Both raise `TooMuch` when others have waited for as long as one answer may take.
"""

from __future__ import annotations

import math
import time

from csparql_spark import processor_time
from csparql_spark.answers.deadline import SOON
from csparql_spark.answers.limits import PATIENCE, Limits, TooMuch


class Debt:
    """How far behind a query brings the others: what its answers took beyond the time between its instants.

    Answers that are soon there do not count, however close its instants are: those may be a machine's bad moment, or a
    recording's many instants, and are no reason to end a query.

        debt = Debt()
        debt.note(5_000, 3.0, limits)       # at the first instant nothing is expected yet
        debt.note(6_000, 3.0, limits)       # two seconds more than there are between the two
    """

    def __init__(self) -> None:
        self.milliseconds = 0.0
        self._instant: int | None = None

    def note(self, instant: int, seconds: float, limits: Limits) -> None:
        """The answer of an instant took so long (see `Deadline.took`). `TooMuch` if that is too often so."""
        before, self._instant = self._instant, instant
        if before is not None:
            took = 1000 * seconds if seconds > SOON else 0.0
            self.milliseconds = max(0.0, self.milliseconds + took - (instant - before))
        if self.milliseconds > limits.milliseconds:
            raise too_far_behind(self.milliseconds / 1000, limits.seconds)


class Arrears:
    """How far a query falls behind with answers that are each soon there: what they take beyond the time between the
    moments that they are due at, until it has caught up.

    Where these follow the clock that all see, be they steps or the pushes that make turns, that is counted for as long
    as it lasts. Where stamps of producers make them, a recording of an hour may come in a second: there it is counted
    among those that one entry has made due, and besides, on the clock, from push to push, where the others wait for ten
    times as long before it is too much. All instants that a push makes due have the time since the one before: after a
    silence they are many.

        stamps        12:00   12:10   12:20  ...          ten minutes apart, and so are the instants that they make due
        arrivals      09:00:00.0  .1  .2  .3  ...         a tenth of a second apart: that is all the time there is

    What another query has said, and not a producer, comes all at once when that has caught up. So there the time
    between the instants counts, if it is more.

    An answer that is there before the next moment is measured by the clock alone: it need not be exact.

        arrears = Arrears()
        arrears.begin()
        ...                                 # the answer of an instant is made, and written
        arrears.end(5_001, entry=17, arrival=1_700_000_000_000)
        arrears.check(limits)
    """

    __slots__ = ("_arrival", "_balance", "_begun", "_clock", "_entry", "_moment", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self._balance = 0.0  # of pushes; below zero there is time left for what the last of them makes due
        self._entry: int | None = None
        self._moment = 0
        self._arrival: int | None = None
        self._clock = 0.0
        self._begun: float | None = None  # by the processor, where that is looked at

    @property
    def pushed(self) -> float:
        """How far it is behind from push to push."""
        return max(0.0, self._balance)

    def begin(self) -> None:
        if self._begun is not None:
            self._begun = processor_time.now().processor
        self._clock = time.perf_counter()

    def end(self, moment: int, *, entry: int, arrival: int | None, relayed: bool = False) -> None:
        """The answer that was due at a moment is there. `entry`: what has made it due, 0 where the clock does that all
        see; `arrival`: when that came, if it was pushed, or `relayed` from another query."""
        took = time.perf_counter() - self._clock
        between = (moment - self._moment) / 1000
        self._moment = moment
        first = entry != self._entry  # of what this one makes due
        if entry and arrival is not None:
            if first:
                # Before the first push there is none: as if it were long ago.
                apart = math.inf if self._arrival is None else (arrival - self._arrival) / 1000
                self._balance = self.pushed - (max(apart, between) if relayed else apart)
                self._arrival = arrival
            self._balance += took
        if first:  # there is no time before it
            self._entry, self.seconds, self._begun = entry, 0.0, None
        elif self._begun is not None:
            worked = processor_time.now().processor - self._begun
            self.seconds = max(0.0, self.seconds + max(worked, took / PATIENCE) - between)
            if not self.seconds:
                self._begun = None
        elif took > between:
            self._begun = 0.0  # from the next one on it is looked at

    def check(self, limits: Limits) -> None:
        if self.seconds > limits.seconds:
            raise too_far_behind(self.seconds, limits.seconds)
        if self.pushed > PATIENCE * limits.seconds:
            raise too_far_behind_pushes(self.pushed, PATIENCE * limits.seconds)


def too_far_behind(seconds: float, most: float) -> TooMuch:
    return TooMuch(
        f"its answers take longer than the time between them, and keep the others waiting for {seconds:,.0f} s by now, "
        f"where {most:g} s is the limit: choose a larger STEP or a narrower RANGE, push less at once, or ask for less"
    )


def too_far_behind_pushes(seconds: float, most: float) -> TooMuch:
    return TooMuch(
        f"its answers take longer than the time between the pushes that make them due, and keep the others waiting for "
        f"{seconds:,.0f} s by now, where {most:g} s is the limit: push more slowly, choose a larger STEP or a narrower "
        "RANGE, or ask for less"
    )
