"""The front: many connections that do little, and what becomes of a healthy one beside them."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from csparql_spark.server.http import connections, door, front
from csparql_spark.server.http.addresses import Proxies
from csparql_spark.server.http.connections import Server, hand_over, listen
from csparql_spark.server.http.limits import ConnectionLimits
from tests.server.test_connections import Wire

CROWD = 200
SMALL_BUFFER = 1 << 17
PART = bytes(range(256)) * 256  # 64 KiB
PARTS = 160
ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Application:
    """Says who asks; makes a large response at once or bit by bit; reads a body; or has others write."""

    def __init__(self) -> None:
        self.left: list[socket.socket] = []
        self.runs = 0
        self.over = threading.Event()

    def __call__(self, environ: dict[str, object], start: Callable) -> object:
        self.runs += 1
        match environ["PATH_INFO"]:
            case "/bits":
                start("200 OK", [])
                return (PART for _ in range(PARTS))
            case "/whole":
                start("200 OK", [("Content-Length", str(PARTS * len(PART)))])
                return [PART * PARTS]
            case "/long":
                self.over.wait()
            case "/leave":
                assert hand_over(environ, self)
                start("200 OK", [])
                return []
        body = environ["wsgi.input"].read() if environ["REQUEST_METHOD"] == "POST" else b""
        told = b'{"who": "%b", "length": %d}' % (environ["REMOTE_ADDR"].encode(), len(body))
        start("200 OK", [("Content-Length", str(len(told)))])
        return [told]

    def take(self, connection: socket.socket) -> None:
        self.left.append(connection)

    def close(self) -> None:
        raise AssertionError("there was somebody to write to")


class House:
    def __init__(self, *, threads: int = 2, turn: Callable[[], None] = lambda: None, **limits: object) -> None:
        self.application = Application()
        self.listening = listen("127.0.0.1", 0)
        self.port = self.listening.getsockname()[1]
        self.server = Server(
            self.listening, self.application, threads=threads, limits=ConnectionLimits(**limits), turn=turn
        )
        self.server.prepare()
        self._thread = threading.Thread(target=self.server.serve)
        self._thread.start()
        self._open: list[Wire] = []

    @property
    def places(self):
        return self.server.front.places

    def wire(self, sent: bytes = b"", *, buffer: int = 0) -> Wire:
        wire = Wire(self.port)
        if buffer:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        wire.send(sent)
        self._open.append(wire)
        return wire

    def asked(self) -> dict[str, object]:
        """What a healthy client is told."""
        wire = self.wire(ASK)
        status, _, told = wire.answer()
        assert status == 200
        wire.close()
        return told

    def close(self) -> None:
        for wire in self._open:
            wire.close()
        self.server.stop()
        self._thread.join()


@pytest.fixture
def house() -> Iterator[Callable[..., House]]:
    with contextlib.ExitStack() as opened:

        def open_house(**limits: object) -> House:
            house = House(**limits)
            opened.callback(house.close)
            return house

        yield open_house


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)  # the server needs the processor as well


def head(method: str, *more: str, path: str = "/") -> bytes:
    return ("\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *more]) + "\r\n\r\n").encode()


def test_it_turns_while_all_its_workers_are_busy(house) -> None:
    """Who asks whether the process hangs asks the front, and not those who work."""
    turns = threading.Semaphore(0)
    there = house(threads=2, turn=turns.release)
    asking = [there.wire(head("GET", path="/long")) for _ in range(4)]
    until(lambda: there.application.runs == 2)
    while turns.acquire(blocking=False):  # those of before
        pass
    assert all(turns.acquire(timeout=20) for _ in range(3))
    there.application.over.set()
    assert [wire.answer()[0] for wire in asking] == [200] * 4


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"G",
        ASK[:-2],
        head("POST", "Content-Length: 1000") + b"x",
        head("POST", "Content-Length: 10000000") + b"x",
        head("POST", "Transfer-Encoding: chunked") + b"1\r\n",
        head("POST", "Content-Length: 5", "Expect: 100-continue"),
    ],
    ids=["nothing", "letter", "head", "body", "large", "chunk", "expected"],
)
def test_a_crowd_that_is_slow_costs_no_thread(house, begun: bytes) -> None:
    there = house(threads=2)
    crowd = [there.wire(begun) for _ in range(CROWD)]
    assert there.asked() == {"who": "127.0.0.1", "length": 0}
    assert there.places.taken >= CROWD
    for wire in crowd:
        wire.close()
    until(lambda: there.places.taken == 0)


@pytest.mark.parametrize("path", ["/whole", "/bits"])
def test_a_crowd_that_does_not_read_costs_no_thread(house, path: str) -> None:
    """And who does can still read all of it, in order."""
    there = house(threads=2)
    crowd = [there.wire(head("GET", "Connection: close", path=path), buffer=SMALL_BUFFER) for _ in range(10)]
    until(lambda: there.application.runs == 10)
    assert there.asked()["length"] == 0
    body = crowd[0].answers.read().partition(b"\r\n\r\n")[2]
    if path == "/bits":
        assert body == (b"10000\r\n" + PART + b"\r\n") * PARTS + b"0\r\n\r\n"
    else:
        assert body == PART * PARTS


def test_who_does_not_read_is_sent_home(house) -> None:
    there = house(idle_seconds=0.3)
    wire = there.wire(head("GET", path="/whole"), buffer=SMALL_BUFFER)
    until(lambda: there.application.runs == 1)
    until(lambda: there.places.taken == 0)
    with pytest.raises(ConnectionResetError):
        while wire.socket.recv(1 << 16):
            pass


def test_what_waits_for_who_takes_nothing_is_bounded(house, monkeypatch) -> None:
    monkeypatch.setattr(front, "RESPONSE_BYTES", 3 * PARTS * len(PART))
    monkeypatch.setattr(front, "STALLED_SECONDS", 0.1)
    there = house()
    for _ in range(8):
        there.wire(head("GET", path="/whole"), buffer=SMALL_BUFFER)
    until(lambda: there.application.runs == 8)
    until(lambda: there.places.taken == 3)
    assert there.asked()["length"] == 0


def test_a_head_has_a_deadline_as_a_whole(house) -> None:
    there = house(head_seconds=0.3)
    wire = there.wire(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
    while not select.select([wire.socket], [], [], 0.02)[0]:
        wire.send(b"a")
    status, headers, told = wire.answer()
    assert (status, told["code"], headers["Connection"]) == (408, "timeout", "close")
    assert told["detail"] == "The head of the request was not there after 0.3 seconds."
    silent = there.wire()
    assert silent.closed()


def test_a_kept_connection_may_be_silent_for_longer_than_a_head(house) -> None:
    there = house(head_seconds=0.1, idle_seconds=60.0)
    wire = there.wire(ASK)
    assert wire.answer()[0] == 200
    assert there.wire().closed(), "who has never asked anything is sent home"
    wire.send(ASK)
    assert wire.answer()[0] == 200


def test_a_body_has_a_least_rate(house) -> None:
    there = house(idle_seconds=0.3, slowest_rate=1_000_000)
    wire = there.wire(head("POST", "Content-Length: 60000"))
    while not select.select([wire.socket], [], [], 0.02)[0]:
        wire.send(b"a")
    status, _, told = wire.answer()
    assert (status, told["detail"]) == (
        408,
        "The body came too slowly, or stopped: nothing was kept. Send it again, at 1000000 bytes a second at least.",
    )
    assert there.application.runs == 0


def test_bodies_are_bounded_in_total(house, monkeypatch) -> None:
    monkeypatch.setattr(front, "CALM_BYTES", 1000)
    monkeypatch.setattr(front, "LINGER_SECONDS", 0.5)
    there = house(body_bytes=100_000)
    first = there.wire(head("POST", "Content-Length: 200000") + bytes(90_000))
    until(lambda: there.server.front._bodies == 90_000)
    second = there.wire(head("POST", "Content-Length: 60000") + bytes(20_000))
    status, headers, told = second.answer()
    assert (status, told["code"], headers["Retry-After"]) == (503, "busy", "5")
    first.send(bytes(110_000))
    assert first.answer()[0] in (200, 503), "whoever came last"
    until(lambda: there.server.front._bodies == 0)


def test_a_large_body_is_asked_for_first_and_then_whole(house) -> None:
    there = house()
    wire = there.wire(head("POST", "Content-Length: 3000000"))
    until(lambda: there.application.runs == 1)
    wire.send(bytes(3_000_000) + ASK)
    assert wire.answer()[2]["length"] == 3_000_000
    assert wire.answer()[2]["length"] == 0
    assert there.application.runs == 3


def test_a_body_of_tiny_chunks_is_read_in_turns(house) -> None:
    """While others are answered; and what follows it is another request."""
    there = house()
    wire = there.wire(head("POST", "Transfer-Encoding: chunked") + b"1\r\na\r\n" * 20_000)
    assert there.asked()["length"] == 0
    wire.send(b"0\r\n\r\n" + ASK)
    assert [wire.answer()[2]["length"] for _ in range(2)] == [20_000, 0]


@pytest.mark.parametrize("served", [False, True], ids=["first", "kept"])
def test_empty_lines_are_no_sign_of_life(house, served: bool) -> None:
    """One before a request is left out, as HTTP has it; who sends nothing else is sent home."""
    there = house(head_seconds=0.3, idle_seconds=0.3)
    wire = there.wire(b"\r\n" + ASK if served else b"")
    if served:
        assert wire.answer()[0] == 200
    while not select.select([wire.socket], [], [], 0.02)[0]:
        wire.send(b"\r\n")
    status, _, told = wire.answer()
    assert (status, told["code"]) == (400, "bad-request")


@pytest.mark.parametrize("length", [60_000, 3_000_000])
def test_a_body_that_began_fast_has_to_go_on(house, length: int) -> None:
    there = house(idle_seconds=0.2, slowest_rate=10_000)
    wire = there.wire(head("POST", f"Content-Length: {length}") + bytes(length - 10_000))
    while not select.select([wire.socket], [], [], 0.02)[0]:
        wire.send(b"a")
    status, _, told = wire.answer()
    assert (status, told["code"]) == (408, "timeout")


def test_bodies_count_until_they_are_answered(house, monkeypatch) -> None:
    """Also those that are whole and wait for a worker, or are with one; the second of a pipeline is counted as well."""
    monkeypatch.setattr(front, "LINGER_SECONDS", 0.5)
    there = house(threads=4, body_bytes=500_000)
    working, go_on = threading.Semaphore(0), threading.Event()

    def application(environ: dict[str, object], start: Callable) -> object:
        environ["wsgi.input"].read()
        working.release()
        assert go_on.wait(20)
        start("200 OK", [("Content-Length", "2")])
        return [b"{}"]

    there.server.wsgi_app = application
    crowd = [there.wire(head("POST", "Content-Length: 200000") + bytes(200_000) + ASK) for _ in range(2)]
    for _ in crowd:
        assert working.acquire(timeout=20)
    late = there.wire(head("POST", "Content-Length: 200000") + bytes(150_000))
    status, headers, told = late.answer()
    assert (status, told["code"], headers["Retry-After"]) == (503, "busy", "5")
    go_on.set()
    for wire in crowd:
        assert [wire.answer()[0] for _ in range(2)] == [200, 200]
    until(lambda: there.server.front._bodies == 0)


def test_a_share_of_connections(house, monkeypatch) -> None:
    monkeypatch.setattr(door, "share", lambda address: address)  # this machine is counted like others
    monkeypatch.setattr(connections, "share", lambda address: address)
    there = house(each=3)
    crowd = [there.wire(ASK) for _ in range(3)]
    assert [wire.answer()[0] for wire in crowd] == [200] * 3
    refused = there.wire()
    status, headers, told = refused.answer()
    assert (status, told["code"], told["limit"], headers["Retry-After"]) == (429, "too-many-connections", 3, "5")
    assert told["detail"] == (
        "Your address holds 3 connections, which is the most that one may: close some, or use one for several requests."
    )
    refused.finish()
    assert refused.closed()
    crowd.pop().close()
    until(lambda: there.places.taken == 2)
    assert there.asked()["who"] == "127.0.0.1"


def test_clients_of_a_trusted_proxy_have_shares_of_their_own(house) -> None:
    there = house(each=2, proxies=Proxies(("127.0.0.1",)))
    body = ("Content-Length: 10", "X-Forwarded-For: 192.0.2.1, 203.0.113.9")
    crowd = [there.wire(head("POST", *body)) for _ in range(2)]
    until(lambda: there.places.count("203.0.113.9") == 2)
    refused = there.wire(head("POST", *body))
    assert refused.answer()[0] == 429
    other = there.wire(head("GET", "X-Forwarded-For: 203.0.113.10"))
    assert other.answer()[2]["who"] == "203.0.113.10"
    other.send(head("GET", "X-Forwarded-For: 203.0.113.11"))
    assert other.answer()[2]["who"] == "203.0.113.11", "one connection, several clients"
    for wire in crowd:
        wire.send(bytes(10))
        assert wire.answer()[2] == {"who": "203.0.113.9", "length": 10}
    until(lambda: there.places.count("203.0.113.9") == 0)
    assert there.places.taken >= 3, "the proxy keeps its connections"


def test_two_headers_that_differ_do_not_hide_from_the_count(house) -> None:
    """The proxy on this machine sets one of them; its client wrote the other, and is not this machine."""
    there = house(each=2, proxies=Proxies(("127.0.0.1",)))
    forged = ("Content-Length: 10", "X-Forwarded-For: 203.0.113.9", "Forwarded: for=192.0.2.1")
    crowd = [there.wire(head("POST", *forged)) for _ in range(2)]
    until(lambda: there.places.count("127.0.0.1") == 2)
    assert there.wire(head("POST", *forged)).answer()[0] == 429
    assert there.asked() == {"who": "127.0.0.1", "length": 0}
    for wire in crowd:
        wire.send(bytes(10))
        assert wire.answer()[2] == {"who": "127.0.0.1", "length": 10}
    until(lambda: there.places.count("127.0.0.1") == 0)


def test_nobody_else_speaks_for_others(house) -> None:
    there = house(proxies=Proxies(("192.0.2.0/24",)))
    wire = there.wire(head("GET", "X-Forwarded-For: 203.0.113.9", "Forwarded: for=203.0.113.9"))
    assert wire.answer()[2]["who"] == "127.0.0.1"


def test_when_all_places_are_taken_idle_connections_go_first_then_unfinished_heads(house, monkeypatch) -> None:
    monkeypatch.setattr(front, "SENT_HOME_AT_ONCE", 1)
    there = house(connections=3)
    slow = there.wire(ASK[:-2])
    until(lambda: there.places.taken == 1)
    idle = there.wire(ASK)
    assert idle.answer()[0] == 200
    left = there.wire(head("GET", path="/leave"))
    until(lambda: there.application.left != [])
    assert there.asked()["length"] == 0
    assert idle.closed()
    until(lambda: there.places.taken == 2)
    again = there.wire(head("GET", path="/leave"))
    until(lambda: len(there.application.left) == 2)
    last = there.wire(head("GET", path="/leave"))
    until(lambda: len(there.application.left) == 3)
    assert slow.closed()
    refused = there.wire()
    status, headers, told = refused.answer()
    assert (status, told["code"], headers["Retry-After"]) == (503, "busy", "5")
    assert told["detail"] == "All 3 connections that this server keeps are taken: try again later."
    for connection in there.application.left:
        connection.close()
    assert there.places.taken == 0, "whoever closes a connection gives its place back"
    assert there.asked()["length"] == 0
    for wire in (left, again, last):
        assert b"Connection: close" in wire.answers.read()


def test_what_the_network_has_against_one_connection_is_not_held_against_the_next(house, monkeypatch) -> None:
    there = house()
    failures = [OSError(errno.EPROTO, "Protocol error"), OSError(errno.ENETDOWN, "Network is down")]

    class Listening:
        def accept(self) -> tuple[socket.socket, tuple]:
            if failures:
                raise failures.pop()
            return there.listening.accept()

    monkeypatch.setattr(there.server.front._door, "_listening", Listening())
    assert there.asked()["length"] == 0
    assert failures == []


def test_a_response_that_cannot_be_closed_harms_nobody(house) -> None:
    class Stubborn:
        def __iter__(self) -> Iterator[bytes]:
            return (PART for _ in range(PARTS))

        def close(self) -> None:
            raise RuntimeError("not now")

    there = house(idle_seconds=0.3)
    usual = there.server.wsgi_app

    def application(environ: dict[str, object], start: Callable) -> object:
        if environ["PATH_INFO"] != "/stubborn":
            return usual(environ, start)
        start("200 OK", [])
        return Stubborn()

    there.server.wsgi_app = application
    there.wire(head("GET", path="/stubborn"), buffer=SMALL_BUFFER)
    until(lambda: there.places.taken == 1)
    until(lambda: there.places.taken == 0)
    assert there.asked()["length"] == 0


def test_a_reset_gives_the_place_back(house) -> None:
    there = house()
    for begun in (ASK[:-2], head("POST", "Content-Length: 100000") + b"x", head("GET", path="/whole")):
        wire = there.wire(begun, buffer=SMALL_BUFFER)
        until(lambda: there.places.taken == 1)
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()
        until(lambda: there.places.taken == 0)


def test_what_was_begun_is_finished_when_the_server_is_stopped(house) -> None:
    there = house()
    wire = there.wire(head("GET", path="/whole"), buffer=SMALL_BUFFER)
    until(lambda: there.application.runs == 1)
    idle = there.wire(ASK[:-2])
    stopping = threading.Thread(target=there.server.stop)
    stopping.start()
    assert wire.answers.read().endswith(PART * PARTS)
    assert idle.closed()
    stopping.join()
