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
memory ends the process, and the batch is tried again. Evaluations that take next to nothing share what the kernel is
told: timers for a tenth of a second, the limit of memory for five milliseconds, in which nobody fills much of it. So
it costs a microsecond and a half for each.

Memory is limited to so much more than there is when an evaluation begins. So whoever gets none has itself asked for as
much as a query may have, however much others hold; where an evaluation has ended a worker of late, nobody shares. What
is *held*, `Views.state_bytes` counts for each query: where all of that is too much for the worker, the query fails that
most is held for, and not the one that asked last.

After the second death of late, or the first of somebody's time, whatever is due is *rehearsed* in a child, until this
process has done a whole batch with the query: however many poisons there are in a batch, it kills two workers, or one.
One child goes through all that is due together, and where it ends is who has ended it; that is said at once. (That a
query has answered once says little: the batch is tried again from its beginning, where windows may have been empty.)
Who is ended takes little of all others' time, however many there are (see `trial_budget`): once a batch has spent one
limit and a half on them, the rest have a twentieth each. Those that have answered in an earlier batch are tried first,
so that they pay for no newcomer.

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

import functools
import math
import mmap
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from csparql_spark.answers import confinement, processor
from csparql_spark.answers.excess import OF_ANSWERS, most_is_held
from csparql_spark.answers.forked import Broken, Failed, TooLarge, TooSlow, apart
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.engine.member import Member
from csparql_spark.engine.notes import MEMORY, READING, Notes
from csparql_spark.engine.trial_budget import TrialBudget
from csparql_spark.entailment.evaluate.bounds import TooMuchDerived

SPARE = 64 << 20  # bytes beyond what a query may have: for what is the engine's own meanwhile
MARGIN = SPARE // 2  # bytes that a child has less than the worker: who comes through there comes through here
LATER = 1.1  # the kernel's timer, as a multiple of a query's time: its own checks come first
GRACE = 0.5  # seconds of the processor beyond that
LEAST = 16 << 20  # bytes: for less no query fails because there is too much in all
SHARED = 0.1  # seconds on the clock, in which evaluations have the same timers
SHARED_MEMORY = 0.005  # seconds, in which they have the same limit of memory
LEAST_CLOCK = 60.0  # seconds: between two evaluations answers are written, and a locked database is waited for
PAUSE = 0.5  # seconds between two looks at what could be given back, if it was not too much then
STALE = 10.0  # seconds, after which what a group holds is no reason any more to spare others
TRIALS = 1.5  # limits that those who are ended may take of all others' time in a batch, before they have less each
WARY = 2  # deaths after which nobody is trusted; one, if somebody's time was over

RESTART = 10.0  # seconds, in which a batch is tried again whose worker has ended

_PLACE = struct.Struct("<qd")  # how many a child has gone through, and the seconds of the processor that they took
_STATISTICS = "/proc/self/statm"
_LONGEST = 256  # bytes of these

Found = TypeVar("Found")


@dataclass(frozen=True)
class GuardTerms:
    """What a worker is sent to make its guard of: where the notes are, and how many bytes it may have; 0: half of what
    there is. With a data directory large backgrounds are closed beside the groups (see `closings`)."""

    notes: Path
    most: int = 0
    beside: str | None = None


class DueEvaluation(NamedTuple, Generic[Found]):
    """What is to be done for a member at an instant, and what of the processor it may take beside an answer."""

    member: int
    instant: int
    seconds: float
    work: Callable[[], Found]


class Verdict(NamedTuple):
    """That a member has failed at an instant, and why."""

    member: int
    instant: int
    reason: str


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
        self._size, self._most_of_all = 0, most or confinement.machine() // 2
        self._looked = 0.0  # when there was nobody to fail
        # When each group was last asked, and what was held for the query of it that most is held for.
        self._held: dict[str, tuple[float, int]] = {}
        self._room = limits.bytes + SPARE
        self._trusted: set[int] = set()  # members that have come through a batch in this process
        self._met: set[int] = set()  # in this batch
        self._answered: set[int] = set()  # in an earlier batch, of the group that is open
        self._rehearsed: set[tuple[int, int]] = set()  # members and instants
        self._soft, self._hard = resource.getrlimit(resource.RLIMIT_DATA)
        self._most = sys.maxsize if self._soft == resource.RLIM_INFINITY else self._soft
        self._own_seconds = LATER * limits.seconds + GRACE
        self._budget = TrialBudget(limits, TRIALS * self._own_seconds)
        self._started = self._seconds = 0.0  # when the timers were, and for how long
        self._measured = 0.0  # when the limit of memory was
        self._page = resource.getpagesize()
        # It stays open: to open it costs more than to read it.
        self._sizes = os.open(_STATISTICS, os.O_RDONLY) if os.path.exists(_STATISTICS) else None
        for number in confinement.TIMERS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, confinement.TIMERS)
        notes.witness()

    def renew(self) -> None:
        self._spend()

    def open(self, members: Mapping[int, Member]) -> None:
        if self._notes.read():
            self._spend()
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

    def _spend(self) -> None:
        """Count from here what is spent on those that need too much: a worker that was just ended was in this batch."""
        self._budget.renew([self._own_seconds] * self._notes.hurried(TRIALS * self._own_seconds + RESTART))

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
        seconds += self._own_seconds
        if seconds < math.inf and self._doubtful(member) and (member, instant) not in self._rehearsed:
            self.rest()  # the child has timers of its own
            self._try(DueEvaluation(member, instant, seconds, work))
        self._notes.begin(member, instant)
        self._confine(seconds)
        try:
            found = work()
        except MemoryError as error:
            self._die(member, error)
        except Exception as error:
            if _is_full(error):
                self._die(member, error)
            self._settle(member, instant)
            raise
        except BaseException as error:  # Rust's, which are no `Exception`: what they leave is half-made
            self._die(member, error)
        self._settle(member, instant)
        return found

    @property
    def is_full(self) -> bool:
        return self._size > self._most_of_all

    def crowded(self, group: str, held: Callable[[], int]) -> TooMuch | None:
        if not self.is_full or (now := time.monotonic()) - self._looked < PAUSE:
            return None
        confinement.give_back()
        self._size = self._resident()
        if not self.is_full:
            self._looked = now
            return None
        most = held()
        self._held = {name: one for name, one in self._held.items() if now - one[0] < STALE and name != group}
        if most > LEAST and all(most >= other for _, other in self._held.values()):
            return most_is_held(self._size, self._most_of_all, most)
        self._looked = now
        self._held[group] = now, most  # another group's is larger, and fails when that is asked
        return None

    def _resident(self) -> int:
        """Bytes of the process that it has no file for."""
        if self._sizes is None:
            return 0
        resident, shared = os.pread(self._sizes, _LONGEST, 0).split()[1:3]
        return (int(resident) - int(shared)) * self._page

    def rest(self) -> None:
        if self._started:
            self._started = self._measured = 0.0
            confinement.stop_timers()
            if self._sizes is not None:
                resource.setrlimit(resource.RLIMIT_DATA, (self._soft, self._hard))

    def _settle(self, member: int, instant: int) -> None:
        self._notes.end()
        self._notes.acquit(member, instant)
        if instant == READING:
            self.rest()

    def _confine(self, seconds: float) -> None:
        if seconds == math.inf:
            self.rest()
            return
        now = time.monotonic()
        if self._sizes is not None and (now - self._measured > SHARED_MEMORY or self._notes.deaths):
            self._measured = now
            _, resident, shared, _, _, data, *_ = os.pread(self._sizes, _LONGEST, 0).split()
            self._size = (int(resident) - int(shared)) * self._page
            size = int(data) * self._page
            resource.setrlimit(resource.RLIMIT_DATA, (min(size + self._room, self._most), self._hard))
            confinement.limited = True
        if now - self._started > SHARED or seconds != self._seconds:
            self._started, self._seconds = now, seconds
            confinement.start_timers(seconds + 2 * SHARED, LEAST_CLOCK)

    def _doubtful(self, member: int) -> bool:
        return self._notes.suspected(member) or member not in self._trusted and self._wary

    @property
    def _wary(self) -> bool:
        return self._notes.deaths >= WARY or self._notes.hurried() > 0

    def rehearse(self, due: Callable[[], Sequence[DueEvaluation[Any]]]) -> Iterator[Verdict]:
        self._rehearsed.clear()
        if not self._wary and not self._notes.has_verdicts:
            return
        evaluations = [one for one in due() if one.seconds < math.inf]
        for one in evaluations:
            if (reason := self._notes.verdict(one.member, one.instant)) is not None:
                yield Verdict(one.member, one.instant, reason)
        waiting = [
            one._replace(seconds=one.seconds + self._own_seconds)
            for one in evaluations
            if self._wary and self._doubtful(one.member) and self._notes.verdict(one.member, one.instant) is None
        ]
        # Each has its instants in their order, in one child or the other.
        for some in (
            [one for one in waiting if one.member in self._answered],
            [one for one in waiting if one.member not in self._answered],
        ):
            yield from self._rehearse(some)

    def _rehearse(self, waiting: list[DueEvaluation[Any]]) -> Iterator[Verdict]:
        """Go through these in children, one for all of them and for each that ends one."""
        with mmap.mmap(-1, mmap.PAGESIZE) as place:  # the child tells where it is
            while waiting:
                _PLACE.pack_into(place, 0, 0, 0.0)
                shares = [one._replace(seconds=self._budget.share(one.seconds)) for one in waiting]
                begun = processor.now().processor
                error = self._error(
                    sum(one.seconds for one in shares),
                    functools.partial(_gone_through, shares, place, self._room - MARGIN),
                )
                reached, before = _PLACE.unpack_from(place)
                self._rehearsed.update((one.member, one.instant) for one in waiting[:reached])
                if error is None:
                    break
                guilty = shares[min(reached, len(shares) - 1)]
                reason = self._condemn(guilty, error, processor.now().processor - begun - before)
                yield Verdict(guilty.member, guilty.instant, reason)
                waiting = [one for one in waiting[reached + 1 :] if one.member != guilty.member]

    def _try(self, one: DueEvaluation[Any]) -> None:
        """Do it in a child, which may die of it."""
        one = one._replace(seconds=self._budget.share(one.seconds))
        begun = processor.now().processor
        error = self._error(one.seconds, lambda: _sentence(one.work))
        if error is not None:
            raise TooMuch(self._condemn(one, error, processor.now().processor - begun))

    def _condemn(self, one: DueEvaluation[Any], error: Exception, took: float) -> str:
        """It has failed in a child, where it had so many seconds and took so many. Why, for people."""
        match error:
            case TooSlow():
                reason = str(self._budget.too_long(one.seconds, on_the_clock=error.on_the_clock))
            case TooLarge():
                reason = str(OF_ANSWERS.of_memory(self._limits.bytes))
            case _:
                reason = str(error)
        # A timer counts in ticks, and where many are at work it is over sooner than what they have measured.
        self._budget.charge(one.seconds if isinstance(error, TooSlow) else min(took, one.seconds))
        self._notes.condemn(one.member, one.instant, reason)
        return reason

    def _error(self, seconds: float, work: Callable[[], bytes]) -> Exception | None:
        """Why somebody has failed in a child, or nothing."""
        try:
            reason = apart(work, seconds=seconds, room=self._room - MARGIN).decode()
        except (TooSlow, TooLarge, Broken, Failed) as error:
            return error
        return TooMuch(reason) if reason else None

    def _die(self, member: int, error: BaseException) -> None:
        """The note stays. Whoever comes next has all memory again, and tries the member apart."""
        resource.setrlimit(resource.RLIMIT_DATA, (self._soft, self._hard))
        self._notes.ends_of_memory()
        sentence = f"query {member} needs more than it may have ({type(error).__name__}): it is tried apart\n"
        os.write(2, f"csparql-spark worker: {sentence}".encode())
        os._exit(1)


def _gone_through(evaluations: Sequence[DueEvaluation[Any]], place: mmap.mmap, room: int) -> bytes:
    """In a child: do one after the other, each within limits of its own. Where it fails, why."""
    for number, one in enumerate(evaluations):
        _PLACE.pack_into(place, 0, number, time.process_time())
        confinement.start_timers(one.seconds)
        if (size := confinement.pages(0)) is not None:
            confinement.let_grow(resource.RLIMIT_AS, size + room)
        if reason := _sentence(one.work):
            return reason
    _PLACE.pack_into(place, 0, len(evaluations), time.process_time())
    return b""


def _sentence(work: Callable[[], object]) -> bytes:
    """Why it has needed too much, or nothing: what else it raises, it will raise again where it belongs."""
    try:
        work()
    except (TooMuch, TooMuchDerived) as error:  # close to another limit, it may come to that first where it belongs
        return str(error).encode()
    except MemoryError:
        raise
    except Exception as error:
        if _is_full(error):
            raise MemoryError from error
    except BaseException as error:
        return f"its evaluation has broken off: {error}".encode()
    return b""


def _is_full(error: BaseException) -> bool:
    """Whether an error came of one that says that there is no memory."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
