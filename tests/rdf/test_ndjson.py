"""NDJSON pushes: every shape of line, read as columns and line by line, and where what is wrong stands."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf import ndjson
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.rdf.ndjson import read_lines
from csparql_spark.rdf.terms import XSD, XSD_STRING, parse
from tests.examples import examples

from . import generated

A, B = "<urn:a>", "<urn:b>"


def read(*lines: object) -> Chunk:
    body = "\n".join(line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    return pushed(body.encode(), "http://b.org/")


def pushed(body: bytes, base: str | None = None) -> Chunk:
    chunk, _ = read_lines(body, base=base, blank_prefix="k")
    return chunk


def triple(o: object, **more: object) -> dict[str, object]:
    return {"s": A, "p": B, "o": o, **more}


def as_object(term: str) -> dict[str, str]:
    kind, value, datatype, language, _ = parse(term)
    if kind != "literal":
        return {"type": {"iri": "uri", "blank": "bnode"}[kind], "value": value}
    more = {"xml:lang": language} if language else {} if datatype == XSD_STRING else {"datatype": datatype}
    return {"type": "typed-literal" if "datatype" in more else "literal", "value": value, **more}


def ntriples(rows: list[tuple[str, str, str]]) -> Chunk:
    return parse_push(
        "".join(f"{' '.join(row)} .\n" for row in rows).encode(), RdfFormat.N_TRIPLES, base=None, blank_prefix="k"
    )


@given(generated.quads(graphs=False), st.sampled_from([(False,) * 3, (True,) * 3, (False, False, True)]), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_any_triples_are_the_chunk_of_the_same_ntriples(
    quads: list[ox.Quad], objects: tuple[bool, ...], mixed: bool
) -> None:
    rows = [(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads]
    lines = [
        {
            name: as_object(term) if as_is != (mixed and i % 2 == 1) else term
            for name, term, as_is in zip("spo", row, objects, strict=True)
        }
        for i, row in enumerate(rows)
    ]
    assert read(*lines).to_ipc() == ntriples(rows).to_ipc()


@pytest.mark.parametrize(
    "t, expected", [(5, 5), (-7, -7), ("1970-01-01T00:00:05.5Z", 5500), ("5", 5), (None, Chunk.UNSTAMPED)]
)
def test_timestamps(t: object, expected: int) -> None:
    for lines in ([triple(A, t=t)] * 2, [triple(A), triple(A, t=t)], [triple(1, t=t)]):
        found = read(*lines)
        assert found.t.tolist()[-1] == expected
        assert found.triples()[0][:2] == (A, B)


def test_values_of_json_are_literals() -> None:
    lines = [triple(value) for value in (21.5, 7, -7, 1e22, True, False)]
    assert [o for _, _, o in read(*lines, '{"s":"<urn:a>","p":"<urn:b>","o":1.50E+2}').triples()] == [
        f'"{text}"^^<{XSD}{kind}>'
        for text, kind in (
            ("21.5", "double"),
            ("7", "integer"),
            ("-7", "integer"),
            ("1e+22", "double"),
            ("true", "boolean"),
            ("false", "boolean"),
            ("1.50E+2", "double"),
        )
    ]


def test_a_line_may_be_json_ld() -> None:
    context = {"@vocab": "http://v.org/"}
    found = read(
        {"@context": context, "@id": "x", "celsius": 21.5, "t": 77},
        triple('"1"'),
        {"@id": "urn:t:9", "@graph": [{"@id": "_:x", "urn:p": [1, "é"]}]},
        {"@context": {"t": "urn:t-is-mine"}, "@id": "_:x", "t": 5},
    )
    integer = f"^^<{XSD}integer>"
    assert found.triples() == [
        ("<http://b.org/x>", "<http://v.org/celsius>", f'"2.15E1"^^<{XSD}double>'),
        (A, B, '"1"'),
        ("_:k0", "<urn:p>", f'"1"{integer}'),
        ("_:k0", "<urn:p>", '"é"'),
        ("_:k0", "<urn:t-is-mine>", f'"5"{integer}'),
    ]
    assert found.t.tolist() == [77, Chunk.UNSTAMPED, 9, 9, Chunk.UNSTAMPED]


def test_empty_lines_and_line_ends_do_not_matter() -> None:
    line = json.dumps(triple('"1"'))
    for body in (f"{line}\n{line}", f"\n {line}\r\n\r\n  \n{line}\n\n", f"\ufeff{line}\n{line}\n"):
        assert pushed(body.encode()).to_ipc() == read(line, line).to_ipc()
    for body in (b"", b"\n \r\n", b"\xef\xbb\xbf"):
        assert pushed(body).to_ipc() == Chunk.empty().to_ipc()


def test_uniform_lines_are_read_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: object) -> None:
        raise AssertionError("read line by line")

    monkeypatch.setattr(ndjson, "_line_by_line", never)
    uri = {"type": "uri", "value": "urn:a"}
    for lines in (
        [triple('"1"'), triple('"2"', t=5)],
        [triple(A, t="1970-01-01T00:00:05Z")],
        [{"s": uri, "p": uri, "o": {"type": "literal", "value": 'a"\\\n', "xml:lang": "EN"}}] * 3,
    ):
        assert len(read(*lines)) == len(lines)
    with pytest.raises(AssertionError):
        read(triple(5))


def test_lines_longer_than_a_block_are_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ndjson, "BLOCK", 100)
    assert len(read(*[triple('"1"')] * 50, triple(f'"{"x" * 1000}"'))) == 51


def test_two_objects_in_a_line_are_two_lines_too_few() -> None:
    line = json.dumps(triple(A))
    with pytest.raises(RdfError, match="^Line 1, column 49: The line is not JSON: Extra data"):
        read(line + line)


WRONG = [
    (
        (triple('"1"'), triple("é 1")),
        "Line 2, column 40: This is no term in N-Triples syntax: write <IRI>, _:label, or "
        "\"text\" with a @language or ^^<datatype> behind it (at 'é 1').",
    ),
    ((triple(1), {"s": A, "p": B}), "Line 2, column 1: The triple has no o."),
    ((triple('"1"'), {"s": A, "p": "_:p", "o": A}), "Line 2, column 24: A predicate is an IRI (at '_:p')."),
    (
        ({"s": {"type": "literal", "value": "x"}, "p": B, "o": A},),
        "Line 1, column 2: A subject is an IRI or a blank node (at '\"x\"').",
    ),
    ((triple(A, x=1),), "Line 1, column 50: A triple has no member 'x': it has s, p, o and perhaps t."),
    (
        (triple(A, t=1.5),),
        "Line 1, column 50: t does not tell a time: it is neither an integer nor an xsd:dateTime "
        "such as 2023-11-14T22:13:20.5Z. Write epoch milliseconds or an xsd:dateTime.",
    ),
    (
        (triple(A, t=10**18),),
        "Line 1, column 50: t does not tell a time: it is outside the years 0001 to 9999. Write "
        "epoch milliseconds or an xsd:dateTime.",
    ),
    (
        (triple(A, t=True),),
        "Line 1, column 50: t does not tell a time: it is neither a number nor a string. Write "
        "epoch milliseconds or an xsd:dateTime.",
    ),
    (
        ({"s": 1, "p": B, "o": A},),
        "Line 1, column 2: This is no term here: write a string in N-Triples syntax "
        '("<urn:a>", "_:b", "\\"text\\"@en") or an object as {"type": "uri", "value": "urn:a"}.',
    ),
    (
        (triple({"type": "uri", "value": "urn:a", "datatype": "urn:d"}),),
        "Line 1, column 34: Only a literal has a datatype or an xml:lang.",
    ),
    (
        (triple({"type": "literal", "value": "a", "datatype": "urn:d", "xml:lang": "en"}),),
        "Line 1, column 34: A literal has a datatype or an xml:lang, and not both.",
    ),
    (
        (triple({"type": "uri"}),),
        "Line 1, column 34: This object is no term: write a string in N-Triples syntax "
        '("<urn:a>", "_:b", "\\"text\\"@en") or an object as {"type": "uri", "value": "urn:a"}; a literal may have a '
        "datatype or an xml:lang.",
    ),
    (
        ('{"s": "<urn:a>",', '"p": 1}'),
        "Line 1, column 17: The line is not JSON: Expecting property name enclosed in double quotes.",
    ),
    (
        ("[1]",),
        'Line 1, column 1: The line is no JSON object: write one object a line, as {"s": "<urn:a>", '
        '"p": "<urn:p>", "o": 21.5}.',
    ),
    (('{"s": NaN}',), "Line 1, column 1: The line is not JSON: NaN is not a number."),
    (
        ({"subject": "urn:a"},),
        "Line 1, column 1: The line says nothing: it is neither a triple with s, p and o nor JSON-LD, whose @context "
        "says what its names mean. With one it would be: "
        '{"@context": {"@vocab": "http://example.org/"}, "subject": "urn:a"}.',
    ),
    (
        ({"name": "x" * 300},),
        "Line 1, column 1: The line says nothing: it is neither a triple with s, p and o nor JSON-LD, whose @context "
        'says what its names mean. Write one into it, as "@context": {"@vocab": "http://example.org/"}.',
    ),
    (
        ({"@context": "http://x.org/", "@id": "urn:x"},),
        "Line 1, column 1: The document refers to a remote @context, "
        "which is never fetched: write the context into it.",
    ),
    (
        ({"@id": "urn:t:x", "@graph": [{"@id": "urn:a", "urn:p": 1}]},),
        "Line 1, column 1: The graph name <urn:t:x> does "
        "not tell a time: it is neither an integer nor an xsd:dateTime such as 2023-11-14T22:13:20.5Z. Write <urn:t:> "
        "followed by epoch milliseconds or by an xsd:dateTime.",
    ),
    (
        ('{"s":"<urn:a>","p":"<urn:p>","o":"\\ud800"}',),
        "Line 1, column 30: The text has half of a surrogate pair, which is no character.",
    ),
    (
        (triple('"a" .\n<urn:x> <urn:y> <urn:z>'),),
        "Line 1, column 40: This is no term in N-Triples syntax: write "
        '<IRI>, _:label, or "text" with a @language or ^^<datatype> behind it '
        "(at '\"a\" .\\n<urn:x> <urn:y> <urn:z>').",
    ),
    (
        (triple("<<( <urn:a> <urn:a> <urn:a> )>>"),),
        "Line 1, column 40: The data has a triple term of RDF 1.2, which is "
        "not supported: say it with reification or a graph (at '<<( <urn:a> <urn:a> <urn:a> )>>').",
    ),
]


@pytest.mark.parametrize("lines, sentence", WRONG)
def test_what_is_wrong_is_told(lines: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(RdfError) as caught:
        read(*lines)
    assert str(caught.value) == sentence


def test_bytes_that_are_not_utf8_are_told() -> None:
    with pytest.raises(RdfError, match="^Line 2, column 8: The line is not UTF-8"):
        pushed(b'{"s":"<urn:a>","p":"<urn:a>","o":"<urn:a>"}\n{"s": "\xff"}')


@pytest.mark.parametrize(
    "text",
    [
        '{"s":' + "[" * 100_000,
        '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"@id":' + '{"a":' * 100_000 + "1" + "}" * 100_001,
        json.dumps(triple(A)) + "\n" + '{"s":' + '{"a":' * 100_000,
        '{"@id": "urn:a", "t": 1, "urn:p": ' + "[" * 900 + "]" * 900 + "}",
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(RdfError, match="deep|not JSON"):
        read(text)


@given(st.lists(st.text(alphabet='{}[]",:spot<urn:a>_b\\n1 \n', max_size=30), max_size=4))
@settings(max_examples=examples(200), deadline=None)
def test_any_text_is_read_or_refused(lines: list[str]) -> None:
    try:
        read(*lines)
    except RdfError as error:
        assert error.line is not None and error.column is not None
