from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import CorruptChunk
from tests.examples import examples

from . import generated

U = Chunk.UNSTAMPED
TERMS = ["<urn:a>", "<urn:b>", "_:b", '"x y"', '"é"@en']
triples = st.lists(st.tuples(*[st.sampled_from(TERMS)] * 3), max_size=12)
stamps = st.sampled_from([U, -5, 0, 7, 1_700_000_000_000])


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    rows = draw(triples)
    return Chunk.from_triples(rows, draw(st.lists(stamps, min_size=len(rows), max_size=len(rows))))


def said(chunk: Chunk) -> list[tuple[tuple[str, str, str], int]]:
    return list(zip(chunk.triples(), chunk.t.tolist()))


def well_formed(chunk: Chunk) -> bool:
    terms = chunk.terms.to_pylist()
    in_order = list(dict.fromkeys(term for triple in chunk.triples() for term in triple))
    return (
        terms == in_order
        and chunk.s.dtype == chunk.p.dtype == chunk.o.dtype == np.int32
        and chunk.t.dtype == np.int64
        and len(chunk.s) == len(chunk.p) == len(chunk.o) == len(chunk.t) == len(chunk)
    )


@given(triples)
@settings(max_examples=examples(60), deadline=None)
def test_from_triples_keeps_every_triple_and_its_order(rows: list[tuple[str, str, str]]) -> None:
    chunk = Chunk.from_triples(rows)
    assert chunk.triples() == rows and chunk.unstamped == len(rows) and well_formed(chunk)


@given(chunks())
@settings(max_examples=examples(60), deadline=None)
def test_ipc_gives_the_chunk_back(chunk: Chunk) -> None:
    payload = chunk.to_ipc()
    again = Chunk.from_ipc(payload)
    assert said(again) == said(chunk) and again.terms.equals(chunk.terms) and well_formed(again)
    assert again.to_ipc() == payload == Chunk.from_ipc(memoryview(payload)).to_ipc()


@given(chunks(), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_take_is_selection(chunk: Chunk, data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(chunk), max_size=len(chunk))), bool)
    taken = chunk.take(mask)
    assert said(taken) == [row for row, kept in zip(said(chunk), mask) if kept] and well_formed(taken)
    if len(chunk):
        positions = np.array(data.draw(st.lists(st.integers(0, len(chunk) - 1), max_size=6)), np.int64)
        taken = chunk.take(positions)
        assert said(taken) == [said(chunk)[position] for position in positions] and well_formed(taken)


@given(st.lists(chunks(), max_size=4))
@settings(max_examples=examples(60), deadline=None)
def test_concat_is_concatenation(parts: list[Chunk]) -> None:
    whole = Chunk.concat(parts)
    assert said(whole) == [row for part in parts for row in said(part)] and well_formed(whole)


@given(chunks(), st.integers(-(2**40), 2**40))
@settings(max_examples=examples(60), deadline=None)
def test_stamps(chunk: Chunk, at: int) -> None:
    given_ = [t for t in chunk.t.tolist() if t != U]
    assert chunk.first == min(given_, default=None) and chunk.last == max(given_, default=None)
    assert chunk.unstamped == len(chunk) - len(given_)
    stamped = chunk.stamped(at)
    assert said(stamped) == [(triple, at if t == U else t) for triple, t in said(chunk)] and stamped.unstamped == 0


@given(generated.quads(graphs=False))
@settings(max_examples=examples(60), deadline=None)
def test_ntriples_is_what_pyoxigraph_writes(quads: list[ox.Quad]) -> None:
    chunk = Chunk.from_triples([(str(q.subject), str(q.predicate), str(q.object)) for q in quads])
    assert chunk.to_ntriples() == ox.serialize([q.triple for q in quads], format=ox.RdfFormat.N_TRIPLES)


def test_a_payload_may_begin_anywhere_in_memory() -> None:
    payload = Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:b>")] * 3, [1, 2, 3]).to_ipc()
    for shift in range(9):
        chunk = Chunk.from_ipc(memoryview(bytes(shift) + payload)[shift:])
        assert chunk.to_ipc() == payload
        assert all(column.flags.aligned for column in (chunk.s, chunk.p, chunk.o, chunk.t))


def test_equal_content_has_equal_bytes_however_it_came_about() -> None:
    whole = Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:c>", "<urn:p>", "<urn:d>")], [1, 2])
    alone = Chunk.from_triples([("<urn:c>", "<urn:p>", "<urn:d>")], [2])
    assert whole.take(np.array([1])).to_ipc() == alone.to_ipc() == whole.take(np.array([False, True])).to_ipc()


def test_terms_that_nothing_uses_do_not_stay() -> None:
    terms = pa.array(["<urn:unused>", "<urn:o>", "<urn:s>", "<urn:p>"])
    chunk = Chunk.from_columns(terms, np.array([2]), np.array([3]), np.array([1]))
    assert chunk.terms.to_pylist() == ["<urn:s>", "<urn:p>", "<urn:o>"] and well_formed(chunk)


def test_empty() -> None:
    chunk = Chunk.empty()
    assert len(chunk) == 0 and chunk.triples() == [] and chunk.to_ntriples() == b""
    assert chunk.first is None and chunk.last is None and chunk.unstamped == 0
    assert well_formed(Chunk.from_ipc(chunk.to_ipc())) and Chunk.empty().to_ipc() == chunk.to_ipc()


def payload(terms: list[str | None], s: list[int | None], p: list[int], o: list[int], t: list[int]) -> bytes:
    columns = [
        pa.array([terms], pa.list_(pa.string())),
        *(pa.array([ids], pa.list_(pa.int32())) for ids in (s, p, o)),
        pa.array([t], pa.list_(pa.int64())),
    ]
    batch = pa.record_batch(columns, names=["terms", "s", "p", "o", "t"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    "columns, message",
    [
        ((["<urn:a>"], [1], [0], [0], [0]), "Column s of the chunk has an id outside its 1 terms"),
        ((["<urn:a>"], [0], [-1], [0], [0]), "Column p of the chunk has an id outside its 1 terms"),
        (([], [0], [0], [0], [0]), "Column s of the chunk has an id outside its 0 terms"),
        ((["<urn:a>"], [0], [0], [0, 0], [0]), "differ in length: s 1, p 1, o 2, t 1"),
        ((["<urn:a>", None], [0], [0], [0], [0]), "has a null"),
        ((["<urn:a>"], [None], [0], [0], [0]), "has a null"),
    ],
)
def test_a_chunk_that_contradicts_itself_is_refused(columns: tuple, message: str) -> None:
    with pytest.raises(CorruptChunk, match=message):
        Chunk.from_ipc(payload(*columns))


def test_the_payload_of_the_refusals_is_otherwise_right() -> None:
    assert Chunk.from_ipc(payload(["<urn:a>"], [0], [0], [0], [5])).t.tolist() == [5]


def test_bytes_that_are_no_chunk_are_refused() -> None:
    whole = Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:b>")]).to_ipc()
    other = pa.BufferOutputStream()
    with pa.ipc.new_stream(other, pa.schema([("x", pa.int8())])) as writer:
        writer.write_batch(pa.record_batch([pa.array([1], pa.int8())], names=["x"]))
    for bad in (b"", b"rubbish", whole[: len(whole) // 2], whole.replace(b"<urn:b>", b"<urn:\xff>"), other.getvalue()):
        with pytest.raises(CorruptChunk):
            Chunk.from_ipc(bad)
