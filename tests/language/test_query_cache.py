from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.language import ContinuousQuery, LanguageError, parse
from csparql_spark.language.queries.compiled import VERSION, compiled
from csparql_spark.language.queries.query_cache import OVERHEAD, Readings, compiled_of, read
from tests.language import texts

STREAM = "FROM STREAM <urn:s> [RANGE 10s STEP 5s]"
BASE = "http://x/"


class Reader:
    """Parses, and remembers what."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str, *, base: str | None) -> ContinuousQuery:
        self.texts.append(text)
        return parse(text, base=base)


def whole(query: ContinuousQuery) -> dict[str, object]:
    return dict(vars(query))


def test_a_text_is_read_once() -> None:
    text = f"REGISTER QUERY q AS SELECT ?s {STREAM} WHERE {{ ?s <p> 1 }}"
    assert read(text, BASE) is read(text, BASE)
    assert read(text, BASE) != read(text, "http://y/")


def test_a_text_that_nobody_asks_for_is_dropped() -> None:
    now = 0.0
    asked = [f"SELECT ?s {STREAM} WHERE {{ ?s <urn:p> {number} }}" for number in range(5)]
    one = OVERHEAD + len(asked[0]) + len(parse(asked[0]).body)
    readings = Readings(seconds=10, most=3 * one, clock=lambda: now)
    first, second = (readings.of(text, None) for text in asked[:2])
    now = 8.0
    assert readings.of(asked[0], None) is first
    now = 11.0
    assert readings.of(asked[2], None) is not None and len(readings) == 2  # the second one is gone
    assert readings.of(asked[0], None) is first and readings.of(asked[1], None) is not second
    readings.of(asked[3], None)
    assert len(readings) == 3 and readings.of(asked[0], None) is first
    readings.of(asked[4], None)
    assert len(readings) == 3 and readings.of(asked[1], None) is not second  # they were too many
    assert readings.bytes == 3 * one


def test_a_name_makes_no_other_text() -> None:
    reader = Reader()
    readings = Readings(seconds=10, most=1 << 20, parsed=reader)
    asked = [f"REGISTER QUERY {name} AS SELECT ?s {STREAM} WHERE {{ ?s <p> 1 }}" for name in ("q", "Q2", "longer_one")]
    found = [readings.of(text, BASE) for text in asked]
    assert reader.texts == asked[:1]
    assert [whole(query) for query in found] == [whole(parse(text, base=BASE)) for text in asked]
    readings.of(asked[0], "http://y/")
    assert len(reader.texts) == 2


NAMES = st.sampled_from(
    "q Q2 select AS a A true P1M PT5S every query _x q-1 4ever :q <urn:q> <q> ä q: register".split()
)
HEADS = st.sampled_from(
    [
        "REGISTER QUERY {} AS ",
        "register  stream\t{}\n COMPUTED EVERY 5s AS ",
        "REGISTER QUERY {}AS ",
        "REGISTER QUERY {} {} AS ",
        "# REGISTER QUERY {} AS\nREGISTER QUERY q AS ",
        "PREFIX : <urn:> REGISTER QUERY {} AS ",
        "REGISTER QUERY  AS ",
    ]
)
BODIES = st.sampled_from(
    [
        f"CONSTRUCT {{ ?s <p> 1 }} {STREAM} WHERE {{ ?s <p> 1 }}",
        f"SELECT ?s ?nowhere {STREAM} WHERE {{ ?s <p> 1 }}",
        f"CONSTRUCT {{ ?s <p> ?nowhere }} {STREAM} WHERE {{ ?s xsd:p 1 }}",
        "SELECT ?s WHERE {",
    ]
)


@given(st.lists(st.builds(lambda head, name, body: head.format(name, name) + body, HEADS, NAMES, BODIES), max_size=8))
def test_what_is_remembered_is_what_the_text_says(asked: list[str]) -> None:
    readings = Readings(seconds=10, most=1 << 20)
    for text in asked:
        try:
            fresh = parse(text, base=BASE)
        except LanguageError as error:
            with pytest.raises(LanguageError) as caught:
                readings.of(text, BASE)
            assert str(caught.value) == str(error)
        else:
            assert whole(readings.of(text, BASE)) == whole(fresh)


@pytest.mark.parametrize("text", texts.TWELVE.values(), ids=texts.TWELVE)
def test_a_form_spares_the_reading(text: str) -> None:
    reader = Reader()
    form = json.loads(json.dumps(compiled_of(parse(text, base=BASE))))
    query = Readings(seconds=10, most=1 << 20, parsed=reader).of(text, BASE, form)
    assert reader.texts == [] and whole(query) == whole(parse(text, base=BASE))


@pytest.mark.parametrize(
    "stale", [{"version": VERSION - 1}, {"version": VERSION + 1}, {"windows": None}, {"windows": [{"beyond": 1}]}]
)
def test_a_stale_form_is_not_believed(stale: dict[str, object]) -> None:
    text, reader = texts.HOT_ROOMS, Reader()
    form = {**compiled(parse(text)), "body": "ASK {}", **stale}
    query = Readings(seconds=10, most=1 << 20, parsed=reader).of(text, None, form)
    assert reader.texts == [text] and whole(query) == whole(parse(text))


def test_a_form_that_is_far_longer_than_its_text_stays_at_home() -> None:
    assert compiled_of(parse(texts.HOT_ROOMS)) == compiled(parse(texts.HOT_ROOMS))
    names = " ".join(f"p:a\\,{number}" for number in range(900))
    long = parse(f"PREFIX p: <http://ex.org/{'x' * 200}/> SELECT * {{ VALUES ?x {{ {names} }} }}")
    assert len(long.body) > 2 * len(long.text) + 4096 and compiled_of(long) is None
