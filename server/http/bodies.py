"""Bodies: the bytes of a request, whole or not at all, and never more than a limit.

A body is complete when as many bytes came as Content-Length promised, or when its last chunk came. One that is too
large is refused as soon as that is known, and a body counts as long as it is after decompression.

A server that does not read whole bodies before it asks the application is told with `AWAIT` that this one is wanted, up
to how many bytes: then the request is interrupted here, and begins again when they are there. So a body is read before
anything is changed.

    body = read(request.environ, limit=100_000_000)      # raises Problem: truncated-body, too-large, …
    text = utf8(body, "The data")
    text = declared(request, 262_144, TEXT_TYPES, "The rule file")      # both, of what says that it is text
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
from flask import Request

from csparql_spark.rdf.errors import UnsupportedFormat
from csparql_spark.rdf.formats import RdfFormat
from csparql_spark.rdf.pushes import AS_JSON, AnyFormat, instead_of
from csparql_spark.server.http.problems import Problem

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

PIECE = 64 << 10
UTF8_PIECE = 1 << 20
AWAIT = "csparql_spark.await_body"
UNPACKED = "csparql_spark.unpacked"  # is told how many bytes a body has become more, and may refuse them
# What command line clients say when nobody told them what they send.
UNSAID_TYPES = ("", "application/x-www-form-urlencoded", "application/octet-stream")


def read(environ: WSGIEnvironment, limit: int) -> bytes:
    """The body of a request, decompressed. Raises `Problem`."""
    encoding = str(environ.get("HTTP_CONTENT_ENCODING", "")).strip().lower()
    if encoding in ("gzip", "x-gzip"):
        return _bounded(_counted(environ, _gunzipped(_pieces(environ, limit, PIECE), limit)), limit)
    if encoding == "zstd":
        return _bounded(_counted(environ, _unzstd(_bounded(_pieces(environ, limit), limit))), limit)
    if encoding not in ("", "identity"):
        raise Problem(
            "unsupported-encoding",
            f"The Content-Encoding {encoding!r} is not supported: send the body as it is, or with gzip or zstd.",
            headers={"Accept-Encoding": "gzip, zstd"},
            accepted=["gzip", "zstd", "identity"],
        )
    return _bounded(_pieces(environ, limit), limit)


def _counted(environ: WSGIEnvironment, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same; all that is unpacked until it is answered is bounded by the connection, as what is sent is."""
    count = environ.get(UNPACKED)
    for piece in pieces:
        if count is not None:
            count(len(piece))
        yield piece


def utf8(body: bytes, what: str) -> str:
    try:
        return body.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise _no_utf8(body, error.start, what) from None


def refuse_no_utf8(body: bytes, what: str) -> None:
    """The same without a text, which may be four times the size of the body. Raises `Problem`."""
    begin = 0
    while begin < len(body):
        piece = body[begin : begin + UTF8_PIECE]
        try:
            piece.decode("utf-8")
            begin += len(piece)
        except UnicodeDecodeError as error:
            if error.start + 4 <= len(piece) or begin + len(piece) == len(body):
                raise _no_utf8(body, begin + error.start, what) from None
            begin += error.start  # a character is cut in two


def _no_utf8(body: bytes, place: int, what: str) -> Problem:
    line = body.count(b"\n", 0, place) + 1
    return Problem(
        "bad-body",
        f"{what} is not UTF-8: byte 0x{body[place]:02x} in line {line} (byte {place} of the body) cannot stand there.",
    )


def declared(request: Request, limit: int, accepted: tuple[str, ...], what: str) -> str:
    """The text in a request, of a media type that is accepted, of another kind of text, or unsaid."""
    kind = request.mimetype
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise Problem("unsupported-encoding", f"{what} is declared as {charset}: texts are read as UTF-8 only.")
    if not (kind in UNSAID_TYPES or kind in accepted or kind.startswith("text/")):
        raise Problem(
            "unsupported-format",
            f"{what} cannot come as {kind}: send it as one of {', '.join(accepted)}.",
            accepted=list(accepted),
        )
    return utf8(read(request.environ, limit), what)


def is_form(kind: str | None) -> bool:
    """Whether it is what curl says when nobody told it what it sends."""
    return (kind or "").startswith("application/x-www-form-urlencoded")


def strange(
    error: UnsupportedFormat, kind: str | None, stream: str | None = None, looks: AnyFormat | None = None
) -> Problem:
    """What is said of a body that is called something else than RDF; `stream`: the URL of the one that it is for;
    `looks`: what the body of a form could be."""
    instead = None if stream is None else instead_of(kind)
    if is_form(kind):
        known = RdfFormat.TURTLE if looks is None else looks
        curl = f" With curl that is -H 'Content-Type: {known.media_type}'; without it, curl says that it sends a form."
        if looks is RdfFormat.JSON_LD:
            curl += f" {AS_JSON.advice}"
    elif instead is not None:
        # In $'…' a shell reads \" as ", so it may be copied from the JSON of the problem as it is, too.
        curl = (
            f" With curl that is: curl -sS -X POST '{stream}' -H 'Content-Type: {instead.media_type}' "
            f"--data-binary $'{instead.example}'"
        )
    else:
        curl = ""
    return Problem("unsupported-format", f"{error}{curl}", accepted=list(error.accepted))


def _pieces(environ: WSGIEnvironment, limit: int, most: int = 1 << 62) -> Iterator[bytes]:
    """What comes over the connection; when it ends early, a problem instead of an end."""
    stream: BinaryIO = environ["wsgi.input"]
    length = str(environ.get("CONTENT_LENGTH") or "")
    if length and not (length.isascii() and length.isdigit()):
        raise Problem("bad-request", f"The Content-Length {length!r} is not a number of bytes.")
    if length and int(length) > limit:
        raise _too_large(limit, int(length))
    if (wait := environ.get(AWAIT)) is not None:
        wait(limit)
    # Without a length there is a body only if the server can tell where it ends: it is chunked.
    missing = int(length) if length else None if environ.get("wsgi.input_terminated") else 0
    try:
        while missing is None or missing:
            piece = stream.read(min(most, limit + 1 if missing is None else missing))
            if not piece:
                break
            missing = None if missing is None else missing - len(piece)
            yield piece
    except EOFError:
        raise Problem(
            "truncated-body", "The connection ended in the middle of the body: nothing was kept. Send the body again."
        ) from None
    if missing:
        raise Problem(
            "truncated-body",
            f"Content-Length promised {length} bytes and {missing} of them did not come: "
            "nothing was kept. Send the body again.",
            expected=int(length),
            received=int(length) - missing,
        )


def _bounded(pieces: Iterator[bytes], limit: int) -> bytes:
    whole, size = [], 0
    for piece in pieces:
        whole.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
    return b"".join(whole)  # of one piece: that piece


def _gunzipped(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """The content of one or more gzip members, in pieces of which none is much larger than `PIECE`."""
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    begun = False
    try:
        for piece in pieces:
            while piece:
                begun = True
                yield member.decompress(piece, PIECE)
                piece = member.unconsumed_tail
                if member.eof:
                    piece, begun = member.unused_data, False
                    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    except zlib.error as error:
        raise Problem("bad-body", f"The body is not gzip, although its Content-Encoding says so ({error}).") from None
    if begun:
        raise Problem("truncated-body", "The gzip data ends in the middle: nothing was kept. Send the body again.")


def _unzstd(body: bytes) -> Iterator[bytes]:
    """The content of zstd frames, in pieces."""
    if not body:
        return
    try:
        with pa.CompressedInputStream(pa.BufferReader(body), "zstd") as content:
            while piece := content.read(PIECE):
                yield piece
    except OSError as error:
        raise Problem(
            "bad-body", f"The body is not whole zstd data, although its Content-Encoding says so ({error})."
        ) from None


def _too_large(limit: int, length: int | None = None) -> Problem:
    size = f"The body has {length} bytes" if length else "The body is larger than the limit"
    return Problem("too-large", f"{size}, and this server takes at most {limit} here: send it in parts.", limit=limit)
