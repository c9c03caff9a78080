"""Messages on a stream socket: some parts, each of any length, whole or not at all.

    be_patient(one, 1.0)
    send(one, [b"head", memoryview(large)], waited)      # `waited` is called for each second in which nothing is taken,
    receive(other, waited)                               # or nothing comes: it raises what ends the waiting
    receive(other)                                       # [b"head", …]; None if the other end was closed

One message is answered by one, so nothing follows a message that is received. A part is received into memory of its
own, which whoever receives it may keep and share.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence

MessagePart = bytes | bytearray | memoryview

READY = b"!"  # what the zygote says when it can fork
STATUS = struct.Struct("<i")  # of a child that has ended, as wait tells it

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")
_TIME = struct.Struct("@ll")  # seconds and microseconds
_AT_ONCE = 1 << 16  # most messages are smaller
_LARGE = 1 << 20  # as much is sent before it is asked whether anything was taken


def be_patient(one: socket.socket, seconds: float) -> None:
    """Have the kernel wait for so long, each time. A timeout of the socket would be a system call more for each."""
    time = _TIME.pack(int(seconds), int(seconds % 1 * 1_000_000))
    for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        one.setsockopt(socket.SOL_SOCKET, direction, time)


def _nothing() -> None:
    """Whoever does not say for how long waits for ever."""


def send(to: socket.socket, parts: Sequence[MessagePart], waited: Callable[[], None] = _nothing) -> None:
    """Raises `OSError` if nobody takes it."""
    views = [memoryview(part).cast("B") for part in parts]
    head = _COUNT.pack(len(views)) + b"".join(_LENGTH.pack(view.nbytes) for view in views)
    if sum(view.nbytes for view in views) < _AT_ONCE:
        views = [memoryview(b"".join((head, *views)))]
    else:
        views.insert(0, memoryview(head))
    for view in views:
        while view:
            try:
                view = view[to.send(view[:_LARGE]) :]
            except BlockingIOError:
                waited()


def receive(of: socket.socket, waited: Callable[[], None] = _nothing) -> list[bytearray] | None:
    """The next message."""
    try:
        return _received(of, waited)
    except ConnectionError:
        return None


def _received(of: socket.socket, waited: Callable[[], None]) -> list[bytearray] | None:
    first = memoryview(bytearray(_AT_ONCE))
    filled = _fill(of, first, 0, _COUNT.size, waited)
    if not filled:
        return None
    (count,) = _COUNT.unpack_from(first)
    begin = _COUNT.size + count * _LENGTH.size
    if begin > len(first):
        first = memoryview(bytearray(first) + bytes(begin - len(first)))
    filled = _fill(of, first, filled, begin, waited)
    if not filled:
        return None
    parts: list[bytearray] = []
    for (length,) in _LENGTH.iter_unpack(first[_COUNT.size : _COUNT.size + count * _LENGTH.size]):
        part = bytearray(length)
        there = min(length, filled - begin)
        part[:there] = first[begin : begin + there]
        begin += there
        if there < length and not _fill(of, memoryview(part), there, length, waited):
            return None
        parts.append(part)
    return parts


def _fill(of: socket.socket, view: memoryview, filled: int, least: int, waited: Callable[[], None]) -> int:
    """How much is there of a message, `least` at least; 0 if no more comes."""
    while filled < least:
        try:
            count = of.recv_into(view[filled:])
        except BlockingIOError:
            waited()
            continue
        if not count:
            return 0
        filled += count
    return filled
