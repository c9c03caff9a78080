from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, Store

from csparql_spark.language import parse
from tests.examples import examples

HEAD = "SELECT * FROM STREAM <http://ex.org/s> [RANGE 5s]"


def where(text: str) -> str:
    return parse(text).body.split("\n", 1)[1]


@pytest.mark.parametrize(
    ("clause", "added"),
    [
        ("AGGREGATE { (?n, COUNT, {?s}) }", ["SELECT ?s (COUNT(*) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?s"]),
        ("aggregate { (?n, count(*), ?s) }", ["SELECT ?s (COUNT(*) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?s"]),
        (
            "AGGREGATE { (?n, COUNT(DISTINCT ?o), {?s, ?p}) }",
            ["SELECT ?s ?p (COUNT(DISTINCT ?o) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?s ?p"],
        ),
        (
            "AGGREGATE { (?n, MAX(?o), ?s) . (?m, MIN($o), ?p) }",
            [
                "SELECT ?s (MAX(?o) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?s",
                "SELECT ?p (MIN(?o) AS ?m) WHERE { ?s ?p ?o } GROUP BY ?p",
            ],
        ),
        (
            "AGGREGATE { (?n, AVG(?o), ?s) } AGGREGATE { (?m, SUM(?o), ?p) }",
            [
                "SELECT ?s (AVG(?o) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?s",
                "SELECT ?p (SUM(?o) AS ?m) WHERE { ?s ?p ?o } GROUP BY ?p",
            ],
        ),
    ],
)
def test_sub_selects(clause: str, added: list[str]) -> None:
    lines = "\n".join(f"  {{ {select} }}" for select in added)
    assert where(f"{HEAD} {{ ?s ?p ?o }} {clause}") == f"{{ {{ ?s ?p ?o }}\n{lines} }}"


def test_filters_stand_beside_the_sub_selects() -> None:
    clause = "AGGREGATE { (?n, COUNT, ?s) FILTER(?n > 5) FILTER REGEX(?o, 'x') }"
    assert where(f"{HEAD} {{ ?s ?p ?o }} {clause} ORDER BY ?n LIMIT 2") == (
        "{ { ?s ?p ?o }\n  { SELECT ?s (COUNT(*) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?s }\n"
        '  FILTER (?n > 5)\n  FILTER REGEX(?o, "x") }\nORDER BY ?n LIMIT 2'
    )


def test_each_copy_has_its_own_blank_nodes() -> None:
    text = f"{HEAD} {{ _:x ?p _:x_1 }} AGGREGATE {{ (?n, COUNT, ?p) }}"
    assert where(text) == (
        "{ { _:x ?p _:x_1 }\n  { SELECT ?p (COUNT(*) AS ?n) WHERE { _:x_1_ ?p _:x_1_1 } GROUP BY ?p } }"
    )


def test_the_new_variables_are_shown() -> None:
    assert parse(f"{HEAD} {{ ?s ?p ?o }} AGGREGATE {{ (?n, COUNT, ?s) }}").variables == ("s", "p", "o", "n")


def test_other_rewritings_are_in_the_copies_too() -> None:
    text = (
        "BASE <http://ex.org/> SELECT ?n FROM NAMED WINDOW <w> ON <s> [RANGE 5s] "
        '{ WINDOW <w> { ?s <p> "1"<http://www.w3.org/2001/XMLSchema#integer> } } AGGREGATE { (?n, COUNT, ?s) }'
    )
    pattern = '{ GRAPH <http://ex.org/w> { ?s <http://ex.org/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> } }'
    assert where(text) == f"{{ {pattern}\n  {{ SELECT ?s (COUNT(*) AS ?n) WHERE {pattern} GROUP BY ?s }} }}"


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9)), max_size=12, unique=True)


@settings(max_examples=examples(60), deadline=None)
@given(rows, st.integers(0, 3))
def test_rows_are_extended_not_collapsed(triples: list[tuple[int, int, int]], least: int) -> None:
    text = (
        f"SELECT ?s ?p ?o ?n ?total FROM STREAM <http://ex.org/s> [RANGE 5s] WHERE {{ ?s ?p ?o }} "
        f"AGGREGATE {{ (?n, COUNT, {{?s, ?p}}) FILTER(?n > {least}) (?total, SUM(?o), ?s) }}"
    )
    store = Store()
    store.extend(Quad(NamedNode(f"u:{s}"), NamedNode(f"u:{p}"), Literal(o)) for s, p, o in triples)
    found = Counter(
        tuple(row[name].value for name in ("s", "p", "o", "n", "total")) for row in store.query(parse(text).body)
    )
    counts = Counter((s, p) for s, p, _ in triples)
    totals = {s: sum(o for other, _, o in triples if other == s) for s, _, _ in triples}
    expected = Counter(
        (f"u:{s}", f"u:{p}", str(o), str(counts[s, p]), str(totals[s])) for s, p, o in triples if counts[s, p] > least
    )
    assert found == expected
