from __future__ import annotations

import pytest

from csparql_spark.language.queries.prologue import WELL_KNOWN, NameProblem, Names, declared, expand_code_points


@pytest.mark.parametrize(
    ("base", "reference", "iri"),
    [
        (None, "http://ex.org/a", "http://ex.org/a"),
        (None, "urn:uuid:1", "urn:uuid:1"),
        ("http://ex.org/a/b", "c", "http://ex.org/a/c"),
        ("http://ex.org/a/b", "../c?d#e", "http://ex.org/c?d#e"),
        ("http://ex.org/a/b", "", "http://ex.org/a/b"),
        ("http://ex.org/a/b", "#c", "http://ex.org/a/b#c"),
        ("http://ex.org/a/b", "//other.org/x", "http://other.org/x"),
        ("file:///home/a/", "b", "file:///home/a/b"),
        ("http://ex.org/", "\\u00e9\\U0001F600", "http://ex.org/é😀"),
    ],
)
def test_references(base: str | None, reference: str, iri: str) -> None:
    assert Names(base).resolve(reference) == iri


@pytest.mark.parametrize(
    ("base", "reference", "code"),
    [
        (None, "a", "relative-iri"),
        (None, "", "relative-iri"),
        (None, "http://ex.org/%zz", "bad-iri"),
        (None, "http://[ex.org", "bad-iri"),
        ("http://ex.org/", "%zz", "bad-iri"),
        (None, "http://ex.org/\\uD800", "bad-character"),
        (None, "http://ex.org/\\U00110000", "bad-character"),
    ],
)
def test_what_is_no_reference(base: str | None, reference: str, code: str) -> None:
    with pytest.raises(NameProblem) as caught:
        Names(base).resolve(reference)
    assert caught.value.code == code


def test_a_later_declaration_counts() -> None:
    names = Names()
    names.declare("a", "http://ex.org/1#")
    names.declare("b", "http://ex.org/2#")
    names.declare("a", "http://ex.org/3#")
    assert (names.expand("a:x"), names.expand("b:")) == ("http://ex.org/3#x", "http://ex.org/2#")
    assert names.text() == "PREFIX b: <http://ex.org/2#>\nPREFIX a: <http://ex.org/3#>\n"


def test_prefixes_start_from_the_base_before_them() -> None:
    names = Names("http://ex.org/")
    names.declare("a", "x#")
    names.declare_base("y/")
    names.declare("b", "x#")
    assert names.prefixes == {"a": "http://ex.org/x#", "b": "http://ex.org/y/x#"}


def test_of_prefixes_with_one_iri_the_first_is_shown() -> None:
    names = Names()
    for prefix in ("a", "b"):
        names.declare(prefix, "http://ex.org/")
    assert (names.shown_as("b"), names.text()) == ("a", "PREFIX a: <http://ex.org/>\n")


def test_borrowed_prefixes() -> None:
    names = Names()
    names.declare("rdf", "http://ex.org/mine#")
    assert [names.borrow(prefix) for prefix in ("xsd", "xsd", "rdf", "foaf")] == [True, False, False, False]
    assert names.prefixes == {"rdf": "http://ex.org/mine#", "xsd": WELL_KNOWN["xsd"]}


def test_names_with_escapes() -> None:
    names = Names()
    names.declare("", "http://ex.org/")
    assert names.expand(r":a\,b\-c%20") == "http://ex.org/a,b-c%20"


def test_code_points() -> None:
    assert expand_code_points(r"a\u00e9\U0001f600b\n") == "aé😀b\\n"


def test_what_a_body_declares() -> None:
    names = Names("http://ex.org/")
    names.declare("ex", "a/")
    names.declare("", "urn:x:")
    body = f"{names.text(with_base=True)}ASK {{ ?s ?p 'PREFIX no: <urn:no>' }}"
    assert declared(body) == {"ex": "http://ex.org/a/", "": "urn:x:"}
    assert declared("ASK {}") == {}
