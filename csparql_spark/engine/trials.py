"""Trials: evaluations that are made in a forked child first, since this process might die of them.

    rehearsal    due:  a ─ b ─ c ─ d ─ e        one child goes through them, and shows where it is
                       ✓   ✓   ✗                it ends at c: c fails, whatever else of its member is due is not tried
                                   ✓   ✓        another child goes through the rest

What a child finds is thrown away: whoever comes through is evaluated in this process afterwards. What it raises that is
no excess it will raise again there, where it belongs. A child has a little less room than the worker, so who comes
through there comes through here, but for rare cases. Who is ended fails by name, and is charged to the budget of the
batch (see `trial_budget`).

    trials = Trials(notes, limits, seconds=11.5, room=1 << 30)
    trials.renew(ended=1)                       # a batch begins; so many workers have ended in it already
    for verdict in trials.rehearsed(waiting): ...
    trials.attempt(evaluation)                  # raises `TooMuch`
    (17, 5_000) in trials.passed                # it has come through a rehearsal, and need not be tried again
"""

from __future__ import annotations

import functools
import mmap
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from csparql_spark import processor_time
from csparql_spark.answers import confinement
from csparql_spark.answers.excess import OF_ANSWERS
from csparql_spark.answers.forked import Broken, Failed, TooLarge, TooSlow, apart
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.engine.kernel_limits import SPARE, comes_of_memory
from csparql_spark.engine.notes import Notes
from csparql_spark.engine.trial_budget import TrialBudget
from csparql_spark.entailment.evaluate.bounds import TooMuchDerived

MARGIN = SPARE // 2  # bytes that a child has less than the worker
TRIALS = 1.5  # limits that those who are ended may take of all others' time in a batch, before they have less each

_PLACE = struct.Struct("<qd")  # how many a child has gone through, and the seconds of the processor that they took

Found = TypeVar("Found")


class DueEvaluation(NamedTuple, Generic[Found]):
    """What is to be done for a member at an instant, and what of the processor it may take: before it is tried, beside
    an answer."""

    member: int
    instant: int
    seconds: float
    work: Callable[[], Found]


class Verdict(NamedTuple):
    """That a member has failed at an instant, and why."""

    member: int
    instant: int
    reason: str


class Trials:
    def __init__(self, notes: Notes, limits: Limits, *, seconds: float, room: int) -> None:
        """`seconds`: of the processor, that an answer may take in a worker; `room`: bytes that it may ask for there."""
        self._notes, self._limits, self._seconds, self._room = notes, limits, seconds, room - MARGIN
        self._budget = TrialBudget(limits, self.most)
        self.passed: set[tuple[int, int]] = set()  # members and instants; whoever begins a rehearsal clears it

    @property
    def most(self) -> float:
        """Seconds of the processor that those who are ended may take in a batch, before they have less each."""
        return TRIALS * self._seconds

    def renew(self, ended: int = 0) -> None:
        """Count from here what is spent on those that need too much; so many workers have ended of somebody's time."""
        self._budget.renew([self._seconds] * ended)

    def rehearsed(self, waiting: Sequence[DueEvaluation[Any]]) -> Iterator[Verdict]:
        """Go through these in children, one for all of them and for each that ends one."""
        with mmap.mmap(-1, mmap.PAGESIZE) as place:  # the child tells where it is
            while waiting:
                _PLACE.pack_into(place, 0, 0, 0.0)
                shares = [one._replace(seconds=self._budget.share(one.seconds)) for one in waiting]
                begun = processor_time.now().processor
                error = self._error(
                    sum(one.seconds for one in shares), functools.partial(_gone_through, shares, place, self._room)
                )
                reached, before = _PLACE.unpack_from(place)
                self.passed.update((one.member, one.instant) for one in waiting[:reached])
                if error is None:
                    break
                guilty = shares[min(reached, len(shares) - 1)]
                reason = self._condemn(guilty, error, processor_time.now().processor - begun - before)
                yield Verdict(guilty.member, guilty.instant, reason)
                waiting = [one for one in waiting[reached + 1 :] if one.member != guilty.member]

    def attempt(self, one: DueEvaluation[Any]) -> None:
        """Do it in a child, which may die of it. Raises `TooMuch`."""
        one = one._replace(seconds=self._budget.share(one.seconds))
        begun = processor_time.now().processor
        error = self._error(one.seconds, lambda: _sentence(one.work))
        if error is not None:
            raise TooMuch(self._condemn(one, error, processor_time.now().processor - begun))

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
            reason = apart(work, seconds=seconds, room=self._room).decode()
        except (TooSlow, TooLarge, Broken, Failed) as error:
            return error
        return TooMuch(reason) if reason else None


def _gone_through(evaluations: Sequence[DueEvaluation[Any]], place: mmap.mmap, room: int) -> bytes:
    """In a child: do one after the other, each within limits of its own. Where it fails, why."""
    for number, one in enumerate(evaluations):
        _PLACE.pack_into(place, 0, number, time.process_time())
        confinement.start_timers(one.seconds)
        confinement.let_grow_by(room)
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
        if comes_of_memory(error):
            raise MemoryError from error
    except BaseException as error:
        return f"its evaluation has broken off: {error}".encode()
    return b""
