"""The two directions of a connection, neither of which makes a thread wait.

    body = Body(head)
    body.fill(buffer)               # by who reads the connection: moves what belongs to the body; true when it is whole
    body.read(65536)                # by the application: what is there; raises Wanted while it is not whole
    output = Output(connection)
    output.write(b"…")              # kept until there is enough to send
    output.flush()                  # sends what the connection takes; true if that was all

A response is kept here until its client has taken it. `progress` is how much that is: what lies in the kernel does not
count, for the kernel takes megabytes at once and tells nothing of who takes them from there.
"""

from __future__ import annotations

import fcntl
import io
import socket
import struct
import termios
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from csparql_spark.server.http.framing import Chunks, Head
from csparql_spark.server.http.shares import ConnectionPlace

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

AT_ONCE = 64 << 10  # written together: a small response goes out in one piece, its head with it
PIECES = 64  # of one call to the kernel
FULL = 1 << 20  # kept of a response that is made bit by bit; the rest is made when that is sent


def _size(piece: memoryview) -> int:
    """Of the whole that it is, or was, a piece of."""
    return memoryview(piece.obj).nbytes


class Wanted(BaseException):
    """The application asks for a body that is not there yet. No error: it is asked again when the body is there, and
    no handler of errors should see this."""

    def __init__(self, limit: int | None) -> None:
        super().__init__(limit)
        self.limit = limit  # of bytes, beyond which it need not be whole


class Line(socket.socket):
    """An accepted connection, which gives its place back when it is closed, by whomever."""

    __slots__ = ("place",)
    place: ConnectionPlace

    @classmethod
    def of(cls, accepted: socket.socket, place: ConnectionPlace) -> Line:
        line = cls(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        line.setblocking(False)
        line.place = place
        return line

    def close(self) -> None:
        super().close()
        self.place.leave()


class Body(io.RawIOBase):
    """The body of a request, in memory."""

    def __init__(self, head: Head) -> None:
        self._chunks = Chunks() if head.chunked else None
        self._length = head.length
        self._data = bytearray()
        self._place = 0  # up to which it was read
        self._given = False  # the application may read it
        self.whole = not head.chunked and not head.length
        self.cut = False  # the connection ended before it was whole

    @property
    def size(self) -> int:
        """Of what has come."""
        return len(self._data)

    @property
    def more(self) -> bool:
        """Whether there is more to be filled in from the buffer at once, but for others who wait."""
        return self._chunks is not None and self._chunks.more

    def fill(self, buffer: bytearray) -> bool:
        """Raises `Malformed`."""
        if self._chunks is not None:
            self.whole = self.whole or self._chunks.feed(buffer, self._data)
        elif missing := self._length - len(self._data):
            piece = buffer[:missing]
            self._data += piece
            del buffer[: len(piece)]
            self.whole = len(self._data) == self._length
        return self.whole

    def want(self, limit: int | None = None) -> None:
        """Raises `Wanted` unless it is whole, or as much as it will ever be, or longer than the limit."""
        if not (self.whole or self.cut or limit is not None and len(self._data) > limit):
            raise Wanted(limit)
        self._given = True

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._given:
            self.want()
        end = len(self._data) if size is None or size < 0 else min(len(self._data), self._place + size)
        with memoryview(self._data) as view:
            piece = bytes(view[self._place : end])
        self._place = end
        if end == len(self._data) and self.whole:
            self._data, self._place = bytearray(), 0  # nobody needs it twice
        if not piece and size and self.cut and self._chunks is not None:
            raise EOFError("the connection ended before the last chunk")
        return piece

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        piece = self.read(len(view))
        view[: len(piece)] = piece
        return len(piece)


class Output:
    """What is on its way to the client. Not for several threads at a time."""

    __slots__ = ("_grown", "_pieces", "_sent", "_socket", "broken", "pending")

    def __init__(self, connection: socket.socket, grown: Callable[[int], None]) -> None:
        """`grown` is told by how much there is more, or less, that is held in memory: pieces as a whole."""
        self._socket, self._grown = connection, grown
        self._pieces: deque[memoryview] = deque()
        self._sent = 0
        self.pending = 0
        self.broken = False  # nobody takes anything any more

    def write(self, data: bytes) -> int:
        """Raises `ConnectionError`."""
        if data:
            self._pieces.append(memoryview(data))
            self.pending += len(data)
            self._grown(len(data))
            if self.pending >= AT_ONCE:
                self.flush()
        return len(data)

    def flush(self) -> bool:
        """Whether all could be sent. Raises `ConnectionError`."""
        while self._pieces:
            try:
                sent = self._socket.sendmsg(list(islice(self._pieces, PIECES)))
            except BlockingIOError:
                return False
            except OSError as error:
                self.drop()
                raise ConnectionError("the client is gone") from error
            self._sent += sent
            self.pending -= sent
            while sent:
                piece = self._pieces[0]
                if sent < len(piece):
                    self._pieces[0] = piece[sent:]
                    break
                self._pieces.popleft()
                self._grown(-_size(piece))
                sent -= len(piece)
        return True

    def drop(self) -> None:
        """Nothing of it will be sent."""
        self._grown(-sum(_size(piece) for piece in self._pieces))
        self._pieces.clear()
        self.broken, self.pending = True, 0

    def progress(self) -> int:
        """How many bytes the client's machine has taken, since the beginning."""
        try:
            (unsent,) = struct.unpack("i", fcntl.ioctl(self._socket.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))
        except OSError:
            unsent = 0
        return self._sent - unsent
