"""Graph text: a graph in an RDF format, piece by piece, whatever it would be as a whole.

    graph_pieces(LineText(b"<urn:a> <urn:p> <urn:b> .\\n"), TURTLE)         # of text that is there
    graph_pieces(ChunkText(chunk), JSON_LD)                                # of a chunk, whose terms stand there once

Lines of N-Triples are brought into a format some at a time, those of one subject together as far as that goes; in each
of the formats what comes out can be put together again. A graph that a format cannot express is found out before the
first piece: by what it is made of, not by writing it.

Invariant: besides the graph no more is held than what a piece is made from, or the longest line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol
from xml.parsers import expat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from csparql_spark.answers.media_types import JSON_LD, N_QUADS, N_TRIPLES, PLAIN_JSON, RDF_XML, TRIG, TURTLE, Unwritable
from csparql_spark.kernel.sort import dense_ranks
from csparql_spark.rdf.chunk import Chunk

AT_ONCE = 1 << 20  # bytes of lines that are written together, about
SAMPLED = 10_000  # terms that are looked at together
LONGEST_LINE = 15 << 20  # that the parser takes, which holds 16 MiB

_FORMATS = {
    JSON_LD: ox.RdfFormat.JSON_LD,
    PLAIN_JSON: ox.RdfFormat.JSON_LD,
    TURTLE: ox.RdfFormat.TURTLE,
    TRIG: ox.RdfFormat.TRIG,
    RDF_XML: ox.RdfFormat.RDF_XML,
}
_XML_END = b"\n</rdf:RDF>"
_XML_HEAD = (ox.serialize([], format=ox.RdfFormat.RDF_XML) or b"").removesuffix(_XML_END)
_SUBJECT_LABEL, _OBJECT_LABEL = re.compile(rb"^_:", re.MULTILINE), re.compile(rb"^(\S+ \S+ )_:", re.MULTILINE)


class GraphText(Protocol):
    """A graph as lines of N-Triples."""

    def blocks(self) -> Iterator[bytes]:
        """Some lines after the other, none of them empty."""

    def samples(self) -> Iterator[bytes]:
        """Lines in which each predicate and each term occurs that occurs in the graph."""

    def longest(self) -> int:
        """At least the bytes of the longest line, and not much more."""


class LineText:
    def __init__(self, ntriples: bytes) -> None:
        self._text = ntriples

    def blocks(self) -> Iterator[bytes]:
        text, begin = self._text, 0
        while begin < len(text):
            end = _line_end(text, begin + AT_ONCE)
            last = _subject(text, text.rfind(b"\n", 0, end - 1) + 1)
            most = end + AT_ONCE
            while end < min(most, len(text)) and _subject(text, end) == last:
                end = _line_end(text, end)
            yield text[begin:end]
            begin = end

    def samples(self) -> Iterator[bytes]:
        return self.blocks()

    def longest(self) -> int:
        """What is longer than the parser takes; else that bound."""
        text, begin = self._text, 0
        while len(text) - begin > LONGEST_LINE:
            end = text.rfind(b"\n", begin, begin + LONGEST_LINE) + 1
            if end <= begin:
                return _line_end(text, begin) - begin
            begin = end
        return min(len(text), LONGEST_LINE)


def _line_end(text: bytes, begin: int) -> int:
    end = text.find(b"\n", begin)
    return len(text) if end < 0 else end + 1


def _subject(text: bytes, begin: int) -> bytes:
    return text[begin : text.find(b" ", begin)]


class ChunkText:
    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._lengths = pc.binary_length(chunk.terms).to_numpy().astype(np.int64)

    def blocks(self) -> Iterator[bytes]:
        chunk, begin = self._chunk, 0
        for first in range(0, len(chunk), SAMPLED):
            cut = slice(first, min(first + SAMPLED, len(chunk)))
            totals, before, begin = np.cumsum(self._sizes(cut)), 0, first
            while begin < cut.stop:
                end = first + max(begin + 1 - first, int(np.searchsorted(totals, before + AT_ONCE, side="right")))
                yield _lines(chunk.terms, *(ids[begin:end] for ids in (chunk.s, chunk.p, chunk.o)))
                begin, before = end, int(totals[end - 1 - first])

    def samples(self) -> Iterator[bytes]:
        chunk, terms = self._chunk, pa.array(["<urn:s>", "<urn:p>"], pa.string())
        for place, ids in enumerate((chunk.s, chunk.p, chunk.o)):
            used = np.flatnonzero(np.bincount(ids, minlength=len(chunk.terms)))
            for first, last in _spans(self._lengths[used]):
                own = pa.concat_arrays([terms, chunk.terms.take(pa.array(used[first:last]))])
                columns = [np.full(last - first, constant) for constant in (0, 1, 0)]
                columns[place] = np.arange(2, 2 + last - first)
                yield _lines(own, *columns)

    def longest(self) -> int:
        chunk = self._chunk
        found = (self._sizes(slice(first, first + SAMPLED)).max(initial=0) for first in range(0, len(chunk), SAMPLED))
        return int(max(found, default=0))

    def _sizes(self, cut: slice) -> np.ndarray:
        chunk = self._chunk
        return self._lengths[chunk.s[cut]] + self._lengths[chunk.p[cut]] + self._lengths[chunk.o[cut]] + 5


def _spans(sizes: np.ndarray) -> Iterator[tuple[int, int]]:
    """Some of what has these sizes after the other, none but a single one larger than is written together."""
    totals, begin, before = np.cumsum(sizes), 0, 0
    while begin < len(sizes):
        end = min(begin + SAMPLED, max(begin + 1, int(np.searchsorted(totals, before + AT_ONCE, side="right"))))
        yield begin, end
        begin, before = end, int(totals[end - 1])


def _lines(terms: pa.StringArray, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> bytes:
    """Lines of N-Triples from ids. No more terms are made large than these."""
    used, ids = dense_ranks(np.concatenate((s, p, o)))
    large = terms.take(pa.array(used)).cast(pa.large_string())
    columns = [large.take(pa.array(column)) for column in np.split(ids, 3)]
    gap, end = (pa.scalar(one, pa.large_string()) for one in (" ", ".\n"))
    return pc.binary_join_element_wise(*columns, end, gap).buffers()[2].to_pybytes()


def graph_pieces(graph: GraphText, media_type: str) -> Iterator[bytes]:
    """The graph in an RDF format. N-Quads and TriG have the triples in the default graph. Raises `Unwritable`, before
    the first piece."""
    if media_type in (N_TRIPLES, N_QUADS):
        return graph.blocks()
    if graph.longest() > LONGEST_LINE:
        raise Unwritable("The graph has a triple of more than 15 MiB: ask for N-Triples.")
    if media_type == RDF_XML:
        _refuse_no_xml(graph)
        return _xml(graph)
    if media_type in (JSON_LD, PLAIN_JSON):
        return _json_ld(graph)
    return (_serialized(block, media_type) for block in graph.blocks())


def _json_ld(graph: GraphText) -> Iterator[bytes]:
    before = b"["
    for block in graph.blocks():
        yield before + _serialized(block, JSON_LD)[1:-1]
        before = b","
    yield b"[]" if before == b"[" else b"]"


def _xml(graph: GraphText) -> Iterator[bytes]:
    yield _XML_HEAD
    for block in graph.blocks():
        yield _xml_of(block)[len(_XML_HEAD) : -len(_XML_END)]
    yield _XML_END


def _xml_of(block: bytes) -> bytes:
    # In XML a label must be a name, which begins with a letter.
    return _serialized(_OBJECT_LABEL.sub(rb"\1_:b", _SUBJECT_LABEL.sub(b"_:b", block)), RDF_XML)


def _serialized(block: bytes, media_type: str) -> bytes:
    return ox.serialize(ox.parse(block, format=ox.RdfFormat.N_TRIPLES), format=_FORMATS[media_type]) or b""


def _refuse_no_xml(graph: GraphText) -> None:
    for block in graph.samples():
        try:
            expat.ParserCreate(namespace_separator=" ").Parse(_xml_of(block), True)
        except expat.ExpatError:
            raise Unwritable(
                "The graph has a predicate or a character that XML has no way to write: ask for Turtle or N-Triples."
            ) from None
