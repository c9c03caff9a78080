"""Children, from outside: one zygote for this process, started when it is first needed, and again should it be gone.

    child = fork()
    child.ask([b"…"], 5.0)        # the reply; None if it has died: then `child.death` says how
    child.end()

The zygote has a process group of its own and holds a lifeline of this process, so it ends with it, and its children
with it (see `lifeline`).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

from csparql_spark.asking.guarded import wire

LONGEST_START = 120.0  # seconds
LAST_WORDS = 5.0  # seconds for the zygote to tell how a child has ended
# Threads of numeric libraries would be in no child, and Arrow's own allocator takes a gigabyte of address space that
# is writable, and counts as memory.
ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}

_lock = threading.Lock()
_running: tuple[subprocess.Popen[bytes], socket.socket, int] | None = None


class GuardedChild:
    """A child that works for us."""

    def __init__(self, talk: socket.socket, guard: socket.socket) -> None:
        self._talk, self._guard = talk, guard
        self.death: int | None = None  # its status, as wait tells it; None if nobody knows

    def ask(self, parts: Sequence[wire.MessagePart], seconds: float) -> list[bytearray] | None:
        """The reply to a message; None if the child has died of it. Raises `TimeoutError`."""
        self._talk.settimeout(seconds)
        try:
            wire.send(self._talk, parts)
        except TimeoutError:
            raise
        except OSError:
            self._hear()
            return None
        reply = wire.receive(self._talk, seconds)
        if reply is None:
            self._hear()
        return reply

    def _hear(self) -> None:
        """How it has ended."""
        self._guard.settimeout(LAST_WORDS)
        with contextlib.suppress(OSError):
            told = self._guard.recv(wire.STATUS.size)
            self.death = wire.STATUS.unpack(told)[0] if len(told) == wire.STATUS.size else None

    def end(self) -> None:
        """It is killed, if it is not dead yet."""
        self._guard.close()
        self._talk.close()


def fork() -> GuardedChild:
    """A child that waits for work."""
    talk, its_talk = socket.socketpair()
    guard, its_guard = socket.socketpair()
    with its_talk, its_guard, _lock:
        for last in (False, True):
            control = _started()
            try:
                socket.send_fds(control, [b"f"], [its_talk.fileno(), its_guard.fileno()])
                break
            except OSError:
                _stop()
                if last:
                    talk.close()
                    guard.close()
                    raise
    return GuardedChild(talk, guard)


def start() -> None:
    """Have the zygote ready before it is needed."""
    with _lock:
        _started()


def stop() -> None:
    """End the zygote and all children."""
    atexit.unregister(stop)
    with _lock:
        _stop()


def _started() -> socket.socket:
    global _running
    if _running is not None and _running[0].poll() is not None:
        _stop()
    if _running is None:
        control, its_control = socket.socketpair()
        line, life = os.pipe()
        with its_control:
            command = [sys.executable, "-m", "csparql_spark.asking.guarded.zygote"]
            process = subprocess.Popen(
                [*command, "--control", str(its_control.fileno()), "--lifeline", str(line)],
                pass_fds=(its_control.fileno(), line),
                stdin=subprocess.DEVNULL,
                process_group=0,
                env={**os.environ, **ENVIRONMENT},
            )
        os.close(line)
        _running = process, control, life
        atexit.register(stop)
        # Its children's time is not to be spent on its start.
        control.settimeout(LONGEST_START)
        if control.recv(1) != wire.READY:
            _stop()
            raise OSError("the process that is to fork others has ended while it started")
        control.settimeout(None)
    return _running[1]


def _stop() -> None:
    global _running
    if _running is None:
        return
    process, control, life = _running
    _running = None
    control.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # its children are of its group
    process.wait()
    os.close(life)
