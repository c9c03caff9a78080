"""Rows as text: what is written piece by piece is what each row says by itself, however it is cut."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import formats, row_text
from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.answers.formats import CSV, JSON, ND_JSON, TSV, XML, Unwritable, pieces, until_pieces, write
from csparql_spark.answers.row_text import text_size
from csparql_spark.rdf import terms
from csparql_spark.relations.tags import ALWAYS

TERMS = st.sampled_from(
    ["<urn:a>", "<urn:b>", "_:x", '"1"', '"a,\\"b"', '"zwei"@de', '"x"@ar--rtl', f'"{"long " * 40}"', '"\\n"']
)
CUTS = st.fixed_dictionaries({name: st.sampled_from([0, 1, 2, 7, 50, 300]) for name in ("AT_ONCE", "HELD")})
NAMES = st.sampled_from([(), ("a",), ("a", "b"), ("a", "b", "c")])


def value(text: str) -> dict[str, str]:
    """A term as SPARQL JSON says it."""
    kind, lexical, datatype, language, direction = terms.parse(text)
    if kind != "literal":
        return {"type": "uri" if kind == "iri" else "bnode", "value": lexical}
    if language:
        return {"type": "literal", "value": lexical, "xml:lang": language} | (
            {"its:dir": direction} if direction else {}
        )
    return {"type": "literal", "value": lexical} | ({} if datatype == terms.XSD_STRING else {"datatype": datatype})


@settings(deadline=None)
@given(st.data(), NAMES, CUTS, st.integers(1, 4), st.integers(1, 3))
def test_cuts_change_nothing(data, names: tuple[str, ...], cuts: dict[str, int], block: int, spelled: int) -> None:
    rows = data.draw(st.lists(st.dictionaries(st.sampled_from(names), TERMS) if names else st.just({}), max_size=9))
    answer = Result.from_rows(names, rows)
    usual = {media_type: write(answer, media_type) for media_type in (JSON, XML, CSV, TSV, ND_JSON)}
    with pytest.MonkeyPatch.context() as patched:
        for name, number in {**cuts, "BLOCK": block, "SPELLED": spelled}.items():
            patched.setattr(row_text, name, number)
        again = Result.from_bytes(answer.to_bytes())
        assert {media_type: write(again, media_type) for media_type in usual} == usual
    told = json.loads(usual[JSON])
    assert told["results"]["bindings"] == [{name: value(row[name]) for name in names if name in row} for row in rows]
    assert list(map(json.loads, usual[ND_JSON].splitlines())) == told["results"]["bindings"]


def test_a_long_text_in_many_rows_is_never_held_as_often_as_it_is_there() -> None:
    terms, count = pa.array(['"1"', f'"{"x" * 3_000_000}"']), 50
    ones, twos = np.zeros(count, np.int32), np.ones(count, np.int32)
    table = Bindings.from_ids(("n", "a", "b"), terms, [ones, twos, twos], in_order=True)
    answer = Result.from_table(table)
    assert text_size(table) > 300_000_000
    size, largest = 0, 0
    for piece in pieces(Result.from_bytes(answer.to_bytes()), JSON):
        size, largest = size + len(piece), max(largest, len(piece))
    assert size > 300_000_000 and largest < 3_000_100


def test_what_a_format_cannot_say_is_told_before_the_first_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Result.from_rows(("a",), [{"a": '"fine"'}] * 3 + [{"a": '"\\u0000"'}])
    for held in (row_text.HELD, 0):
        monkeypatch.setattr(row_text, "HELD", held)
        with pytest.raises(Unwritable):
            pieces(answer, XML)


@given(st.lists(st.binary(max_size=9)), st.integers(0, 20))
def test_parts_are_put_together_in_one_way_or_the_other(parts: list[bytes], many: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(formats, "MANY", many)
        assert formats.together(iter(parts)) == b"".join(parts)


@given(st.lists(st.one_of(st.just(ALWAYS), st.integers(0, 1 << 60))), st.integers(1, 4))
def test_until_when_rows_hold(instants: list[int], block: int) -> None:
    answer = Result.from_rows((), [{}] * len(instants)).holding(np.array(instants, np.int64))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(row_text, "BLOCK", block)
        told = json.loads(b"".join(until_pieces(answer)))
    assert told == [None if instant == ALWAYS else instant for instant in instants]
    assert json.loads(b"".join(pieces(answer, JSON, until=True)))["until"] == told


@given(
    st.lists(st.lists(st.fixed_dictionaries({}, optional={"a": TERMS, "b": TERMS}), max_size=5), min_size=1, max_size=4)
)
def test_tables_are_put_together(parts: list[list[dict[str, str]]]) -> None:
    tables = [Bindings.from_rows(("a", "b"), rows) for rows in parts]
    assert Bindings.concat(tables).rows() == [row for rows in parts for row in rows]
    whole = Result.from_rows(("a", "b"), [row for rows in parts for row in rows])
    assert Result.from_table(Bindings.concat(tables)).to_bytes() == whole.to_bytes()
