"""Closings: where the backgrounds of groups are closed, so that no group waits for another one's.

    group        background, registration ──▶ pending ── rows are held back ──▶ ready ──▶ the same answers
    child                                       └─ closes, within limits ──▶ file ─┘
    others       answers ── answers ── answers ── answers ── answers ── answers ── answers

A large background is closed in a forked child of the worker, which has the graph and its terms without copying them,
and writes what follows into a file, which the worker maps. A small one is closed where it is asked for. Answers do not
tell which it was: what is closed is a function of rules and background, and a group for which it is pending takes no
entry meanwhile that it would answer (see `group`).

How the child ends says why: with a file; with a sentence, where the rules derive too much; by a limit. Who kills it
from outside changes nothing: there is another one, and if all are killed the background is closed where it is asked
for. It holds a lock on what it writes, so that no other worker writes it meanwhile; and it ends with the worker that it
is a child of. There is one at a time. What nobody asks for any more is ended.

    closings = ForkedClosings(Path("data/engine/closed"), limits)
    closings.pending("1f0c…", closing)          # True: it is being closed; ask again
    closings.pending("1f0c…", closing)          # False: it is known by its name, or is to be closed by whoever asks
    closings.release("1f0c…")                   # this group needs none
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import gc
import hashlib
import os
import resource
import signal
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

from csparql_spark.answers import confinement
from csparql_spark.answers.confinement import End
from csparql_spark.answers.excess import OF_BACKGROUNDS, broken
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.engine.kernel_limits import SPARE
from csparql_spark.entailment.evaluate.bounds import TooMuchDerived, bounded, closing_seconds
from csparql_spark.entailment.rules import closed_backgrounds
from csparql_spark.entailment.rules.closed_backgrounds import ClosedBackground

LARGE = 50_000  # triples, from which a background is closed beside: less takes about as long as an answer may
TRIES = 3  # children that are killed from outside
MOST_FILES = closed_backgrounds.MOST_KNOWN
NICE = 5  # the child lets others go first where there are few processors

_WHY = ".why"
_PART = ".part"


@dataclass(frozen=True)
class Closing:
    """A background to be closed: what it is known by, how many triples it has, and how it is done."""

    name: Hashable
    triples: int
    work: Callable[[], ClosedBackground]

    @property
    def file_name(self) -> str:
        return hashlib.sha256(repr(self.name).encode()).hexdigest()[:32]


class Closings:
    """Backgrounds are closed by whoever asks for them."""

    def takes(self, triples: int) -> bool:
        """Whether so many triples are closed elsewhere."""
        return False

    def pending(self, group: str, closing: Closing) -> bool:
        """Whether a group is to wait for a background. It need not wait for one that is known, or that it is to close
        itself."""
        return False

    def release(self, group: str) -> None:
        """A group waits for none."""


@dataclass
class ClosingChild:
    """One that closes a background."""

    pid: int
    closing: Closing
    tries: int


class ForkedClosings(Closings):
    """Large backgrounds are closed by children of this process. There is one in a process."""

    def __init__(self, path: Path, limits: Limits, large: int = LARGE) -> None:
        self._path, self._limits, self._large = path, limits, large
        self._child: ClosingChild | None = None
        self._wanted: dict[str, Hashable] = {}  # by groups
        self._tries: dict[Hashable, int] = {}  # whose child somebody has killed
        path.mkdir(0o700, parents=True, exist_ok=True)

    def takes(self, triples: int) -> bool:
        return triples >= self._large

    def pending(self, group: str, closing: Closing) -> bool:
        if self._is_known(closing):
            self.release(group)
            return False
        self._wanted[group] = closing.name
        self._reap()
        if self._is_known(closing):
            self.release(group)
            return False
        if self._child is None:
            tries = self._tries.pop(closing.name, 0) + 1
            if tries > TRIES or not self._begin(closing, tries):
                self.release(group)
                return False
        return True

    def release(self, group: str) -> None:
        if self._wanted.pop(group, None) is not None:
            self._reap()

    def _is_known(self, closing: Closing) -> bool:
        if closed_backgrounds.known(closing.name) or closed_backgrounds.failure(closing.name):
            return True
        path = self._path / closing.file_name
        with contextlib.suppress(FileNotFoundError):
            closed_backgrounds.fail(closing.name, path.with_suffix(_WHY).read_text())
            path.with_suffix(_WHY).unlink()
            return True
        try:
            closed_backgrounds.keep(closing.name, ClosedBackground.read(path))
        except FileNotFoundError:
            return False
        path.touch()
        return True

    def _reap(self) -> None:
        """See how the child has ended, if it has; end it if nobody waits for it."""
        child = self._child
        if child is None:
            return
        unwanted = child.closing.name not in self._wanted.values()
        if unwanted:
            os.kill(child.pid, signal.SIGKILL)  # it is not reaped yet: there is no other of this number
        pid, status = os.waitpid(child.pid, 0 if unwanted else os.WNOHANG)
        if pid == 0:
            return
        self._child = None
        if not unwanted and not self._is_known(child.closing):
            reason = self._reason(child.closing, status)
            if reason is None:
                self._tries[child.closing.name] = child.tries
            else:
                closed_backgrounds.fail(child.closing.name, reason)

    def _reason(self, closing: Closing, status: int) -> str | None:
        """Why a child has not closed it; None if somebody else has ended it, or the disk is full."""
        if not os.WIFSIGNALED(status):
            return None
        number = os.WTERMSIG(status)
        match confinement.end_of(number):
            case End.PROCESSOR:
                return str(OF_BACKGROUNDS.of_processor(self._seconds(closing)))
            case End.CLOCK:
                return str(OF_BACKGROUNDS.of_clock(self._seconds(closing)))
            case End.MEMORY:
                return str(OF_BACKGROUNDS.of_memory(self._limits.bytes))
            case End.BROKEN:
                return broken(signal.Signals(number).name)
        return None

    def _seconds(self, closing: Closing) -> float:
        return self._limits.seconds + closing_seconds(closing.triples)

    def _begin(self, closing: Closing, tries: int) -> bool:
        """Whether somebody closes it now."""
        path = self._path / closing.file_name
        try:
            part = os.open(path.with_suffix(_PART), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return False
        try:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._tidy()
            worker, pid = os.getpid(), os.fork()
            if pid == 0:
                self._close(closing, path, part, worker)
        except BlockingIOError:
            return True  # a child of another worker does
        except OSError:
            return False
        finally:
            os.close(part)  # the child has it, and the lock with it
        self._child = ClosingChild(pid, closing, tries)
        return True

    def _tidy(self) -> None:
        """Keep the newest files only, and of those that nobody has finished none."""
        files = sorted(self._path.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in [path for path in files if not path.suffix][MOST_FILES - 1 :]:
            path.unlink(missing_ok=True)
        for path in files:
            if path.suffix == _PART:
                with contextlib.suppress(OSError), path.open("rb") as part:
                    fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()

    def _close(self, closing: Closing, path: Path, part: int, worker: int) -> None:
        """The whole life of a child."""
        try:
            confinement.end_with(worker)
            confinement.begin()
            faulthandler.disable()  # what the worker has it write is about the worker
            # Who waits for the end of what the worker has open must not wait for this process.
            os.closerange(3, part)
            os.closerange(part + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            os.nice(NICE)
            gc.disable()  # it would write to all that is shared
            seconds = self._seconds(closing)
            confinement.start_timers(seconds + self._limits.seconds)  # for what the rules do not look at the time in
            confinement.let_grow_by(self._limits.bytes + SPARE)
            try:
                with bounded(seconds, self._limits.bytes):
                    closed = closing.work()
                with os.fdopen(os.dup(part), "wb") as file:
                    file.truncate()
                    closed.write(file)
                written = path.with_suffix(_PART)
            except (TooMuchDerived, TooMuch, MemoryError) as error:
                full = OF_BACKGROUNDS.of_memory(self._limits.bytes)
                reason = str(full if isinstance(error, MemoryError) else error)
                written = path.with_suffix(f"{_WHY}.new")
                written.write_text(reason)
                path = path.with_suffix(_WHY)
            written.replace(path)  # whole, or not at all
        finally:
            os._exit(0)
