"""Formats: the RDF syntaxes a push may be written in, and the way from their text to a chunk.

    format_of_media_type("text/turtle; charset=utf-8")                      # RdfFormat.TURTLE
    format_of_path("monday.nq.gz")                                          # RdfFormat.N_QUADS
    parse_push(b"<urn:a> <urn:p> 1 .", RdfFormat.TURTLE, base=None, blank_prefix="x7.")   # a Chunk of one triple
    read_recording("monday.nq.gz", base=None, blank_prefix="m.")            # a Chunk: recordings are pushes in files

Blank nodes are scoped to the push: they are renamed to the given prefix and their number in order of first
appearance, so the same bytes with the same prefix give the same chunk. Graph names give stamps (see `stamps`) and are
then dropped. An empty body is an empty push. Nothing outside the body is ever read: no remote context, no external
entity.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from csparql_spark.rdf.bounds import TRIPLE_TERMS, BoundedSink, place, refuse_explosive
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import NamesGraphs, RdfError, UnsupportedFormat
from csparql_spark.rdf.quads import plain, renamed, split
from csparql_spark.rdf.stamps import stamps


class RdfFormat(Enum):
    """A syntax: its name, media types (the registered one first), file extensions, and pyoxigraph's name for it."""

    N_TRIPLES = ("N-Triples", ("application/n-triples",), (".nt",), ox.RdfFormat.N_TRIPLES)
    N_QUADS = ("N-Quads", ("application/n-quads", "text/x-nquads"), (".nq",), ox.RdfFormat.N_QUADS)
    TURTLE = ("Turtle", ("text/turtle", "application/x-turtle"), (".ttl", ".n3"), ox.RdfFormat.TURTLE)
    TRIG = ("TriG", ("application/trig", "application/x-trig"), (".trig",), ox.RdfFormat.TRIG)
    JSON_LD = ("JSON-LD", ("application/ld+json",), (".jsonld",), ox.RdfFormat.JSON_LD)
    RDF_XML = ("RDF/XML", ("application/rdf+xml",), (".rdf", ".owl"), ox.RdfFormat.RDF_XML)

    def __init__(
        self, label: str, media_types: tuple[str, ...], extensions: tuple[str, ...], oxigraph: ox.RdfFormat
    ) -> None:
        self.label = label
        self.media_types = media_types
        self.extensions = extensions
        self.oxigraph = oxigraph

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return getattr, (RdfFormat, self.name)  # pyoxigraph's does not pickle

    @property
    def media_type(self) -> str:
        return self.media_types[0]


MEDIA_TYPES: tuple[str, ...] = tuple(syntax.media_type for syntax in RdfFormat)
EXTENSIONS: tuple[str, ...] = tuple(extension for syntax in RdfFormat for extension in syntax.extensions)
_BY_MEDIA_TYPE = {name: syntax for syntax in RdfFormat for name in syntax.media_types}
_BY_EXTENSION = {extension: syntax for syntax in RdfFormat for extension in syntax.extensions}
NAMING = (RdfFormat.N_QUADS, RdfFormat.TRIG, RdfFormat.JSON_LD)  # formats in which a body can name graphs
LINES = (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)  # formats that are quicker to read where they are canonical
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_STATEMENT = "16 MiB"
LONGEST_MESSAGE = 1000  # characters of what a parser says, which may be all that it was given
_PLACE = re.compile(r"^Parser error (?:at|between) line .*?: ")


def format_of_media_type(header: str | None) -> RdfFormat:
    """The format a Content-Type names. Raises `UnsupportedFormat` if it names none, or an encoding other than UTF-8."""
    if header is None or not header.strip():
        raise UnsupportedFormat("The data has no media type: send a Content-Type.", MEDIA_TYPES)
    name, *parameters = (part.strip() for part in header.lower().split(";"))
    syntax = _BY_MEDIA_TYPE.get(name)
    if syntax is None:
        raise UnsupportedFormat(f"The media type {name!r} is not an RDF format this server reads.", MEDIA_TYPES)
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "charset" and value.strip(" \"'") not in ("utf-8", "utf8", "us-ascii"):
            raise UnsupportedFormat(f"The data is declared as {value.strip()}: RDF is read as UTF-8 only.", MEDIA_TYPES)
    return syntax


def format_of_path(path: str) -> RdfFormat | None:
    """The format that a file name's extension tells, `.gz` apart; None if it has no extension that tells one."""
    name = path.lower().removesuffix(".gz")
    return next((syntax for extension, syntax in _BY_EXTENSION.items() if name.endswith(extension)), None)


def parse_push(body: bytes, format: RdfFormat, *, base: str | None, blank_prefix: str) -> Chunk:
    """The triples of a push. Raises `RdfError` if the body is not what `format` says."""
    chunk = _plain_chunk(body, format, blank_prefix)
    return _chunk(_canonical(body, format, base), body, blank_prefix) if chunk is None else chunk


def parse_graph(body: bytes, format: RdfFormat, *, base: str | None, blank_prefix: str) -> Chunk:
    """The triples of one graph. Raises `RdfError`, and `NamesGraphs` if the body does: to merge them into one is not
    what anybody means."""
    chunk = parse_push(body, format, base=base, blank_prefix=blank_prefix)
    if format in NAMING and body.strip():
        try:
            # Whatever is in a named graph is nothing that N-Triples can say.
            quads = ox.parse(body.removeprefix(_BYTE_ORDER_MARK), format=format.oxigraph, base_iri=base)
            ox.serialize(quads, BoundedSink(len(body)), format=ox.RdfFormat.N_TRIPLES)
        except ValueError as error:
            raise NamesGraphs("The body names graphs") from error
    return chunk


def read_recording(
    path_or_text: str | bytes | os.PathLike[str],
    *,
    base: str | None,
    blank_prefix: str,
    default_format: RdfFormat | None = None,
) -> Chunk:
    """The triples of a file, or of text. Raises `RdfError` if it cannot be read, `UnsupportedFormat` for its extension.

    A string is a path unless it holds a line break, `<`, `{` or `"`, or is blank; a `Path` is always a path, bytes are
    always text. A file's extension tells its format; text, and a file without an extension, is N-Quads or TriG.
    """
    if isinstance(path_or_text, str) and _is_text(path_or_text):
        path_or_text = path_or_text.encode()
    if isinstance(path_or_text, bytes):
        return _recorded(path_or_text, default_format, base, blank_prefix)
    path = os.fspath(path_or_text)
    format = format_of_path(path) or default_format
    if format is None and os.path.splitext(path.removesuffix(".gz"))[1]:
        raise UnsupportedFormat(f"The extension of {path} is not that of an RDF format.", EXTENSIONS)
    contents = contents_of(path)
    try:
        return _recorded(contents, format, base, blank_prefix)
    except RdfError as error:
        raise RdfError(f"In {path}: {error.message}", error.line, error.column, error.offending) from error


def _recorded(body: bytes, format: RdfFormat | None, base: str | None, blank_prefix: str) -> Chunk:
    chunk = _plain_chunk(body, format or RdfFormat.N_QUADS, blank_prefix)
    if chunk is not None:
        return chunk
    document = _canonical_guess(body, base) if format is None else _canonical(body, format, base)
    return _chunk(document, body, blank_prefix)


def _plain_chunk(body: bytes, format: RdfFormat, blank_prefix: str) -> Chunk | None:
    """The chunk of a body that is canonical already; None of another one, or if there is anything to say about it."""
    if format not in LINES:
        return None
    quads = plain(body, named=format is RdfFormat.N_QUADS)
    if quads is None:
        return None
    try:
        t = stamps(quads)
    except RdfError:
        return None  # said by who knows where in the body it is
    return Chunk(renamed(quads.terms, blank_prefix), quads.s, quads.p, quads.o, t)


def _chunk(document: bytes, body: bytes, blank_prefix: str) -> Chunk:
    """The chunk of a body that says the same as a document of canonical N-Quads."""
    quads = split(document)
    _refuse_triple_terms(quads.terms)
    try:
        t = stamps(quads)
    except RdfError as error:
        line, column = _place_of(error.offending, body)
        raise RdfError(error.message, line, column, error.offending) from error
    return Chunk.from_columns(renamed(quads.terms, blank_prefix), quads.s, quads.p, quads.o, t)


def _canonical(body: bytes, format: RdfFormat, base: str | None) -> bytes:
    """The body as canonical N-Quads."""
    body = body.removeprefix(_BYTE_ORDER_MARK)
    if not body.strip():
        return b""
    refuse_explosive(body, format.label)
    sink = BoundedSink(len(body))
    try:
        ox.serialize(ox.parse(body, format=format.oxigraph, base_iri=base), sink, format=ox.RdfFormat.N_QUADS)
    except SyntaxError as error:
        raise explained(error, body, format) from error
    except MemoryError as error:
        # The parsers hold one statement at a time, and say so when it is longer than that.
        if "buffer" not in str(error):
            raise
        raise RdfError(f"A statement of the data is longer than {LONGEST_STATEMENT}: shorten its literals") from error
    return sink.getvalue()


def explained(error: SyntaxError, body: bytes, format: RdfFormat) -> RdfError:
    """What pyoxigraph says of a body, and where, in characters."""
    message = _PLACE.sub("", error.msg[:LONGEST_MESSAGE])
    if "LoadDocumentCallback" in message:
        return RdfError("The document refers to a remote @context, which is never fetched: write the context into it")
    if error.lineno is None:
        return RdfError(f"The data is not {format.label}: {message}")
    line = _line(body, error.lineno)
    start = (error.offset or 1) - 1
    end = error.end_offset - 1 if error.end_offset is not None and error.end_lineno == error.lineno else None
    if format is RdfFormat.JSON_LD:  # its parser counts columns in bytes, the others in characters
        before, at = line[:start].decode("utf-8", "replace"), line[start:end].decode("utf-8", "replace")
    else:
        text = line.decode("utf-8", "replace")
        before, at = text[:start], text[start:end]
    return RdfError(message, error.lineno, len(before) + 1, at if len(at) <= 80 else at[:79] + "…")


def _line(body: bytes, number: int) -> bytes:
    """A line of the body, counted from 1, without its end."""
    start = 0
    for _ in range(number - 1):
        start = body.find(b"\n", start) + 1
    end = body.find(b"\n", start)
    return body[start : end if end >= 0 else len(body)].removesuffix(b"\r")


def _place_of(text: str | None, body: bytes) -> tuple[int | None, int | None]:
    """Line and column of the first occurrence of a text that is written in the body as it is in N-Triples."""
    found = -1 if text is None else body.find(text.encode())
    return (None, None) if found < 0 else place(body, found)


def _refuse_triple_terms(terms: pa.StringArray) -> None:
    # Turtle's annotations and RDF/XML's parseType="Triple" make triple terms without spelling them.
    position = pc.index(pc.starts_with(terms, "<<"), True).as_py()
    if position >= 0:
        raise RdfError(TRIPLE_TERMS, offending=terms[position].as_py())


def _is_text(text: str) -> bool:
    return not text.strip() or any(mark in text for mark in '\n<{"')


def contents_of(path: str) -> bytes:
    """The bytes of a file, decompressed. Raises `RdfError` if it cannot be read."""
    try:
        with open(path, "rb") as file:
            contents = file.read()
    except FileNotFoundError as error:
        raise RdfError(f"There is no file {path}") from error
    except OSError as error:
        raise RdfError(f"The file {path} cannot be read: {error.strerror}") from error
    if not path.lower().endswith(".gz"):
        return contents
    try:
        return gzip.decompress(contents)
    except (OSError, EOFError, zlib.error) as error:
        raise RdfError(f"The file {path} is not whole gzip data: {error}") from error


def _canonical_guess(body: bytes, base: str | None) -> bytes:
    """The body as canonical N-Quads, if it is N-Quads or TriG."""
    # Neither language contains the other; the complaint of the one that understood more of the text is the useful one.
    errors: list[RdfError] = []
    for guess in (RdfFormat.N_QUADS, RdfFormat.TRIG):
        try:
            return _canonical(body, guess, base)
        except RdfError as error:
            errors.append(error)
    raise max(reversed(errors), key=lambda error: (error.line or 0, error.column or 0))
