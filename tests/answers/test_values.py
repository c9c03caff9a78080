from __future__ import annotations

import math
from datetime import datetime, timezone
from decimal import Decimal

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.values import Duration, Number, decimal_term, duration, moment, number, number_term
from csparql_spark.rdf.terms import XSD
from tests.examples import examples


def typed(text: str, kind: str) -> str:
    return f'"{text}"^^<{XSD}{kind}>'


@pytest.mark.parametrize(
    "text, kind, value",
    [
        ("1", "integer", Number("integer", 1)),
        ("+01", "integer", Number("integer", 1)),
        (" -7\\n", "integer", Number("integer", -7)),
        ("7", "byte", Number("integer", 7)),
        ("7", "nonNegativeInteger", Number("integer", 7)),
        ("1.50", "decimal", Number("decimal", Decimal("1.5"))),
        ("1.", "decimal", Number("decimal", Decimal(1))),
        (".5", "decimal", Number("decimal", Decimal("0.5"))),
        ("9" * 40, "integer", Number("integer", int("9" * 40))),
        ("1e3", "double", Number("double", 1000.0)),
        ("-INF", "double", Number("double", -math.inf)),
        ("0.1", "float", Number("float", 0.10000000149011612)),
        ("1e39", "float", Number("float", math.inf)),
        ("1.5", "integer", None),
        ("1e3", "decimal", None),
        (".", "decimal", None),
        ("inf", "double", None),
        ("", "integer", None),
        ("1_0", "integer", None),
        ("٣", "integer", None),
        ("0x1", "double", None),
        ("1", "string", None),
        ("1", "boolean", None),
    ],
)
def test_numbers(text: str, kind: str, value: Number | None) -> None:
    assert number(typed(text, kind)) == value


def test_other_terms_are_no_numbers() -> None:
    assert [number(term) for term in ("<urn:1>", "_:b1", '"1"', '"1"@en', '"1"^^<urn:integer>')] == [None] * 5
    assert math.isnan(number(typed("NaN", "double")).value)


@pytest.mark.parametrize(
    "kind, value, text",
    [
        ("integer", 10**30, "1" + "0" * 30),
        ("decimal", Decimal("2.50"), "2.5"),
        ("decimal", Decimal("-0.0"), "0"),
        ("decimal", Decimal("1E+3"), "1000"),
        ("decimal", Decimal("1E-18"), "0.000000000000000001"),
        ("double", 2.0, "2"),
        ("double", 0.1, "0.1"),
        ("double", 1e21, "1000000000000000000000"),
        ("double", -0.0, "-0"),
        ("double", math.inf, "INF"),
        ("double", -math.inf, "-INF"),
        ("double", math.nan, "NaN"),
        ("float", 0.1 + 0.2, "0.3"),
        ("float", 1e39, "INF"),
    ],
)
def test_a_number_has_one_spelling(kind: str, value: object, text: str) -> None:
    assert number_term(Number(kind, value)) == typed(text, kind)


@given(
    st.one_of(
        st.tuples(st.just("integer"), st.integers(-(2**63), 2**63 - 1)),
        st.tuples(st.just("double"), st.floats(allow_nan=False)),
        st.tuples(st.just("float"), st.floats(allow_nan=False, width=32)),
        st.tuples(st.just("decimal"), st.decimals(-(10**18), 10**18, places=6)),
    )
)
@settings(max_examples=examples(200), deadline=None)
def test_the_spelling_is_that_of_oxigraph(pair: tuple[str, object]) -> None:
    made = number_term(Number(*pair))
    assert number(made) == Number(*pair)
    zero = typed("0", pair[0])
    ((row,),) = [list(row) for row in ox.Store().query(f"SELECT (({made} + {zero}) AS ?x) {{}}")]
    assert str(row) == made or pair[1] == 0  # -0.0 + 0.0 is 0.0


UTC = timezone.utc


@pytest.mark.parametrize(
    "text, time",
    [
        ("2026-01-05T09:00:00Z", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        ("2026-01-05T09:00:00", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        ("2026-01-05T10:30:00+01:30", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        ("2026-01-05T09:00:00.5Z", datetime(2026, 1, 5, 9, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-01-05T09:00:00.1234567Z", datetime(2026, 1, 5, 9, 0, 0, 123_456, tzinfo=UTC)),
        ("2026-02-30T09:00:00Z", None),
        ("2026-01-05", None),
        ("2026-01-05T09:00:001Z", None),
        ("0001-01-01T00:00:00+01:00", None),
        ("12026-01-05T09:00:00Z", None),
    ],
)
def test_moments(text: str, time: datetime | None) -> None:
    assert moment(typed(text, "dateTime")) == time
    assert moment(typed(text, "string")) is None


@pytest.mark.parametrize(
    "text, kind, length",
    [
        ("PT5M", "dayTimeDuration", Duration("seconds", 300)),
        ("-P1DT1.5S", "duration", Duration("seconds", Decimal("-86401.5"))),
        ("P1Y2M", "yearMonthDuration", Duration("months", 14)),
        ("PT0S", "duration", Duration("seconds", 0)),
        ("P1MT1S", "duration", None),
        ("P", "duration", None),
        ("P1DT", "duration", None),
        ("5M", "duration", None),
        ("PT5M", "string", None),
    ],
)
def test_durations(text: str, kind: str, length: Duration | None) -> None:
    assert duration(typed(text, kind)) == length


@given(st.integers(-(10**24), 10**24), st.sampled_from((6, 18)))
@settings(max_examples=examples(300))
def test_a_decimal_is_spelled_alike_from_its_units_and_from_its_value(units, places):
    assert decimal_term(units, places) == number_term(Number("decimal", Decimal(units).scaleb(-places)))
