"""The front: one thread that accepts, reads and waits for all connections, so that no other thread waits for any.

    front = Front(listening, limits, hand_over=pool.put)
    front.run()                     # until another thread calls front.stop()
    front.resume(connection)        # from a worker: the request is answered, or its body is wanted
    front.finish(connection)        # from a worker: answer what is left to say, then close

A connection is at any time in one state:

    READING     a head, or a body, is to come; an idle one waits for the first byte of the next head
    WORKING     a whole request is with a worker, and nobody listens to the connection
    WRITING     the worker is done, and the client has not taken all of the response yet
    LINGERING   the response is sent and ours is closed; a client that is still sending gets time to read it
    CLOSED      or left to somebody else

A worker gets a request when its head is there and its body too, if that is small. With a large one, or one of which
the client asks first whether it may come, the application is asked once without: it refuses, or wants the body (see
`wire.Wanted`), and is asked again when all of it is there. So no body is held before its client may send it.

Everything has a deadline: a head as a whole, a silence, a rate below which bodies and responses are given up. What is
kept in memory is bounded for each connection and in total; places are bounded by `shares`.
"""

from __future__ import annotations

import contextlib
import heapq
import select
import socket
import struct
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from csparql_spark.server.http.door import Address, Door
from csparql_spark.server.http.framing import Malformed, read_head
from csparql_spark.server.http.limits import SILENT, ConnectionLimits
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.http.shares import Places
from csparql_spark.server.http.wakeup import Wakeup
from csparql_spark.server.http.wire import Line

if TYPE_CHECKING:
    from csparql_spark.server.http.connections import Connection

READING, WORKING, WRITING, LINGERING, CLOSED = range(5)
PIECE = 256 << 10  # read at a time
SMALL_BODY = 64 << 10  # read before the application is asked
CALM_BYTES = 128 << 20  # of bodies: while there are more, the application is always asked first
RESPONSE_BYTES = 256 << 20  # that wait for their clients; beyond, those are given up who take nothing at all,
MOST_RESPONSE_BYTES = 1 << 30  # and beyond that, who took something longest ago
STALLED_SECONDS = 1.0
LINGER_SECONDS = 3.0
MOST_LINGERING = 500
END_SECONDS = 1.5  # for requests that run when the server is stopped
BEAT_SECONDS = 0.25  # between two looks at the deadlines
END_BEAT_SECONDS = 0.02
EVENTS_AT_ONCE = 512
SENT_HOME_AT_ONCE = 32  # when all places are taken
READ, WRITE = select.EPOLLIN | select.EPOLLONESHOT, select.EPOLLOUT | select.EPOLLONESHOT


class Front:
    def __init__(
        self,
        listening: socket.socket,
        limits: ConnectionLimits,
        *,
        connect: Callable[[Line, Address], Connection],
        hand_over: Callable[[Connection], None],
        turn: Callable[[], None] = lambda: None,
        held: Callable[[], int] = lambda: 0,
    ) -> None:
        """`connect` makes a connection of what was accepted; `hand_over` gives one to a worker; `turn` is called again
        and again as long as the front turns, also when there is nothing to do; `held`: bytes that responses hold until
        they are made, besides what is made of them."""
        self._listening, self.limits = listening, limits
        self._connect, self._hand_over, self._turn, self._held = connect, hand_over, turn, held
        self._door = Door(listening, limits, enter=self._enter, refuse=self._refuse, drop_idle=self._drop_idle)
        self._epoll = select.epoll()
        self._wakeup = Wakeup()
        listening.setblocking(False)
        for end in (self._wakeup, listening):
            self._epoll.register(end, select.EPOLLIN)
        self._listens = True
        self._lock = threading.Lock()  # of states: a worker gives back in one step what the front may close
        self._counting = threading.Lock()
        self._connections: dict[int, Connection] = {}
        self._inbox: deque[Connection] = deque()  # connections of whose next request something was read already
        self._piece = memoryview(bytearray(PIECE))
        self._lingering = 0
        self._bodies = 0  # bytes of bodies, and of what follows them, until they are answered
        self._responses = 0  # bytes that wait for their clients
        self._end: float | None = None  # when it ends, whatever is under way
        self._ended = threading.Event()
        self._ended.set()

    @property
    def places(self) -> Places:
        return self._door.places

    # --- from any thread

    def stop(self) -> None:
        """No more requests. Returns when those that were begun are answered, or `END_SECONDS` have passed."""
        self._end = time.monotonic() + END_SECONDS
        self._wakeup.ring()
        self._ended.wait()

    def close(self) -> None:
        for connection in list(self._connections.values()):
            if connection.state != WORKING:
                self._close(connection)
        self._epoll.close()
        self._wakeup.close()

    def resume(self, connection: Connection) -> None:
        """The worker has done what it can: the client has to take, or to send, something first."""
        try:
            sent = connection.wfile.flush()
        except ConnectionError:
            self._close(connection)
            return
        if sent and connection.paused is not None:
            self._hand_over(connection)
        else:
            self._back(connection, READING if sent else WRITING)

    def finish(self, connection: Connection) -> None:
        """Send what waits, and close."""
        if connection.state == CLOSED:
            return
        connection.last = True
        try:
            if not connection.wfile.broken and not connection.wfile.flush():
                self._back(connection, WRITING)
                return
            if (
                connection.wfile.broken
                or not (connection.unread or connection.buffer)
                or self._end is not None
                or self._lingering >= MOST_LINGERING
            ):
                self._close(connection)
                return
            # To close on a client that is sending would reset the connection, and our answer with it.
            connection.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(connection)
            return
        self._back(connection, LINGERING)

    def leave(self, connection: Connection) -> socket.socket:
        """The socket, for somebody else who writes to it from now on."""
        with self._lock:
            self._forget(connection)
            if not self._epoll.closed:
                self._epoll.unregister(connection.socket)
        return connection.socket

    @property
    def can_add_keepalive_connection(self) -> bool:
        return self._end is None

    def grown(self, size: int) -> None:
        """By so many bytes more, or less, wait for their clients."""
        with self._counting:
            self._responses += size

    def unpacked(self, connection: Connection, size: int) -> None:
        """A body has become so many bytes more, until it is answered. Raises `Problem`."""
        with self._counting:
            if self._bodies + size > self.limits.body_bytes:
                raise self.limits.bodies_taken()
            self._bodies += size
            connection.counted += size

    def _back(self, connection: Connection, state: int) -> None:
        if self._epoll.closed:
            self._close(connection)
            return
        connection.begun = connection.moved = time.monotonic()
        if state == WRITING:
            connection.taken = connection.first = connection.wfile.progress()
        else:
            connection.first = 0 if connection.body is None else connection.body.size
        self._count(connection)
        with self._lock:
            if connection.state == CLOSED:
                return
            if state == LINGERING:
                self._lingering += 1
            connection.state = state
            if state != READING or not (connection.buffer or connection.head is not None):
                self._arm(connection)
                return
            self._inbox.append(connection)
        self._wakeup.ring()

    def _arm(self, connection: Connection) -> None:
        """Wait for what its state waits for."""
        self._epoll.modify(connection.fd, WRITE if connection.state == WRITING else READ)

    def _close(self, connection: Connection) -> None:
        with self._lock:
            if connection.state == CLOSED:
                return
            self._forget(connection)
        try:
            connection.wfile.drop()
            connection.abandon()
        finally:
            connection.socket.close()

    def _forget(self, connection: Connection) -> None:
        if connection.state == LINGERING:
            self._lingering -= 1
        connection.state = CLOSED
        self._connections.pop(connection.fd, None)
        self._count(connection, 0)

    # --- the front's own thread

    def run(self, _interval: float = 0.0) -> None:
        due = 0.0
        self._ended.clear()
        try:
            while self._end is None or self._goes_on(self._end):
                self._turn()
                patience = 0 if self._inbox else BEAT_SECONDS if self._end is None else END_BEAT_SECONDS
                events = self._epoll.poll(patience, EVENTS_AT_ONCE)
                for fd, _ in events:
                    if fd == self._listening.fileno():
                        self._listen(self._door.accept())  # if not, until the next look round
                    elif fd == self._wakeup.fileno():
                        self._wakeup.heard()
                    elif (connection := self._connections.get(fd)) is not None:
                        self._guarded(self._ready, connection)
                for _ in range(len(self._inbox)):  # who comes back waits for the others
                    self._guarded(self._advance, self._inbox.popleft())
                # Whatever has come meanwhile was not late.
                if len(events) < EVENTS_AT_ONCE and time.monotonic() >= due:
                    self._look_round()
                    due = time.monotonic() + BEAT_SECONDS
        finally:
            self._ended.set()

    def _goes_on(self, end: float) -> bool:
        """Whether something that was begun is to be finished still."""
        self._listen(False)
        states = [connection.state for connection in list(self._connections.values())]
        return time.monotonic() < end and (WORKING in states or WRITING in states)

    def _guarded(self, work: Callable[[Connection], None], connection: Connection) -> None:
        """Whatever goes wrong with a connection is its own misfortune, and not that of all."""
        try:
            work(connection)
        except Exception:
            print(
                f"csparql-spark: a connection is closed, because of a mistake of the server:\n{traceback.format_exc()}",
                file=sys.stderr,
                flush=True,
            )
            self._close(connection)

    def _listen(self, on: bool) -> None:
        if on != self._listens:
            self._listens = on
            if on:
                self._epoll.register(self._listening, select.EPOLLIN)
            else:
                self._epoll.unregister(self._listening)

    def _enter(self, line: Line, address: Address) -> Connection:
        connection = self._connect(line, address)
        connection.begun = connection.moved = time.monotonic()
        self._connections[connection.fd] = connection
        self._epoll.register(connection.fd, READ)
        return connection

    def _drop_idle(self) -> bool:
        """Send home those who do nothing, then those who have been longest about a head."""
        reading = [one for one in list(self._connections.values()) if one.state == READING and one.head is None]
        idle = [one for one in reading if one.served and not one.buffer]
        gone = heapq.nsmallest(SENT_HOME_AT_ONCE, idle or reading, key=lambda one: one.begun)
        for connection in gone:
            self._close(connection)
        return bool(gone)

    def _ready(self, connection: Connection) -> None:
        if connection.state == WRITING:
            self._write(connection)
        elif connection.state == LINGERING:
            if self._received(connection) != 0:
                self._arm(connection)
            else:
                self._close(connection)
        elif connection.state == READING:
            count = self._received(connection)
            if count is None:
                self._arm(connection)
                return
            now = time.monotonic()
            if not connection.buffer and connection.head is None and connection.served:
                connection.begun = now
            connection.moved = now
            if not count:
                self._ended_by_client(connection)
                return
            connection.buffer += self._piece[:count]
            self._advance(connection)

    def _received(self, connection: Connection) -> int | None:
        """How many bytes have come, 0 at the end; None if there are none."""
        try:
            return connection.socket.recv_into(self._piece)
        except BlockingIOError:
            return None
        except OSError:
            return 0

    def _ended_by_client(self, connection: Connection) -> None:
        """Nothing more will come."""
        if connection.head is not None:
            connection.body.cut = True
            self._work(connection)
        else:
            self._close(connection)

    def _advance(self, connection: Connection) -> None:
        """Go on with what was read."""
        if connection.state != READING:
            return
        try:
            if connection.head is None and not self._headed(connection):
                return
            connection.body.fill(connection.buffer)
        except Malformed as error:
            self._refuse(connection, Problem(error.code, error.detail, status=error.status))
            return
        self._count(connection)
        if self._is_due(connection):
            self._work(connection)
        elif self._bodies > self.limits.body_bytes:
            self._refuse(connection, self.limits.bodies_taken())
        elif connection.body.more:
            self._inbox.append(connection)
        else:
            self._arm(connection)

    def _headed(self, connection: Connection) -> bool:
        """Whether there is a head now."""
        if not connection.skipped and connection.buffer[:2] == b"\r\n":
            del connection.buffer[:2]  # some clients end a body with a line that does not belong to it
            connection.skipped = True
        head = read_head(connection.buffer, connection.searched)
        if head is None:
            connection.searched = len(connection.buffer)
            self._arm(connection)
            return False
        del connection.buffer[: head.size]
        connection.begin(head, self.limits.proxies)
        if not connection.socket.place.belong(connection.client):
            self._refuse(connection, self.limits.share_taken())
            return False
        return True

    def _is_due(self, connection: Connection) -> bool:
        """Whether it is time to ask the application."""
        head, body = connection.head, connection.body
        if body.whole:
            return True
        if connection.asked:
            return connection.limit is not None and body.size > connection.limit
        return head.expects or head.length > SMALL_BODY or body.size >= SMALL_BODY or self._bodies > CALM_BYTES

    def _work(self, connection: Connection) -> None:
        connection.state = WORKING
        self._hand_over(connection)

    def _count(self, connection: Connection, size: int | None = None) -> None:
        """Note how much there is of its body, unless that is answered, and of what follows it."""
        if size is None:
            size = len(connection.buffer) + (0 if connection.body is None else connection.body.size)
        with self._counting:
            self._bodies += size - connection.counted
            connection.counted = size

    def _write(self, connection: Connection) -> None:
        try:
            sent = connection.wfile.flush()
        except ConnectionError:
            self._close(connection)
            return
        if not sent:
            self._arm(connection)
        elif connection.last:
            self.finish(connection)
        elif connection.paused is not None:
            self._work(connection)
        else:
            self._back(connection, READING)

    def _refuse(self, connection: Connection, problem: Problem) -> None:
        connection.refuse(problem)
        self.finish(connection)

    # --- deadlines

    def _look_round(self) -> None:
        now = time.monotonic()
        self._listen(self._end is None)
        writing = []
        for connection in list(self._connections.values()):
            if connection.state == READING:
                self._guarded(self._look_at_reading, connection)
            elif connection.state == WRITING:
                self._guarded(self._look_at_writing, connection)
                writing.append(connection)
            elif connection.state == LINGERING and now - connection.begun >= LINGER_SECONDS:
                self._close(connection)
        for connection in sorted(writing, key=lambda one: one.moved) if self._waiting() > RESPONSE_BYTES else ():
            bound = RESPONSE_BYTES if now - connection.moved >= STALLED_SECONDS else MOST_RESPONSE_BYTES
            if self._waiting() <= bound:
                break
            self._give_up(connection)

    def _waiting(self) -> int:
        """Bytes that wait for clients, and that are held to make more of them."""
        return self._responses + self._held()

    def _look_at_reading(self, connection: Connection) -> None:
        problem = SILENT if self._end is not None else self.limits.overdue(connection, time.monotonic())
        if problem is SILENT:
            self._close(connection)
        elif problem is not None:
            self._refuse(connection, problem)

    def _look_at_writing(self, connection: Connection) -> None:
        now, taken = time.monotonic(), connection.wfile.progress()
        if taken > connection.taken:
            connection.taken, connection.moved = taken, now
        if self.limits.too_slow(connection, now, taken):
            self._give_up(connection)

    def _give_up(self, connection: Connection) -> None:
        """Close it, and let the kernel forget what the client has not taken."""
        with contextlib.suppress(OSError):
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._close(connection)
