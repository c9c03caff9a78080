"""A lifeline: how a process ends when the one that started it is gone, however that one ended.

A lifeline is a pipe into which nobody writes. Whoever starts others has its writing end, and the others hold its
reading end. When the one with the writing end is gone, killed with -9 too, the kernel closes that end, and kills who
holds the other: it is asked to send SIGKILL for what happens to the pipe, so that a process ends also where it hangs,
is stopped, or runs in a loop that lets no other thread run. Where a kernel cannot do that, a thread waits for it
instead.

    reading, writing = os.pipe()               # the parent keeps `writing`, and passes `reading` on
    lifeline.hold(reading)                     # the child: ends with its whole process group

    line = Lifeline(Path("data/engine/line"))  # a named pipe, for those who inherit no descriptor
    lifeline.hold(Path("data/engine/line"))    # such a one
    line.tie(process.pid)                      # or a program that knows nothing of it, and inherits `line.reading`
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from pathlib import Path

F_SETSIG = getattr(fcntl, "F_SETSIG", None)  # Linux has it


class Lifeline:
    """Both ends of a named lifeline. It lasts as long as this process, or until it is cut."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)  # who holds that of an earlier process must not hold this one
        os.mkfifo(path, 0o600)
        self.reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._writing = os.open(path, os.O_WRONLY)

    def tie(self, process: int) -> None:
        """Have the kernel kill a process that has inherited `reading` and nobody else has: it is closed here."""
        if F_SETSIG is not None:
            _arm(self.reading, process)
        os.close(self.reading)

    def cut(self) -> None:
        os.close(self._writing)


def hold(line: int | Path) -> None:
    """End this process and its process group as soon as nobody has the other end, which may be at once."""
    # Opened anew also where it was inherited: whom the kernel tells is remembered with the open file, and the parent
    # and its other children share that one.
    path = line if isinstance(line, Path) else Path(f"/proc/self/fd/{line}")
    if F_SETSIG is None or isinstance(line, int) and not path.exists():
        threading.Thread(target=_watch, args=(line,), name="lifeline", daemon=True).start()
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # open for as long as this process lives
    _arm(descriptor, -os.getpgrp())
    if _is_cut(descriptor):  # before the kernel was asked
        _end()


def _arm(descriptor: int, process: int) -> None:
    """Have the kernel kill a process, or a group of them if the number is negative, when the other end is closed."""
    assert F_SETSIG is not None  # whoever calls has looked
    fcntl.fcntl(descriptor, F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, process)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)


def _is_cut(descriptor: int) -> bool:
    try:
        return not os.read(descriptor, 1)
    except BlockingIOError:
        return False


def _watch(line: int | Path) -> None:
    descriptor = line if isinstance(line, int) else os.open(line, os.O_RDONLY)
    os.set_blocking(descriptor, True)
    while os.read(descriptor, 1):
        pass
    _end()


def _end() -> None:
    os.killpg(0, signal.SIGKILL)
