from __future__ import annotations

import random

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.order import order_key, order_text
from csparql_spark.rdf.terms import XSD
from tests.examples import examples

from .asked import cells

SORTED = [
    "_:b1",
    "_:b2",
    "<urn:a>",
    "<urn:b>",
    '"-INF"^^<double>',
    '"NaN"^^<double>',
    '"-10"^^<integer>',
    '"-2.51"^^<decimal>',
    '"-2.5"^^<decimal>',
    '"-1e-300"^^<double>',
    '"0"^^<integer>',
    '"1e-320"^^<double>',
    '"0.5"^^<double>',
    '"9"^^<byte>',
    '"10"^^<integer>',
    '"10.01"^^<decimal>',
    '"100"^^<integer>',
    '"1e300"^^<double>',
    f'"{"9" * 400}"^^<integer>',
    '"INF"^^<double>',
    '"2026-01-05T10:00:00+02:00"^^<dateTime>',
    '"2026-01-05T09:00:00Z"^^<dateTime>',
    '"2026-01-05T09:00:00.001Z"^^<dateTime>',
    '"-P1D"^^<dayTimeDuration>',
    '"PT30S"^^<dayTimeDuration>',
    '"PT5M"^^<dayTimeDuration>',
    '"P11M"^^<yearMonthDuration>',
    '"P1Y"^^<yearMonthDuration>',
    '""',
    '"10"',
    '"9"',
    '"a"',
    '"a"@en',
    '"b"',
    '"false"^^<boolean>',
    '"x"^^<integer>',
    '"z"@de',
    '"é"',
]
SORTED = [term.replace("^^<", f"^^<{XSD}") for term in SORTED]


def test_the_order_of_all_terms() -> None:
    shuffled = random.Random(1).sample(SORTED, len(SORTED))
    assert sorted(shuffled, key=order_key) == SORTED
    assert sorted(shuffled, key=order_text) == SORTED


def test_terms_of_one_value_have_one_place() -> None:
    one = [
        f'"{text}"^^<{XSD}{kind}>'
        for text, kind in (("1", "integer"), ("01", "byte"), ("1.0", "decimal"), ("1e0", "double"))
    ]
    assert len(set(map(order_text, one))) == len({order_key(term)[:2] for term in one}) == 1
    times = [f'"{text}"^^<{XSD}dateTime>' for text in ("2026-01-05T09:00:00Z", "2026-01-05T10:00:00.0+01:00")]
    assert order_text(times[0]) == order_text(times[1])
    assert order_text('"a"') != order_text('"a"@en') != order_text('"a"^^<urn:t>')


numbers = st.one_of(
    st.integers(-(10**18), 10**18).map(lambda n: f'"{n}"^^<{XSD}integer>'),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda n: f'"{n!r}"^^<{XSD}double>'),
    st.decimals(-(10**9), 10**9, places=3).map(lambda n: f'"{n:f}"^^<{XSD}decimal>'),
)


@given(st.one_of(numbers, st.sampled_from(SORTED)), st.one_of(numbers, st.sampled_from(SORTED)))
@settings(max_examples=examples(300), deadline=None)
def test_texts_are_in_the_order_of_the_keys(one: str, other: str) -> None:
    assert (order_text(one) < order_text(other)) == (order_key(one) < order_key(other))
    assert (order_text(one) == order_text(other)) == (order_key(one) == order_key(other))


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_rows_are_in_this_order(direction: str) -> None:
    terms = [term for term in SORTED if not term.startswith("_:") and "9" * 400 not in term]
    query = f"SELECT ?x {{ VALUES ?x {{ UNDEF {' '.join(reversed(terms))} }} }} ORDER BY {direction}(?x)"
    found = [cell for (cell,) in cells(query)]
    assert found == ([None, *terms] if direction == "ASC" else [*reversed(terms), None])


@given(
    st.one_of(
        st.lists(numbers.filter(lambda term: len(term) < 60), min_size=2, max_size=6),
        st.lists(st.sampled_from([term for term in SORTED if "dateTime" in term]), min_size=2, max_size=6),
        st.lists(st.sampled_from(['"a"', '"b"', '"10"', '"9"', "<urn:a>", "<urn:b>"]), min_size=2, max_size=6),
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_it_is_the_order_of_oxigraph_where_that_has_one(terms: list[str]) -> None:
    """Of mixed kinds, Oxigraph's order depends on the order in which the rows come."""
    store = ox.Store()
    body = f"SELECT ?x {{ VALUES ?x {{ {' '.join(terms)} }} }} ORDER BY ?x"
    theirs = [order_key(str(row[0])) for row in store.query(body)]
    assert [order_key(term) for (term,) in cells(body)] == theirs
