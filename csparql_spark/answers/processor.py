"""Processor time: what the work of this thread has cost, with what it had done by children of its own.

On a busy machine a second of work takes several on the clock, and whose work it is has no part in that. So what work
may take is counted in seconds of the processor, and the clock is only asked whether work has come to a halt.

    begun = now()
    ...
    now().processor - begun.processor      # seconds that a processor has worked for this thread
    add(0.25)                              # a child has worked for it, too (see `forked`)
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

_children = threading.local()


class Time(NamedTuple):
    """Seconds since some time or other: of the processor, and on the clock."""

    processor: float
    clock: float


def now() -> Time:
    return Time(time.thread_time() + getattr(_children, "seconds", 0.0), time.monotonic())


def add(seconds: float) -> None:
    """A child that this thread has waited for has worked so long."""
    _children.seconds = getattr(_children, "seconds", 0.0) + seconds
