"""Forked work: work that is done in a process of its own, because nothing else can be ended.

Oxigraph lets other threads run while it evaluates, and gives no way to stop it. A child that is forked has the whole
store without copying it, costs 1 to 5 ms (at 50 MB to 1 GB of memory), and can be killed: by the timer of its processor
time, by us when ten times that has passed on the clock, and by its own alarm should we be gone by then. It says what it
found through a pipe, and ends without tidying up, so that nothing that it has inherited is touched. More memory than it
may have, it does not get. How it ends says why: by a timer, by Rust's abort where there is no memory, or by a signal of
its own, such as that of a stack that is full.

    apart(lambda: store.query(text).serialize(…), seconds=10.0, room=1 << 30)      # the bytes
    apart(lambda: hashed(10**12), seconds=0.5, room=1 << 30)                       # raises TooSlow

What the work changes in memory is changed in the child alone. Other threads are not in the child: the work must not
wait for a lock that one of them may have held. Should it do so all the same, it is too slow.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import select
import signal
import struct
import time
from collections.abc import Callable

from csparql_spark import processor_time
from csparql_spark.answers import confinement
from csparql_spark.answers.confinement import End
from csparql_spark.answers.excess import broken
from csparql_spark.answers.limits import PATIENCE

_HEAD = struct.Struct("<cQ")  # how it ended, and how many bytes follow
_DONE, _FAILED, _FULL = b"+", b"-", b"!"
_AT_ONCE = 1 << 20
TRIES = 3  # of work whose child somebody else kills


# Whether this process may be ended as it is, and somebody waits to say why (see `asking.guarded`).
confined = False


class TooSlow(Exception):
    """The work was not done when its processor time was over, or, `on_the_clock`, ten times that."""

    def __init__(self, *, on_the_clock: bool) -> None:
        super().__init__(on_the_clock)
        self.on_the_clock = on_the_clock


class TooLarge(Exception):
    """The work needed more memory than it may have."""


class Broken(Exception):
    """The work has ended its process by a signal, which the text names."""

    def __init__(self, number: int) -> None:
        super().__init__(broken(signal.Signals(number).name))


class Failed(Exception):
    """The work has failed; the text is that of its error."""


def apart(work: Callable[[], bytes], *, seconds: float, room: int) -> bytes:
    """What `work` returns, found by a child that has so many seconds of processor time, which are counted as those of
    this thread, and so many bytes more than there are now. Who kills the child from outside changes nothing: there is
    another one. If all are killed, the machine has no room for it. Who is `confined` does the work itself."""
    if confined:
        return work()
    for _ in range(TRIES):
        reply = _tried(work, seconds, room)
        if reply is not None:
            return reply
    raise TooLarge


def _tried(work: Callable[[], bytes], seconds: float, room: int) -> bytes | None:
    """What a child has found; None if somebody else has killed it."""
    end = time.monotonic() + PATIENCE * seconds
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _work(work, writing, seconds, room)
    os.close(writing)
    over = True  # until it has closed its end
    try:
        head = _read(reading, _HEAD.size, end)
        how, length = _HEAD.unpack(head) if len(head) == _HEAD.size else (_FULL, 0)
        reply = _read(reading, length, end)
        over = len(head) == _HEAD.size and len(reply) == length
    finally:
        os.close(reading)
        if over:
            os.kill(child, signal.SIGKILL)  # it is not reaped yet: there is no other of this number
        _, status, used = os.wait4(child, 0)  # otherwise it is about to end, and says why
        processor_time.add(used.ru_utime + used.ru_stime)
    if not over and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        match confinement.end_of(number):
            case End.PROCESSOR | End.CLOCK as limit:  # the work may start timers of its own
                raise TooSlow(on_the_clock=limit is End.CLOCK)
            case End.KILLED:
                return None
            case End.BROKEN:
                raise Broken(number)
    if how == _FULL or len(reply) < length:
        raise TooLarge
    if how == _FAILED:
        raise Failed(reply.decode())
    return reply


def _read(descriptor: int, length: int, end: float) -> bytes:
    """So many bytes; fewer, if no more come."""
    parts: list[bytes] = []
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    while length:
        if not ready.poll(1000 * max(0.0, end - time.monotonic())):
            raise TooSlow(on_the_clock=True)
        part = os.read(descriptor, min(length, _AT_ONCE))
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _work(work: Callable[[], bytes], writing: int, seconds: float, room: int) -> None:
    """The whole life of a child."""
    global confined
    confined = True
    try:
        confinement.begin()
        confinement.start_timers(seconds)
        gc.disable()  # it would write to all that is shared
        faulthandler.disable()  # that a child ends is no news to whoever reads what the process prints
        confinement.let_grow_by(room)
        try:
            how, reply = _DONE, work()
        except MemoryError:
            how, reply = _FULL, b""
        except Exception as error:  # whatever it is, who asked wants to know
            how, reply = _FAILED, (str(error) or type(error).__name__).encode()
        view = memoryview(_HEAD.pack(how, len(reply)) + reply)
        while view:
            view = view[os.write(writing, view[:_AT_ONCE]) :]
    finally:
        os._exit(0)
