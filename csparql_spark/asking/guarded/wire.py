"""Messages on a stream socket: some parts, each of any length, whole or not at all.

    send(one, [b"head", memoryview(large)])
    receive(other, 5.0)           # [b"head", …]; None if the other end was closed; TimeoutError after five seconds

A part is received into memory of its own, which whoever receives it may keep and share.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence

MessagePart = bytes | bytearray | memoryview

READY = b"!"  # what the zygote says when it can fork
STATUS = struct.Struct("<i")  # of a child that has ended, as wait tells it

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")


def send(to: socket.socket, parts: Sequence[MessagePart]) -> None:
    """Raises `OSError` if nobody takes it."""
    views = [memoryview(part).cast("B") for part in parts]
    head = _COUNT.pack(len(views)) + b"".join(_LENGTH.pack(view.nbytes) for view in views)
    if sum(view.nbytes for view in views) < 1 << 16:
        to.sendall(b"".join((head, *views)))
        return
    to.sendall(head)
    for view in views:
        to.sendall(view)


def receive(of: socket.socket, seconds: float | None = None) -> list[bytearray] | None:
    """The next message. Raises `TimeoutError` if it is not there in time."""
    end = None if seconds is None else time.monotonic() + seconds
    try:
        head = _read(of, _COUNT.size, end)
        if head is None:
            return None
        (count,) = _COUNT.unpack(head)
        lengths = _read(of, count * _LENGTH.size, end)
        if lengths is None:
            return None
        parts: list[bytearray] = []
        for (length,) in _LENGTH.iter_unpack(lengths):
            part = _read(of, length, end)
            if part is None:
                return None
            parts.append(part)
        return parts
    except ConnectionError:
        return None


def _read(of: socket.socket, length: int, end: float | None) -> bytearray | None:
    """So many bytes; None if there are no more."""
    part = bytearray(length)
    view = memoryview(part)
    while view:
        if end is not None:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            of.settimeout(left)
        count = of.recv_into(view)
        if not count:
            return None
        view = view[count:]
    return part
