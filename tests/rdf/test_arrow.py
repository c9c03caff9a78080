"""Arrow pushes: the same chunk as the same triples give in N-Quads, and no body that does harm."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csparql_spark.rdf import arrow, columns
from csparql_spark.rdf.arrow import read_arrow
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError, TermError
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.rdf.terms import parse
from tests.examples import examples

from . import generated

ROWS = [
    ("<urn:a>", "<urn:p>", '"1"'),
    ("_:z", "<urn:p>", '"a\\u0041\\n"@EN-gb'),
    ("<http://é.x/>", "<urn:p>", "_:z"),
    ("_:y", "<urn:p>", '"x"^^<http://www.w3.org/2001/XMLSchema#string>'),
    ("<urn:a>", "<urn:p>", '"1"'),
]
STRINGS = (
    pa.string(),
    pa.large_string(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
)


def table(rows: list[tuple[str, ...]], kind: pa.DataType = STRINGS[0], t: pa.Array | None = None) -> pa.Table:
    found = {name: pa.array([row[i] for row in rows], pa.string()).cast(kind) for i, name in enumerate("spo")}
    return pa.table(found if t is None else {**found, "t": t})


def ipc(table: pa.Table, rows: int | None = None, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue().to_pybytes()


def ntriples(rows: list[tuple[str, ...]]) -> Chunk:
    body = "".join(f"{' '.join(row)} .\n" for row in rows).encode()
    return parse_push(body, RdfFormat.N_TRIPLES, base=None, blank_prefix="k")


@pytest.mark.parametrize("kind", STRINGS, ids=str)
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
@pytest.mark.parametrize("rows", [2, 100])
def test_it_is_the_chunk_of_the_same_ntriples(kind: pa.DataType, compression: str | None, rows: int) -> None:
    body = ipc(table(ROWS * 3, kind), rows, compression=compression, emit_dictionary_deltas=True)
    assert read_arrow(body, blank_prefix="k").to_ipc() == ntriples(ROWS * 3).to_ipc()


@given(generated.quads(graphs=False), st.sampled_from(STRINGS))
@settings(max_examples=examples(60), deadline=None)
def test_any_triples_are_the_chunk_of_the_same_ntriples(quads: list[ox.Quad], kind: pa.DataType) -> None:
    rows = [(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads]
    assert read_arrow(ipc(table(rows, kind)), blank_prefix="k").to_ipc() == ntriples(rows).to_ipc()


terms_or_not = st.one_of(
    generated.terms.map(str),
    generated.texts,
    st.text(max_size=6),
    st.sampled_from(
        [
            "<a>",
            "<urn:a b>",
            '"a" .\n<urn:x> <urn:y> <urn:z>',
            '"a"@',
            '"a"@en-',
            '"a" <urn:t:5>',
            "<<( <urn:a> <urn:a> 1 )>>",
            '"a"^^<x>',
            '"x"@en--ltr',
            "<http://[::1]/>",
            "<http://a:99999999/>",
            "<urn:%zz>",
            "_:a.",
            "<x://>",
            "<urn:>",
            '"\\q"',
            '"a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>',
            '"é"',
            '"\ufffe"',
            '"\x7f"',
            "<http://a/%41?b#c#d>",
        ]
    ),
)


@given(st.tuples(terms_or_not, terms_or_not, terms_or_not))
@example(("", "", "<urn:x><urn:x><urn:x>"))
@example(("<urn:x><urn:x>", '"x"', "@en"))
@example(("<urn:x><urn:x>", '"x"', "^^<urn:x>"))
@example(("<urn:x>", "<urn:x>", '"x" @en'))
@example(("<urn:x>", "<urn:x>", '"x"^^ <urn:x>'))
@settings(max_examples=examples(150), deadline=None)
def test_a_row_is_accepted_exactly_when_it_is_one_ntriple(row: tuple[str, str, str]) -> None:
    """And says the same: the regular expression for plain terms is a short cut, and no other language."""
    try:
        found = read_arrow(ipc(table([row])), blank_prefix="k")
    except RdfError:
        found = None
    # In a line these would be between the terms, or make two lines or a comment of it.
    if any(term != term.strip() or any(sign in term for sign in "\n\r#") for term in row):
        return
    try:
        for term in row:  # a line may be one triple, too, where a cell has three terms, part of one, or none
            parse(term)
        expected = ntriples([row])
    except (RdfError, TermError):
        expected = None
    assert (found and found.to_ipc()) == (expected and expected.to_ipc())


@pytest.mark.parametrize(
    "t, expected",
    [
        (pa.array([0, None, -5, 1, 2], pa.int64()), [0, None, -5, 1, 2]),
        (pa.array([0, None, 5, 1, 2], pa.uint16()), [0, None, 5, 1, 2]),
        (pa.array([0, None, -5, 1, 2], pa.timestamp("s")), [0, None, -5000, 1000, 2000]),
        (pa.array([0, None, -5, 1, 2], pa.timestamp("ms", "Europe/Rome")), [0, None, -5, 1, 2]),
        (pa.array([0, None, -1, 1999, -1000], pa.timestamp("us")), [0, None, -1, 1, -1]),
        (pa.array([0, None, -1, 1_999_999, -1_000_001], pa.timestamp("ns", "UTC")), [0, None, -1, 1, -2]),
    ],
)
def test_timestamps_of_any_unit(t: pa.Array, expected: list[int | None]) -> None:
    found = read_arrow(ipc(table(ROWS, t=t)), blank_prefix="k").t
    assert found.tolist() == [Chunk.UNSTAMPED if at is None else at for at in expected]


def test_the_columns_may_stand_in_any_order() -> None:
    mixed = table(ROWS, t=pa.array([1, 2, 3, 4, 5])).select(["t", "o", "s", "p"])
    assert read_arrow(ipc(mixed), blank_prefix="k").triples() == ntriples(ROWS).triples()


def test_an_empty_table_is_an_empty_push() -> None:
    for body in (b"", ipc(table([])), ipc(table([], STRINGS[2]))):
        assert read_arrow(body, blank_prefix="k").to_ipc() == Chunk.empty().to_ipc()


def replaced(rows: int, value: str, place: int, column: int) -> pa.Table:
    changed = [list(ROWS[0]) for _ in range(rows)]
    changed[place][column] = value
    return table([tuple(row) for row in changed])


WRONG = {
    "a literal as subject": (
        replaced(5, '"x"', 3, 0),
        "Row 4, column s: A subject is an IRI or a blank node (at '\"x\"').",
    ),
    "a blank node as predicate": (replaced(5, "_:x", 2, 1), "Row 3, column p: A predicate is an IRI (at '_:x')."),
    "a relative IRI": (replaced(5, "<x>", 4, 2), "Row 5, column o: No scheme found in an absolute IRI (at '<x>')."),
    "no term": (
        replaced(2, "nix", 1, 2),
        "Row 2, column o: This is no term in N-Triples syntax: write <IRI>, _:label, "
        "or \"text\" with a @language or ^^<datatype> behind it (at 'nix').",
    ),
    "a null": (table([("<urn:a>", "<urn:p>", None)]), "Row 1, column o: There is no term here."),
    "a null in a dictionary": (
        pa.table(
            {
                "s": ["<urn:a>"],
                "p": ["<urn:a>"],
                "o": pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([None], pa.string())),
            }
        ),
        "Row 1, column o: There is no term here.",
    ),
    "a time that is out of range": (
        table(ROWS[:1], t=pa.array([2**62])),
        "Row 1, column t: The timestamp 4611686018427387904 is outside the years 0001 to 9999.",
    ),
    "no o": (
        table(ROWS).select(["s", "p"]),
        "The columns of the data are 's', 'p': send columns s, p and o of strings "
        "in N-Triples syntax, and perhaps t (milliseconds or a timestamp).",
    ),
    "another column": (
        table(ROWS).append_column("g", pa.array([1] * 5)),
        "The columns of the data are 's', 'p', 'o', "
        "'g': send columns s, p and o of strings in N-Triples syntax, and perhaps t (milliseconds or a "
        "timestamp).",
    ),
    "numbers": (
        pa.table({"s": [1], "p": [1], "o": [1]}),
        "The column s of the data has the type int64: send columns "
        "s, p and o of strings in N-Triples syntax, and perhaps t (milliseconds or a timestamp).",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told(case: str) -> None:
    body, sentence = ipc(WRONG[case][0]), WRONG[case][1]
    with pytest.raises(RdfError) as caught:
        read_arrow(body, blank_prefix="k")
    assert str(caught.value) == sentence


def test_an_arrow_file_is_told_apart() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table(ROWS).schema) as writer:
        writer.write_table(table(ROWS))
    with pytest.raises(RdfError, match="is an Arrow file: send an Arrow IPC stream"):
        read_arrow(sink.getvalue().to_pybytes(), blank_prefix="k")


def test_a_stream_that_goes_on_is_refused() -> None:
    with pytest.raises(RdfError, match="bytes behind the end of the Arrow IPC stream: send one stream"):
        read_arrow(ipc(table(ROWS)) * 2, blank_prefix="k")


def test_what_compressed_buffers_claim_is_bounded_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    body = ipc(table([("<urn:a>", "<urn:p>", f'"{"x" * 1_000_000}"')]), compression="zstd")
    assert len(body) < 5000
    monkeypatch.setattr(arrow, "MOST_BYTES", 1_000_000)
    with pytest.raises(RdfError, match="stands for more than 1000000 bytes once decompressed"):
        read_arrow(body, blank_prefix="k")
    forged = bytearray(body)
    size = (1_000_000 + 2).to_bytes(8, "little")
    at = forged.index(size, forged.index(size) + 1)  # the first is the length of the buffer in the header
    for claim in (2**62, 2**40, -2, -(2**62)):
        forged[at : at + 8] = claim.to_bytes(8, "little", signed=True)
        with pytest.raises(RdfError):
            read_arrow(bytes(forged), blank_prefix="k")


def growing(batches: int, deltas: bool) -> bytes:
    """A stream whose dictionary is another one, or grows, with each batch."""
    sink = pa.BufferOutputStream()
    schema = table([], STRINGS[3]).schema
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for number in range(1, batches + 1):
            first = 0 if deltas else 1000 * number
            last = 1000 * (number if deltas else number + 1)
            terms = pa.array([f"<urn:{i}>" for i in range(first, last)], pa.large_string())
            column = pa.DictionaryArray.from_arrays(pa.array([len(terms) - 1], pa.int32()), terms)
            writer.write_batch(pa.record_batch([column] * 3, schema=schema))
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("deltas", [True, False])
def test_dictionaries_that_grow_are_bounded(monkeypatch: pytest.MonkeyPatch, deltas: bool) -> None:
    body = growing(20, deltas)
    assert len(read_arrow(body, blank_prefix="k")) == 20
    monkeypatch.setattr(arrow, "MOST_BYTES", 200_000)
    with pytest.raises(RdfError, match="The dictionaries of the data have more than 200000 bytes"):
        read_arrow(body, blank_prefix="k")


def test_a_dictionary_that_stays_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"<urn:{i % 100}>", "<urn:p>", '"1"') for i in range(1000)]
    monkeypatch.setattr(arrow, "MOST_BYTES", 10_000)
    assert len(read_arrow(ipc(table(rows, STRINGS[2]), rows=10), blank_prefix="k")) == 1000


def test_too_many_triples_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_TRIPLES", 4)
    with pytest.raises(RdfError, match="A push has at most 4 triples: push them in parts"):
        read_arrow(ipc(table(ROWS)), blank_prefix="k")


@pytest.mark.parametrize("kind, compression", [(STRINGS[0], None), (STRINGS[2], "lz4"), (STRINGS[3], "zstd")])
def test_every_truncation_is_refused(kind: pa.DataType, compression: str | None) -> None:
    body = ipc(table(ROWS, kind, pa.array([1, 2, None, 4, 5])), 2, compression=compression)
    for end in range(1, len(body)):
        with pytest.raises(RdfError):
            read_arrow(body[:end], blank_prefix="k")


@pytest.mark.parametrize("kind, compression", [(STRINGS[0], None), (STRINGS[2], "lz4"), (STRINGS[3], "zstd")])
def test_flipped_bits_are_refused_or_read(kind: pa.DataType, compression: str | None) -> None:
    """Whatever they hit: the process lives, and what is accepted is a chunk."""
    body = ipc(table(ROWS, kind, pa.array([1, 2, None, 4, 5])), 2, compression=compression)
    dice, refused = random.Random(7), 0
    for _ in range(400):
        changed = bytearray(body)
        for _ in range(dice.choice((1, 1, 2, 8))):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        try:
            chunk = read_arrow(bytes(changed), blank_prefix="k")
            assert Chunk.from_ipc(chunk.to_ipc()).triples() == chunk.triples()
        except RdfError:
            refused += 1
    assert 50 < refused < 400


def test_noise_is_refused() -> None:
    dice = np.random.default_rng(5)
    for size in (1, 3, 4, 8, 9, 100, 5000):
        for start in (b"", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\x10\x00\x00\x00"):
            with pytest.raises(RdfError):
                read_arrow(start + dice.bytes(size), blank_prefix="k")
