from __future__ import annotations

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings

from csparql_spark.rdf import quads as module
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.quads import Quads, split
from tests.examples import examples

from . import generated, naive


def rows(quads: Quads) -> list[tuple[str, str, str, str | None]]:
    terms, graphs = quads.terms.to_pylist(), quads.graphs.to_pylist()
    return [
        (terms[s], terms[p], terms[o], None if g < 0 else graphs[g])
        for s, p, o, g in zip(quads.s.tolist(), quads.p.tolist(), quads.o.tolist(), quads.g.tolist())
    ]


def first_appearances(items: list[str]) -> list[str]:
    return list(dict.fromkeys(items))


A, B = ox.NamedNode("urn:a"), ox.NamedNode("urn:b")


@given(generated.quads())
@example([ox.Quad(A, A, ox.Literal('x" <urn:g> .'), B), ox.Quad(A, A, ox.Literal(" <urn:g>"))])
@example([ox.Quad(A, A, ox.Literal("x", language="en"), ox.BlankNode("g")), ox.Quad(A, A, B)])
@settings(max_examples=examples(150), deadline=None)
def test_the_columns_say_what_the_lines_say(quads: list[ox.Quad]) -> None:
    document = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
    expected = naive.quads(document, ox.RdfFormat.N_QUADS)
    columns = split(document)
    assert rows(columns) == expected
    assert columns.terms.to_pylist() == first_appearances([term for row in expected for term in row[:3]])
    assert sorted(columns.graphs.to_pylist()) == sorted({row[3] for row in expected} - {None})


def test_a_literal_that_ends_like_a_graph_name_is_no_graph() -> None:
    columns = split(b'<urn:a> <urn:p> "x <urn:g>" .\n<urn:a> <urn:p> "y" <urn:g> .\n<urn:a> <urn:p> "_:g" _:g .\n')
    assert rows(columns) == [
        ("<urn:a>", "<urn:p>", '"x <urn:g>"', None),
        ("<urn:a>", "<urn:p>", '"y"', "<urn:g>"),
        ("<urn:a>", "<urn:p>", '"_:g"', "_:g"),
    ]


def test_a_term_is_one_term_in_every_position() -> None:
    columns = split(b"<urn:a> <urn:a> <urn:a> <urn:a> .\n<urn:a> <urn:a> <urn:a> .\n")
    assert columns.terms.to_pylist() == columns.graphs.to_pylist() == ["<urn:a>"]
    assert columns.g.tolist() == [0, -1]


def test_an_empty_document_has_no_quads() -> None:
    columns = split(b"")
    assert rows(columns) == [] and len(columns.terms) == 0
    assert columns.s.dtype == columns.g.dtype == np.int32


def test_a_document_beyond_the_offsets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_DOCUMENT", 29)
    with pytest.raises(RdfError, match="30 bytes as N-Quads, more than 29: push it in parts"):
        split(b"<urn:a> <urn:a> <urn:abcdef> .\n"[1:])
