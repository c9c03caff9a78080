"""Everything that a push may be written in: the RDF syntaxes, and NDJSON and Arrow besides.

    format = push_format("application/x-ndjson")                        # PushFormat.NDJSON
    read_push(body, format, base=None, blank_prefix="x7.")              # a Chunk, whatever the format
    read_pushed(body, format, base=None, blank_prefix="x7.").unmapped   # and the keys of JSON that it leaves out

Background graphs are read in the RDF syntaxes alone (`formats`): what is here has to do with streams.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from csparql_spark.rdf.arrow import read_arrow
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import UnsupportedFormat
from csparql_spark.rdf.formats import MEDIA_TYPES, RdfFormat, format_of_media_type, format_of_path, parse_push
from csparql_spark.rdf.ndjson import read_lines
from csparql_spark.rdf.unmapped import CONTEXT, unmapped_in


class PushFormat(Enum):
    """A format of pushes alone: its name, media types (the usual one first) and file extensions."""

    NDJSON = ("NDJSON", ("application/x-ndjson", "application/ndjson", "application/jsonl"), (".ndjson", ".jsonl"))
    ARROW = ("Arrow", ("application/vnd.apache.arrow.stream",), (".arrows",))

    def __init__(self, label: str, media_types: tuple[str, ...], extensions: tuple[str, ...]) -> None:
        self.label = label
        self.media_types = media_types
        self.extensions = extensions

    @property
    def media_type(self) -> str:
        return self.media_types[0]


AnyFormat = RdfFormat | PushFormat
PUSH_MEDIA_TYPES: tuple[str, ...] = (*MEDIA_TYPES, *(format.media_type for format in PushFormat))
_BY_MEDIA_TYPE = {name: format for format in PushFormat for name in format.media_types}

# What could be pushed instead of data that is often taken for RDF.
DOCUMENT = f'{{{CONTEXT}, "@id": "http://example.org/kitchen", "celsius": 21.5}}'
TRIPLE = '{"s": "<http://example.org/kitchen>", "p": "<http://example.org/celsius>", "o": 21.5}'


_BEGINNING = 64 << 10


class Instead(NamedTuple):
    """What to do with data that is no RDF."""

    advice: str
    media_type: str
    example: str


AS_JSON = Instead(
    f"JSON is read as JSON-LD ({RdfFormat.JSON_LD.media_type}), with an @context that says which IRIs its names stand "
    f"for, or as NDJSON ({PushFormat.NDJSON.media_type}), with such an object, or a triple, on each line.",
    RdfFormat.JSON_LD.media_type,
    DOCUMENT,
)
_TABLE = Instead(
    f"What the cells of a table mean nobody says here: write each as a triple, a line of NDJSON "
    f"({PushFormat.NDJSON.media_type}).",
    PushFormat.NDJSON.media_type,
    TRIPLE,
)
NO_RDF = {
    "application/json": AS_JSON,
    "text/json": AS_JSON,
    "text/csv": _TABLE,
    "application/csv": _TABLE,
    "text/tab-separated-values": _TABLE,
}


def instead_of(header: str | None) -> Instead | None:
    """What to do with a body whose Content-Type names what is often taken for RDF."""
    return NO_RDF.get((header or "").lower().partition(";")[0].strip())


def json_format(body: bytes) -> AnyFormat | None:
    """What a body that nobody has named could be, if it looks like JSON; its beginning is looked at, and not read."""
    begin = body[:_BEGINNING].removeprefix(b"\xef\xbb\xbf").strip()
    if not re.match(rb"[{[]\s*([{\"[]|$)", begin):  # Turtle may begin with [ ], or [ and a name
        return None
    line, _, rest = begin.partition(b"\n")
    several = line.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")
    triple = line.startswith(b"{") and all(name in line for name in (b'"s"', b'"p"', b'"o"'))
    return PushFormat.NDJSON if several or triple else RdfFormat.JSON_LD


def push_format(header: str | None) -> AnyFormat:
    """The format that a Content-Type names. Raises `UnsupportedFormat`."""
    name, _, parameters = (header or "").lower().partition(";")
    format = _BY_MEDIA_TYPE.get(name.strip())
    if format is None or "charset" in parameters:
        try:
            known = format_of_media_type(header if format is None else f"text/turtle;{parameters}")
        except UnsupportedFormat as error:
            instead = instead_of(header)
            message = f"{error.message} {instead.advice}" if instead else error.message
            raise UnsupportedFormat(message, PUSH_MEDIA_TYPES) from None
        return known if format is None else format
    return format


def push_format_of_path(path: str) -> AnyFormat | None:
    """The format that a file name's extension tells, `.gz` apart."""
    name = path.lower().removesuffix(".gz")
    return next((format for format in PushFormat if name.endswith(format.extensions)), None) or format_of_path(path)


class Pushed(NamedTuple):
    """The triples of a push, and how many keys of its JSON nothing maps to an IRI (see `unmapped`)."""

    chunk: Chunk
    unmapped: int = 0


def read_push(body: bytes, format: AnyFormat, *, base: str | None, blank_prefix: str) -> Chunk:
    """The triples of a push. Raises `RdfError` if the body is not what `format` says."""
    return read_pushed(body, format, base=base, blank_prefix=blank_prefix).chunk


def read_pushed(body: bytes, format: AnyFormat, *, base: str | None, blank_prefix: str) -> Pushed:
    """The triples of a push, and what was left out of it. Raises `RdfError`."""
    if format is PushFormat.ARROW:
        return Pushed(read_arrow(body, blank_prefix=blank_prefix))
    if format is PushFormat.NDJSON:
        return Pushed(*read_lines(body, base=base, blank_prefix=blank_prefix))
    chunk = parse_push(body, format, base=base, blank_prefix=blank_prefix)
    return Pushed(chunk, unmapped_in(body) if format is RdfFormat.JSON_LD else 0)
