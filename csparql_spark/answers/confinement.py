"""Confinement: what the kernel holds a process to that works on what users send.

    begin()                                     # what ends it, or what libraries say then, is no news to anybody
    let_grow(resource.RLIMIT_DATA, size)        # it may become so large, and no larger
    let_grow_by(room)                           # it may name so many bytes more than now
    start_timers(seconds)                       # of the processor; ten times that on the clock. Then it is ended
    end_of(signal.SIGPROF)                      # End.PROCESSOR: what the signal says by which it has ended

Invariant: a limit that is lower already stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import signal
import sys
from enum import Enum, auto
from pathlib import Path

from csparql_spark.answers.limits import PATIENCE

# What a process that is to be confined, or whose children are, is started with. Threads of numeric libraries would be
# in no child, and Arrow's own allocator takes a gigabyte of address space that is writable, and counts as memory.
ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    # A library of Rust that finds no memory, and then wants to say from where, waits for itself for ever.
    "RUST_BACKTRACE": "0",
}
TIMERS = (signal.SIGPROF, signal.SIGALRM)  # that nothing handles: the kernel ends the process
_SHORTEST = 0.001  # seconds of a timer: none would mean that there is none
# Whether there is a limit, so that whoever catches errors must tell those that say that there is no memory.
limited = False
# What a container may have, in the second and in the first version of the kernel's interface.
_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_ADDRESSES = 0  # of the sizes of a process: all that it may name
_PARENT_DEATH = 1  # of prctl: the signal at the end of the thread that has forked
_STATISTICS = Path("/proc/self/statm")


class End(Enum):
    """Why a process has ended that was confined."""

    PROCESSOR = auto()
    CLOCK = auto()
    MEMORY = auto()
    KILLED = auto()  # by somebody else: it is no fault of what it worked on
    BROKEN = auto()  # by a signal of its own, such as that of a stack that is full


def end_of(number: int) -> End:
    """What a signal says by which such a process has ended."""
    match number:
        case signal.SIGPROF:
            return End.PROCESSOR
        case signal.SIGALRM:
            return End.CLOCK
        case signal.SIGABRT:  # libraries of Rust end so when they get no memory
            return End.MEMORY
        case signal.SIGKILL | signal.SIGTERM:
            return End.KILLED
    return End.BROKEN


def begin() -> None:
    for number in TIMERS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TIMERS)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)  # libraries say there what we say in a sentence
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_with(parent: int) -> None:
    """End this process with the one that has forked it, if that has one thread. Elsewhere than on Linux it ends by its
    limits."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended before that was said
            os._exit(1)


def start_timers(seconds: float, least: float = 0.0) -> None:
    """`least`: seconds on the clock that there are in any case."""
    signal.setitimer(signal.ITIMER_PROF, max(seconds, _SHORTEST))
    signal.setitimer(signal.ITIMER_REAL, max(PATIENCE * seconds + 1, least))


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
    global limited
    limited = True
    _, most = resource.getrlimit(limit)
    resource.setrlimit(limit, (size if most == resource.RLIM_INFINITY else min(size, most), most))


def let_grow_by(room: int) -> None:
    """Let all that the process may name become so many bytes larger than it is, and no larger. Where there is no
    telling how large it is, it may grow."""
    if (size := pages(_ADDRESSES)) is not None:
        let_grow(resource.RLIMIT_AS, size + room)


def machine() -> int:
    """Bytes of memory that there are for all of us: those of the machine, or of the container, if that has fewer."""
    sizes = [resource.getpagesize() * os.sysconf("SC_PHYS_PAGES")]
    for path in _CONTAINERS:
        with contextlib.suppress(OSError, ValueError):  # there is none, or it says "max"
            sizes.append(int(Path(path).read_text()))
    return min(sizes)


def give_back() -> None:
    """What is free in this process goes back to the system."""
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another library of C
            ctypes.CDLL(None).malloc_trim(0)
