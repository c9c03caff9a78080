"""A deadline: the time that is left of an answer that has been begun.

deadline = Deadline(limits)
deadline.check()            # now and then: raises `TooMuch` when it is over
deadline.took               # seconds so far
"""

from __future__ import annotations

import time

from csparql_spark import processor_time
from csparql_spark.answers.excess import OF_ANSWERS
from csparql_spark.answers.limits import PATIENCE, Limits

SOON = 1.0  # seconds: an answer that is there by then is nobody's fault


class Deadline:
    """The time that an answer may still take, in the thread that makes it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._begun = processor_time.lately()

    @property
    def took(self) -> float:
        """Seconds of the processor so far, or a tenth of those on the clock, if that is more."""
        now = processor_time.now()
        return max(now.processor - self._begun.processor, (now.clock - self._begun.clock) / PATIENCE)

    @property
    def soon(self) -> bool:
        """Whether it cannot have taken long: no thread has worked longer than has passed, and a look at the clock
        costs next to nothing."""
        return time.monotonic() - self._begun.clock < SOON

    def check(self) -> None:
        if time.monotonic() - self._begun.clock < self.limits.seconds:
            return  # see `soon`
        now = processor_time.now()
        if now.processor - self._begun.processor >= self.limits.seconds:
            raise OF_ANSWERS.of_processor(self.limits.seconds)
        if now.clock - self._begun.clock >= PATIENCE * self.limits.seconds:
            raise OF_ANSWERS.of_clock(self.limits.seconds)
