"""Triple patterns: what lists and brackets are short for, constants, and paths that may have no length."""

from __future__ import annotations

import pytest

from csparql_spark.answers.patterns import Constant, Reading, TriplePath, is_variable, may_be_empty
from csparql_spark.language.queries.syntax import read_tree
from csparql_spark.language.tokens import tokenize
from csparql_spark.rdf.terms import RDF, XSD

FIRST, REST, NIL, TYPE = (f"<{RDF}{name}>" for name in ("first", "rest", "nil", "type"))


def reading(*labels: str) -> Reading:
    return Reading(lambda node: node.tokens()[0].text[1:-1], set(labels))


def read(pattern: str, *labels: str) -> list[TriplePath]:
    (block,) = read_tree(tokenize(f"SELECT * {{ {pattern} }}")).walk("TriplesPath")
    return reading(*labels).triples(block)


@pytest.mark.parametrize(
    "pattern, triples",
    [
        ("?s <p> ?o", [("?s", "<p>", "?o")]),
        ("?s <p> ?o , 1 ; a <C>", [("?s", "<p>", "?o"), ("?s", "<p>", f'"1"^^<{XSD}integer>'), ("?s", TYPE, "<C>")]),
        ("_:b ?p _:b", [("_:b", "?p", "_:b")]),
        ("[] <p> []", [("_:g1", "<p>", "_:g2")]),
        ("[ <p> 'x' ]", [("_:g1", "<p>", '"x"')]),
        ("[ <p> 'x' ] <q> ?o", [("_:g1", "<p>", '"x"'), ("_:g1", "<q>", "?o")]),
        ("?s <p> [ <q> [ <r> ?o ] ]", [("?s", "<p>", "_:g1"), ("_:g1", "<q>", "_:g2"), ("_:g2", "<r>", "?o")]),
        ("?s <p> ()", [("?s", "<p>", NIL)]),
        (
            "?s <p> (?a 2)",
            [
                ("?s", "<p>", "_:g1"),
                ("_:g1", FIRST, "?a"),
                ("_:g1", REST, "_:g2"),
                ("_:g2", FIRST, f'"2"^^<{XSD}integer>'),
                ("_:g2", REST, NIL),
            ],
        ),
        (
            "(1) <p> ([ <q> ?o ])",
            [
                ("_:g1", FIRST, f'"1"^^<{XSD}integer>'),
                ("_:g1", REST, NIL),
                ("_:g1", "<p>", "_:g2"),
                ("_:g2", FIRST, "_:g3"),
                ("_:g3", "<q>", "?o"),
                ("_:g2", REST, NIL),
            ],
        ),
    ],
)
def test_what_patterns_are_short_for(pattern: str, triples: list[TriplePath]) -> None:
    assert sorted(read(pattern)) == sorted(triples)


def test_blank_nodes_that_are_made_have_labels_of_their_own() -> None:
    assert read("[] <p> _:g1", "_:g1") == [("_:g2", "<p>", "_:g1")]
    made = reading()
    blocks = list(read_tree(tokenize("SELECT * { [] <p> ?x OPTIONAL { [] <p> ?x } }")).walk("TriplesPath"))
    assert [made.triples(block)[0][0] for block in blocks] == ["_:g1", "_:g2"]


def test_the_triples_of_a_template() -> None:
    shape = next(read_tree(tokenize("CONSTRUCT { ?s <p> (1) . [] a <C> } {}")).walk("Template"))
    assert sorted(reading().template(shape)) == sorted(
        [("?s", "<p>", "_:g1"), ("_:g1", FIRST, f'"1"^^<{XSD}integer>'), ("_:g1", REST, NIL), ("_:g2", TYPE, "<C>")]
    )


@pytest.mark.parametrize(
    "written, term",
    [
        ("1", f'"1"^^<{XSD}integer>'),
        ("-01", f'"-01"^^<{XSD}integer>'),
        ("+1.50", f'"+1.50"^^<{XSD}decimal>'),
        ("1e0", f'"1e0"^^<{XSD}double>'),
        ("-1E0", f'"-1E0"^^<{XSD}double>'),
        ("TRUE", f'"true"^^<{XSD}boolean>'),
        ('"a"', '"a"'),
        ('"a"@EN', '"a"@en'),
        ('"01"^^<urn:t>', '"01"^^<urn:t>'),
        ('"\\t\\n\\r\\b\\f\\"\\\\"', '"\\t\\n\\r\\b\\f\\"\\\\"'),
        ('"\\\\n"', '"\\\\n"'),
        ('"é"', '"é"'),
        ('""', '""'),
    ],
)
def test_constants(written: str, term: str) -> None:
    assert read(f"?s <p> {written}") == [("?s", "<p>", term)]


@pytest.mark.parametrize(
    "path, empty",
    [
        ("<p>*", True),
        ("<p>?", True),
        ("<p>+", False),
        ("^<p>", False),
        ("(<p>*)", True),
        ("^(<p>*)", True),
        ("(<p>*)+", True),
        ("<p>/<q>*", False),
        ("<p>*/<q>*", True),
        ("<p>|<q>*", True),
        ("<p>|<q>", False),
        ("(<p>/<q>)*", True),
        ("!<p>", False),
        ("(!<p>)*", True),
        ("(<p>|<q>?)/<r>*", True),
        ("<p>/(<q>|<r>)", False),
    ],
)
def test_paths_that_may_be_empty(path: str, empty: bool) -> None:
    ((_, verb, _),) = read(f"?s {path} ?o")
    assert not isinstance(verb, str) and may_be_empty(verb) == empty


def test_one_predicate_is_no_path() -> None:
    assert [isinstance(read(f"?s {verb} ?o")[0][1], str) for verb in ("<p>", "a", "?p", "(<p>)", "^<p>")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_variables_and_constants() -> None:
    assert [is_variable(node) for node in ("?x", "_:b", "<urn:a>", '"?x"')] == [True, True, False, False]
    assert Constant("<urn:a>") == "<urn:a>" and type(Constant("<urn:a>")) is not str


def test_what_is_read() -> None:
    made = reading()
    made.read([("?s", "<p>", "?o"), ("?o", "<q>", "_:b")])
    made.read([("?s", "<p>", "?o"), ("?o", "<q>", "_:b")])
    made.read([])
    assert made.reads() == ((("?s", "<p>", "?o"), ("?o", "<q>", "_:b")),)
    made.read([*read("?s a/<q>+ ?o"), ("?o", "<r>", "?x")])
    assert set(made.reads()) == {
        (("?s", "<p>", "?o"), ("?o", "<q>", "_:b")),
        (("?s", "<q>", "?o"),),
        (("?s", TYPE, "?o"),),
        (("?o", "<r>", "?x"),),
    }
    made.read(read("<a> <p>* ?o"))
    assert made.reads() is not None
    made.read(read("?s <p>* ?o"))
    assert made.reads() is None
