"""Supervision: a server is two processes, and either may die and come back alone.

    supervisor ──┬── web      (HTTP, the log)        holds the listening socket with the supervisor, so that clients
                 └── engine   (Spark, the answers)   wait while one of them comes back, and are not refused

A child that ends is started again, after a pause that grows while it keeps giving up. One that hangs is killed first,
with all that it has started: `watch` says what that means, and who only works is left alone. When the supervisor itself
ends, however it ends, the children's lifelines are cut and they end too.

    Supervisor([Child("web", […]), Child("engine", […])]).run()
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from csparql_spark.cli.watch import Watch

SOON_SECONDS = 30.0  # a child that lived shorter than this did not start well
LONGEST_PAUSE = 10.0
GRACE_SECONDS = 5.0
LOOK_SECONDS = 0.1
LOG_BYTES = 1 << 20


@dataclass
class Child:
    name: str
    command: list[str]
    descriptors: tuple[int, ...] = ()
    log: Path | None = None  # where what it prints goes; None: where what we print goes
    environment: dict[str, str] = field(default_factory=dict, repr=False)  # besides ours; secrets may be there
    watch: Watch | None = None  # None: nobody asks whether it hangs
    ready: Callable[[int], bool] | None = None  # asked with the number of its process, until it is
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = 0.0
    resume: float = 0.0
    is_ready: bool = False


def _say_on_stderr(line: str) -> None:
    print(f"{line}\n", end="", file=sys.stderr, flush=True)  # in one write: the children print there too


class Supervisor:
    def __init__(self, children: list[Child], say: Callable[[str], None] = _say_on_stderr) -> None:
        self._children = children
        self._stopping = False
        self._say = say

    def run(self) -> None:
        """Keep the children running until SIGTERM or SIGINT."""
        reading, writing = os.pipe()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        try:
            for child in self._children:
                self._start(child, reading)
            while not self._stopping:
                self._look(reading)
                time.sleep(LOOK_SECONDS)
        finally:
            self._end()
            os.close(writing)

    def _stop(self, number: int, frame: object) -> None:
        # Nothing that locks: signals come in pairs (from make and from the terminal), the second in the middle of the
        # first.
        self._stopping = True

    def _start(self, child: Child, lifeline: int) -> None:
        child.started, child.is_ready = time.monotonic(), False
        if child.watch is not None:
            try:
                child.watch.begin(child.started)
            except OSError as error:  # a full disk is no reason not to start
                self._say(f"csparql-spark: whether the {child.name} process hangs cannot be told ({error})")
        with contextlib.ExitStack() as opened:
            log = opened.enter_context(_log(child.log)) if child.log else None
            child.process = subprocess.Popen(
                [*child.command, "--lifeline", str(lifeline)],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **child.environment},
                pass_fds=(lifeline, *child.descriptors),
            )

    def _look(self, lifeline: int) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.process is None:
                if now >= child.resume:
                    self._start(child, lifeline)
            elif child.process.poll() is not None:
                self._bury(child.process)
                # One that was killed did nothing wrong; one that keeps giving up by itself should not keep the machine
                # busy.
                gave_up = child.process.returncode > 0 and now - child.started < SOON_SECONDS
                child.pause = min(max(2 * child.pause, 0.5), LONGEST_PAUSE) if gave_up else 0.0
                child.resume = now + child.pause
                self._say(
                    f"csparql-spark: the {child.name} process has ended ({_how(child.process.returncode)}); "
                    f"it is started again{f' in {child.pause:.1f} s' if child.pause else ''}"
                    f"{f' (its last words are in {child.log})' if child.log else ''}"
                )
                child.process = None
            elif child.watch is not None and (silent := child.watch.look(child.process.pid, now)) is not None:
                child.watch.end()  # it is not asked again until it has been started again
                self._say(f"csparql-spark: the {child.name} process hangs: {silent}; it is killed")
                os.killpg(child.process.pid, signal.SIGKILL)
            elif child.ready is not None and not child.is_ready:
                child.is_ready = child.ready(child.process.pid)

    def _end(self) -> None:
        running = [(child, child.process) for child in self._children if child.process is not None]
        for _, process in running:
            process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for child, process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._say(f"csparql-spark: the {child.name} process did not end in time and is killed")
            self._bury(process)

    @staticmethod
    def _bury(process: subprocess.Popen[bytes]) -> None:
        """End what a child has left behind (the engine's JVM): it must be gone before the next one starts."""
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            process.wait()
            time.sleep(0.01)  # until the last of the group is gone, and not only told to go


def _log(path: Path) -> BinaryIO:
    """The log of a child, continued while it is small. Its directory may have been deleted."""
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    small = path.exists() and path.stat().st_size < LOG_BYTES
    return path.open("ab" if small else "wb")


def _how(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
