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


NONE = "is bound nowhere, so it is unbound in this FILTER."
OTHER = "is bound in other braces only, so it is unbound in this FILTER. Write the FILTER where ?{0} is bound."


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("?a ?p ?b FILTER(^?c > 1)", ["?c " + NONE]),
        ("?a ?p ?celsius FILTER(^?celcius > 1)", ["?celcius " + NONE + " Did you mean ?celsius?"]),
        ("?a ?p ?b FILTER(!bound(^?c) && ?b > ^?d)", ["?c " + NONE, "?d " + NONE]),
        ("?a ?p ?b { ?a ?q ?c FILTER(^?b > ?c) }", ["?b " + OTHER.format("b")]),
        ("?a ?p ?b MINUS { ?a ?q ?c FILTER(?c > ^?b) }", ["?b " + OTHER.format("b")]),
        ("{ ?a ?p ?b } UNION { ?a ?p ?c FILTER(^?b > 1) }", ["?b " + OTHER.format("b")]),
        ("?a ?p ?b OPTIONAL { ?a ?q ?c { ?a ?r ?d FILTER(?d > ^?b) } }", ["?b " + OTHER.format("b")]),
        ("?a ?p ?b OPTIONAL { ?a ?q ?c OPTIONAL { ?a ?r ?d FILTER(?d > ^?b) } }", ["?b " + OTHER.format("b")]),
        ("?a ?p ?b { SELECT ?a { ?a ?q ?c FILTER(?c > ^?b) } }", ["?b " + OTHER.format("b")]),
        ("{ SELECT ?a { ?a ?q ?c } } FILTER(^?c > 1)", ["?c " + OTHER.format("c")]),
        ("?a ?p ?b FILTER EXISTS { ?a ?q ?c FILTER(?c > ^?d) }", ["?d " + NONE]),
        # what is right
        ("FILTER(?b > 1) ?a ?p ?b", []),
        ("?a ?p ?b OPTIONAL { ?a ?q ?c FILTER(?c > ?b) } FILTER(!bound(?c))", []),
        ("?a ?p ?b FILTER NOT EXISTS { ?a ?q ?c { ?a ?r ?d FILTER(?d > ?b) } FILTER(?c > ?b) }", []),
        ("?a ?p ?b { ?a ?q ?b FILTER(?b > 1) } UNION { BIND(1 AS ?c) FILTER(?c = 1) }", []),
        ("?a ?p ?b BIND(EXISTS { ?a ?q ?c FILTER(?c > ?b) } AS ?d) FILTER(?d)", []),
        ("VALUES ?b { 1 } FILTER(?b = 1)", []),
        ("{ SELECT (COUNT(*) AS ?n) { ?a ?p ?b } } FILTER(?n > 1)", []),
        ("{ { ?a ?p ?b } } FILTER(?b > 1)", []),
    ],
)
def test_what_filters_do_not_see(body: str, expected: list[str]) -> None:
    """Each ^ is where a warning points to."""
    before, *rest = f"SELECT * {{ {body} }}".split("^")
    places = []
    for piece in rest:
        places.append(f"line 1, column {len(before) + 1}: the variable ")
        before += piece
    assert list(parse(before).warnings) == [place + told for place, told in zip(places, expected, strict=True)]


LATE = "is computed by SELECT, after HAVING: it is unbound here. Write {} instead."
APART = "is not grouped by, so it is unbound in HAVING. Add it to GROUP BY, or aggregate it."
NOWHERE = "the variable ?c is bound nowhere, so this forms one group."


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("?a (COUNT(?b) AS ?n)~{ ?a ?p ?b } GROUP BY ?a HAVING (^?n > 1)", ["?n " + LATE.format("COUNT(?b)")]),
        (
            "?a (COUNT(?b)\n + 1 AS ?n)~{ ?a ?p ?b } GROUP BY ?a HAVING (!bound(^?n) && ?a > ^?n)",
            ["?n " + LATE.format("COUNT(?b) + 1")] * 2,
        ),
        ("?a (COUNT(?b) AS ?n)~{ ?a ?p ?b } GROUP BY ?a HAVING (^?b > 1)", ["?b " + APART]),
        ("(STR(?a) AS ?t)~{ ?a ?p ?b } HAVING (^?t = 1)", ["?t " + LATE.format("STR(?a)")]),
        ("(COUNT(?b) AS ?n)~{ ?a ?p ?b } GROUP BY ^?c", [NOWHERE]),
        (
            "*~{ { SELECT ?a (COUNT(?b) AS ?n) { ?a ?p ?b } GROUP BY ?a HAVING (^?n > 1) } }",
            ["?n " + LATE.format("COUNT(?b)")],
        ),
        ("?a (COUNT(?b) AS ?n)~{ ?a ?p ?b } GROUP BY ?a HAVING (COUNT(?b) > 1 && ?a != 2)", []),
        ("?k (COUNT(?b) AS ?n)~{ ?a ?p ?b } GROUP BY (STR(?a) AS ?k) HAVING (?k != 2)", []),
        ("?a (COUNT(?b) AS ?n)~{ ?a ?p ?b } GROUP BY ?a HAVING (EXISTS { ?a ?p ?n }) ORDER BY ?n", []),
        ("?a~{ ?a ?p ?b } HAVING (?b > 1)", []),
    ],
)
def test_what_groups_do_not_know(select: str, expected: list[str]) -> None:
    """Each ^ is where a warning points to."""
    head, _, body = select.partition("~")
    marked = f"REGISTER QUERY q AS SELECT {head} FROM STREAM <http://ex.org/s> [RANGE 5s] {body}"
    before, *rest = marked.split("^")
    places = []
    for piece in rest:
        places.append(f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}: ")
        before += piece
    assert list(parse(before).warnings) == [place + told for place, told in zip(places, expected, strict=True)]
