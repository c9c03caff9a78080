"""Graphs as text: put together from pieces, they are the graph, in each format and however they are cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import graph_text
from csparql_spark.answers.graph_text import ChunkText, LineText, graph_pieces
from csparql_spark.answers.media_types import JSON_LD, N_QUADS, N_TRIPLES, PLAIN_JSON, RDF_XML, TRIG, TURTLE, Unwritable
from csparql_spark.rdf.chunk import Chunk

READ = {
    N_TRIPLES: ox.RdfFormat.N_TRIPLES,
    N_QUADS: ox.RdfFormat.N_QUADS,
    TURTLE: ox.RdfFormat.TURTLE,
    TRIG: ox.RdfFormat.TRIG,
    JSON_LD: ox.RdfFormat.JSON_LD,
    PLAIN_JSON: ox.RdfFormat.JSON_LD,
    RDF_XML: ox.RdfFormat.RDF_XML,
}
SUBJECTS = st.sampled_from(["<urn:a>", "<urn:b>", "_:x", "_:y"])
PREDICATES = st.sampled_from(["<urn:p>", "<http://example.org/q>"])
OBJECTS = st.sampled_from(["<urn:a>", "_:x", '"1"', '"ein\\nZwei"@de', f'"{"long" * 30}"'])
TRIPLES = st.lists(st.tuples(SUBJECTS, PREDICATES, OBJECTS), max_size=12)


def read(body: bytes, media_type: str) -> set[str]:
    """The triples of a document, whose blank nodes are told by where they stand: RDF/XML gives them other labels."""
    return {
        str(quad.triple).replace("_:bx", "_:x").replace("_:by", "_:y")
        for quad in ox.parse(body, format=READ[media_type])
    }


@settings(deadline=None)
@given(TRIPLES, st.sampled_from([1, 10, 60, 1 << 20]), st.sampled_from([1, 2, 10_000]))
def test_pieces_are_the_graph(triples: list[tuple[str, str, str]], at_once: int, sampled: int) -> None:
    chunk = Chunk.from_triples(triples)
    lines = "".join(f"{s} {p} {o} .\n" for s, p, o in triples).encode()
    wanted = {f"{s} {p} {o}" for s, p, o in triples}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(graph_text, "AT_ONCE", at_once)
        patched.setattr(graph_text, "SAMPLED", sampled)
        for media_type in READ:
            for graph in (LineText(lines), ChunkText(chunk)):
                assert read(b"".join(graph_pieces(graph, media_type)), media_type) == wanted
        assert b"".join(ChunkText(chunk).blocks()) == b"".join(LineText(lines).blocks()) == chunk.to_ntriples()


def test_lines_of_a_subject_stay_together() -> None:
    lines = b"".join(b"<urn:%d> <urn:p> <urn:%d> .\n" % (n // 10, n) for n in range(100_000))
    whole = ox.serialize(ox.parse(lines, format=ox.RdfFormat.N_TRIPLES), format=ox.RdfFormat.TURTLE)
    parts = list(graph_pieces(LineText(lines), TURTLE))
    assert len(parts) > 1 and b"".join(parts) == whole


def test_a_long_term_in_many_triples_is_never_held_as_often_as_it_is_there() -> None:
    terms = pa.array(["<urn:a>", "<urn:p>", f'"{"x" * 5_000_000}"'])
    chunk = Chunk.from_columns(terms, *(np.full(50, place, np.int32) for place in range(3)))
    assert chunk.size < 6_000_000
    sizes = [len(piece) for piece in graph_pieces(ChunkText(chunk), TURTLE)]
    assert sum(sizes) > 250_000_000 and max(sizes) < 5_000_100


def test_what_a_format_cannot_say_is_told_before_the_first_piece() -> None:
    for triple in (("<urn:a>", "<urn:1>", '"x"'), ("<urn:a>", "<urn:p>", '"\\u0001"')):
        chunk = Chunk.from_triples([("<urn:a>", "<urn:p>", '"x"')] * 3 + [triple])
        for graph in (ChunkText(chunk), LineText(chunk.to_ntriples())):
            with pytest.raises(Unwritable):
                graph_pieces(graph, RDF_XML)
            assert read(b"".join(graph_pieces(graph, TURTLE)), TURTLE)


def test_a_triple_that_the_parser_does_not_take() -> None:
    chunk = Chunk.from_triples([("<urn:a>", "<urn:p>", f'"{"x" * (16 << 20)}"'), ("<urn:b>", "<urn:p>", '"x"')])
    for graph in (ChunkText(chunk), LineText(chunk.to_ntriples())):
        with pytest.raises(Unwritable, match="15 MiB: ask for N-Triples"):
            graph_pieces(graph, TURTLE)
        assert b"".join(graph_pieces(graph, N_TRIPLES)) == chunk.to_ntriples()
