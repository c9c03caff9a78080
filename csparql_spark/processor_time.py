"""Processor time: what the work of this thread has cost, with what it had done by children of its own.

On a busy machine a second of work takes several on the clock, and whose work it is has no part in that. So what work
may take is counted in seconds of the processor, and the clock is only asked whether work has come to a halt.

    begun = now()
    ...
    now().processor - begun.processor      # seconds that a processor has worked for this thread
    add(0.25)                              # a child has worked for it, too (see `answers.forked`)
    lately()                               # for who begins a thousand things in a second

To ask what the processor has done is a system call, of a microsecond on one machine and of ten on another, where the
clock costs a hundredth. So who begins something that is mostly over at once takes what was read a moment ago.

Invariant: `lately().processor` is at most `LATELY` earlier than `now().processor`; no work seems shorter
than it is.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

LATELY = 0.002  # seconds on the clock, in which no thread works longer than that

_here = threading.local()


class Time(NamedTuple):
    """Seconds since some time or other: of the processor, and on the clock."""

    processor: float
    clock: float


def now() -> Time:
    worked = time.thread_time()
    clock = time.monotonic()
    _here.read = Time(worked, clock)
    return Time(worked + getattr(_here, "children", 0.0), clock)


def lately() -> Time:
    """The time, of the processor as it was a moment ago."""
    read: Time | None = getattr(_here, "read", None)
    clock = time.monotonic()
    if read is None or clock - read.clock > LATELY:
        return now()
    return Time(read.processor + getattr(_here, "children", 0.0), clock)


def add(seconds: float) -> None:
    """A child that this thread has waited for has worked so long."""
    _here.children = getattr(_here, "children", 0.0) + seconds
