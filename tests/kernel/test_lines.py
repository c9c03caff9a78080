"""Lines that are plain are read as a parser would read them, and nothing else is read."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import native
from csparql_spark.kernel.texts import LineColumns, TextColumn
from csparql_spark.kernel.twin import lines as twin
from tests.examples import examples

from . import naive_lines

if native.library is None:
    pytest.skip(f"nothing to compare: {native.missing}", allow_module_level=True)

from csparql_spark.kernel.compiled import lines

FORMATS = {False: ox.RdfFormat.N_TRIPLES, True: ox.RdfFormat.N_QUADS}
XSD = "http://www.w3.org/2001/XMLSchema#"
iris = st.sampled_from(
    [
        "<urn:a>",
        "<urn:b:c/d//e?x=1?#f?g>",
        "<http://example.org>",
        "<https://u.example:8080/a%20b/ü?q='(1)'#x>",
        "<urn:日本/例>",
        f"<{XSD}string>",
        "<a+b-c.d:e>",
    ]
)
blanks = st.sampled_from(["_:b", "_:0a", "_:ff", "_:_-", "_:a1-b"])
texts = st.lists(
    st.sampled_from(["", " ", "x", '\\"', "\\n", "\\\\", "é", "日本", "😀", " <urn:g> .", "_:b", "\ufffd"])
)
plain_texts = texts.map(lambda pieces: '"' + "".join(pieces) + '"')
endings = st.sampled_from(["", "@en", "@de-at", f"^^<{XSD}integer>", "^^<urn:d>"])
literals = st.builds(str.__add__, plain_texts, endings)
nodes = iris | blanks
usual = st.tuples(nodes, iris, nodes | literals).map(lambda row: " ".join(row) + " .\n")
in_graphs = st.tuples(nodes, iris, nodes | literals, nodes).map(lambda row: " ".join(row) + " .\n")
PIECES = [
    *(bytes([byte]) for byte in (*range(33), *b'<>"\\^@:_-.#%?{}|`[]', 0x7F, 0x80, 0xA0, 0xC2, 0xE2, 0xEF, 0xF0, 0xFF)),
    *(text.encode() for text in ("\u0085", "\u2028", "\ufeff", "\ufffe", "\uffff", "\U0001fffe", "é", "\ue000")),
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf4\x90\x80\x80",
    b"\r\n",
    b"\\u0041",
    b"\\U0001f600",
    b"\\'",
    b"<<( ",
    b" )>>",
    b"@en--ltr",
    b"@EN",
    b"@x-y",
    b"^^<" + XSD.encode() + b"string>",
    b"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>",
    b"^^",
    b"_:",
    b"<>",
    b"<a>",
    b"//",
    b":///",
    b"%zz",
    "例".encode(),
    b"\xef\xbb\xbf",
    b"# comment\n",
    b'VERSION "1.2"\n',
]


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, bool]:
    named = draw(st.booleans())
    rows = draw(st.lists(usual | in_graphs if named else usual, max_size=12))
    return "".join(rows).encode(), named


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[bytes, bool]:
    """A body in which pieces have been put, left out or exchanged."""
    body, named = draw(bodies())
    for _ in range(draw(st.integers(1, 3))):
        place, cut = draw(st.integers(0, len(body))), draw(st.integers(0, 3))
        body = body[:place] + draw(st.sampled_from([b"", *PIECES]) | st.binary(max_size=2)) + body[place + cut :]
    return body, named


def strings(texts: TextColumn) -> list[str]:
    ends = texts.offsets.tolist()
    return [texts.data[start:end].tobytes().decode() for start, end in zip(ends, ends[1:])]


def rows_of(read: LineColumns) -> list[tuple[str, str, str, str | None]]:
    terms, graphs = strings(read.terms), [*strings(read.graphs), None]
    columns = (column.tolist() for column in (read.s, read.p, read.o, read.g))
    return [(terms[s], terms[p], terms[o], graphs[g]) for s, p, o, g in zip(*columns, strict=True)]


def agree(body: bytes, named: bool) -> None:
    read, expected = lines.columns(body, named), naive_lines.rows(body, named)
    if expected is None:
        assert read is None
        return
    assert read is not None
    rows = rows_of(read)
    assert rows == expected
    assert strings(read.terms) == list(dict.fromkeys(term for row in rows for term in row[:3]))
    assert strings(read.graphs) == list(dict.fromkeys(row[3] for row in rows if row[3] is not None))
    # What is read is what a serializer writes.
    written = ox.serialize(ox.parse(body, format=FORMATS[named]), format=ox.RdfFormat.N_QUADS)
    assert written == (body if body.endswith(b"\n") or not body else body + b"\n")


@given(bodies())
@settings(max_examples=examples(300), deadline=None)
def test_plain_lines_are_read(pushed: tuple[bytes, bool]) -> None:
    body, named = pushed
    agree(*pushed)
    assert not body or lines.columns(body, named) is not None
    assert twin.columns(body, named) is None


@given(spoilt() | st.tuples(st.binary(max_size=60), st.booleans()))
@example((b'<urn:a> <urn:p> "x', False))
@example((b"<urn:a> <urn:p> <urn:o> <urn:g> .\n", False))
@settings(max_examples=examples(2000), deadline=None)
def test_nothing_is_read_of_which_there_is_a_doubt(pushed: tuple[bytes, bool]) -> None:
    agree(*pushed)


@pytest.mark.parametrize(
    "before, after",
    [
        ('<urn:s> <urn:p> "', '" .\n'),
        ("<urn:s", "> <urn:p> <urn:o> .\n"),
        ("<urn:s> <http://h/?", "> _:x .\n"),
        ("_:b", " <urn:p> <urn:o> .\n"),
        ('<urn:s> <urn:p> ""@e', " .\n"),
    ],
)
def test_every_character(before: str, after: str) -> None:
    every = [f"{before}{chr(point)}{after}" for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    plain = [line for line in every if naive_lines.LINE.fullmatch(line)]
    assert plain
    agree("".join(plain).encode(), False)
    others = sorted(set(every).difference(plain))
    for line in [*others[:500], *others[-500:], *others[::499]]:
        assert lines.columns(line.encode(), False) is None


def test_the_shortest_lines() -> None:
    agree(b'_:a <b:c> "" .\n' * 3, False)
    assert lines.columns(b'_:a <b:c> "" .\n' * 3, False) is not None
    assert lines.columns(b"\n" * 1000, False) is None


def test_many_terms_and_long_ones() -> None:
    long = "x" * 5000
    body = "".join(f'<urn:{long if n % 1000 == 0 else ""}{n}> <urn:p> "{n * 7 % 3001}" .\n' for n in range(30_000))
    agree(body.encode(), False)
    agree(body.encode()[:-1], True)


def test_a_line_that_a_parser_may_refuse_for_its_length_is_not_read() -> None:
    def body(length: int) -> bytes:
        return b'<urn:a> <urn:p> "' + b"x" * length + b'" .\n'

    assert lines.columns(body(1 << 19), False) is not None
    assert lines.columns(body(1 << 20), False) is None
    assert lines.columns(body(10) + body(1 << 25), False) is None
