"""The pool: places for work of each kind, and what is said when a child does not come back from it.

    pool = Pool(memory=1 << 30, at_once=2, waiting=16)
    with pool.place("sparql") as place:                    # Crowded, if too many wait for one already
        place.run(Limits(), work.answered, question, media_type)

Each kind of work has places of its own, so what is slow of one kind delays no other. Whoever has to wait for a place
waits in a queue, which is as long as is said, so that the threads that wait are not all that there are. A place is
taken before the data is read that is worked on: what waits holds no memory.

Invariants: at most `at_once` children work for a kind at a time, each with `memory` at most; children that wait are as
many at most, have next to nothing of their own, and are any kind's. A child that has died, or was killed, is replaced
by whoever needs one next.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from csparql_spark.answers.limits import PATIENCE, Limits, TooMuch, size
from csparql_spark.asking.guarded import child, failures, wire
from csparql_spark.asking.guarded.children import GuardedChild, fork

TRIES = 3  # of work whose child somebody else has killed: those that waited may all be of a zygote that is gone
GRACE = 5.0  # seconds on the clock beyond what a child has, until it is killed from here: it may be stopped
MOST_WAIT = 60.0  # seconds in the queue


class Crowded(Exception):
    """Too many wait for a place."""


@dataclass
class Lane:
    """A kind of work: how many children it has, and who waits for one."""

    running: int = 0
    queue: deque[threading.Event] = field(default_factory=deque)


class Pool:
    def __init__(self, *, memory: int, at_once: int = 2, waiting: int = 16, patience: float = MOST_WAIT) -> None:
        """`memory`: bytes that work may need; `waiting`: how many wait for places of a kind; `patience`: how long."""
        self.memory = memory
        self._at_once, self._waiting, self._patience = at_once, waiting, patience
        self._lock = threading.Lock()
        self._lanes: dict[str, Lane] = {}
        self._idle: list[GuardedChild] = []
        self._closed = False

    @contextmanager
    def place(self, kind: str) -> Iterator[Place]:
        """A place for work of a kind. Raises `Crowded`."""
        self._enter(kind)
        try:
            yield Place(self)
        finally:
            self._leave(kind)

    def _enter(self, kind: str) -> None:
        with self._lock:
            lane = self._lanes.setdefault(kind, Lane())
            if lane.running < self._at_once:
                lane.running += 1
                return
            if len(lane.queue) >= self._waiting:
                raise Crowded(f"{len(lane.queue)} questions wait already: ask again in a moment")
            turn = threading.Event()
            lane.queue.append(turn)
        if not turn.wait(self._patience):
            with self._lock:
                if turn in lane.queue:  # else it has come in this moment
                    lane.queue.remove(turn)
                    raise Crowded(f"it has waited for {self._patience:g} s behind others: ask again later")

    def _leave(self, kind: str) -> None:
        with self._lock:
            lane = self._lanes[kind]
            if lane.queue:
                lane.queue.popleft().set()
            else:
                lane.running -= 1

    def take(self) -> GuardedChild:
        """A child that waits, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return fork()

    def give_back(self, one: GuardedChild) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < self._at_once:
                self._idle.append(one)
                return
        one.end()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for one in idle:
            one.end()


class Place:
    """A place in a pool, for one piece of work after the other."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def run(self, limits: Limits, function: Callable[..., bytes], *arguments: object) -> bytes | bytearray:
        """What a function says of arguments, worked out by a child. Raises what the function raises, if that is known
        to `failures`, and `TooMuch` if it needs more time or memory than it may have."""
        buffers: list[pickle.PickleBuffer] = []
        work = pickle.dumps((function, arguments), protocol=5, buffer_callback=buffers.append)
        memory = self._pool.memory
        terms = json.dumps({"seconds": limits.seconds, "memory": memory}).encode()
        message: list[wire.MessagePart] = [terms, work, *(buffer.raw() for buffer in buffers)]
        for _ in range(TRIES):
            one = self._pool.take()
            try:
                reply = one.ask(message, PATIENCE * limits.seconds + GRACE)
            except TimeoutError:
                one.end()
                raise limits.too_long_on_the_clock from None
            except BaseException:
                one.end()
                raise
            if reply is not None:
                how, lasts, body = reply
                if lasts:
                    self._pool.give_back(one)
                else:
                    one.end()
                if how == child.FAILED:
                    raise failures.read(body)
                if how == child.FULL:
                    raise too_large(memory)
                return body
            one.end()
            if (error := _error(one.death, limits, memory)) is not None:
                raise error
        raise too_large(memory)


def too_large(memory: int) -> TooMuch:
    return TooMuch(
        f"it needs more memory than the {size(memory)} that a question may have: connect all parts of its pattern by "
        "variables, make shorter texts, or add a LIMIT"
    )


def _error(death: int | None, limits: Limits, memory: int) -> TooMuch | None:
    """What it means that a child has died so; None if somebody else has killed it, and it may be tried again."""
    if death is None or not os.WIFSIGNALED(death):
        return None
    number = os.WTERMSIG(death)
    if number == signal.SIGPROF:
        return limits.too_long
    if number == signal.SIGALRM:
        return limits.too_long_on_the_clock
    if number == signal.SIGABRT:  # libraries of Rust end so when they get no memory
        return too_large(memory)
    if number in (signal.SIGKILL, signal.SIGTERM):
        return None
    return TooMuch(
        f"it has ended the process that worked on it ({signal.Signals(number).name}): ask for less, or nest it less"
    )
