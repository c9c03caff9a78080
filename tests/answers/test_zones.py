"""Points in time with and without a zone: what compares, and what is an error, by both evaluators.

The twin below knows dates from `datetime` and zones from trying both ends of them; it shares nothing with `zones`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from csparql_spark.answers.incremental import why_not
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.zones import comparable, point
from csparql_spark.language import parse
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import XSD
from tests.examples import examples

from .asked import cells, default
from .streams import LIMIT, Stage

OPERATORS: dict[str, Callable[[datetime, datetime], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
FORMATS = {
    "dateTime": "%Y-%m-%dT%H:%M:%S",
    "date": "%Y-%m-%d",
    "time": "%H:%M:%S",
    "gYear": "%Y",
    "gYearMonth": "%Y-%m",
    "gMonth": "--%m",
    "gMonthDay": "--%m-%d",
    "gDay": "---%d",
}


def literal(text: str, datatype: str) -> str:
    return f'"{text}"^^<{XSD}{datatype}>'


# --- the twin


def naive(sign: str, datatype: str, first: tuple[datetime, str], second: tuple[datetime, str]) -> bool | None:
    """What a comparison says of two points, each its local time and its zone; None: an error."""
    meant = [
        [cut(local, datatype) - timedelta(minutes=zone) for zone in zones(text)] for (local, text) in (first, second)
    ]
    if bool(first[1]) == bool(second[1]):
        return OPERATORS[sign](meant[0][0], meant[1][0])
    earliest, latest = (min(meant[1]), max(meant[1])) if first[1] else (min(meant[0]), max(meant[0]))
    at, before = (meant[0][0], True) if first[1] else (meant[1][0], False)
    if earliest <= at <= latest:
        return None
    order = at < earliest
    return {"=": False, "!=": True}.get(sign, (order == before) == (sign[0] == "<"))


def zones(text: str) -> list[int]:
    """The minutes that a zone is east of UTC: for none, in turn, as far as there are any on either side."""
    if not text:
        return [0, -14 * 60, 14 * 60]
    return [0 if text == "Z" else int(text[0] + "1") * (60 * int(text[1:3]) + int(text[4:]))]


def cut(local: datetime, datatype: str) -> datetime:
    """What of a local time a datatype has; the rest is the same for all."""
    return (
        datetime.strptime(f"1972 {local.strftime(FORMATS[datatype])}", f"%Y {FORMATS[datatype]}")
        if "%Y" not in FORMATS[datatype]
        else datetime.strptime(local.strftime(FORMATS[datatype]), FORMATS[datatype])
    )


# --- drawing

GENERATE = (Phase.explicit, Phase.reuse, Phase.generate)  # what is drawn is small already

ZONES = st.sampled_from(["", "", "Z", "+00:00", "-00:00", "+14:00", "-14:00", "+13:59", "-09:30", "+05:45"])
LOCAL = st.builds(
    lambda day, minutes, seconds: datetime(2004, 2, 27) + timedelta(days=day, minutes=minutes, seconds=seconds),
    st.integers(0, 3) | st.sampled_from([-60, 360, 700]),
    st.integers(0, 4) | st.integers(0, 1439),
    st.integers(0, 2),
)
POINTS = st.tuples(LOCAL, ZONES)


SIGNS = {"IN": "=", "NOT IN": "!=", **{sign: sign for sign in OPERATORS}}
SHOWN = " ".join(f"((?a {sign} {'(?b)' if 'IN' in sign else '?b'}) AS ?x{place})" for place, sign in enumerate(SIGNS))
NAMES = [*(f"x{place}" for place in range(len(SIGNS))), "y", "z"]
BODY = parse(
    f"SELECT ?s {SHOWN} (IF(bound(?a), ?a, 1) = ?b AS ?y) (!(?a IN (1, COALESCE(?b), ?none)) AS ?z) "
    "{ ?s <urn:a> ?a ; <urn:b> ?b } ORDER BY ?s"
).body


@settings(max_examples=examples(40), deadline=None, phases=GENERATE)
@given(st.sampled_from(sorted(FORMATS)), st.lists(st.tuples(POINTS, POINTS), min_size=1, max_size=12))
def test_comparisons_are_what_the_twin_says(datatype: str, pairs: list) -> None:
    def written(point: tuple[datetime, str]) -> str:
        return literal(point[0].strftime(FORMATS[datatype]) + point[1], datatype)

    if datatype == "gMonthDay":  # Oxigraph knows no --02-29: it has no value there, equal or other
        pairs = [tuple((local + timedelta(days=local.day == 29), zone) for local, zone in pair) for pair in pairs]
    lines = [
        line
        for number, (one, other) in enumerate(pairs)
        for line in (f"<urn:{number:02d}> <urn:a> {written(one)}", f"<urn:{number:02d}> <urn:b> {written(other)}")
    ]
    stage = Stage([(BODY, 5)])
    stage.move(1, [tuple(line.split(" ", 2)) for line in lines])
    stage.check()  # both evaluators say the same
    rows = stage.queries[0][-1].answer(limit=LIMIT).table.rows()
    for (one, other), row in zip(pairs, rows, strict=True):
        equal = naive("=", datatype, one, other)
        said = [*(naive(sign, datatype, one, other) for sign in SIGNS.values()), equal, False if equal else None]
        assert [row.get(name) for name in NAMES] == [
            None if truth is None else literal(str(truth).lower(), "boolean") for truth in said
        ], (one, other)
        assert comparable(written(one), written(other)) == (equal is not None)


# --- one by one

DATES = default(
    *(
        f"<urn:{name}> <urn:on> {literal(text, datatype)}"
        for name, text, datatype in (
            ("zoned", "2006-08-23Z", "date"),
            ("offset", "2006-08-23+00:00", "date"),
            ("plain", "2006-08-23", "date"),
            ("far", "2006-08-25Z", "date"),
            ("before", "2006-08-21", "date"),
            ("moment", "2006-08-23T00:00:00Z", "dateTime"),
        )
    )
)


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ('?d = "2006-08-23"^^xsd:date', {"plain"}),
        ('?d != "2006-08-23"^^xsd:date', {"far", "before", "moment"}),
        ('?d > "2006-08-22"^^xsd:date', {"zoned", "offset", "plain", "far"}),
        ('?d < "2006-08-23Z"^^xsd:date', {"before"}),
        ('?d >= "2006-08-23"^^xsd:date && ?d <= "2006-08-25"^^xsd:date', {"plain"}),
        ('?d >= "2006-08-22Z"^^xsd:date && ?d < "2006-08-30"^^xsd:date', {"zoned", "offset", "plain", "far"}),
        ('?d IN ("2006-08-23"^^xsd:date, "2006-08-25Z"^^xsd:date)', {"plain", "far"}),
        ('?d NOT IN ("2006-08-23"^^xsd:date, 1)', {"far", "before", "moment"}),
        ('!(?d = "2006-08-23Z"^^xsd:date)', {"far", "before", "moment"}),
        ('sameTerm(?d, "2006-08-23"^^xsd:date)', {"plain"}),
        ('!sameTerm(?d, "2006-08-23"^^xsd:date)', {"zoned", "offset", "far", "before", "moment"}),
        ('xsd:date(str(?d)) != strdt("2006-08-23", xsd:date)', {"far", "before"}),
        ('?d != "2006-08-23"', {"zoned", "offset", "plain", "far", "before", "moment"}),
        ('EXISTS { ?s <urn:on> ?e FILTER(?e != "2006-08-23"^^xsd:date) }', {"far", "before", "moment"}),
    ],
)
def test_conditions(condition: str, names: set[str]) -> None:
    query = f"PREFIX xsd: <{XSD}> SELECT ?s {{ ?s <urn:on> ?d FILTER({condition}) }}"
    assert {row[0] for row in cells(query, DATES)} == {f"<urn:{name}>" for name in names}
    body = parse(query).body
    if why_not(over_ids(body), body) is None:
        stage = Stage([(body, 5)])
        stage.move(1, [quad[1:] for quad in DATES])
        stage.check()


def test_terms_and_orders_stay_what_they_are() -> None:
    zoned, plain = literal("2006-08-23Z", "date"), literal("2006-08-23", "date")
    quads = default(f"<urn:a> <urn:on> {zoned}", f"<urn:b> <urn:on> {plain}", f"<urn:c> <urn:on> {plain}")
    assert cells("SELECT DISTINCT ?d { ?s <urn:on> ?d } ORDER BY ?d", quads) == [(plain,), (zoned,)]
    assert cells("SELECT (MIN(?d) AS ?x) (MAX(?d) AS ?y) (COUNT(DISTINCT ?d) AS ?z) { ?s <urn:on> ?d }", quads) == [
        (plain, zoned, literal("2", "integer"))
    ]
    assert cells("SELECT ?s { ?s <urn:on> ?d . <urn:b> <urn:on> ?d } ORDER BY ?s", quads) == [
        ("<urn:b>",),
        ("<urn:c>",),
    ]


@pytest.mark.parametrize(
    ("first", "second", "datatype", "whether"),
    [
        ("2006-08-23T00:00:00", "2006-08-23T14:00:00Z", "dateTime", False),  # fourteen hours, and no more
        ("2006-08-23T00:00:00", "2006-08-23T14:00:00.000000000000000001Z", "dateTime", True),
        ("00:00:00", "23:00:00Z", "time", True),
        ("24:00:00", "14:00:01Z", "time", True),
        ("2006-12-31T24:00:00", "2007-01-01T00:00:00Z", "dateTime", False),
        ("-0001-12-31", "0000-01-01Z", "date", True),
        ("-0001-12-31T23:00:00", "0000-01-01T00:00:00Z", "dateTime", False),
        ("120000-02-29T12:00:00", "120000-03-01T00:00:00Z", "dateTime", False),
        ("1900-02-28T12:00:00", "1900-03-01T00:00:00Z", "dateTime", False),  # not a leap year
        ("2000-02-28T09:00:00", "2000-03-01T00:00:00Z", "dateTime", True),
        ("2006-13-01", "2006-12-01Z", "date", True),  # no date: an error for other reasons
        ("x", "2006-12-01Z", "date", True),
    ],
)
def test_how_far_is_far(first: str, second: str, datatype: str, whether: bool) -> None:
    one, other = literal(first, datatype), literal(second, datatype)
    assert comparable(one, other) == comparable(other, one) == whether


def test_what_is_no_point_in_time() -> None:
    assert point("<urn:a>") is None and point('"2006-01-01"') is None and point(literal("P1D", "duration")) is None
    assert comparable(literal("2006-01-01", "date"), literal("2006-01-01T00:00:00Z", "dateTime"))
    assert not comparable(literal("2006-01-01T00:00:00", "dateTime"), literal("2006-01-01T00:00:00Z", "dateTimeStamp"))


def test_what_is_computed_is_computed_once() -> None:
    """Otherwise a text of a few lines would be written as one of gigabytes."""
    expression = "?d"
    for _ in range(25):
        expression = f"IF({expression} = ?d, ?d, ?s)"
    written = over_ids(parse(f"SELECT ({expression} AS ?x) {{ ?s <urn:on> ?d }}").body)
    assert len(written.text(TermDictionary(), limit=1)) < 5_000
