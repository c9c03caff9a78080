"""Bodies: whole or not at all, compressed or not, however the bytes arrive."""

from __future__ import annotations

import gzip
import io
import zlib

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.server.http import bodies
from csparql_spark.server.http.bodies import AWAIT, PIECE, UNPACKED, read, refuse_no_utf8, utf8
from csparql_spark.server.http.problems import Problem
from tests.examples import examples


class Slow(io.BytesIO):
    """Gives less than it is asked for, as connections do."""

    def read(self, size: int = -1) -> bytes:
        return super().read(min(size, 7))


def environ(
    body: bytes, length: object = None, encoding: str = "", stream: type = io.BytesIO, **more: object
) -> dict[str, object]:
    told = len(body) if length is None else length
    return {"wsgi.input": stream(body), "CONTENT_LENGTH": str(told), "HTTP_CONTENT_ENCODING": encoding, **more}


def code_of(*arguments, **keywords) -> str:
    with pytest.raises(Problem) as caught:
        read(environ(*arguments, **keywords), 100)
    return caught.value.code


def test_plain() -> None:
    assert read(environ(b"abc"), 3) == b"abc"
    assert read(environ(b"abcdef", length=3), 100) == b"abc"
    assert read(environ(b"abc", stream=Slow), 100) == b"abc"
    assert read(environ(b"", length=""), 100) == b""
    assert read(environ(b"not for us", length=""), 100) == b"", "no length and no chunks: no body"


def test_chunked() -> None:
    more = {"wsgi.input_terminated": True}
    assert read(environ(b"abc" * 50_000, length="", **more), 200_000) == b"abc" * 50_000
    assert code_of(b"a" * 101, length="", **more) == "too-large"


def test_limits() -> None:
    assert code_of(b"a" * 101) == "too-large"
    assert code_of(b"", length=101) == "too-large", "before anything is read"
    assert code_of(gzip.compress(b"a" * 101), encoding="gzip") == "too-large"
    assert code_of(gzip.compress(b"a" * 60) * 2, encoding="gzip") == "too-large"


def test_a_bomb_is_not_unpacked() -> None:
    """A gigabyte of zeros: what is held at a time is one piece."""

    class Counting:
        packed = zlib.compressobj(wbits=31)
        given = 0

        def read(self, size: int) -> bytes:
            self.given += 1
            return self.packed.compress(bytes(64 << 20)) or self.packed.flush(zlib.Z_SYNC_FLUSH)

    stream = Counting()
    with pytest.raises(Problem) as caught:
        read({"wsgi.input": stream, "CONTENT_LENGTH": str(1 << 19), "HTTP_CONTENT_ENCODING": "gzip"}, 1 << 20)
    assert caught.value.code == "too-large"
    assert stream.given <= 3


@pytest.mark.parametrize("length", ["-5", "abc", "1.5", "١"])
def test_lengths_that_are_none(length: str) -> None:
    assert code_of(b"abc", length=length) == "bad-request"


def test_truncated() -> None:
    assert code_of(b"abc", length=4) == "truncated-body"
    assert code_of(gzip.compress(b"abc")[:-1], encoding="gzip") == "truncated-body"
    assert code_of(gzip.compress(b"abc") + gzip.compress(b"abc")[:12], encoding="gzip") == "truncated-body"


def test_chunks_that_end_too_early() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int = -1) -> bytes:
            raise EOFError

    assert code_of(b"abc", stream=Failing) == "truncated-body"


def test_a_body_that_is_not_there_yet_is_waited_for_before_it_is_read() -> None:
    """Up to the limit, and only if it may come at all."""
    asked: list[int] = []

    class Unread(io.BytesIO):
        def read(self, size: int = -1) -> bytes:
            raise AssertionError("it is not there")

    def wait(limit: int) -> None:
        asked.append(limit)
        raise KeyboardInterrupt

    assert code_of(b"", length=101, stream=Unread, **{AWAIT: wait}) == "too-large"
    with pytest.raises(KeyboardInterrupt):
        read(environ(b"", length=99, stream=Unread, **{AWAIT: wait}), 100)
    assert asked == [100]


def test_damaged_gzip() -> None:
    packed = bytearray(gzip.compress(b"abc" * 20))
    packed[-6] ^= 1  # in its checksum
    assert code_of(bytes(packed), encoding="gzip") == "bad-body"
    assert code_of(b"abc", encoding="gzip") == "bad-body"
    assert code_of(b"abc", encoding="br") == "unsupported-encoding"


@settings(max_examples=examples(60), deadline=None)
@given(
    members=st.lists(st.tuples(st.binary(max_size=40), st.sampled_from([1, 7, 3000])), max_size=4),
    level=st.integers(0, 9),
)
def test_gzip_gives_back_what_went_in(members: list[tuple[bytes, int]], level: int) -> None:
    content = [data * times for data, times in members]
    packed = b"".join(gzip.compress(data, level) for data in content)
    assert read(environ(packed, encoding="gzip"), 10 * PIECE) == b"".join(content)
    assert read(environ(packed, encoding="GZip", stream=Slow), 10 * PIECE) == b"".join(content)


def test_utf8() -> None:
    assert utf8("\ufeffä".encode(), "The text") == "ä"
    said = r"The text is not UTF-8: byte 0xff in line 3 \(byte 4 of the body\) cannot stand there."
    with pytest.raises(Problem, match=said):
        utf8(b"a\nb\n\xff", "The text")


@given(st.binary(max_size=12) | st.text(max_size=8).map(str.encode), st.integers(4, 9))
def test_what_is_no_utf8_is_told_without_a_text(body: bytes, piece: int) -> None:
    """As with one, however the body is cut."""

    def told(check: object) -> str | None:
        try:
            check(body, "The body")
        except Problem as problem:
            return problem.detail
        return None

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bodies, "UTF8_PIECE", piece)
        # A mark at the beginning is taken away by one of them only.
        assert body.startswith(b"\xef\xbb\xbf") or told(refuse_no_utf8) == told(utf8)


def test_what_is_unpacked_counts() -> None:
    for encoding, packed in (("gzip", gzip.compress(b"a" * 200_000)), ("zstd", zstd(b"a" * 200_000))):
        counted: list[int] = []
        assert len(read(environ(packed, encoding=encoding, **{UNPACKED: counted.append}), 300_000)) == 200_000
        assert sum(counted) == 200_000 and len(counted) > 1

        def refuse(size: int) -> None:
            raise Problem("busy", "Later.")

        with pytest.raises(Problem, match="Later"):
            read(environ(packed, encoding=encoding, **{UNPACKED: refuse}), 300_000)


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)
