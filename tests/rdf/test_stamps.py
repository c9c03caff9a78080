from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.rdf.stamps import AROUND_NOW, EARLIEST, LATEST, likely_seconds, parse_stamp
from tests.examples import examples

U = Chunk.UNSTAMPED
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
HEAD = """@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix : <urn:x:> ."""


def stamped(trig: str) -> list[tuple[str, int]]:
    """The objects of a TriG text, as they are written in N-Triples, with their stamps."""
    chunk = parse_push((HEAD + trig).encode(), RdfFormat.TRIG, base=None, blank_prefix="b")
    return [(triple[2], t) for triple, t in zip(chunk.triples(), chunk.t.tolist())]


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.none() | st.integers(-840, 840), st.integers(0, 9))
@settings(max_examples=examples(150), deadline=None)
def test_a_date_time_is_what_datetime_says(when: datetime, zone: int | None, digits: int) -> None:
    fraction = f".{when.microsecond:06}000"[: digits + 1] if digits else ""
    when = when.replace(microsecond=int((fraction[1:] + "000000")[:6]))
    tail = "" if zone is None else f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02}:{abs(zone) % 60:02}"
    text = when.isoformat(timespec="seconds") + fraction + tail
    aware = when.replace(tzinfo=timezone(timedelta(minutes=zone or 0)))
    assert parse_stamp(text) == (aware - EPOCH) // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "text, at",
    [
        ("0", 0),
        ("-1", -1),
        ("+5", 5),
        ("007", 7),
        (str(EARLIEST), EARLIEST),
        (str(LATEST), LATEST),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00", 0),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:59:59.9999Z", -1),
        ("1970-01-01T00:00:00.0019Z", 1),
        ("1970-01-01T00:00:00.5Z", 500),
        ("1970-01-01T24:00:00Z", 86_400_000),
        ("2024-02-29T00:00:00-14:00", 1_709_164_800_000 + 50_400_000),
        ("0001-01-01T00:00:00Z", EARLIEST),
        ("9999-12-31T23:59:59.999Z", LATEST),
    ],
)
def test_stamps(text: str, at: int) -> None:
    assert parse_stamp(text) == at


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "neither an integer nor an xsd:dateTime"),
        ("now", "neither"),
        ("1.5", "neither"),
        ("١", "neither"),
        ("2024-01-01", "neither"),
        ("2024-01-01 00:00:00", "neither"),
        ("2024-01-01T00:00Z", "neither"),
        ("2024-01-01T00:00:00.Z", "neither"),
        ("2024-01-01T00:00:00z", "neither"),
        ("-0001-01-01T00:00:00Z", "neither"),
        ("10000-01-01T00:00:00Z", "neither"),
        ("2024-01-01T00:00:00+1:00", "neither"),
        (" 5", "neither"),
        ("5\n", "neither"),
        ("2023-02-29T00:00:00Z", "2023-02-29 is not a day"),
        ("0000-01-01T00:00:00Z", "0000-01-01 is not a day"),
        ("2024-13-01T00:00:00Z", "2024-13-01 is not a day"),
        ("2016-12-31T23:59:60Z", "no leap seconds"),
        ("2024-01-01T24:00:01Z", "24:00:01 is not a time"),
        ("2024-01-01T24:00:00.001Z", "24:00:00 is not a time"),
        ("2024-01-01T25:00:00Z", "25:00:00 is not a time"),
        ("2024-01-01T00:60:00Z", "00:60:00 is not a time"),
        ("2024-01-01T00:00:00+14:01", r"\+14:01 is not a time zone"),
        ("2024-01-01T00:00:00-01:60", "-01:60 is not"),
        ("9999-12-31T24:00:00Z", "outside the years 0001 to 9999"),
        ("0001-01-01T00:00:00+00:01", "outside the years"),
        (str(LATEST + 1), "outside the years"),
        (str(EARLIEST - 1), "outside the years"),
        ("9" * 5000, "outside the years"),
    ],
)
def test_what_is_no_stamp_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_stamp(text)


def test_a_graph_name_stamps_its_triples_and_no_others() -> None:
    assert stamped(
        ":s :p 1, 2 . <urn:t:1000> { :s :p 3 . :s :q 4 } <urn:t:1970-01-01T00:00:01.5Z> { :s :p 5 } :g { :s :p 6 }"
        "<urn:t:1970-01-01T01%3A00%3a02%2B01:00> { :s :p 7 } <urn:T:5> { :s :p 8 } _:g { :s :p 9 }"
        "<urn:t:-3> { :s :p 10 }"
    ) == [
        (f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>', t)
        for n, t in zip(range(1, 11), [U, U, 1000, 1000, 1500, U, 2000, U, U, -3])
    ]


def test_a_triple_in_two_graphs_occurs_twice() -> None:
    assert stamped("<urn:t:1> { :s :p :o } <urn:t:2> { :s :p :o } :s :p :o .") == [
        ("<urn:x:o>", 1),
        ("<urn:x:o>", 2),
        ("<urn:x:o>", U),
    ]


TIME = '"1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'


@pytest.mark.parametrize("name", [":g", "_:g"])
def test_prov_in_the_default_graph_stamps_the_graph_and_itself(name: str) -> None:
    text = f'{name} prov:generatedAtTime "1970-01-01T00:00:01Z"^^xsd:dateTime ; :by :me . {name} {{ :s :p :o }}'
    assert stamped(text) == [(TIME, 1000), ("<urn:x:me>", U), ("<urn:x:o>", 1000)]


def test_prov_inside_its_graph_stamps_the_graph_and_itself() -> None:
    text = ':g { :s :p :o . :g prov:generatedAtTime "1970-01-01T00:00:01Z"^^xsd:dateTime } :h { :s :p :i }'
    assert stamped(text) == [("<urn:x:o>", 1000), (TIME, 1000), ("<urn:x:i>", U)]


def test_prov_inside_another_graph_or_about_no_graph_is_an_ordinary_triple() -> None:
    text = f":h {{ :g prov:generatedAtTime {TIME} }} :g {{ :s :p :o }} :k prov:generatedAtTime 5, :never ."
    assert [t for _, t in stamped(text)] == [U, U, U, U]


def test_prov_may_be_given_as_milliseconds() -> None:
    for value in ("1000", '"1000"', '"1000"^^xsd:long', '" 1000 "^^xsd:integer', '"1970-01-01T00:00:01"'):
        assert [t for _, t in stamped(f":g {{ :s :p :o }} :g prov:generatedAtTime {value} .")] == [1000, 1000]


def test_a_name_that_tells_a_time_wins_over_prov() -> None:
    assert [t for _, t in stamped("<urn:t:7> { :s :p :o . <urn:t:7> prov:generatedAtTime 8, :x }")] == [7, 7, 7]


def test_prov_said_twice_with_one_time_is_fine_and_with_two_is_not() -> None:
    same = f":g prov:generatedAtTime {TIME}, 1000 . :g {{ :s :p :o }}"
    assert [t for _, t in stamped(same)] == [1000, 1000, 1000]
    with pytest.raises(RdfError, match="The graph <urn:x:g> is generated at two different times"):
        stamped(":g prov:generatedAtTime 5, 6 . :g { :s :p :o }")


@pytest.mark.parametrize("value", [":iri", '"2024-01-01"^^xsd:date', '"soon"', '"x"@en', "_:b"])
def test_prov_that_tells_no_time_is_refused(value: str) -> None:
    with pytest.raises(RdfError, match="The prov:generatedAtTime .* does not tell a time: .*Write an xsd:dateTime"):
        stamped(f":g prov:generatedAtTime {value} . :g {{ :s :p :o }}")


def test_a_malformed_name_is_refused_by_name_and_place() -> None:
    body = b"<urn:a> <urn:b> <urn:c> <urn:t:5> .\n<urn:a> <urn:b> <urn:c> <urn:t:noon> .\n"
    with pytest.raises(RdfError) as caught:
        parse_push(body, RdfFormat.N_QUADS, base=None, blank_prefix="b")
    assert str(caught.value) == (
        "Line 2, column 25: The graph name <urn:t:noon> does not tell a time: it is neither an integer nor an "
        "xsd:dateTime such as 2023-11-14T22:13:20.5Z. Write <urn:t:> followed by epoch milliseconds or by an "
        "xsd:dateTime."
    )
    assert (caught.value.line, caught.value.column, caught.value.offending) == (2, 25, "<urn:t:noon>")


names = st.sampled_from(["urn:t:5", "urn:t:1970-01-01T00:00:01Z", "urn:g", "urn:h"])
told = st.sampled_from(["5", "6", "1970-01-01T00:00:01Z"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["urn:s", "urn:g", "urn:t:5"]), st.sampled_from([PROV, "urn:p"]), told, st.none() | names
        ),
        max_size=8,
    )
)
@settings(max_examples=examples(150), deadline=None)
def test_stamps_agree_with_a_reading_of_one_quad_at_a_time(rows: list[tuple[str, str, str, str | None]]) -> None:
    document = "".join(f'<{s}> <{p}> "{o}" {f"<{g}> " if g else ""}.\n' for s, p, o, g in rows).encode()
    graphs = {g for *_, g in rows if g}
    by_name = {g: parse_stamp(g.removeprefix("urn:t:")) for g in graphs if g.startswith("urn:t:")}
    by_prov: dict[str, set[int]] = {}
    for s, p, o, g in rows:
        if p == PROV and s in graphs and g in (None, s) and s not in by_name:
            by_prov.setdefault(s, set()).add(parse_stamp(o))
    if any(len(times) > 1 for times in by_prov.values()):
        with pytest.raises(RdfError, match="two different times"):
            parse_push(document, RdfFormat.N_QUADS, base=None, blank_prefix="b")
        return
    stamp_of = by_name | {g: min(times) for g, times in by_prov.items()}
    expected = [stamp_of.get(s if p == PROV and s in graphs and g in (None, s) else g, U) for s, p, o, g in rows]
    chunk = parse_push(document, RdfFormat.N_QUADS, base=None, blank_prefix="b")
    assert chunk.t.tolist() == expected
    assert [quad.object.value for quad in ox.parse(document, format=ox.RdfFormat.N_QUADS)] == [o for _, _, o, _ in rows]
    assert [o for _, _, o in chunk.triples()] == [f'"{o}"' for _, _, o, _ in rows]


NOW = 1_795_154_840_123


@given(
    st.lists(
        st.sampled_from([Chunk.UNSTAMPED, EARLIEST, LATEST, 0, NOW, NOW // 1000])
        | st.integers(NOW // 1000 - AROUND_NOW // 1000 - 3, NOW // 1000 - AROUND_NOW // 1000 + 3)
        | st.integers(NOW // 1000 + AROUND_NOW // 1000 - 3, NOW // 1000 + AROUND_NOW // 1000 + 3)
    )
)
@settings(max_examples=examples(200))
def test_seconds_are_known_by_what_they_would_be_as_milliseconds(stamps: list[int]) -> None:
    """1970 ─┬─ stamps ────────────────────────────────┬─ the same, as seconds ─┬───▶
    two years before now     two years after it"""
    found = likely_seconds(np.array(stamps, np.int64), NOW)
    assert found.tolist() == [NOW - AROUND_NOW <= 1000 * stamp <= NOW + AROUND_NOW for stamp in stamps]


def test_a_clock_that_was_never_set_knows_no_seconds() -> None:
    assert not likely_seconds(np.array([0, 5000]), 100_000).any()
