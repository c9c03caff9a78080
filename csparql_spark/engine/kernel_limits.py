"""Kernel limits: the memory and the time that the kernel allows this process while somebody is evaluated.

    limits of memory       ─[──5 ms──]──────[──5 ms──]─────   so much more than there was when it was set
    timers                 ─[────────0.1 s────────]────────   of the processor, and ten times that of the clock

To tell the kernel takes microseconds. So evaluations that follow each other share what it was told: timers for a tenth
of a second, which they have on top of their time, and the limit of memory for five milliseconds, in which nobody fills
much of it.

Invariant: whoever gets no memory has itself asked for as much as a query may have, however much others hold, for a
limit counts from what there is.

    kernel = KernelLimits(limits)
    kernel.confine(11.5, alone=False)           # who is evaluated next has so many seconds of the processor
    kernel.size                                 # bytes of the process when the limit of memory was set last
    kernel.lift()                               # whoever works now is the engine
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time

from csparql_spark.answers import confinement
from csparql_spark.answers.limits import Limits

SPARE = 64 << 20  # bytes beyond what a query may have: for what is the engine's own meanwhile
LATER = 1.1  # the kernel's timer, as a multiple of a query's time: its own checks come first
GRACE = 0.5  # seconds of the processor beyond that
SHARED = 0.1  # seconds on the clock, in which evaluations have the same timers
SHARED_MEMORY = 0.005  # seconds, in which they have the same limit of memory
LEAST_CLOCK = 60.0  # seconds: between two evaluations answers are written, and a locked database is waited for

_STATISTICS = "/proc/self/statm"
_LONGEST = 256  # bytes of these


class KernelLimits:
    """There is one in a process."""

    def __init__(self, limits: Limits) -> None:
        self.seconds = LATER * limits.seconds + GRACE  # of the processor, for an answer
        self.room = limits.bytes + SPARE  # bytes more than there are
        self.size = 0  # bytes of the process that it has no file for, when it was measured last
        self._soft, self._hard = resource.getrlimit(resource.RLIMIT_DATA)
        self._most = sys.maxsize if self._soft == resource.RLIM_INFINITY else self._soft
        self._started = self._seconds = 0.0  # when the timers were, and for how long
        self._measured = 0.0  # when the limit of memory was set
        self._page = resource.getpagesize()
        # It stays open: to open it costs more than to read it.
        self._sizes = os.open(_STATISTICS, os.O_RDONLY) if os.path.exists(_STATISTICS) else None
        for number in confinement.TIMERS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, confinement.TIMERS)

    def confine(self, seconds: float, *, alone: bool) -> None:
        """Who is evaluated next has so many seconds of the processor. `alone`: it shares its limit of memory with
        nobody."""
        now = time.monotonic()
        if self._sizes is not None and (now - self._measured > SHARED_MEMORY or alone):
            self._measured = now
            data = self._measure(self._sizes)
            resource.setrlimit(resource.RLIMIT_DATA, (min(data + self.room, self._most), self._hard))
            confinement.limited = True
        if now - self._started > SHARED or seconds != self._seconds:
            self._started, self._seconds = now, seconds
            confinement.start_timers(seconds + 2 * SHARED, LEAST_CLOCK)

    def lift(self) -> None:
        """Nobody is evaluated for a while."""
        if self._started:
            self._started = self._measured = 0.0
            confinement.stop_timers()
            if self._sizes is not None:
                self.lift_memory()

    def lift_memory(self) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (self._soft, self._hard))

    def measure(self) -> None:
        """See how large the process is."""
        if self._sizes is not None:
            self._measure(self._sizes)

    def _measure(self, sizes: int) -> int:
        """See how large the process is. Bytes that count for the limit."""
        _, resident, shared, _, _, data, *_ = os.pread(sizes, _LONGEST, 0).split()
        self.size = (int(resident) - int(shared)) * self._page
        return int(data) * self._page


def comes_of_memory(error: BaseException) -> bool:
    """Whether an error came of one that says that there is no memory."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
