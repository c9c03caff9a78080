"""A guard: what the kernel holds each evaluation in a worker to, and what becomes of the one that a worker dies of.

    evaluation ──▶ note, limits ──▶ done ──▶ note gone
                        └─▶ too much: the worker ends, the note stays
    the next try ──▶ finds the note: the suspect is evaluated in a forked child first
                        ├─▶ the child ends as the worker did: the query fails, by name, and the others go on
                        └─▶ it does not: somebody else has killed the worker, and nothing has happened

Whose time was over has failed by that: time that is spent on one is spent on no other. Memory may be another's: who has
come through apart, and ends the worker at that instant once more, has failed, too: the child has less room than the
worker, but no two processes are quite alike, and the batch must not be tried for ever. That counts only where a limit
has ended the worker, as the notes tell; who is killed from outside, however often, is innocent.

A query's own checks come first (see `answers.limits`); this is for what none of them sees: one solution whose text is
doubled thirty times, an evaluation of Oxigraph's that cannot be interrupted. Nothing is left half-made: who gets no
memory ends the process, and the batch is tried again. What the kernel is told says `kernel_limits`; evaluations share
it that take next to nothing, but for the limit of memory where an evaluation has ended a worker of late. What is
*held*, `Views.state_bytes` counts for each query; where all of that is too much for the worker, `crowding` says who
fails.

After the second death of late, or the first of somebody's time, whatever is due is *rehearsed* in a child (see
`trials`), until this process has done a whole batch with the query: however many poisons there are in a batch, it kills
two workers, or one. (That a query has answered once says little: the batch is tried again from its beginning, where
windows may have been empty.) Those that have answered in an earlier batch are rehearsed first, so that they pay for no
newcomer.

Of whom the log says how it fails, what it told before was within its limits: it has none here, and is neither tried
apart nor rehearsed.

    guard = KernelGuard(Notes(path), limits)
    guard.renew()                                               # a batch begins, of one group after the other
    guard.open(members)                                         # before a group's rows
    guard.evaluated(17, 5_000, 0.0, lambda: views.say(…))       # raises `TooMuch`
    guard.crowded("1f0c…", held)                                # a `TooMuch` for who holds most of this group, or None
    guard.close(members)
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csparql_spark.answers import confinement
from csparql_spark.answers.excess import OF_ANSWERS
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.engine.crowding import Crowding
from csparql_spark.engine.kernel_limits import KernelLimits, comes_of_memory
from csparql_spark.engine.member import Member
from csparql_spark.engine.notes import MEMORY, READING, Notes
from csparql_spark.engine.trials import DueEvaluation, Found, Trials, Verdict

WARY = 2  # deaths after which nobody is trusted; one, if somebody's time was over
RESTART = 10.0  # seconds, in which a batch is tried again whose worker has ended


@dataclass(frozen=True)
class GuardTerms:
    """What a worker is sent to make its guard of: where the notes are, and how many bytes it may have; 0: half of what
    there is. With a data directory large backgrounds are closed beside the groups (see `closings`)."""

    notes: Path
    most: int = 0
    beside: str | None = None


class EvaluationGuard:
    """A guard that lets everything pass, where nobody would start a process that has ended."""

    @property
    def is_full(self) -> bool:
        """Whether there may be too much in the process; who is asked about it is `crowded`."""
        return False

    def renew(self) -> None:
        """A batch begins: what is spent on those that need too much is counted from here."""

    def open(self, members: Mapping[int, Member]) -> None: ...

    def close(self, members: Mapping[int, Member]) -> None: ...

    def rehearse(self, due: Callable[[], Sequence[DueEvaluation[Any]]]) -> Iterator[Verdict]:
        """Find out beforehand who of those that are due would end this process, if there is reason to, and say so as
        soon as it is known."""
        return iter(())

    def evaluated(self, member: int, instant: int, seconds: float, work: Callable[[], Found]) -> Found:
        """What `work` finds, which is done for a member; so many seconds of the processor are added to those that an
        answer may take, and with infinitely many it may have what it takes. `instant` is `READING` where its text is
        read."""
        return work()

    def rest(self) -> None:
        """Nobody is evaluated for a while: whoever works now is the engine."""

    def crowded(self, group: str, held: Callable[[], int]) -> TooMuch | None:
        """Whether there is too much in the process, and most of it is held for a query of this group, of which so much
        is held: then, why that fails."""
        return None


class KernelGuard(EvaluationGuard):
    """There is one in a process."""

    def __init__(self, notes: Notes, limits: Limits, most: int = 0) -> None:
        self._notes, self._limits = notes, limits
        self._kernel = KernelLimits(limits)
        self._trials = Trials(notes, limits, seconds=self._kernel.seconds, room=self._kernel.room)
        self._crowding = Crowding(self._kernel, most or confinement.machine() // 2)
        self._trusted: set[int] = set()  # members that have come through a batch in this process
        self._met: set[int] = set()  # in this batch
        self._answered: set[int] = set()  # in an earlier batch, of the group that is open
        notes.witness()

    def renew(self) -> None:
        # A worker that was just ended was in this batch.
        self._trials.renew(self._notes.hurried(self._trials.most + RESTART))

    def open(self, members: Mapping[int, Member]) -> None:
        if self._notes.read():
            self.renew()
        for id, ends in self._notes.guilty():
            too_much = (
                OF_ANSWERS.of_memory(self._limits.bytes)
                if ends.limit == MEMORY
                else OF_ANSWERS.of_processor(self._limits.seconds)
            )
            self._notes.condemn(id, ends.instant, str(too_much))
        self._met = set(members)
        self._answered = {id for id, member in members.items() if member.answered is not None}
        self._notes.forget([id for id, member in members.items() if member.failed is not None])

    def close(self, members: Mapping[int, Member]) -> None:
        self._trusted |= members.keys()
        gone = self._met - members.keys()
        if gone:
            self._trusted -= gone
            self._notes.forget(gone)

    def evaluated(self, member: int, instant: int, seconds: float, work: Callable[[], Found]) -> Found:
        if (reason := self._notes.verdict(member, instant)) is not None:
            raise TooMuch(reason)
        self._met.add(member)
        seconds += self._kernel.seconds
        if seconds < math.inf and self._doubtful(member) and (member, instant) not in self._trials.passed:
            self.rest()  # the child has timers of its own
            self._trials.attempt(DueEvaluation(member, instant, seconds, work))
        self._notes.begin(member, instant)
        if seconds < math.inf:
            self._kernel.confine(seconds, alone=self._notes.deaths > 0)
        else:
            self.rest()
        try:
            found = work()
        except MemoryError as error:
            self._die(member, error)
        except Exception as error:
            if comes_of_memory(error):
                self._die(member, error)
            self._settle(member, instant)
            raise
        except BaseException as error:  # Rust's, which are no `Exception`: what they leave is half-made
            self._die(member, error)
        self._settle(member, instant)
        return found

    @property
    def is_full(self) -> bool:
        return self._crowding.is_full

    def crowded(self, group: str, held: Callable[[], int]) -> TooMuch | None:
        return self._crowding.excess(group, held)

    def rest(self) -> None:
        self._kernel.lift()

    def _settle(self, member: int, instant: int) -> None:
        self._notes.end()
        self._notes.acquit(member, instant)
        if instant == READING:
            self.rest()

    def _doubtful(self, member: int) -> bool:
        return self._notes.suspected(member) or member not in self._trusted and self._wary

    @property
    def _wary(self) -> bool:
        return self._notes.deaths >= WARY or self._notes.hurried() > 0

    def rehearse(self, due: Callable[[], Sequence[DueEvaluation[Any]]]) -> Iterator[Verdict]:
        self._trials.passed.clear()
        if not self._wary and not self._notes.has_verdicts:
            return
        evaluations = [one for one in due() if one.seconds < math.inf]
        for one in evaluations:
            if (reason := self._notes.verdict(one.member, one.instant)) is not None:
                yield Verdict(one.member, one.instant, reason)
        waiting = [
            one._replace(seconds=one.seconds + self._kernel.seconds)
            for one in evaluations
            if self._wary and self._doubtful(one.member) and self._notes.verdict(one.member, one.instant) is None
        ]
        # Each has its instants in their order, in one child or the other.
        for some in (
            [one for one in waiting if one.member in self._answered],
            [one for one in waiting if one.member not in self._answered],
        ):
            yield from self._trials.rehearsed(some)

    def _die(self, member: int, error: BaseException) -> None:
        """The note stays. Whoever comes next has all memory again, and tries the member apart."""
        self._kernel.lift_memory()
        self._notes.ends_of_memory()
        sentence = f"query {member} needs more than it may have ({type(error).__name__}): it is tried apart\n"
        os.write(2, f"csparql-spark worker: {sentence}".encode())
        os._exit(1)
