"""Framing: heads that are read in one way, whatever pieces they come in, and chunks against a naive reading."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.server.http.framing import CHUNKS_AT_ONCE, HEAD_BYTES, Chunks, Head, Malformed, read_head

HEAD = b"POST /s HTTP/1.1\r\nHost: a\r\nContent-Length: 26\r\nX-A: 1\r\nx-a: 2\r\n\r\n"


def in_pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[one:other] for one, other in zip(places, places[1:], strict=False)]


def told(data: bytes, pieces: list[bytes]) -> str | tuple[int, int, bool, bool]:
    """What is read of the head, when it comes in these pieces."""
    buffer, seen = bytearray(), 0
    try:
        for piece in pieces:
            buffer += piece
            if head := read_head(buffer, seen):
                return head.size, head.length, head.chunked, head.expects
            seen = len(buffer)
    except Malformed as error:
        return error.detail
    return "more"


def test_a_head() -> None:
    head = read_head(bytearray(HEAD + b"body"))
    assert (head.size, head.length, head.chunked, head.expects) == (len(HEAD), 26, False, False)
    assert (head.fields(b"x-a"), head.fields(b"nothing")) == ([b"1", b"2"], [])
    assert read_head(bytearray(HEAD[:-1])) is None


@pytest.mark.parametrize(
    "more, expected",
    [
        (b"Transfer-Encoding: Chunked\r\n", (0, True, False)),
        (b"Expect: 100-Continue\r\n", (0, False, True)),
        (b"Expect: more\r\n", (0, False, False)),
        (b"Content-Length:\t007 \r\n", (7, False, False)),
        (b"Content_Length: 5\r\n", (0, False, False)),
    ],
)
def test_what_a_head_says_of_its_body(more: bytes, expected: tuple[int, bool, bool]) -> None:
    head = Head(b"POST /s HTTP/1.1\r\nHost: a\r\n" + more + b"\r\n")
    assert (head.length, head.chunked, head.expects) == expected


def test_http_1_0_needs_no_host_and_expects_nothing() -> None:
    assert Head(b"POST /s HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").expects is False


@given(
    st.sampled_from(
        [
            HEAD,
            HEAD.replace(b"\r\nX", b"\nX"),
            HEAD.replace(b"X-A: 1", b"X\rA: 1"),
            HEAD.replace(b"1\r\nx", b"\x00\r\nx"),
            HEAD.replace(b"26", b"2 6"),
            HEAD[:-2],
        ]
    ),
    st.lists(st.integers(0, 200)),
)
def test_pieces_change_nothing(data: bytes, cuts: list[int]) -> None:
    assert told(data, in_pieces(data, cuts)) == told(data, [data])


def test_what_is_certainly_malformed_is_told_before_the_head_is_whole() -> None:
    assert told(b"", [b"GET / HTTP/1.1\nHost"]) == "Line 1 of the head has a LF without CR: lines end with both."
    assert told(b"", [b"\x16\x03\x01\x02"]) == "Line 1 of the head has the byte 0x16, which cannot stand there."
    with pytest.raises(Malformed) as caught:
        read_head(bytearray(b"a" * (HEAD_BYTES + 1)))
    assert caught.value.code == "long-url"
    with pytest.raises(Malformed) as caught:
        read_head(bytearray(b"GET / HTTP/1.1\r\n" + b"a" * HEAD_BYTES))
    assert caught.value.code == "large-head"


def naive(data: bytes) -> bytes | None:
    """What a chunked body says, read from its beginning to its end; None if that is malformed, or not all there."""
    body = b""
    while match := re.match(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n", data):
        size, data = int(match[1], 16), data[match.end() :]
        if not size:
            trailers = re.match(rb"(?:[^\r\n]+\r\n)*\r\n", data)
            return body if trailers and trailers.end() == len(data) else None
        if data[size : size + 2] != b"\r\n":
            return None
        body, data = body + data[:size], data[size + 2 :]
    return None


def decoded(pieces: list[bytes]) -> bytes | None:
    chunks, buffer, body, over = Chunks(), bytearray(), bytearray(), False
    try:
        for piece in pieces:
            buffer += piece
            over = over or chunks.feed(buffer, body)
            while chunks.more:
                over = chunks.feed(buffer, body)
    except Malformed:
        return None
    return bytes(body) if over and not buffer else None


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=5),
    st.sampled_from([b"", b";a=b", b" ;x", b"\t"]),
    st.sampled_from([b"", b"X: y\r\n"]),
    st.lists(st.integers(0, 400), max_size=8),
    st.none() | st.tuples(st.integers(0, 400), st.sampled_from(b"0g\r\n; ")),
)
def test_chunks_say_what_a_naive_reading_says(
    parts: list[bytes], extension: bytes, trailer: bytes, cuts: list[int], flaw: tuple[int, int] | None
) -> None:
    data = bytearray(
        b"".join(b"%x%b\r\n%b\r\n" % (len(part), extension, part) for part in parts) + b"0\r\n" + trailer + b"\r\n"
    )
    if flaw is not None:
        data[flaw[0] % len(data)] = flaw[1]
    whole = bytes(data)
    assert decoded(in_pieces(whole, cuts)) == naive(whole)
    if flaw is None:
        assert naive(whole) == b"".join(parts)


def test_many_chunks_are_moved_in_turns() -> None:
    """Each of which is short, however many have come: one thread reads for all."""
    number = 3 * CHUNKS_AT_ONCE
    chunks, buffer, body = Chunks(), bytearray(b"1\r\na\r\n" * number + b"0\r\n\r\nGET /"), bytearray()
    sizes = []
    while not chunks.feed(buffer, body):
        assert chunks.more
        sizes.append(len(body))
    assert sizes == [CHUNKS_AT_ONCE, 2 * CHUNKS_AT_ONCE, number]
    assert (buffer, body, chunks.more) == (b"GET /", b"a" * number, False)


def test_what_follows_the_last_chunk_stays() -> None:
    buffer, body = bytearray(b"1\r\na\r\n0\r\n\r\nGET /"), bytearray()
    assert Chunks().feed(buffer, body)
    assert (buffer, body) == (b"GET /", b"a")
