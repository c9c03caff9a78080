"""Aggregates: against what they are said to be, and whatever the order in which a bag is filled."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.aggregates import AGGREGATES
from csparql_spark.answers.order import order_key
from csparql_spark.answers.values import number
from csparql_spark.rdf.terms import XSD
from tests.examples import examples

from .asked import cells


def typed(text: object, kind: str) -> str:
    return f'"{text}"^^<{XSD}{kind}>'


def of(name: str, *terms: str, separator: str = " ") -> str | None:
    return AGGREGATES[name](Counter(terms), separator)


INTEGERS = [typed(n, "integer") for n in (1, 2, 2, 5)]


@pytest.mark.parametrize(
    "name, terms, result",
    [
        ("sum", INTEGERS, typed(10, "integer")),
        ("avg", INTEGERS, typed("2.5", "decimal")),
        ("min", INTEGERS, INTEGERS[0]),
        ("max", INTEGERS, INTEGERS[3]),
        ("sample", INTEGERS, INTEGERS[0]),
        ("group_concat", INTEGERS, '"1 2 2 5"'),
        ("count", INTEGERS, typed(4, "integer")),
        ("count", [], typed(0, "integer")),
        ("sum", [], typed(0, "integer")),
        ("avg", [], typed(0, "integer")),
        ("min", [], None),
        ("max", [], None),
        ("sample", [], None),
        ("group_concat", [], '""'),
        ("sum", [typed(1, "byte"), typed("0.5", "decimal")], typed("1.5", "decimal")),
        ("sum", [typed(1, "integer"), typed("0.5", "float")], typed("1.5", "float")),
        ("sum", [typed("0.5", "float"), typed("1e0", "double")], typed("1.5", "double")),
        ("sum", [typed("0.1", "double")] * 10, typed(1, "double")),  # rounded once, at the end
        ("sum", [typed("0.1", "float"), typed("0.2", "float")], typed("0.3", "float")),
        ("sum", [typed("INF", "double"), typed("-INF", "double")], typed("NaN", "double")),
        ("sum", [typed("1e308", "double")] * 2, typed("INF", "double")),
        (
            "sum",
            [typed("1e308", "double"), typed("1E308", "double"), typed("-1e308", "double")],
            typed(10**308, "double"),
        ),
        (
            "sum",
            [typed("-1e308", "double"), typed("1e308", "double"), typed("1E308", "double")],
            typed(10**308, "double"),
        ),
        (
            "sum",
            [typed("-1e308", "double")] * 2 + [typed("1e308", "double")] * 2 + [typed("1", "double")],
            typed(1, "double"),
        ),
        ("sum", [typed("1e308", "double")] * 3 + [typed("-INF", "double")], typed("-INF", "double")),
        ("sum", [typed("9" * 400, "integer"), typed(1, "double")], typed("INF", "double")),
        ("sum", [typed("9" * 400, "integer"), typed(1, "integer")], typed("1" + "0" * 400, "integer")),
        (
            "sum",
            [typed("9" * 300 + ".5", "decimal"), typed("0." + "0" * 299 + "1", "decimal")],
            typed("9" * 300 + ".5" + "0" * 298 + "1", "decimal"),
        ),
        ("avg", [typed("9" * 400, "integer")] * 3, typed("9" * 400, "decimal")),
        ("avg", [typed(1, "integer"), typed(1, "integer"), typed(0, "integer")], typed("0." + "6" * 18, "decimal")),
        ("avg", [typed(-1, "integer"), typed(-1, "integer"), typed(0, "integer")], typed("-0." + "6" * 18, "decimal")),
        ("avg", [typed("1", "double"), typed("2", "integer")], typed("1.5", "double")),
        ("sum", [*INTEGERS, '"x"'], None),
        ("avg", [*INTEGERS, "<urn:a>"], None),
        ("sum", [typed("x", "integer")], None),
        ("min", ['"b"', '"a"', typed(10, "integer"), typed(9, "integer"), "<urn:z>"], "<urn:z>"),
        ("max", ['"b"', '"a"', typed(10, "integer"), typed(9, "integer"), "<urn:z>"], '"b"'),
        (
            "max",
            [typed("PT30S", "dayTimeDuration"), typed("PT5M", "dayTimeDuration")],
            typed("PT5M", "dayTimeDuration"),
        ),
        # Of equal values the first as text.
        ("min", [typed("1", "integer"), typed("01", "integer"), typed("1.0", "decimal")], typed("01", "integer")),
        ("max", [typed("1", "integer"), typed("01", "integer"), typed("1.0", "decimal")], typed("01", "integer")),
        ("group_concat", ['"b"', '"a"@en', "<urn:x>", typed("01", "integer"), '"b"'], '"01 a b b urn:x"'),
        ("group_concat", ['"b"', "_:b0"], None),
    ],
)
def test_what_they_give(name: str, terms: list[str], result: str | None) -> None:
    assert of(name, *terms) == result


def test_the_separator() -> None:
    assert of("group_concat", '"a"', '"b"', separator=", ") == '"a, b"'
    assert cells(
        "SELECT (group_concat(?x ; separator = '\"\\\\|') AS ?c) (group_concat(?x ; separator = '') AS ?d) "
        "{ VALUES ?x { 'a' 'b' } }"
    ) == [('"a\\"\\\\|b"', '"ab"')]


def test_distinct_counts_each_term_once() -> None:
    assert cells(
        "SELECT (sum(DISTINCT ?x) AS ?s) (avg(?x) AS ?a) (group_concat(DISTINCT ?x) AS ?c) "
        "(count(DISTINCT ?x) AS ?n) { VALUES ?x { 1 1 4 } }"
    ) == [(typed(5, "integer"), typed(2, "decimal"), '"1 4"', typed(2, "integer"))]


def test_a_group_with_an_error_has_no_result_unless_it_is_counted() -> None:
    query = "SELECT {} {{ VALUES ?x {{ 1 UNDEF 'x' }} }}"
    for name in ("sum", "avg", "min", "max", "sample", "group_concat"):
        assert cells(query.format(f"({name}(?x) AS ?r)")) == [(None,)]
        assert cells(query.format(f"({name}(coalesce(?x + 1, 0)) AS ?r)")) != [(None,)]
    assert cells(query.format("(count(?x) AS ?r) (count(?x + 1) AS ?s) (count(*) AS ?t)")) == [
        (typed(2, "integer"), typed(1, "integer"), typed(3, "integer"))
    ]
    assert cells("SELECT (count(DISTINCT ?x + 1) + 1 AS ?r) { VALUES ?x { 1 1 UNDEF 2 'x' } }") == [
        (typed(3, "integer"),)
    ]


values = st.one_of(
    st.integers(-5, 5).map(lambda n: typed(n, "integer")),
    st.integers(-5, 5).map(lambda n: typed(f"{n}.5", "decimal")),
    st.integers(-5, 5).map(lambda n: typed(n / 4, "double")),
    st.sampled_from(['"a"', '"b"@en', "<urn:a>", "_:b"]),
)


@given(st.lists(values, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=examples(150), deadline=None)
def test_they_are_those_of_a_naive_twin(terms: list[str], chance: random.Random) -> None:
    results = {name: of(name, *terms) for name in AGGREGATES}
    chance.shuffle(terms)
    assert {name: of(name, *terms) for name in AGGREGATES} == results
    numbers = [number(term) for term in terms]
    if None in numbers:
        assert results["sum"] is results["avg"] is None
    else:
        exact = [Fraction(found.value) for found in numbers]
        assert Fraction(number(results["sum"]).value) == sum(exact)
        assert number(results["sum"]).kind == max(
            (found.kind for found in numbers), default="integer", key=("integer", "decimal", "float", "double").index
        )
        mean = sum(exact) / len(exact) if exact else 0
        assert abs(Fraction(number(results["avg"]).value) - mean) < Fraction(1, 10**15)
    if terms:
        assert order_key(results["min"]) == min(map(order_key, terms)) and results["min"] in terms
        assert order_key(results["max"]) == max(map(order_key, terms)) and results["max"] in terms
        assert results["sample"] in terms
