"""Terms that are plain are spelled as if they were taken apart and written anew, and no others are spelled."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import native
from csparql_spark.kernel.texts import Spelled
from csparql_spark.kernel.twin import spellings as twin
from csparql_spark.rdf import terms
from csparql_spark.rdf.errors import TermError
from tests.examples import examples

if native.library is None:
    pytest.skip(f"nothing to compare: {native.missing}", allow_module_level=True)

from csparql_spark.kernel.compiled import spellings

XSD = "http://www.w3.org/2001/XMLSchema#"
NAME = r'[^\x00-\x20<>"{}|^`\\]*'
PLAIN = re.compile(
    rf"<{NAME}>|_:[!#-;=?-\[\]-~]+"
    r'|"(?:[^\x00-\x1f"\\]|\\[tbnrf"\\])*"'
    rf"(?:@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*|\^\^<{NAME}>)?"
)
PIECES = st.sampled_from(
    [
        *map(chr, (*range(33), *b'<>"\\^@:_-.,#%?{}|`[]', 0x7F, 0x80, 0x85, 0xA0, 0x2028, 0xFEFF, 0xFFFF)),
        *("a", "1", "é", "日本", "😀", "\\n", '\\"', "\\\\", "\\t", "\\r", "\\b", "\\f", "\\'", "\\x", "\\u0041"),
        *(
            "\\u0000",
            "\\ud800",
            "\\U0001f600",
            "\\U00110000",
            "@en",
            "@en-GB-1a",
            "@en--ltr",
            "@en-",
            "@-",
            "^^",
            "<<( ",
        ),
        *(" )>>", f"^^<{XSD}string>", f"^^<{XSD}integer>", "^^<>", "<urn:a>", "_:b", '"x"', '""', "<>", "_:", ",", ""),
    ]
)
texts = st.lists(PIECES, max_size=6).map("".join)
valid = st.one_of(
    texts.map(terms.literal),
    texts.map(lambda text: terms.literal(text, datatype="urn:d,?é")),
    texts.map(lambda text: terms.literal(text, language="en-gb")),
    st.sampled_from(["<urn:a,b>", "<http://é.example/?a=1&b='2'>", "_:b0", "_:c.d", "_:é", "_:a,b", '"x"@ar--rtl']),
)
shapes = st.one_of(
    texts,
    texts.map(lambda text: f'"{text}"'),
    st.tuples(texts, texts).map(lambda pair: f'"{pair[0]}"{pair[1]}'),
    texts.map(lambda text: f"<{text}>"),
    texts.map(lambda text: f"_:{text}"),
)


def in_json(term: str) -> str:
    kind, value, datatype, language, direction = terms.parse(term)
    assert direction is None
    if kind != "literal":
        cell = {"type": "uri" if kind == "iri" else "bnode", "value": value}
    elif language:
        cell = {"type": "literal", "value": value, "xml:lang": language}
    else:
        typed = {} if datatype == f"{XSD}string" else {"datatype": datatype}
        cell = {"type": "literal", "value": value, **typed}
    return json.dumps(cell, ensure_ascii=False, separators=(",", ":"))


def in_csv(term: str) -> str:
    parts = terms.parse(term)
    value = f"_:{parts.value}" if parts.kind == "blank" else parts.value
    return f'"{value.replace(chr(34), chr(34) * 2)}"' if set(value) & set(',"\r\n') else value


def agree(some: list[str], skipped: int = 0) -> Spelled:
    array = pa.array(["<urn:skipped>"] * skipped + some, pa.string())[skipped:]
    doubtful = [place for place, term in enumerate(some) if not PLAIN.fullmatch(term)]
    for spell, naive in ((spellings.json, in_json), (spellings.csv, in_csv)):
        told = spell(array)
        told.texts.validate(full=True)
        assert told.texts.type == pa.large_string()
        assert told.doubtful.tolist() == doubtful
        assert told.texts.to_pylist() == ["" if place in doubtful else naive(term) for place, term in enumerate(some)]
    return told


@given(st.lists(valid | shapes, max_size=8), st.integers(0, 2))
@example(['"', "<", "_", "", "<>", "_:", "_:x", '""', '"\\', '"\\"', '""@', '""^', '""^^<', '""^^<>', '"\\\x00"'], 1)
@example(['"x"@a', '"x"@', '"x"@-a', '"x"@a-', '"x"@a--b', '"x"@1', '"x"@a-1', '"x"y', '"x" ', '"\x7f"', '"\t"'], 0)
@settings(max_examples=examples(2000), deadline=None)
def test_what_is_plain_is_spelled(some: list[str], skipped: int) -> None:
    agree(some, skipped)
    for spell in (twin.json, twin.csv):
        told = spell(pa.array(some, pa.string()))
        assert told.texts.to_pylist() == [""] * len(some) and told.texts.type == pa.large_string()
        assert told.doubtful.tolist() == list(range(len(some)))


@given(st.lists(shapes, max_size=8))
@settings(max_examples=examples(500), deadline=None)
def test_what_is_no_term_is_not_spelled(some: list[str]) -> None:
    doubtful = set(agree(some).doubtful.tolist())
    for place, term in enumerate(some):
        try:
            terms.parse(term)
        except TermError:
            assert place in doubtful


@pytest.mark.parametrize(
    "before, after", [('"', '"'), ("<urn:", ">"), ("_:", ""), ('"x"@a', ""), ('"x"^^<urn:', ">"), ('"\\', '"')]
)
def test_every_character(before: str, after: str) -> None:
    points = [*range(0x3000), *range(0xD700, 0xD800), *range(0xE000, 0xE100), *range(0xFF00, 0x10100), 0x10FFFF]
    agree([f"{before}{chr(point)}{after}" for point in points])


def test_as_much_room_as_spellings_take() -> None:
    """The longest that there can be beside their terms, one beside the other."""
    told = agree(['"x"@en', '""@en', '""@a', '","', "_:,", "<,>"] * 50)
    assert len(told.doubtful) == 0
    many = [f"<urn:{number}>" for number in range(30_000)]
    assert spellings.csv(pa.array(many)).texts.to_pylist() == [term[1:-1] for term in many]
