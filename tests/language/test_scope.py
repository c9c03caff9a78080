from __future__ import annotations

import pytest

from csparql_spark.language import LanguageError, parse

READ = [
    "SELECT ?a (COUNT(?b) AS ?n) { ?a ?b ?c } GROUP BY ?a",
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c }",
    "SELECT ?k (MAX(?b) AS ?m) { ?a ?b ?c } GROUP BY (STR(?a) AS ?k)",
    "SELECT ?n (SUM(?b) AS ?m) { ?a ?b ?c } GROUP BY (?a AS ?n)",
    "SELECT ?a { ?a ?b ?c } GROUP BY (?a)",
    "SELECT (?c + 1 AS ?n) (?n + 1 AS ?m) { ?a ?b ?c }",
    "SELECT (COUNT(?b) AS ?n) { ?a ?b ?c } HAVING (COUNT(?c) > 2) ORDER BY ?n",
    "SELECT ?a { { SELECT ?a (COUNT(*) AS ?n) { ?a ?b ?c } GROUP BY ?a } FILTER(?n > 1) }",
    "SELECT ?a { ?a ?b ?c FILTER EXISTS { { SELECT ?a (COUNT(*) AS ?n) { ?a ?b ?c } GROUP BY ?a } } }",
    "SELECT ?a ?x { ?a ?b ?c } VALUES ?x { 1 }",
    "SELECT * { BIND(1 AS ?x) ?x ?b ?c }",
    "SELECT * { { BIND(1 AS ?x) } UNION { BIND(2 AS ?x) } }",
    "SELECT * { MINUS { ?x ?b ?c } BIND(1 AS ?x) }",
    "SELECT * { _:a ?b ?c FILTER(?c > 1) _:a ?d ?e }",
    "SELECT * { _:a ?b ?c . _:a ?d [ ?e _:a ] }",
    "CONSTRUCT { _:a ?b ?c } { ?a ?b ?c OPTIONAL { _:a ?b ?d } }",
    "SELECT * { VALUES (?a ?b) { (1 UNDEF) (UNDEF UNDEF) } VALUES () { () () } VALUES ?c { 1 2 3 } }",
]


@pytest.mark.parametrize("text", READ)
def test_what_is_right(text: str) -> None:
    assert parse(text).warnings == ()


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("SELECT ?a (COUNT(?b) AS ?n) { ?a ?b ?c }", "not-grouped", 8),
        ("SELECT (COUNT(?b) AS ?n) (?n + 1 AS ?m) { ?a ?b ?c }", "unsupported-alias", 27),
        ("SELECT ?b { ?a ?b ?c } GROUP BY ?a", "not-grouped", 8),
        ("SELECT (?b + 1 AS ?n) { ?a ?b ?c } GROUP BY ?a", "not-grouped", 9),
        ("SELECT (COUNT(?b) + ?c AS ?n) { ?a ?b ?c }", "not-grouped", 21),
        ("SELECT ?a { ?a ?b ?c } GROUP BY (?a + 1)", "not-grouped", 8),
        ("SELECT ?a { ?a ?b ?c } HAVING (COUNT(*) > 1)", "not-grouped", 8),
        ("SELECT * { ?a ?b ?c } GROUP BY ?a", "not-grouped", 8),
        ("SELECT * { { SELECT ?b { ?a ?b ?c } GROUP BY ?a } }", "not-grouped", 21),
        ("CONSTRUCT { ?a ?b 1 } { ?a ?b ?c } GROUP BY ?a", "not-grouped", 16),
        ("SELECT ?a ?a { ?a ?b ?c }", "duplicate-variable", 11),
        ("SELECT (1 AS ?x) (2 AS ?x) {}", "duplicate-variable", 24),
        ("SELECT (1 AS ?a) { ?a ?b ?c }", "variable-in-use", 14),
        ("SELECT (1 AS ?n) { ?a ?b ?c } GROUP BY (?a AS ?n)", "variable-in-use", 14),
        ("SELECT * { ?a ?b ?c BIND(1 AS ?a) }", "variable-in-use", 31),
        ("SELECT * { OPTIONAL { ?a ?b ?c } BIND(1 AS ?a) }", "variable-in-use", 44),
        ("SELECT * { { SELECT ?a { ?a ?b ?c } } BIND(1 AS ?a) }", "variable-in-use", 49),
        ("SELECT * { ?a ?b ?c FILTER(SUM(?c) > 1) }", "misplaced-aggregate", 28),
        ("SELECT * { ?a ?b ?c BIND(SUM(?c) AS ?x) }", "misplaced-aggregate", 26),
        ("SELECT (SUM(COUNT(?c)) AS ?x) { ?a ?b ?c }", "misplaced-aggregate", 13),
        ("SELECT (1 AS ?x) { ?a ?b ?c } GROUP BY SUM(?c)", "misplaced-aggregate", 40),
        ("SELECT * { _:a ?b ?c OPTIONAL { ?c ?d _:a } }", "blank-node-scope", 39),
        ("SELECT * { _:a ?b ?c OPTIONAL { ?c ?d ?e } ?f ?g _:a }", "blank-node-scope", 50),
        ("SELECT * { { _:a ?b ?c } UNION { _:a ?b ?c } }", "blank-node-scope", 34),
        ("SELECT * { _:a ?b ?c FILTER EXISTS { _:a ?d ?e } }", "blank-node-scope", 38),
        ("SELECT * { VALUES (?a ?b) { (1 2) (3) } }", "values-width", 35),
        ("SELECT * { VALUES (?a ?b) { (1 2) () } }", "values-width", 35),
        ("SELECT * { } VALUES () { (1) }", "values-width", 26),
        ("SELECT * { VALUES (?a ?a) { (1 2) } }", "duplicate-variable", 23),
        ("SELECT * { ?a ?b ?c } LIMIT 99999999999999999999", "bad-count", 29),
        ("DESCRIBE *", "nothing-to-describe", 10),
    ],
)
def test_what_is_wrong(text: str, code: str, column: int) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(text)
    assert (caught.value.code, caught.value.column) == (code, column)
