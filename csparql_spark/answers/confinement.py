"""Confinement: what the kernel holds a process to that works on what users send.

    begin()                                     # what ends it, or what libraries say then, is no news to anybody
    let_grow(resource.RLIMIT_DATA, size)        # it may become so large, and no larger
    start_timers(seconds)                       # of the processor; ten times that on the clock. Then it is ended

Invariant: a limit that is lower already stays.
"""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

from csparql_spark.answers.limits import PATIENCE

TIMERS = (signal.SIGPROF, signal.SIGALRM)  # that nothing handles: the kernel ends the process
_SHORTEST = 0.001  # seconds of a timer: none would mean that there is none
_STATISTICS = Path("/proc/self/statm")


def begin() -> None:
    for number in TIMERS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TIMERS)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)  # libraries say there what we say in a sentence
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start_timers(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, max(seconds, _SHORTEST))
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds + 1)


def stop_timers() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def pages(place: int) -> int | None:
    """One of the sizes of the process (see proc_pid_statm), in bytes; None where there is no telling."""
    if not _STATISTICS.exists():
        return None
    return int(_STATISTICS.read_text().split()[place]) * resource.getpagesize()


def let_grow(limit: int, size: int) -> None:
    """Let what a limit of `resource` counts become so large, and no larger."""
    _, most = resource.getrlimit(limit)
    resource.setrlimit(limit, (size if most == resource.RLIM_INFINITY else min(size, most), most))
