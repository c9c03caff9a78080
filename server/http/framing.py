"""Framing: where the head of a request ends, what it says about its body, and where that ends.

Whoever reads a request otherwise than a proxy before it can be made to take a part of its body for the next request.
So there is one reading, and what could be read in two ways is refused, with a sentence.

    head = read_head(buffer)            # None: more is to come; raises Malformed
    head.size, head.length, head.chunked, head.fields("host")
    chunks = Chunks()
    chunks.feed(buffer, body)           # moves what a chunked body says from one to the other; true at its end
"""

from __future__ import annotations

import re

HEAD_BYTES = 64 << 10
MOST_HEADERS = 100
LINE_BYTES = 4096  # of the line before a chunk, and of the trailers together
CHUNKS_AT_ONCE = 500  # a millisecond's work: who sends chunks of one byte does not keep the others waiting
END = b"\r\n\r\n"
_STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?=[^\n])|(?<!\r)\n")
_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([^ \t]+) HTTP/([0-9])\.([0-9])")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_DIGITS = re.compile(rb"[0-9]{1,18}")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")


class Malformed(Exception):
    """What was sent is not HTTP as this server reads it. The text is for who sent it."""

    def __init__(self, detail: str, code: str = "bad-request", status: int | None = None) -> None:
        super().__init__(detail)
        self.detail, self.code, self.status = detail, code, status


class Head:
    """The head of a request: its bytes, and what it says about the body."""

    __slots__ = ("_fields", "chunked", "expects", "length", "raw")

    def __init__(self, raw: bytes) -> None:
        """Of all bytes up to the empty line. Raises `Malformed`."""
        self.raw = raw
        first, *lines = raw[: -len(END)].split(b"\r\n")
        version = _version(first)
        if len(lines) > MOST_HEADERS:
            raise Malformed(
                f"The head has {len(lines)} headers, and this server reads at most {MOST_HEADERS}.", "large-head"
            )
        self._fields = [_field(line) for line in lines]
        hosts, lengths, codings, wishes = (
            self.fields(name) for name in (b"host", b"content-length", b"transfer-encoding", b"expect")
        )
        if len(hosts) != 1 and (hosts or version == (1, 1)):
            raise Malformed(
                "The head has no Host: HTTP/1.1 asks for one."
                if not hosts
                else f"The head has {len(hosts)} Host headers: send one."
            )
        self.expects = version == (1, 1) and [wish.lower() for wish in wishes] == [b"100-continue"]
        self.chunked = bool(codings)
        if codings and lengths:
            raise Malformed(
                "The head has both a Content-Length and a Transfer-Encoding: send one of them, for they "
                "may say different things about where the body ends."
            )
        if codings and (version != (1, 1) or [coding.lower() for coding in codings] != [b"chunked"]):
            raise Malformed(
                f"The Transfer-Encoding {_shown(b', '.join(codings))} is not one that this server reads: "
                "send the body with a Content-Length, or chunked with HTTP/1.1."
            )
        if len(lengths) > 1:
            raise Malformed(
                f"The head has {len(lengths)} Content-Length headers ({_shown(b', '.join(lengths))}): send one."
            )
        if lengths and not _DIGITS.fullmatch(lengths[0]):
            raise Malformed(
                f"The Content-Length {_shown(lengths[0])} is not a number of bytes: send one number, in digits alone."
            )
        self.length = int(lengths[0]) if lengths else 0

    @property
    def size(self) -> int:
        return len(self.raw)

    def fields(self, name: bytes) -> list[bytes]:
        """The values of all headers of this name, which is in lower case."""
        return [value for one, value in self._fields if one == name]


def read_head(buffer: bytearray, searched: int = 0) -> Head | None:
    """The head at the beginning of the buffer, of which the first `seen` bytes were looked at before; None if there is
    more to come. Raises `Malformed` as soon as that is certain."""
    end = buffer.find(END, max(0, searched - len(END) + 1))
    size = end + len(END) if end >= 0 else len(buffer)
    if stray := _STRAY.search(buffer, max(0, searched - 1), size):
        raise Malformed(_strayed(stray[0], buffer.count(b"\n", 0, stray.start()) + 1))
    if size > HEAD_BYTES:
        if buffer.find(b"\r\n", 0, HEAD_BYTES) < 0:
            raise Malformed(f"The first line of the head is longer than {HEAD_BYTES} bytes.", "long-url")
        raise Malformed(f"The head is longer than {HEAD_BYTES} bytes: send fewer or shorter headers.", "large-head")
    return Head(bytes(buffer[:size])) if end >= 0 else None


class Chunks:
    """A chunked body, as it comes."""

    __slots__ = ("_begun", "_last", "_left", "_trailers", "more")

    def __init__(self) -> None:
        self.more = False  # the buffer has chunks still that can be moved
        self._left = 0  # of the current chunk
        self._begun = False  # a chunk, whose end is still to come
        self._last = False  # there are only trailers, which say nothing that this server wants to know
        self._trailers = 0

    def feed(self, buffer: bytearray, body: bytearray) -> bool:
        """Move what is there, up to a number of chunks; whether that was all. What follows the end stays in the buffer.
        Raises `Malformed`."""
        self.more = False
        chunks = 0
        while True:
            if self._left:
                piece = buffer[: self._left]
                body += piece
                del buffer[: len(piece)]
                self._left -= len(piece)
                if self._left:
                    return False
            elif self._begun:
                if buffer[:2] != b"\r\n"[: len(buffer)]:
                    raise _broken("a chunk is longer than its size says")
                if len(buffer) < 2:
                    return False
                del buffer[:2]
                self._begun = False
            else:
                if chunks == CHUNKS_AT_ONCE and buffer:
                    self.more = True
                    return False
                chunks += 1
                line = self._line(buffer)
                if line is None:
                    return False
                if self._last and line == b"\r\n":
                    return True
                if not self._last:
                    self._next(line)

    def _next(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line)
        if size is None:
            raise _broken(f"{_shown(line.partition(b';')[0].strip())} is not the size of a chunk")
        self._left = int(size[1], 16)
        self._begun, self._last = bool(self._left), not self._left

    def _line(self, buffer: bytearray) -> bytes | None:
        end = buffer.find(b"\n") + 1
        if (end or len(buffer)) + self._trailers > LINE_BYTES:
            raise _broken(f"a line beside the chunks is longer than {LINE_BYTES} bytes")
        if not end:
            return None
        line = bytes(buffer[:end])
        if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
            raise _broken("a line does not end with CR LF")
        del buffer[:end]
        if self._last:
            self._trailers += end
        return line


def _version(line: bytes) -> tuple[int, int]:
    found = _REQUEST.fullmatch(line)
    if found is None:
        raise Malformed(f"The first line {_shown(line)} is not that of a request, like GET /health HTTP/1.1.")
    version = int(found[3]), int(found[4])
    if version not in ((1, 0), (1, 1)):
        raise Malformed(f"This server speaks HTTP/1.1, and not HTTP/{version[0]}.{version[1]}.", status=505)
    return version


def _field(line: bytes) -> tuple[bytes, bytes]:
    """Name and value of a header."""
    if line[:1] in (b" ", b"\t"):
        raise Malformed(
            f"The line {_shown(line)} of the head begins with a blank: headers cannot be folded, write "
            "each in one line."
        )
    name, colon, value = line.partition(b":")
    if not colon:
        raise Malformed(f"The line {_shown(line)} of the head is not a header: it has no colon.")
    if name != name.rstrip():
        raise Malformed(f"There is a blank before the colon of the header {_shown(name.rstrip())}: leave it out.")
    if not _NAME.fullmatch(name):
        raise Malformed(f"{_shown(name)} is not the name of a header.")
    return name.lower(), value.strip(b" \t")


def _strayed(byte: bytes, line: int) -> str:
    if byte not in (b"\r", b"\n"):
        return f"Line {line} of the head has the byte 0x{byte[0]:02x}, which cannot stand there."
    what = "CR without LF" if byte == b"\r" else "LF without CR"
    return f"Line {line} of the head has a {what}: lines end with both."


def _broken(what: str) -> Malformed:
    return Malformed(f"The chunks of the body are malformed: {what}.")


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("latin-1"))
