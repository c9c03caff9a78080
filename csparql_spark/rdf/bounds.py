"""Bounds: what a small body could make a parser do, and the refusal of it before it happens.

Some syntaxes let a few kilobytes stand for gigabytes, or nest so deeply that a recursive parser dies with its
process: entities of entities in RDF/XML, objects in objects in JSON-LD, triple terms in triple terms, a prefix that
abbreviates a megabyte. Each of these has a bound here, far above what people write, and an `RdfError` that says so.

    refuse_explosive(body, "JSON-LD")                            # before parsing
    sink = BoundedSink(len(body)); pyoxigraph.serialize(…, sink) # while parsing
    sink.document()
"""

from __future__ import annotations

import io
import re
from collections import Counter
from xml.parsers import expat

import numpy as np

from csparql_spark.rdf.errors import RdfError

DEEPEST_XML = 256
DEEPEST_JSON = 100
# Levels of objects around each brace, comma and colon, summed: a JSON-LD parser keeps a copy of its input per level.
MOST_JSON_LEVELS = 4 * 2**20
# How many bytes of entity text, and of N-Quads, a body of n bytes may stand for: factor * n + allowance.
ENTITY_FACTOR, ENTITY_ALLOWANCE = 16, 2**20
QUADS_FACTOR, QUADS_ALLOWANCE = 100, 16 * 2**20

_ENTITY = re.compile(rb"""<!ENTITY\s+(%\s+)?([^\s"'>]+)\s+(?:"([^"]*)"|'([^']*)')""")
_USE = re.compile(rb"&([^&;\s<]+);")
# What has no end is a string, too: else each quote in it would be tried as the beginning of one.
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
# Everything in which `<<` does not open a triple term: comments, strings of both quotes, IRIs, escaped characters.
_TURTLE_TOKEN = re.compile(
    rb'#[^\n\r]*|"""(?:[^"\\]|\\.|"(?!""))*+"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*+\'\'\''
    rb'|"(?:[^"\\\n\r]|\\.)*+"|\'(?:[^\'\\\n\r]|\\.)*+\'|<[^\x00-\x20<>"{}|^`]*+>|\\.|(<<)',
    re.DOTALL,
)
TRIPLE_TERMS = "The data has a triple term of RDF 1.2, which is not supported: say it with reification or a graph"


def refuse_explosive(body: bytes, label: str) -> None:
    """Raises `RdfError` for a body, in the syntax of that name, that nests or expands beyond the bounds."""
    if label == "JSON-LD":
        _refuse_deep_json(body)
    elif label == "RDF/XML":
        _refuse_entities(body)
        _refuse_deep_xml(body)
    elif b"<<" in body:
        for match in _TURTLE_TOKEN.finditer(body):
            if match[1]:
                raise RdfError(TRIPLE_TERMS, *place(body, match.start()), "<<")


def place(body: bytes, position: int) -> tuple[int, int]:
    """Line and column, counted from 1, of a position in a body of UTF-8."""
    start = body.rfind(b"\n", 0, position) + 1
    return body.count(b"\n", 0, position) + 1, len(body[start:position].decode("utf-8", "replace")) + 1


class BoundedSink(io.BytesIO):
    """Takes what a serializer writes for a body of some size, and raises `RdfError` when it is out of proportion."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._left = self._most = QUADS_FACTOR * size + QUADS_ALLOWANCE

    def write(self, part: bytes) -> int:  # type: ignore[override]  # a serializer writes bytes, and no other buffers
        self._left -= len(part)
        if self._left < 0:
            raise RdfError(
                f"The data stands for more than {self._most} bytes of N-Quads, out of proportion to its size: "
                "shorten its prefixes or write it as N-Quads"
            )
        return super().write(part)


def _refuse_deep_json(body: bytes) -> None:
    text = np.frombuffer(_JSON_STRING.sub(b"", body), np.uint8)
    marks = text[np.isin(text, np.frombuffer(b"{}[],:", np.uint8))]
    depth = np.cumsum((marks == ord("{")).astype(np.int64) - (marks == ord("}")))
    if not len(depth):
        return
    if depth.max() > DEEPEST_JSON:
        raise RdfError(f"The document nests objects more than {DEEPEST_JSON} deep: give them identifiers, side by side")
    if int(depth.sum()) > MOST_JSON_LEVELS:
        raise RdfError("The document is too large and too deeply nested for JSON-LD: send it in parts or as N-Quads")


def _refuse_entities(body: bytes) -> None:
    if b"<!ENTITY" not in body:
        return
    expansion = 0
    uses = Counter(_USE.findall(body))
    for match in _ENTITY.finditer(body):
        value = match[3] if match[3] is not None else match[4]
        if match[1] or b"&" in value:
            raise RdfError(
                "An entity of the document is defined through another one: write its value out",
                *place(body, match.start()),
                match[0].decode("utf-8", "replace")[:80],
            )
        expansion += len(value) * uses[match[2]]
    if expansion > ENTITY_FACTOR * len(body) + ENTITY_ALLOWANCE:
        raise RdfError(
            f"The document's entities stand for {expansion} bytes, out of proportion to its size: shorten them"
        )


def _refuse_deep_xml(body: bytes) -> None:
    depth = 0
    parser = expat.ParserCreate()

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST_XML:
            line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
            raise RdfError(f"The document nests elements more than {DEEPEST_XML} deep", line, column, f"<{name}>")

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise RdfError(f"The data is not well-formed XML: {reason}", error.lineno, error.offset + 1) from error
