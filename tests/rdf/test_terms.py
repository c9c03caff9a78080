from __future__ import annotations

import re
import tracemalloc

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf import terms
from csparql_spark.rdf.errors import TermError
from csparql_spark.rdf.terms import XSD, Term
from tests.examples import examples

from . import generated

anything = st.one_of(
    generated.terms,
    st.builds(ox.Literal, st.text(st.characters(exclude_categories=["Cs"]))),
    st.builds(lambda text: ox.Literal(text, language="en", direction=ox.BaseDirection.RTL), generated.texts),
)


@given(anything)
@settings(max_examples=examples(150), deadline=None)
def test_to_and_from_oxigraph_are_inverse(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> None:
    text = terms.from_oxigraph(term)
    assert terms.to_oxigraph(text) == term
    assert terms.from_oxigraph(terms.to_oxigraph(text)) == text


@given(generated.literals())
@settings(max_examples=examples(200), deadline=None)
def test_parse_finds_the_parts(literal: ox.Literal) -> None:
    parts = terms.parse(str(literal))
    assert parts == Term("literal", literal.value, literal.datatype.value, literal.language)


@pytest.mark.parametrize(
    "text, parts",
    [
        ("<urn:a>", Term("iri", "urn:a")),
        ("<urn:\\u00e9>", Term("iri", "urn:é")),
        ("_:b.c", Term("blank", "b.c")),
        ('""', Term("literal", "", XSD + "string")),
        ('"01"^^<' + XSD + "integer>", Term("literal", "01", XSD + "integer")),
        ('"a\\t\\"\\\\\\U0001F600"', Term("literal", 'a\t"\\😀', XSD + "string")),
        ('"x"@en-gb', Term("literal", "x", terms.RDF_LANG_STRING, "en-gb")),
        ('"x"@ar--rtl', Term("literal", "x", terms.RDF_DIR_LANG_STRING, "ar", "rtl")),
    ],
)
def test_parts(text: str, parts: Term) -> None:
    assert terms.parse(text) == parts


BACK = re.compile(r'"(?P<lexical>(?:[^"\\\n\r]|\\.)*)"(?:@[a-zA-Z]+|\^\^<[^\x00-\x20<>"{}|^`]*>)?')


@given(st.lists(st.sampled_from(['"', "\\", "\n", "\r", "a", "t", "u0041", "@en", "^^<urn:t>", "é"]), max_size=12))
@settings(max_examples=examples(300), deadline=None)
def test_a_literal_is_what_a_pattern_that_goes_back_says(pieces: list[str]) -> None:
    text = '"' + "".join(pieces)
    found, wanted = terms._SHAPE.fullmatch(text), BACK.fullmatch(text)
    assert (found and found["lexical"]) == (wanted and wanted["lexical"])


@pytest.mark.parametrize("piece", ["abcd", "\\n", 'a\\"'])
@pytest.mark.parametrize("end", ['"', '"@en', ""])
def test_a_long_literal_is_taken_apart_in_the_room_of_its_parts(piece: str, end: str) -> None:
    text = '"' + piece * (1 << 16) + end
    tracemalloc.start()
    try:
        assert (terms._SHAPE.fullmatch(text) is None) == (not end)
        assert tracemalloc.get_traced_memory()[1] < len(text)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text, message",
    [
        ("urn:a", "'urn:a' is not an IRI, blank node or literal in N-Triples syntax."),
        ("<urn:a b>", "is not an IRI, blank node or literal"),
        ('"a', "is not an IRI, blank node or literal"),
        ('"a"@', "is not an IRI, blank node or literal"),
        ('"a" ', "is not an IRI, blank node or literal"),
        ("", "'' is not an IRI"),
        ('"\\q"', r"has the unknown escape \\q"),
        ('"\\uD800"', r"escapes U\+D800, which is not a character"),
        ('"\\UFFFFFFFF"', r"escapes U\+FFFFFFFF, which is not a character"),
        ("<<( <urn:a> <urn:b> <urn:c> )>>", "is a triple term of RDF 1.2, which is not supported"),
    ],
)
def test_what_is_not_a_term_is_refused(text: str, message: str) -> None:
    with pytest.raises(TermError, match=message):
        terms.parse(text)


def test_terms_that_look_right_and_are_not_are_refused_by_oxigraph() -> None:
    for text in ("<a>", '"x"^^<a>', "<urn:%zz>", '"x"@abcdefghijkl'):
        with pytest.raises(TermError, match="is not a valid term: "):
            terms.to_oxigraph(text)


def test_a_triple_term_is_refused() -> None:
    node = ox.NamedNode("urn:a")
    with pytest.raises(TermError, match="triple term of RDF 1.2"):
        terms.from_oxigraph(ox.Triple(node, node, node))


def test_literals_and_iris_are_made_in_canonical_spelling() -> None:
    assert terms.iri("urn:a") == "<urn:a>"
    assert terms.literal("a\nb") == '"a\\nb"'
    assert terms.literal("x", datatype=XSD + "string") == '"x"'
    assert terms.literal("01", datatype=XSD + "integer") == f'"01"^^<{XSD}integer>'
    assert terms.literal("x", language="en-GB") == '"x"@en-gb'


def test_valid_iri() -> None:
    assert all(map(terms.valid_iri, ["urn:a", "http://é.example/ü?x#y", "mailto:a@b"]))
    assert not any(map(terms.valid_iri, ["", "a", "/a", "urn:a b", "urn:<a>", "http://a/%zz", 'urn:"', "urn:\n"]))
