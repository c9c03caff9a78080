"""Notes: whom a worker evaluates, where the next one finds it should this one die of it.

    CHECKPOINT/notes/now             member and instant, in 16 bytes that are mapped into memory: a note is a store, no
                                     system call, and what was stored is there whoever is killed, but for the machine
    CHECKPOINT/notes/ended           what a worker ended of, if that was a limit: it says so itself, or the handlers of
                                     signals do that write where nothing else can; empty, if somebody has killed it
    CHECKPOINT/notes/ledger.json     what was found out: when workers have died, who is suspected of it, who has failed

A job has one partition, so one group is at work at a time, and one place for what is evaluated *now* is enough. It is
a member's id, which no other has in a log, 0 if nobody is evaluated. Notes lie in the checkpoint: where that is set
aside, so are they, since ids may mean something else in the log that is read then.

    notes = Notes(Path("data/engine/checkpoint-1/notes"))
    notes.read()                     # before a batch: a note that is still there makes a suspect
    notes.begin(17, 5_000)
    ...
    notes.end()
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import mmap
import os
import signal
import struct
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

READING = -(1 << 62)  # stands for the instant where a member's text is read
LONG_AGO = 600.0  # seconds; deaths before that say nothing about this batch

MEMORY, PROCESSOR = "memory", "processor"  # the limits that a worker ends of

_NOW = struct.Struct("<qq")
_ABORTED = b"Fatal Python error"  # so begins what is written where Rust gets no memory


class OwnEnds(NamedTuple):
    """How often workers have ended of a limit where a member was evaluated at this instant, and of which at last."""

    instant: int
    times: int
    limit: str


@dataclass
class Ledger:
    deaths: list[float] = field(default_factory=list)  # when workers have died of an evaluation
    suspects: dict[str, int] = field(default_factory=dict)  # members, and the instant from which they are
    verdicts: dict[str, tuple[int, str]] = field(default_factory=dict)  # who failed apart, at which instant, and why
    ends: dict[str, OwnEnds] = field(default_factory=dict)  # of members; who is killed from outside is not among them
    hurried: list[float] = field(default_factory=list)  # when workers have ended of the limit of the processor


class Notes:
    def __init__(self, path: Path) -> None:
        path.mkdir(0o700, parents=True, exist_ok=True)
        self._path = path / "ledger.json"
        descriptor = os.open(path / "now", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size < mmap.PAGESIZE:
                # With blocks of its own, so that a full disk cannot turn a store into a signal.
                os.posix_fallocate(descriptor, 0, mmap.PAGESIZE)
            self._now = mmap.mmap(descriptor, mmap.PAGESIZE)
        finally:
            os.close(descriptor)
        self._ended = os.open(path / "ended", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._seen: tuple[int, int] | None = None  # which ledger was read
        self._ledger = Ledger()

    def begin(self, member: int, instant: int) -> None:
        _NOW.pack_into(self._now, 0, member, instant)

    def end(self) -> None:
        _NOW.pack_into(self._now, 0, 0, 0)

    def witness(self) -> None:
        """Note from now on what this process ends of, where nobody else could."""
        faulthandler.enable(self._ended, all_threads=False)
        faulthandler.register(signal.SIGPROF, self._ended, all_threads=False, chain=True)

    def ends_of_memory(self) -> None:
        """This process is about to end, since it gets no memory."""
        with contextlib.suppress(OSError):
            os.write(self._ended, MEMORY.encode())

    def read(self) -> bool:
        """See what others have found out, and whether one of them has died meanwhile."""
        try:
            found = self._path.stat()
            if self._seen != (found.st_ino, found.st_mtime_ns):
                self._ledger = _ledger(self._path.read_bytes())
                self._seen = found.st_ino, found.st_mtime_ns
        except FileNotFoundError:
            if self._seen is not None:  # somebody has deleted it
                self._ledger, self._seen = Ledger(), None
        except (ValueError, TypeError):  # it is damaged: who is to blame will be noted again
            self._ledger = Ledger()
        member, instant = _NOW.unpack_from(self._now)
        limit = self._own_end()
        if member:
            self._ledger.suspects[str(member)] = instant
            if limit is not None:
                before = self._ledger.ends.get(str(member))
                times = before.times + 1 if before is not None and before.instant == instant else 1
                self._ledger.ends[str(member)] = OwnEnds(instant, times, limit)
            self._ledger.deaths = [*_recent(self._ledger.deaths), time.time()]
            if limit == PROCESSOR:
                self._ledger.hurried = [*_recent(self._ledger.hurried), time.time()]
            self._write()  # before the note is gone
            self.end()
        return bool(member)

    def _own_end(self) -> str | None:
        """The limit that a worker has ended of, if one has; it is told once."""
        told = os.pread(self._ended, len(_ABORTED), 0)
        if not told:
            return None
        os.ftruncate(self._ended, 0)
        return MEMORY if told in (_ABORTED, MEMORY.encode()) else PROCESSOR

    def guilty(self) -> list[tuple[int, OwnEnds]]:
        """The members that workers have ended of by themselves. Time that was spent on one is spent on no other. Memory
        may have been somebody else's: only who ends a worker twice at an instant, and has come through apart between
        the two, is guilty by that."""
        return [
            (int(member), ends)
            for member, ends in self._ledger.ends.items()
            if ends.times > 1 or ends.limit == PROCESSOR
        ]

    def suspected(self, member: int) -> bool:
        return bool(self._ledger.suspects) and str(member) in self._ledger.suspects

    def verdict(self, member: int, instant: int) -> str | None:
        """Why a member has failed at this instant, or before."""
        if not self._ledger.verdicts:
            return None
        since, reason = self._ledger.verdicts.get(str(member), (instant, None))
        return reason if instant >= since else None

    @property
    def deaths(self) -> int:
        """How many workers have died of late."""
        return len(_recent(self._ledger.deaths)) if self._ledger.deaths else 0

    def hurried(self, seconds: float = LONG_AGO) -> int:
        """How many have ended of the limit of the processor, in so many seconds."""
        return len(_recent(self._ledger.hurried, seconds)) if self._ledger.hurried else 0

    @property
    def has_verdicts(self) -> bool:
        return bool(self._ledger.verdicts)

    def condemn(self, member: int, instant: int, reason: str) -> None:
        """It has failed, and fails again should the batch be tried again."""
        self._ledger.suspects.pop(str(member), None)
        self._ledger.ends.pop(str(member), None)
        self._ledger.verdicts[str(member)] = instant, reason
        self._write()

    def acquit(self, member: int, instant: int) -> None:
        """It has answered at an instant: if that is the one, it was somebody else."""
        if self._ledger.suspects and self._ledger.suspects.get(str(member), instant + 1) <= instant:
            del self._ledger.suspects[str(member)]
            self._ledger.ends.pop(str(member), None)
            self._write()

    def forget(self, members: Collection[int]) -> None:
        """These are gone, or have failed for good."""
        gone = {str(member) for member in members} & (self._ledger.suspects.keys() | self._ledger.verdicts.keys())
        for member in gone:
            self._ledger.suspects.pop(member, None)
            self._ledger.ends.pop(member, None)
            self._ledger.verdicts.pop(member, None)
        if gone:
            self._write()

    def _write(self) -> None:
        """On a full disk this process alone knows it: another one may die of the same. That is no reason for whoever is
        evaluated to fail."""
        with contextlib.suppress(OSError):
            new = self._path.with_suffix(".new")
            new.write_text(json.dumps(asdict(self._ledger)))
            new.replace(self._path)
            found = self._path.stat()
            self._seen = found.st_ino, found.st_mtime_ns


def _recent(times: list[float], seconds: float = LONG_AGO) -> list[float]:
    now = time.time()
    return [one for one in times if now - seconds < one <= now]


def _ledger(text: bytes) -> Ledger:
    ledger = Ledger(**json.loads(text))
    ledger.ends = {member: OwnEnds(*ends) for member, ends in ledger.ends.items()}
    return ledger
