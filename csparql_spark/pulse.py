"""A pulse: how a process tells, as long as it does what it is there for, that it does.

A sign of life comes from what has to turn, and from nothing beside it: a thread that did nothing but beat would beat in
a process that hangs, too. There are three.

    FRONT     the web process: the thread that reads all requests (`server.http.front`). A request that takes long, in a
              thread of its own, does not hinder it; what never gives up the lock of the interpreter does.
    DRIVER    the engine: the loop of its Python process, in which the JVM answers (`spark.engine`)
    JOB       the engine: the ring of Spark's stream thread, the process of its source, and the workers: where a batch
              is to end, the rows that it reads, the rows and answers of a group. If one of them hangs, all stand still

Signs go through a named pipe, which the one who listens has made: to beat costs a system call or three, at most four
times a second, and asks nobody: neither the database nor the disk. Where nobody listens, beating does nothing. Signs
may be lost, and many are one.

    pulse = Pulse(directory.bell("life-web"), FRONT)        # in the web process
    pulse.beat()
    for row in pulse.along(rows): ...                       # a beat with each, if it is time

    life = Signs(directory.bell("life-web"))                # in its supervisor
    life.heard()                                            # {FRONT}: since it was asked last
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

FRONT, DRIVER, JOB = "f", "d", "j"
EVERY_SECONDS = 0.25
_MOST = 65536  # bytes in the pipe

Item = TypeVar("Item")


class Pulse:
    """It may be sent to other processes of the machine: it holds nothing open."""

    def __init__(self, path: Path, sign: str) -> None:
        self._path, self._sign = path, sign.encode()
        self._due = 0.0

    def beat(self) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + EVERY_SECONDS
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return  # nobody listens, or there is no descriptor left: that is no reason for what turns to stop
        try:
            os.write(descriptor, self._sign)
        except (BlockingIOError, BrokenPipeError):
            return  # the listener does not come to it, or has just gone
        finally:
            os.close(descriptor)

    def along(self, items: Iterable[Item]) -> Iterator[Item]:
        """The same, with a beat before each."""
        for item in items:
            self.beat()
            yield item
        self.beat()


class Signs:
    """What is heard through such a pipe. What came before it was opened does not count. Raises `OSError`."""

    def __init__(self, path: Path) -> None:
        if not (path.exists() and stat.S_ISFIFO(path.stat().st_mode)):
            path.unlink(missing_ok=True)
            os.mkfifo(path, 0o600)
        # For both directions, so that the pipe has no end when a process closes it.
        self._listening = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.heard()

    def heard(self) -> set[str]:
        """The signs that have come since it was asked last."""
        signs: set[str] = set()
        with contextlib.suppress(BlockingIOError):  # there are no more
            while said := os.read(self._listening, _MOST):
                signs.update(said.decode("ascii", "replace"))
        return signs

    def close(self) -> None:
        os.close(self._listening)
