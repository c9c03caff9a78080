"""HTTP on the wire: what no client library would send, and what happens to connections afterwards."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from csparql_spark.server.backend import Backend
from tests.server.conftest import serving

ONE = b"<urn:a> <urn:p> <urn:b> .\n"


class Wire:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.answers = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def finish(self) -> None:
        """Say that nothing more will come."""
        self.socket.shutdown(socket.SHUT_WR)

    def answer(self) -> tuple[int, dict[str, str], dict[str, object]]:
        status = int(self.answers.readline().split()[1])
        headers = {}
        while line := self.answers.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name] = value
        return status, headers, json.loads(self.answers.read(int(headers["Content-Length"])))

    def closed(self) -> bool:
        """Whether the server has closed the connection."""
        return self.answers.read() == b""

    def close(self) -> None:
        self.answers.close()
        self.socket.close()


@pytest.fixture
def wire(client, port: int) -> Iterator[Wire]:
    client.put("/streams/s")
    wire = Wire(port)
    yield wire
    wire.close()


def head(length: object = None, *more: str, path: str = "/streams/s") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/n-triples"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join([*lines, *more]) + "\r\n\r\n").encode()


def chunks(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


CHUNKED = "Transfer-Encoding: chunked"


def test_a_connection_is_kept(wire: Wire) -> None:
    for _ in range(3):
        wire.send(head(len(ONE)) + ONE)
        status, _, told = wire.answer()
        assert (status, told.get("accepted")) == (200, 1), told


def test_a_truncated_body_is_refused_whole(wire: Wire, backend: Backend) -> None:
    wire.send(head(2 * len(ONE)) + ONE)
    wire.finish()
    status, _, told = wire.answer()
    assert (status, told["code"], told["expected"], told["received"]) == (400, "truncated-body", 52, 26)
    assert wire.closed()
    assert backend.stores.log.tail() == 1


@pytest.mark.parametrize(
    "begun",
    [head(100) + ONE, head(1_000_000) + ONE, head(None, CHUNKED) + chunks(ONE)],
    ids=["small", "large", "chunked"],
)
def test_a_body_that_stops_in_the_middle(client, backend: Backend, begun: bytes) -> None:
    """The client stays and says nothing more: it is told so after the idle time."""
    client.put("/streams/s")
    with serving(backend, threads=4, idle_seconds=0.2) as port:
        wire = Wire(port)
        wire.send(begun)
        status, _, told = wire.answer()
        assert (status, told["code"]) == (408, "timeout")
        wire.finish()
        assert wire.closed()
        wire.close()
    assert backend.stores.log.tail() == 1


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(wire: Wire) -> None:
    wire.send(head(100_000_001))
    status, _, told = wire.answer()
    assert (status, told["code"], told["limit"]) == (413, "too-large", 100_000_000)


def test_a_client_that_is_still_sending_can_read_the_answer(wire: Wire) -> None:
    wire.send(head(100_000_001))
    for _ in range(100):
        wire.send(bytes(64 << 10))
    assert wire.answer()[0] == 413
    wire.finish()
    assert wire.closed()


def test_expect_100_continue(wire: Wire) -> None:
    for _ in range(2):
        wire.send(head(len(ONE), "Expect: 100-continue"))
        assert wire.answers.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert wire.answers.readline() == b"\r\n"
        wire.send(ONE)
        assert wire.answer()[0] == 200


def test_expect_100_continue_of_what_is_refused(wire: Wire) -> None:
    """The body is never asked for."""
    wire.send(head(len(ONE), "Expect: 100-continue", path="/streams/unknown"))
    status, headers, told = wire.answer()
    assert (status, headers["Connection"], told["code"]) == (404, "close", "unknown-stream")


def test_expect_100_continue_with_the_body(wire: Wire) -> None:
    """Who has sent it already need not be asked for it."""
    wire.send(head(len(ONE), "Expect: 100-continue") + ONE)
    assert wire.answer()[0] == 200


def test_chunked_bodies(wire: Wire, backend: Backend) -> None:
    for trailer in (b"", b"X-Checksum: 1\r\n", b""):
        wire.send(head(None, CHUNKED) + chunks(ONE[:5], ONE[5:], ONE) + b"0\r\n" + trailer + b"\r\n")
        assert wire.answer()[2]["accepted"] == 2
    assert backend.stores.log.tail() == 4


@pytest.mark.parametrize(
    "body, finish, code",
    [
        (chunks(ONE), True, "truncated-body"),
        (b"1a\r\n" + ONE[:10], True, "truncated-body"),
        (b"", True, "truncated-body"),
        (b"xyz\r\n", False, "bad-request"),
        (b"-1\r\n", False, "bad-request"),
        (b"\r\n", False, "bad-request"),
        (b"+1\r\n", False, "bad-request"),
        (b" 1\r\n", False, "bad-request"),
        (b"1\r\naX\r\n", False, "bad-request"),
        (b"1;" + b"x" * 5000, False, "bad-request"),
        (b"0\r\n" + b"X: y\r\n" * 1000, False, "bad-request"),
        (b"0x1a\r\n" + ONE, False, "bad-request"),
        (b"5\r\n" + ONE + b"\r\n", False, "bad-request"),
        (b"1a\n" + ONE, False, "bad-request"),
        (b"f" * 15 + b"\r\n" + ONE, True, "truncated-body"),
    ],
)
def test_chunked_bodies_that_are_broken(wire: Wire, backend: Backend, body: bytes, finish: bool, code: str) -> None:
    wire.send(head(None, CHUNKED) + body)
    if finish:
        wire.finish()
    status, _, told = wire.answer()
    assert (status, told["code"]) == (400, code)
    wire.close()
    assert backend.stores.log.tail() == 1


def test_a_chunked_body_that_is_too_large(client, backend: Backend, port: int, wire: Wire) -> None:
    start = b"PUT /queries/q HTTP/1.1\r\nHost: localhost\r\n" + CHUNKED.encode() + b"\r\n\r\n"
    wire.send(start + chunks(*[bytes(1 << 16)] * 5))
    status, _, told = wire.answer()
    assert (status, told["limit"]) == (413, 262144)


def test_a_body_that_nobody_read(wire: Wire) -> None:
    """A small one is read over, after a large one the connection is closed; nothing of them is taken for a request."""
    wire.send(head(len(ONE), path="/nothing") + ONE + head(len(ONE)) + ONE)
    assert [wire.answer()[0], wire.answer()[0]] == [404, 200]
    wire.send(head(10**15, path="/nothing"))
    assert wire.answer()[0] == 404
    wire.finish()
    assert wire.closed()


def test_a_chunked_body_that_nobody_read(wire: Wire) -> None:
    """When all of it is there, where it ends is known, and so is the beginning of the next request."""
    wire.send(head(None, CHUNKED, path="/nothing") + chunks(ONE) + b"0\r\n\r\n" + head(len(ONE)) + ONE)
    assert [wire.answer()[0], wire.answer()[0]] == [404, 200]
    wire.send(head(None, CHUNKED, path="/nothing") + chunks(bytes(200_000)))
    status, headers, _ = wire.answer()
    assert (status, headers["Connection"]) == (404, "close")
    wire.finish()
    assert wire.closed()


GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
LENGTH = "send one number, in digits alone."
CODING = "is not one that this server reads: send the body with a Content-Length, or chunked with HTTP/1.1."


@pytest.mark.parametrize(
    "request_bytes, status, code, detail",
    [
        (
            b"nonsense\r\n\r\n",
            400,
            "bad-request",
            "The first line 'nonsense' is not that of a request, like GET /health HTTP/1.1.",
        ),
        (
            b"GET  / HTTP/1.1\r\n\r\n",
            400,
            "bad-request",
            "The first line 'GET  / HTTP/1.1' is not that of a request, like GET /health HTTP/1.1.",
        ),
        (
            b"GET / HTTP/1.+1\r\n\r\n",
            400,
            "bad-request",
            "The first line 'GET / HTTP/1.+1' is not that of a request, like GET /health HTTP/1.1.",
        ),
        (b"GET / HTTP/2.0\r\n\r\n", 505, "bad-request", "This server speaks HTTP/1.1, and not HTTP/2.0."),
        (
            b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
            400,
            "bad-request",
            "Invalid path in Request-URI: request-target must contain origin-form which starts with absolute-path (URI "
            'starting with a slash "/").',
        ),
        (
            GET + b"no colon\r\n\r\n",
            400,
            "bad-request",
            "The line 'no colon' of the head is not a header: it has no colon.",
        ),
        (GET + b"(X): 1\r\n\r\n", 400, "bad-request", "'(X)' is not the name of a header."),
        (GET + b": 1\r\n\r\n", 400, "bad-request", "'' is not the name of a header."),
        (
            b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
            414,
            "long-url",
            "The first line of the head is longer than 65536 bytes.",
        ),
        (
            GET + b"X: " + b"a" * 70_000 + b"\r\n\r\n",
            431,
            "large-head",
            "The head is longer than 65536 bytes: send fewer or shorter headers.",
        ),
        (
            GET + b"X: 1\r\n" * 100 + b"\r\n",
            431,
            "large-head",
            "The head has 101 headers, and this server reads at most 100.",
        ),
        *(
            (head(length), 400, "bad-request", f"The Content-Length {length!r} is not a number of bytes: {LENGTH}")
            for length in ("-5", "+5", "5, 5", "5,6", "", "0x5", "1e3", "5 5", "9" * 19)
        ),
        (head(5, "Content-Length: 6"), 400, "bad-request", "The head has 2 Content-Length headers ('5, 6'): send one."),
        (
            head(26, "Content-Length: 26") + ONE,
            400,
            "bad-request",
            "The head has 2 Content-Length headers ('26, 26'): send one.",
        ),
        (
            head(5, CHUNKED) + chunks(ONE) + b"0\r\n\r\n" + GET + b"\r\n",
            400,
            "bad-request",
            "The head has both a Content-Length and a Transfer-Encoding: send one of them, for they may say different things "
            "about where the body ends.",
        ),
        (
            head(5, "Transfer-Encoding : chunked"),
            400,
            "bad-request",
            "There is a blank before the colon of the header 'Transfer-Encoding': leave it out.",
        ),
        (
            GET + b"X: 1\r\n  Content-Length: 5\r\n\r\n",
            400,
            "bad-request",
            "The line '  Content-Length: 5' of the head begins with a blank: headers cannot be folded, write each in one "
            "line.",
        ),
        (GET + b"Host: example.org\r\n\r\n", 400, "bad-request", "The head has 2 Host headers: send one."),
        (b"GET /health HTTP/1.1\r\n\r\n", 400, "bad-request", "The head has no Host: HTTP/1.1 asks for one."),
        *(
            (
                head(None, f"Transfer-Encoding: {coding}"),
                400,
                "bad-request",
                f"The Transfer-Encoding {coding!r} {CODING}",
            )
            for coding in ("gzip, chunked", "chunked, chunked", "chunked, identity", "xchunked", "gzip")
        ),
        (head(None, CHUNKED, CHUNKED), 400, "bad-request", f"The Transfer-Encoding 'chunked, chunked' {CODING}"),
        (
            head(None, CHUNKED).replace(b"HTTP/1.1", b"HTTP/1.0"),
            400,
            "bad-request",
            f"The Transfer-Encoding 'chunked' {CODING}",
        ),
        (
            GET + b"X: a\0b\r\n\r\n",
            400,
            "bad-request",
            "Line 3 of the head has the byte 0x00, which cannot stand there.",
        ),
        (GET + b"X: a\rb\r\n\r\n", 400, "bad-request", "Line 3 of the head has a CR without LF: lines end with both."),
        (
            b"GET /health HTTP/1.1\nHost: localhost\n\n",
            400,
            "bad-request",
            "Line 1 of the head has a LF without CR: lines end with both.",
        ),
    ],
)
def test_what_never_reaches_the_application(
    wire: Wire, request_bytes: bytes, status: int, code: str, detail: str
) -> None:
    wire.send(request_bytes)
    wire.finish()
    got, headers, told = wire.answer()
    assert (got, headers["Content-Type"], headers["Connection"]) == (status, "application/problem+json", "close")
    assert (told["status"], told["code"], told["detail"]) == (status, code, detail)
    assert wire.closed()


def test_headers_with_underscores_do_not_pass_for_those_with_hyphens(wire: Wire) -> None:
    wire.send(head(len(ONE), "Content_Encoding: gzip") + ONE)
    assert wire.answer()[0] == 200


def test_encoded_slashes_arrive(client, port: int) -> None:
    wire = Wire(port)
    wire.send(b"PUT /streams/http%3A%2F%2Fex.org%2Fa%252Fb HTTP/1.1\r\nHost: localhost\r\n\r\n")
    status, _, told = wire.answer()
    assert (status, told["iri"]) == (201, "http://ex.org/a%2Fb")
    wire.send(b"PUT /streams/http://ex.org/c HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert wire.answer()[2]["iri"] == "http://ex.org/c"
    wire.close()


def test_more_connections_than_threads_are_served_one_after_the_other(client, port: int, backend: Backend) -> None:
    client.put("/streams/s")
    wires = [Wire(port) for _ in range(2 * backend.settings.threads)]
    for wire in wires:
        wire.send(head(len(ONE)) + ONE)
    assert [wire.answer()[0] for wire in wires] == [200] * len(wires)
    for wire in wires:
        wire.close()


def test_threads_are_as_many_as_are_needed(client, backend: Backend) -> None:
    """One after the other needs one, and one more where the next request is quicker than the worker's way back."""
    before = threading.active_count()
    with serving(backend, threads=40, idle_seconds=10.0) as port:
        wire = Wire(port)
        for _ in range(60):
            wire.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert wire.answer()[0] == 200
        assert threading.active_count() - before < 20
        wire.close()
