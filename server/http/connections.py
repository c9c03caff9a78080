"""Connections: cheroot's HTTP, made to fit this server.

- It serves on a listening socket that it is given, which another process may have opened.
- Its workers never wait for a client: `front` reads whole requests and gives them to workers, and takes back what
  responses could not be sent at once. A response that is made bit by bit goes on when its client has taken the bits.
- What is wrong before the application sees a request is answered with a problem document too.
- A connection never waits for a thread while there may be more of them: threads are made when all are busy, and kept.
- A response may take the connection with it: when its head is sent, somebody else writes the body, for as long as
  that takes, and no thread is held. The application asks for that with `hand_over`.

    server = Server(listening, application, threads=64, limits=ConnectionLimits(connections=10_000))
    server.prepare()
    server.serve()          # until another thread calls server.stop()
"""

from __future__ import annotations

import io
import logging
import os
import socket
import sys
import threading
import time
import traceback as tracebacks
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from cheroot import wsgi
from cheroot.server import HeaderReader, HTTPRequest
from cheroot.workers.threadpool import ThreadPool

from csparql_spark.server.http.addresses import Proxies, share
from csparql_spark.server.http.bodies import AWAIT, UNPACKED
from csparql_spark.server.http.door import Address
from csparql_spark.server.http.framing import Head
from csparql_spark.server.http.front import READING, Front
from csparql_spark.server.http.limits import ConnectionLimits
from csparql_spark.server.http.problems import MEDIA_TYPE, Problem, of_status
from csparql_spark.server.http.wire import FULL, Body, Line, Output, Wanted

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

BACKLOG = 512
FINISH_SECONDS = 1  # for threads whose requests still run when the front has ended
SLICE = 0.25  # seconds for which a response is made at a time
HAND_OVER = "csparql_spark.hand_over"
REASONS = {status.value: status.phrase for status in HTTPStatus}


class Taker(Protocol):
    """Who writes the body of a response. One of the two is called, once."""

    def take(self, connection: socket.socket) -> None:
        """The head is sent; the connection is the taker's."""

    def close(self) -> None:
        """There is nothing to take: the head could not be sent."""


def hand_over(environment: WSGIEnvironment, taker: Taker) -> bool:
    """Let the taker write the body of the response to this request; false if this server is another one, and cannot.
    The response must have no length, and no body of its own."""
    ask = environment.get(HAND_OVER)
    if ask is None:
        return False
    ask(taker)
    return True


class Headers(HeaderReader):
    def _allow_header(self, key_name: bytes) -> bool:
        # WSGI cannot tell Last_Event_ID from Last-Event-ID; and what is expected, the front has seen to.
        return b"_" not in key_name and key_name != b"Expect"


class Gateway(wsgi.Gateway_10):
    """One run of the application, which may be interrupted while the response is made."""

    taker: Taker | None = None
    response: Iterable[bytes] | None = None
    _parts: Iterator[bytes] | None = None

    def get_environ(self) -> WSGIEnvironment:  # type: ignore[override]  # cheroot's stub says None
        return {**super().get_environ(), HAND_OVER: self._ask, AWAIT: self.req.rfile.want, UNPACKED: self._unpacked}

    def _unpacked(self, size: int) -> None:
        """Raises `Problem`."""
        self.req.server.front.unpacked(self.req.conn, size)

    def _ask(self, taker: Taker) -> None:
        self.taker = self.req.taker = taker

    def respond(self) -> bool:  # type: ignore[override]  # more than cheroot asks for
        """Whether that was all; if not, it is asked again when the client has taken what there is, behind those that
        wait for a thread."""
        over, end = False, time.monotonic() + SLICE
        try:
            if self._parts is None:
                self.response = self.req.server.wsgi_app(self.env, self.start_response)
                self._parts = iter(self.response)
            for part in self._parts:
                if part:
                    self.write(part)
                if self.req.conn.wfile.pending >= FULL or time.monotonic() > end:
                    return False
            over = True
            self.req.ensure_headers_sent()
            return True
        except BaseException:
            over = True
            raise
        finally:
            if over:
                self.close()

    def close(self) -> None:
        close = getattr(self.response, "close", None)
        if close is not None:
            close()
        self.response, taker, self.taker = None, self.taker, None
        if taker is not None and not (self.req.is_left() and self.req.sent_headers and self.req.conn.leave_to(taker)):
            taker.close()


class Request(HTTPRequest):
    header_reader = Headers()
    taker: Taker | None = None
    gateway: Gateway | None = None

    def parse_request(self) -> None:
        """Of a head that the front has read, which bounds its length and reads it in one way."""
        self.rfile = self.conn.rfile = io.BytesIO(self.conn.head.raw)
        self.ready = self.read_request_line() and self.read_request_headers()

    def read_request_headers(self) -> bool:
        if not super().read_request_headers():
            return False
        wishes = self.inheaders.get(b"Connection", b"").lower().split(b",")
        if b"close" in (wish.strip() for wish in wishes):
            self.close_connection = True
        return True

    def respond(self) -> bool:  # type: ignore[override]  # more than cheroot asks for
        """Whether that was all of the response."""
        if self.gateway is None:
            self.rfile = self.conn.body
            self.gateway = self.server.gateway(self)
        if not self.gateway.respond():
            return False
        self.ensure_headers_sent()
        if self.chunked_write:
            self.conn.wfile.write(b"0\r\n\r\n")
        return True

    def send_headers(self) -> None:
        if not self.conn.body.whole:
            self.close_connection = self.conn.unread = True  # nothing of it is taken for a request
        if self.is_left():
            self.response_protocol = "HTTP/1.0"  # no chunks: the end of the connection is that of the body
            self.outheaders.append((b"Connection", b"close"))
        super().send_headers()

    def is_left(self) -> bool:
        """Whether somebody else writes the body: not that of an error, into which the response may have turned."""
        return self.taker is not None and self.status.startswith(b"200")  # type: ignore[arg-type]  # bytes by now

    def simple_response(self, status: str, msg: str = "") -> None:
        number, _, reason = str(status).partition(" ")
        self.close_connection = True
        self.conn.refuse(Problem(of_status(int(number)), msg or f"{reason}.", status=int(number)))


class Connection:
    """An accepted connection: where it stands, for the front, and what cheroot asks of one."""

    ssl_env = None

    def __init__(self, server: Server, line: Line, address: Address) -> None:
        self.server, self.socket, self.fd = server, line, line.fileno()
        self.peer, self.remote_port = address[:2]
        self.remote_addr = self.peer  # of the client, if it came through a proxy
        self.client: str | None = None  # whose share the connection counts for
        self.state = READING
        self.buffer = bytearray()  # what was received and belongs to no request yet
        self.rfile: io.BytesIO = io.BytesIO()
        self.wfile = Output(line, server.front.grown)
        self.begun = self.moved = 0.0  # when its state began; when something came or went
        self.first = self.taken = 0  # of the body or response, when its rate began to count, and now
        self.served = 0  # requests that were answered
        self.unread = self.last = False  # the client may still be sending; no request follows
        self.counted = 0  # bytes of its body, and of what follows, by the front
        self._next()

    def _next(self) -> None:
        """Nothing is known of the next request."""
        self.searched = 0  # bytes of the buffer that are part of its head
        self.skipped = False  # an empty line before it
        self.head: Head | None = None
        self.body: Body | None = None
        self.asked, self.limit = False, None  # the application wants the body, up to so many bytes
        self.paused: Request | None = None  # it goes on when the client has taken something

    def begin(self, head: Head, proxies: Proxies) -> None:
        self.head, self.body = head, Body(head)
        headers = head.fields(b"x-forwarded-for"), head.fields(b"forwarded")
        self.remote_addr = proxies.client(self.peer, *headers)
        self.client = share(self.remote_addr)
        if self.client is None and all(headers) and proxies.trusted(self.peer):
            self.client = self.peer  # two headers that differ make nobody one of this machine, whom nobody counts

    def communicate(self) -> bool:
        """Answer the request, as far as that is possible; whether the connection goes on."""
        request = self.paused or Request(self.server, self)
        self.paused = None
        try:
            if not request.ready:
                request.parse_request()
                if not request.ready:
                    return False
            if not request.respond():
                self.paused = request
                return True
        except Wanted as wanted:
            self.asked, self.limit = True, wanted.limit
            if self.head is not None and self.head.expects:
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return True
        except ConnectionError:
            return False
        except Exception:
            self.server.error_log("A response could not be made.", level=logging.ERROR, traceback=True)
            if not request.sent_headers:
                request.simple_response("500 Internal Server Error")
            return False
        if request.close_connection:
            return False
        self.served += 1
        self._next()
        if self.client != share(self.peer):
            self.socket.place.belong(None)  # the proxy keeps it, for whomever
        return True

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem, and read nothing more."""
        body = problem.body()
        more = "".join(f"{name}: {value}\r\n" for name, value in problem.headers.items())
        head = (
            f"HTTP/1.1 {problem.status} {REASONS[problem.status]}\r\nContent-Type: {MEDIA_TYPE}\r\n"
            f"Content-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n"
        )
        self.unread = True
        try:
            self.wfile.write(head.encode("latin-1") + body)
        except ConnectionError:
            return  # nobody is there to read it

    def leave_to(self, taker: Taker) -> bool:
        """Whether it could be left: the client may be gone, or not take what goes before."""
        try:
            if not self.wfile.flush():
                return False
        except ConnectionError:
            return False
        taker.take(self.server.front.leave(self))
        return True

    def abandon(self) -> None:
        """There is nobody who would take the rest of the response."""
        if self.paused is not None and self.paused.gateway is not None:
            try:
                self.paused.gateway.close()
            except Exception:  # of the application; who gives up the connection is not to fail by it
                self.server.error_log("A response could not be closed.", level=logging.ERROR, traceback=True)

    def close(self) -> None:
        self.server.front.finish(self)


class Workers(ThreadPool):
    """Threads, as many as are needed at a time.

    Each worker that waits is promised to one connection; a connection to which none is promised gets a new worker, up
    to `max`. Counting who waits, instead of asking who is idle, leaves no moment in which a connection could be queued
    behind a subscriber that stays for hours.
    """

    def __init__(self, server: wsgi.Server, *, most: int) -> None:
        super().__init__(server, min=1, max=most)
        self.get = self._take
        self._count = threading.Lock()
        self._waiting = 0  # workers to which no connection is promised
        self._owed = 0  # connections to which no worker is promised

    def put(self, connection: Connection) -> None:
        with self._count:
            if self._waiting:
                self._waiting -= 1
            else:
                self._owed += 1
                if len(self._threads) < self.max:  # type: ignore[attr-defined]  # not in the stub
                    self._threads.append(self._spawn_worker())  # type: ignore[attr-defined]  # not in the stub
        super().put(connection)

    def _take(self) -> Connection:
        with self._count:
            if self._owed:
                self._owed -= 1
            else:
                self._waiting += 1
        return self._queue.get()  # type: ignore[attr-defined]  # not in the stub


class Server(wsgi.Server):
    front: Front

    def __init__(
        self,
        listening: socket.socket,
        application: Callable,
        *,
        threads: int,
        limits: ConnectionLimits,
        turn: Callable[[], None] = lambda: None,
        held: Callable[[], int] = lambda: 0,
    ) -> None:
        """`turn` is called as long as requests are read, and `held` tells what responses hold (see `Front`)."""
        super().__init__(
            listening.getsockname()[:2],
            application,
            server_name="csparql-spark",
            request_queue_size=BACKLOG,
            timeout=limits.idle_seconds,
            shutdown_timeout=FINISH_SECONDS,
        )
        self.requests = Workers(self, most=threads)
        self.gateway = Gateway
        self._listening, self._limits, self._turn, self._held = listening, limits, turn, held

    def prepare(self) -> None:
        # With this variable cheroot would serve on descriptor 3, whatever it is given.
        os.environ.pop("LISTEN_PID", None)
        super().prepare()
        # cheroot's own, which has no connection yet
        self._connections.close()  # type: ignore[has-type]  # not in the stub
        self.front = self._connections = Front(
            self._listening,
            self._limits,
            hand_over=self.requests.put,
            connect=lambda line, address: Connection(self, line, address),
            turn=self._turn,
            held=self._held,
        )

    def put_conn(self, connection: Connection) -> None:
        self.front.resume(connection)

    def bind(self, family: int, type: int, proto: int = 0) -> socket.socket:
        self.socket = self._listening
        return self.socket

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        if level >= logging.WARNING:
            print(f"{msg}\n{tracebacks.format_exc() if traceback else ''}", file=sys.stderr, flush=True)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return ready(socket.create_server((host, port), family=family, backlog=BACKLOG))


def inherited(descriptor: int) -> socket.socket:
    """The listening socket that another process has opened and handed down. Raises `OSError`."""
    return ready(socket.socket(fileno=descriptor))


def ready(listening: socket.socket) -> socket.socket:
    listening.set_inheritable(False)
    # Accepted connections have it from here: without, an answer would wait for the acknowledgement of its head.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
