"""Children, from outside: one zygote for this process, started when it is first needed, and again should it be gone, or
hang.

    child = fork()                # raises Unavailable, if there is no zygote, and none can be started
    child.ask([b"…"], 5.0)        # the reply; None if it has died: then `child.death` says how. Raises NotBegun
    child.end()

Nobody can tell whether a process that says nothing will ever go on. So for all that is soon done where nothing hangs
there is a bound: a zygote is to be there within `LONGEST_START`, a child, and the beginning of its work, within
`BEGIN_SECONDS`. A child that has not begun is given up, and whose it is of is no matter of what was asked. A zygote
whose child does not even come hangs: it is killed with all of them (`replace`).

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
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from csparql_spark.answers.confinement import ENVIRONMENT
from csparql_spark.asking.guarded import wire
from csparql_spark.asking.guarded.presence import Presence

LONGEST_START = 30.0  # seconds for a zygote to be there; it takes less than one of the processor
BEGIN_SECONDS = 5.0  # for a child to begin what it is asked, from when it takes nothing more
LAST_WORDS = 5.0  # seconds for the zygote to tell how a child has ended
_LOOK_SECONDS = 1.0  # between two looks at a child that says nothing


class RunningZygote(NamedTuple):
    """One that runs: its process, its control socket, and the writing end of its lifeline."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    life: int


_lock = threading.Lock()
_running: RunningZygote | None = None
_failure: tuple[float, str] | None = None  # why none could be started last, and when that was


class NotBegun(Exception):
    """A child has not begun what it was asked, and may be stopped: that is nobody's fault who asked."""


class GuardedChild:
    """A child that works for us."""

    def __init__(self, talk: socket.socket, guard: socket.socket, presence: Presence, zygote: RunningZygote) -> None:
        self._talk, self._guard, self._presence = talk, guard, presence
        self.zygote = zygote
        self._asked = 0
        self.lasts = False  # it has done what it was asked last, and is as it was before
        self.death: int | None = None  # its status, as wait tells it; None if nobody knows
        wire.be_patient(talk, _LOOK_SECONDS)
        guard.settimeout(LAST_WORDS)

    @property
    def there(self) -> bool:
        """Whether it has ever come."""
        return self._presence.there

    @property
    def has_begun(self) -> bool:
        """What it was asked last."""
        return self._presence.begun >= self._asked

    def ask(self, parts: Sequence[wire.MessagePart], seconds: float) -> list[bytearray] | None:
        """The reply to a message; None if the child has died: of it, if it has begun. Raises `NotBegun`, and
        `TimeoutError` if it has begun and is not done in time."""
        self._asked += 1
        begun = time.monotonic()
        silent = 0.0

        def waited() -> None:
            nonlocal silent
            silent += _LOOK_SECONDS
            if not self.has_begun:
                if silent >= BEGIN_SECONDS:
                    raise NotBegun
            elif time.monotonic() - begun >= seconds:
                raise TimeoutError

        try:
            wire.send(self._talk, parts, waited)
        except OSError:
            self._hear()
            return None
        reply = wire.receive(self._talk, waited)
        if reply is None:
            self._hear()
        return reply

    def _hear(self) -> None:
        """How it has ended."""
        with contextlib.suppress(OSError):
            told = self._guard.recv(wire.STATUS.size)
            self.death = wire.STATUS.unpack(told)[0] if len(told) == wire.STATUS.size else None

    def end(self) -> None:
        """It is killed, if it is not dead yet."""
        self._guard.close()
        self._talk.close()
        self._presence.close()


class Unavailable(Exception):
    """There is no zygote, and it was tried twice to start one."""


def fork() -> GuardedChild:
    """A child that waits for work. Raises `Unavailable`."""
    with contextlib.ExitStack() as unless_done, contextlib.ExitStack() as handed_down:

        def pair() -> tuple[socket.socket, socket.socket]:
            ours, its = socket.socketpair()
            unless_done.callback(ours.close)
            handed_down.callback(its.close)
            return ours, its

        try:
            (talk, its_talk), (guard, its_guard) = pair(), pair()
            presence, its_page = Presence.made()
            unless_done.callback(presence.close)
            handed_down.callback(os.close, its_page)
        except OSError as error:
            raise _unavailable(error) from error
        its_ends = [its_talk.fileno(), its_guard.fileno(), its_page]
        zygote = _with_zygote(lambda control: socket.send_fds(control, [b"f"], its_ends))
        unless_done.pop_all()
        return GuardedChild(talk, guard, presence, zygote)


def start() -> None:
    """Have the zygote ready before it is needed. Raises `Unavailable`."""
    _with_zygote(lambda control: None)


def replace(zygote: RunningZygote) -> None:
    """One that hangs is killed, with all its children, unless that was done before: the next child is another's."""
    with _lock:
        if _running is zygote:
            _stop()


def _with_zygote(do: Callable[[socket.socket], object]) -> RunningZygote:
    """Do something with the control socket of a zygote; once more, should that one be gone, or end while it starts.
    Who waits meanwhile is told what whoever tries it is told."""
    global _failure
    came = time.monotonic()
    with _lock:
        if _failure is not None and _failure[0] >= came:
            raise Unavailable(_failure[1])
        for last in (False, True):
            try:
                zygote = _started()
                do(zygote.control)
                return zygote
            except OSError as error:
                _stop()
                if last:
                    failure = _unavailable(error)
                    _failure = time.monotonic(), str(failure)
                    raise failure from error
    raise AssertionError("the last try returns, or raises")


def _unavailable(error: OSError) -> Unavailable:
    reason = error.strerror or str(error)
    return Unavailable(f"no process can be started that would work on it ({reason}): ask again in a moment")


def stop() -> None:
    """End the zygote and all children."""
    atexit.unregister(stop)
    with _lock:
        _stop()


def _started() -> RunningZygote:
    """The zygote, started if there is none. Raises `OSError`; then it is to be stopped."""
    global _running
    if _running is not None and _running.process.poll() is not None:
        _stop()
    if _running is None:
        with contextlib.ExitStack() as unless_done, contextlib.ExitStack() as handed_down:
            control, its_control = socket.socketpair()
            unless_done.callback(control.close)
            handed_down.callback(its_control.close)
            line, life = os.pipe()
            unless_done.callback(os.close, life)
            handed_down.callback(os.close, line)
            command = [sys.executable, "-m", "csparql_spark.asking.guarded.zygote"]
            process = subprocess.Popen(
                [*command, "--control", str(its_control.fileno()), "--lifeline", str(line)],
                pass_fds=(its_control.fileno(), line),
                stdin=subprocess.DEVNULL,
                process_group=0,
                env={**os.environ, **ENVIRONMENT},
            )
            unless_done.pop_all()
        _running = RunningZygote(process, control, life)
        atexit.register(stop)
        # Its children's time is not to be spent on its start.
        control.settimeout(LONGEST_START)
        try:
            ready = control.recv(1)
        except TimeoutError:
            raise OSError(f"it is not ready after {LONGEST_START:g} s") from None
        if ready != wire.READY:
            raise OSError("it has ended while it started")
        control.settimeout(BEGIN_SECONDS)  # what it is asked it takes, unless it hangs
    return _running


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
