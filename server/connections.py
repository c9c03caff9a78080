"""Connections: cheroot's HTTP, made to fit this server.

- It serves on a listening socket that it is given, which another process may have opened.
- What is wrong before the application sees a request is answered with a problem document too.
- A body that nobody read is never read into memory: the answer is sent, and the connection is closed so gently that a
  client which is still sending can read the answer.
- Chunked bodies are read in small pieces, and an end without a last chunk is an error.
- A connection never waits for a thread while there may be more of them: threads are made when all are busy, and kept.
- A response may take the connection with it: when its head is sent, somebody else writes the body, for as long as he
  likes, and no thread is held. The application asks for that with `hand_over`.

    server = Server(listening, application, threads=232, idle_seconds=30)
    server.prepare()
    server.serve()          # until another thread calls server.stop()
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import threading
import time
import traceback as tracebacks
from collections.abc import Callable, Mapping
from typing import Protocol

from cheroot import wsgi
from cheroot.server import HeaderReader, HTTPConnection, HTTPRequest, KnownLengthRFile
from cheroot.workers.threadpool import ThreadPool

from csparql_spark.server.problems import MEDIA_TYPE, Problem, of_status

HEADER_BYTES = 64 << 10
BACKLOG = 512
KEPT_ALIVE = 2000
SMALL_REST = 256 << 10          # of a body that nobody read: reading it is cheaper than another connection
LINGER_SECONDS = 3.0
FINISH_SECONDS = 3.0            # for requests that run when the server is stopped
HAND_OVER = "csparql_spark.hand_over"
_HEXADECIMAL = re.compile(rb"[0-9A-Fa-f]{1,15}")


class Taker(Protocol):
    """Who writes the body of a response. One of the two is called, once."""

    def take(self, connection: socket.socket) -> None:
        """The head is sent; the connection is his."""

    def close(self) -> None:
        """There is nothing to take: the head could not be sent."""


def hand_over(environment: Mapping[str, object], taker: Taker) -> bool:
    """Let him write the body of the response to this request; false if this server is another one, and cannot. The
    response must have no length, and no body of its own."""
    ask = environment.get(HAND_OVER)
    if ask is None:
        return False
    ask(taker)
    return True


class ChunkedBody:
    """The body of a request with Transfer-Encoding: chunked, as a file. Raises `EOFError` or `ValueError`."""

    def __init__(self, connection) -> None:
        self._connection = connection
        self._left = 0              # of the current chunk
        self._begun = False
        self.finished = False

    def read(self, size: int) -> bytes:
        if self.finished:
            return b""
        if not self._left:
            self._next_chunk()
            if self.finished:
                return b""
        piece = self._connection.read(min(size, self._left))
        if not piece:
            raise EOFError("the connection ended inside a chunk")
        self._left -= len(piece)
        return piece

    def _next_chunk(self) -> None:
        if self._begun and self._line():
            raise ValueError("a chunk is longer than its size says")
        self._begun = True
        size = self._line().partition(b";")[0].strip()
        if not _HEXADECIMAL.fullmatch(size):
            raise ValueError(f"{size[:40].decode('latin-1')!r} is not the size of a chunk")
        self._left = int(size, 16)
        if not self._left:
            while self._line():
                pass                # trailers say nothing that this server wants to know
            self.finished = True

    def _line(self) -> bytes:
        line = self._connection.readline(HEADER_BYTES)
        if not line:
            raise EOFError("the connection ended before the last chunk")
        if not line.endswith(b"\r\n"):
            raise ValueError("a line does not end with CR LF")
        return line[:-2]


class Headers(HeaderReader):
    def _allow_header(self, key_name: bytes) -> bool:
        # WSGI cannot tell Last_Event_ID from Last-Event-ID.
        return b"_" not in key_name


class Gateway(wsgi.Gateway_10):
    taker: Taker | None = None

    def get_environ(self) -> dict[str, object]:
        return {**super().get_environ(), HAND_OVER: self._ask}

    def _ask(self, taker: Taker) -> None:
        self.taker = self.req.taker = taker

    def respond(self) -> None:
        try:
            super().respond()
        finally:
            taker, connection = self.taker, self.req.conn
            if taker is not None and not (self.req.is_left() and self.req.sent_headers and connection.leave_to(taker)):
                taker.close()


class Request(HTTPRequest):
    header_reader = Headers()
    taker: Taker | None = None

    def read_request_headers(self) -> bool:
        if not super().read_request_headers():
            return False
        length = self.inheaders.get(b"Content-Length")
        if length is not None and not length.isdigit():
            self.simple_response("400 Bad Request", "The Content-Length is not a number of bytes.")
            return False
        if self.chunked_read and length is not None:
            # Two lengths are how requests are smuggled past proxies: the chunks count, and nothing follows them.
            del self.inheaders[b"Content-Length"]
            self.close_connection = True
        return True

    def respond(self) -> None:
        connection = self.conn.rfile
        self.rfile = (ChunkedBody(connection) if self.chunked_read
                      else KnownLengthRFile(connection, int(self.inheaders.get(b"Content-Length", 0))))
        self.server.gateway(self).respond()
        if self.ready:
            self.ensure_headers_sent()
        if self.chunked_write:
            self.conn.wfile.write(b"0\r\n\r\n")

    def send_headers(self) -> None:
        if not self._finish_body():
            self.close_connection = self.conn.unread = True
            self.rfile.remaining = 0        # else cheroot reads it all
        if self.is_left():
            self.response_protocol = "HTTP/1.0"         # no chunks: the end of the connection is that of the body
            self.outheaders.append((b"Connection", b"close"))
        super().send_headers()

    def is_left(self) -> bool:
        """Whether somebody else writes the body: not that of an error, into which the response may have turned."""
        return self.taker is not None and self.status.startswith(b"200")

    def _finish_body(self) -> bool:
        """Read the small rest of a body; false if there is more."""
        if self.chunked_read:
            return self.rfile.finished
        if not self.rfile.remaining:
            return True
        if self.rfile.remaining > SMALL_REST:
            return False
        try:
            self.rfile.read(self.rfile.remaining)
        except OSError:
            return False
        return not self.rfile.remaining

    def simple_response(self, status: str, msg: str = "") -> None:
        status = str(status)
        number, _, reason = status.partition(" ")
        body = Problem(of_status(int(number)), msg or f"{reason}.", status=int(number)).body()
        self.close_connection = self.conn.unread = True
        head = (f"{self.server.protocol} {status}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body)}\r\n"
                "Connection: close\r\n\r\n")
        try:
            self.conn.wfile.write(head.encode("latin-1") + body)
        except OSError:
            return      # nobody is there to read it


class Connection(HTTPConnection):
    RequestHandlerClass = Request
    unread = False              # the client may still be sending
    left = False

    def leave_to(self, taker: Taker) -> bool:
        """Whether it could be left: there may be no descriptors any more."""
        try:
            copy = self.socket.dup()
        except OSError:
            return False
        self.left, self.unread = True, False
        taker.take(copy)
        return True

    def close(self) -> None:
        if self.left:
            self.rfile.close()
            self.socket.close()         # our descriptor of it; to shut it down would end the connection
            return
        if self.unread:
            self._listen_to_the_end()
        super().close()

    def _listen_to_the_end(self) -> None:
        """To close on a client that is sending would reset the connection, and our answer with it."""
        deadline = time.monotonic() + LINGER_SECONDS
        try:
            self.socket.shutdown(socket.SHUT_WR)
            while (rest := deadline - time.monotonic()) > 0:
                self.socket.settimeout(rest)
                if not self.socket.recv(1 << 16):
                    return
        except OSError:
            return


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
        self._waiting = 0           # workers to which no connection is promised
        self._owed = 0              # connections to which no worker is promised

    def put(self, connection: Connection) -> None:
        with self._count:
            if self._waiting:
                self._waiting -= 1
            else:
                self._owed += 1
                if len(self._threads) < self.max:
                    self._threads.append(self._spawn_worker())
        super().put(connection)

    def _take(self) -> Connection:
        with self._count:
            if self._owed:
                self._owed -= 1
            else:
                self._waiting += 1
        return self._queue.get()


class Server(wsgi.Server):
    ConnectionClass = Connection

    def __init__(self, listening: socket.socket, application: Callable, *, threads: int, idle_seconds: float) -> None:
        super().__init__(listening.getsockname()[:2], application, server_name="csparql-spark",
                         request_queue_size=BACKLOG, timeout=idle_seconds, shutdown_timeout=FINISH_SECONDS)
        self.requests = Workers(self, most=threads)
        self.gateway = Gateway
        self._listening = listening
        self.keep_alive_conn_limit = KEPT_ALIVE
        self.max_request_header_size = HEADER_BYTES

    def prepare(self) -> None:
        # With this variable cheroot would serve on descriptor 3, whatever it is given.
        os.environ.pop("LISTEN_PID", None)
        super().prepare()

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
