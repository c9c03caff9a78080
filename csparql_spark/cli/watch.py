"""A watch over a child: whether it lives, or hangs.

A child is asked for signs of life (`pulse` says which there are, and where they come from). It hangs when one of them
has not come for `seconds`, and nothing else tells that it works. What tells so:

    it has just begun      until a sign has come for the first time, it has ten times as long: Spark starts
    it works               only for a child of which that is enough (`labours`). The processes of its session have had a
                           twentieth of a processor, or one waits for the disk: collecting garbage, catching up over a
                           million entries, a slow query. The engine is such a one: what a query may take has limits
                           of its own. The web process is not: one that serves nobody hangs, however busy it is

Time is what the supervisor has seen of it: a look counts for a second at most, so that after a sleep of the machine, or
of the supervisor, everybody has as long as before. Signs that came meanwhile are heard before anybody is judged.

    watch = Watch(directory.bell("life-engine"), {DRIVER: "the loop of its driver"}, 30.0, labours=True)
    watch.begin(now)                     # before the child is started
    watch.look(process.pid, now)         # None, or "the loop of its driver has given no sign of life for 30 s"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from csparql_spark.pulse import Signs

STARTING = 10  # times as long, until the first sign
SHARE = 0.05  # of a processor: who has had as much works; a JVM that has nothing to do takes less
JUDGED = 2 / 3  # of the time: over so much of it, its end, work is looked for
LONGEST_LOOK = 1.0  # seconds


@dataclass(frozen=True)
class Work:
    """What the processes of a session have done so far."""

    seconds: dict[int, float] = field(default_factory=dict)  # of the processor, by process, with its ended children
    disk: bool = False  # whether one of them waits for it, and cannot be ended anyway

    def since(self, before: Work) -> float:
        """Seconds of the processor; who has ended meanwhile has done nothing."""
        return sum(max(0.0, now - before.seconds.get(pid, 0.0)) for pid, now in self.seconds.items())


def work_of(session: int) -> Work | None:
    """Of a session, which its first process has given its number; None where there is no telling."""
    seconds, disk = {}, False
    for entry in filter(str.isdigit, os.listdir("/proc")) if os.path.exists("/proc/self/stat") else ():
        try:
            state, _, _, belongs, *rest = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended while we looked
        if int(belongs) == session:
            seconds[int(entry)] = sum(map(int, rest[7:11])) / os.sysconf("SC_CLK_TCK")
            disk |= state == "D"
    return Work(seconds, disk) if seconds else None


@dataclass
class _Silence:
    since: float
    patience: float
    before: Work | None = None  # what was done when it had lasted for a while,
    looked: float | None = None  # and when that was


class Watch:
    def __init__(
        self,
        path: Path,
        signs: Mapping[str, str],
        seconds: float,
        *,
        labours: bool = False,
        work_of: Callable[[int], Work | None] = work_of,
    ) -> None:
        """`signs` that are asked for, and what gives them, for people."""
        self._seconds = seconds
        self._path, self._names, self._labours, self._work_of = path, signs, labours, work_of
        self._signs: Signs | None = None
        self._silences: dict[str, _Silence] = {}
        self._clock = self._looked = 0.0

    def begin(self, now: float) -> None:
        """The child is about to be started. Raises `OSError`: nobody can be heard then, and nobody is judged."""
        self.end()
        self._looked = now
        self._signs = Signs(self._path)
        self._silences = {sign: _Silence(self._clock, STARTING * self._seconds) for sign in self._names}

    def end(self) -> None:
        if self._signs is not None:
            self._signs.close()
        self._signs, self._silences = None, {}

    def look(self, process: int, now: float) -> str | None:
        """What has been silent for too long, if there is something."""
        self._clock += min(now - self._looked, LONGEST_LOOK)
        self._looked = now
        for sign in self._signs.heard() if self._signs is not None else ():
            if sign in self._silences:
                self._silences[sign] = _Silence(self._clock, self._seconds)
        for sign, silence in self._silences.items():
            if self._is_hung(silence, process):
                return f"{self._names[sign]} has given no sign of life for {silence.patience:g} s"
        return None

    def _is_hung(self, silence: _Silence, process: int) -> bool:
        left = silence.since + silence.patience - self._clock
        if self._labours and silence.looked is None and left <= JUDGED * self._seconds:
            silence.before, silence.looked = self._work_of(process), self._clock
        if left > 0:
            return False
        if not self._labours or silence.looked is None:
            return True
        work = self._work_of(process)
        if work is None or silence.before is None:  # there is no telling
            worked = True
        else:
            worked = work.disk or work.since(silence.before) >= SHARE * (self._clock - silence.looked)
        if worked:  # then it has all of the time again
            silence.since = self._clock - silence.patience + self._seconds
            silence.before, silence.looked = work, self._clock
        return not worked
