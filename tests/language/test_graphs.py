from __future__ import annotations

import pytest

from csparql_spark.language import LanguageError, parse

PROLOGUE = "BASE <http://ex.org/> "
W = "FROM NAMED WINDOW <w> ON <s> [RANGE 5s] "
V = "FROM NAMED WINDOW <v> ON <s> [RANGE 9s] "


def body(text: str) -> str:
    return parse(PROLOGUE + text).body


def warnings(text: str) -> list[str]:
    return [warning.partition(": ")[2] for warning in parse(PROLOGUE + text).warnings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"SELECT * {W} {{ WINDOW <w> {{ ?a ?b ?c }} }}", "SELECT *\n{ GRAPH <http://ex.org/w> { ?a ?b ?c } }"),
        (f"SELECT * {W} {{ GRAPH <w> {{ ?a ?b ?c }} }}", "SELECT *\n{ GRAPH <http://ex.org/w> { ?a ?b ?c } }"),
        (f"SELECT * {W}{V} {{ WINDOW ?w {{ ?a ?b ?c }} }}", "SELECT *\n{ GRAPH ?w { ?a ?b ?c } }"),
        (
            f"SELECT * {W}{V} FROM NAMED <g> {{ WINDOW ?w {{ ?a ?b ?c }} }}",
            "SELECT *\n{ { VALUES ?w { <http://ex.org/w> <http://ex.org/v> } GRAPH ?w { ?a ?b ?c } } }",
        ),
        (
            f"SELECT * {W} {{ {{ SELECT ?a {{ WINDOW <w> {{ ?a ?b ?c }} }} }} }}",
            "SELECT *\n{ { SELECT ?a { GRAPH <http://ex.org/w> { ?a ?b ?c } } } }",
        ),
    ],
)
def test_windows_become_graphs(text: str, expected: str) -> None:
    assert body(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"SELECT * {W} {{ WINDOW <x> {{ ?a ?b ?c }} }}", "unknown-window"),
        ("SELECT * FROM STREAM <s> [RANGE 5s] { WINDOW <s> { ?a ?b ?c } }", "unknown-window"),
        ("SELECT * { WINDOW ?w { ?a ?b ?c } }", "unknown-window"),
        (f"SELECT * {W}{W} {{ WINDOW <w> {{ ?a ?b ?c }} }}", "duplicate-window"),
        ("SELECT * FROM STREAM <s> [RANGE 5s] { GRAPH <s> { ?a ?b ?c } }", "graph-on-stream"),
        ("SELECT * FROM NAMED STREAM <s> [RANGE 5s] { OPTIONAL { GRAPH <s> { ?a ?b ?c } } }", "graph-on-stream"),
        (f"CONSTRUCT {W} WHERE {{ WINDOW <w> {{ ?a ?b ?c }} }}", "misplaced-window"),
    ],
)
def test_what_cannot_be_named(text: str, code: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(PROLOGUE + text)
    assert caught.value.code == code


def test_a_stream_that_is_also_a_named_graph_can_be_named() -> None:
    text = "SELECT * FROM STREAM <s> [RANGE 5s] FROM NAMED <s> { GRAPH <s> { ?a ?b ?c } }"
    assert body(text) == "SELECT *\n{ GRAPH <http://ex.org/s> { ?a ?b ?c } }"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"SELECT * {W} {{ WINDOW <w> {{ ?a ?b ?c }} }}", []),
        (f"SELECT * {W} FROM <g> {{ ?a ?b ?c }}", ["the window <http://ex.org/w> is declared but never used."]),
        (
            f"SELECT * {W} {{ ?a ?b ?c . WINDOW <w> {{ ?a ?b ?c }} }}",
            ["this pattern is in no WINDOW, and without a FROM graph it matches nothing."],
        ),
        (
            f"SELECT * {W} FROM NAMED <g> {{ GRAPH ?g {{ ?a ?b ?c }} }}",
            ["GRAPH with a variable ranges over the named windows too."],
        ),
        (
            "SELECT * FROM STREAM <s> [RANGE 5s] { GRAPH <g> { ?a ?b ?c } }",
            ["<http://ex.org/g> is not among FROM NAMED, so this part matches nothing."],
        ),
        ("SELECT * { GRAPH <g> { ?a ?b ?c } }", []),
        (
            "SELECT * { GRAPH ?g { ?a ?b ?c FILTER(?g = <h>) } }",
            ["?g is bound after its GRAPH block, so it is unbound here. Write this FILTER behind the block."],
        ),
        (
            f"SELECT * {W} {{ WINDOW ?w {{ ?a ?b ?c BIND(STR(?w) AS ?name) }} }}",
            ["?w is bound after its WINDOW block, so it is unbound here. Write this BIND behind the block."],
        ),
        ("SELECT * { GRAPH ?g { ?g ?b ?c FILTER(?g = <h>) } }", []),
        ("SELECT * { GRAPH ?g { SELECT ?b { ?g ?b ?c FILTER(?g = <h>) } } }", []),
        ("SELECT * { GRAPH ?g { ?a ?b ?c FILTER EXISTS { ?g ?b ?c } } }", []),
        ("SELECT * { GRAPH ?g { ?a ?b ?c } FILTER(?g = <h>) }", []),
        ("SELECT ?x FROM STREAM <s> [RANGE 5s] { ?a ?b ?c }", ["the variable ?x is bound nowhere."]),
        ("CONSTRUCT { ?a ?b ?x } FROM STREAM <s> [RANGE 5s] { ?a ?b ?c }", ["the variable ?x is bound nowhere."]),
    ],
)
def test_warnings(text: str, expected: list[str]) -> None:
    assert warnings(text) == expected
