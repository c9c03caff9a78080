"""The pool: places for work of each kind, and what is said when a child does not come back from it.

    pool = Pool(memory=1 << 30, at_once=2, threads=64)
    pool.attempt("sparql", lambda place: place.run(Limits(), work.answered, question, media_type))      # the bytes
    with pool.place("updates") as place:                   # a long place at once; Crowded, if too many wait for one
        place.run(Limits(), work.updated, update, Limits())

Nearly all that is asked is small. So an attempt is made in a quick place, which has a quarter of a second and little
memory; what needs more is begun again in a long one, with as much as there is. Nobody small waits for what is slow.
It is begun again only where the quick place was too narrow: what fails by its own rules (too many rows, a refusal, a
text that is nested too deeply) would fail there as well, and is not done twice.

Places are of lanes (see `lanes`). Long ones of questions, whatever their kind, have `memory` each, and `at_once` places
in all. Bodies of pushes have two: one for a first try, in which a body has the time that its size deserves, and one
with `memory` for those that need more. So no question keeps a producer waiting, and no slow body one that is large.
Texts have one with less. Quick ones are two for texts that are to be registered or set, and two for all that only
looks: questions, and texts that are checked. So what is only looked at keeps no registration waiting.
Whoever has to wait for a place holds a thread of those that serve. So each lane has its share of them, whatever the
kinds: all that may be slow wait in 5/16 of the threads, what is quick in 9/16, and the rest finds nobody waiting. A
place is taken before the data is read that is worked on, and what is begun again reads it again: what waits holds no
memory.

Invariants: the children that work have `most_memory` together at most; children that wait are as many as the places at
most, have next to nothing of their own, and are any lane's. A child that has died, or was killed, is replaced by
whoever needs one next.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from csparql_spark.answers.confinement import End, end_of
from csparql_spark.answers.excess import OF_BODIES, OF_QUESTIONS, OF_TEXTS, Excess, broken
from csparql_spark.answers.limits import PATIENCE, Limits, TooMuch
from csparql_spark.asking.guarded import child, children, failures, wire
from csparql_spark.asking.guarded.children import GuardedChild, NotBegun, Unavailable
from csparql_spark.asking.guarded.lanes import Full, Lane

TRIES = 3  # of work whose child somebody else has killed, or that no child begins
GRACE = 5.0  # seconds on the clock beyond what a child has, until it is killed from here: it may be stopped
MOST_WAIT = 60.0  # seconds in the queue
# Kinds; all others are questions.
TEXT: Final = "text"  # what reads a text
CHECKED_TEXT: Final = "checked text"  # … that is only looked at
BODY: Final = "body"  # what reads a body that was pushed or put
# Lanes: long places, and quick ones.
_QUESTIONS, _LONG_TEXTS, _LONG_BODIES = "questions", "long texts", "long bodies"
_BODIES = "bodies"
_LOOKS, _TEXTS = "small questions", "texts"
# Sixteenths of the threads that serve, for those that wait: what is done is to find the others free.
SHARES: Final = {_QUESTIONS: 2, _LONG_TEXTS: 1, _LONG_BODIES: 1, _BODIES: 1, _LOOKS: 4, _TEXTS: 5}
# Where work of a kind is tried, and where it is begun again.
_ROUTES: Final = {TEXT: (_TEXTS, _LONG_TEXTS), CHECKED_TEXT: (_LOOKS, _LONG_TEXTS), BODY: (_BODIES, _LONG_BODIES)}
_ROUTE_OF_QUESTIONS: Final = (_LOOKS, _QUESTIONS)
# What is said where work of a kind needs too much.
_EXCESS: Final = {TEXT: OF_TEXTS, CHECKED_TEXT: OF_TEXTS, BODY: OF_BODIES}

_ENDS = "the server ends: ask again when it is there again"

_T = TypeVar("_T")


class Crowded(Exception):
    """Too many wait for a place, or the machine has no room for a child: it may be asked again."""


@dataclass(frozen=True)
class FirstTry:
    """What a quick place has: seconds of the processor, and bytes that may be sent to it."""

    seconds: float
    sent: int


QUICK = FirstTry(seconds=0.25, sent=8 << 20)
BODY_MEMORY = 256 << 20  # of the first try of a body


class _MoreNeeded(Exception):
    """Than a quick place has. It is no `TooMuch`: nobody is told."""


@dataclass(frozen=True)
class GuardedLane:
    """A lane, and how much memory a place of it has."""

    lane: Lane
    memory: int
    first: FirstTry | None = None  # of quick places


class Pool:
    def __init__(
        self,
        *,
        memory: int,
        at_once: int = 2,
        threads: int = 64,
        patience: float = MOST_WAIT,
        client: Callable[[], str] = lambda: "",
    ) -> None:
        """`memory`: bytes that a question may need; `threads`: how many there are that serve; `patience`: how long one
        waits for a place; `client`: on whose behalf the thread at work does what it does."""
        self.memory = memory
        self._patience, self._client = patience, client

        def lane(name: str, places: int, memory: int, first: FirstTry | None = None) -> GuardedLane:
            return GuardedLane(Lane(places, max(1, SHARES[name] * threads // 16)), memory, first)

        self._lanes = {
            _QUESTIONS: lane(_QUESTIONS, at_once, memory),
            _LONG_BODIES: lane(_LONG_BODIES, 1, memory),
            _BODIES: lane(_BODIES, 1, min(BODY_MEMORY, memory), FirstTry(QUICK.seconds, sent=BODY_MEMORY)),
            _LONG_TEXTS: lane(_LONG_TEXTS, 1, 256 << 20),
            _LOOKS: lane(_LOOKS, 2, min(128 << 20, memory), QUICK),
            _TEXTS: lane(_TEXTS, 2, 64 << 20, QUICK),
        }
        self._lock = threading.Lock()
        self._idle: list[GuardedChild] = []
        self._most_idle = sum(one.lane.places for one in self._lanes.values())
        self._closed = False

    @property
    def most_memory(self) -> int:
        """Bytes that all children that work may have together."""
        return sum(one.lane.places * one.memory for one in self._lanes.values())

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return sum(len(one.lane.queue) for one in self._lanes.values())

    def working(self, lane: str) -> int:
        """How many have a place of a lane."""
        return self._lanes[lane].lane.kinds.total()

    def attempt(
        self, kind: str, work: Callable[[Place], _T], *, sent: int = 0, seconds: float | None = None, part: str = ""
    ) -> _T:
        """What work of a kind says in a quick place, or in a long one, if it needs more. It may be begun twice, so it
        is to change nothing. `sent`: bytes that are known to be sent there, or needed; `seconds`: what it has there of
        the processor, if not as long as usual; `part`: of what the client does. Raises `Crowded`, and what work
        raises."""
        quick, _ = _ROUTES.get(kind, _ROUTE_OF_QUESTIONS)
        first = self._lanes[quick].first
        if first is not None and sent <= first.sent:
            try:
                with self._entered(quick, kind, part, seconds) as place:
                    return work(place)
            except _MoreNeeded:
                pass
        with self.place(kind, part) as place:
            return work(place)

    @contextmanager
    def place(self, kind: str, part: str = "") -> Iterator[Place]:
        """A long place for work of a kind. Raises `Crowded`."""
        _, long = _ROUTES.get(kind, _ROUTE_OF_QUESTIONS)
        with self._entered(long, kind, part) as place:
            yield place

    @contextmanager
    def _entered(self, name: str, kind: str, part: str, seconds: float | None = None) -> Iterator[Place]:
        lane, client = self._lanes[name], self._client()
        self._enter(lane.lane, name, kind, client, part)
        begun = time.monotonic()
        try:
            yield Place(self, lane, _EXCESS.get(kind, OF_QUESTIONS), seconds)
        finally:
            with self._lock:
                lane.lane.leave(kind, client, part, time.monotonic() - begun)

    def _enter(self, lane: Lane, what: str, kind: str, client: str, part: str) -> None:
        with self._lock:
            try:
                turn = lane.enter(kind, client, part)
            except Full:
                raise Crowded(f"{len(lane.queue)} {what} wait already: ask again in a moment") from None
        if turn is None:
            return
        if not turn.told.wait(self._patience):
            with self._lock:
                if turn in lane.queue:  # else it has come in this moment
                    lane.queue.remove(turn)
                    raise Crowded(f"it has waited for {self._patience:g} s behind others: ask again later")
        if turn.sent_home:
            if self._closed:
                raise Crowded(_ENDS)
            raise Crowded(f"{lane.waiting} {what} wait already, most of them like this one: ask again in a moment")

    def take(self, *, anew: bool = False) -> GuardedChild:
        """A child that waits, or a new one. Raises `Crowded` if none can be had."""
        with self._lock:
            if self._closed:
                raise Crowded(_ENDS)
            if self._idle and not anew:
                one = self._idle.pop()
                one.lasts = False
                return one
        try:
            return children.fork()
        except Unavailable as error:
            raise Crowded(str(error)) from error

    def give_back(self, one: GuardedChild) -> None:
        """One that has been asked: it waits again if it is as it was, and ends otherwise."""
        with self._lock:
            if one.lasts and not self._closed and len(self._idle) < self._most_idle:
                self._idle.append(one)
                return
        one.end()

    def close(self) -> None:
        """No more work is begun, and who waits for a place is sent home; what children are at, they end."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for one in self._lanes.values():
                one.lane.close()
        for waiting in idle:
            waiting.end()


class Place:
    """A place in a pool, for one piece of work after the other."""

    def __init__(self, pool: Pool, lane: GuardedLane, excess: Excess, seconds: float | None = None) -> None:
        """`seconds`: of a first try, if not as long as usual."""
        self._pool, self._memory, self._first, self._excess = pool, lane.memory, lane.first, excess
        if self._first is not None and seconds is not None:
            self._first = replace(self._first, seconds=seconds)

    def expect(self, size: int) -> None:
        """So many bytes will be sent, as far as they have been read: no more is to be read for a quick place than it
        takes."""
        if self._first is not None and size > self._first.sent:
            raise _MoreNeeded

    def run(self, limits: Limits, function: Callable[..., bytes], *arguments: object) -> bytes | bytearray:
        """What a function says of arguments, worked out by a child. Raises what the function raises, if that is known
        to `failures`, and `TooMuch` if it needs more time or memory than it may have."""
        buffers: list[pickle.PickleBuffer] = []
        work = pickle.dumps((function, arguments), protocol=5, buffer_callback=buffers.append)
        sent: list[wire.MessagePart] = [work, *(buffer.raw() for buffer in buffers)]
        seconds = limits.seconds
        if self._first is not None:
            self.expect(sum(len(part) for part in sent))
            seconds = min(seconds, self._first.seconds)
        terms = json.dumps({"seconds": seconds, "memory": self._memory}).encode()
        message: list[wire.MessagePart] = [terms, *sent]
        ended = missed = 0  # children that somebody has killed at it, and those that have not begun it
        while ended < TRIES:
            if missed == TRIES:
                raise Crowded("no process begins to work on it: ask again in a moment")
            # Where one that has waited is stopped, or gone, so may the others be.
            one = self._pool.take(anew=missed > 0)
            try:
                reply = one.ask(message, PATIENCE * seconds + GRACE)
                if reply is not None:
                    return self._result(one, *reply)
                begun = one.has_begun
            except NotBegun:
                begun = False
                if not one.there:
                    children.replace(one.zygote)
            except TimeoutError:
                raise self._too_long(limits, self._excess.of_clock) from None
            finally:
                self._pool.give_back(one)
            if not begun:
                missed += 1
            elif (error := self._error(one.death, limits)) is not None:
                raise error
            else:
                ended += 1
        # Somebody kills all children: nobody knows what it takes.
        raise self._excess.of_memory_perhaps(self._memory)

    def _result(self, one: GuardedChild, how: bytearray, lasts: bytearray, body: bytearray) -> bytearray:
        """What a child has said."""
        one.lasts = bool(lasts)
        if how == child.FAILED:
            raise failures.read(body)
        if how == child.FULL:
            raise self._too_large()
        return body

    def _too_large(self) -> Exception:
        if self._first is not None:
            return _MoreNeeded()
        return self._excess.of_memory(self._memory)

    def _too_long(self, limits: Limits, error: Callable[[float], TooMuch]) -> Exception:
        if self._first is not None and self._first.seconds < limits.seconds:
            return _MoreNeeded()
        return error(limits.seconds)

    def _error(self, death: int | None, limits: Limits) -> Exception | None:
        """What it means that a child has died so; None if somebody else has killed it, and it may be tried again."""
        if death is None or not os.WIFSIGNALED(death):
            return None
        number = os.WTERMSIG(death)
        match end_of(number):
            case End.PROCESSOR:
                return self._too_long(limits, self._excess.of_processor)
            case End.CLOCK:
                return self._too_long(limits, self._excess.of_clock)
            case End.MEMORY:
                return self._too_large()
            case End.KILLED:
                return None
        return TooMuch(broken(signal.Signals(number).name))
