"""Recordings cut into pushes: nothing is lost or changed by it, and blank nodes stay whole."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.cli.pieces import Recording, as_arrow, later
from csparql_spark.rdf.arrow import read_arrow
from csparql_spark.rdf.chunk import Chunk
from tests.examples import examples

terms = st.sampled_from(["<urn:a>", "<urn:b>", "_:x", "_:y", "_:z", "<urn:c>"])
triples = st.lists(st.tuples(terms, st.just("<urn:p>"), terms), max_size=20)


def blanks(chunk: Chunk) -> set[str]:
    return {term for s, _, o in chunk.triples() for term in (s, o) if term.startswith("_:")}


@given(triples, st.integers(1, 6))
@settings(max_examples=examples(100), deadline=None)
def test_pieces_are_all_of_it_and_share_no_blank_node(rows: list[tuple[str, str, str]], batch: int) -> None:
    pieces = list(Recording(Chunk.from_triples(rows), batch).by_size())
    assert [triple for piece in pieces for triple in piece.triples()] == rows
    assert sum(len(blanks(piece)) for piece in pieces) == len(set().union(*map(blanks, pieces)))
    # No longer than asked, but where a blank node reaches over every place to cut.
    for piece in pieces:
        assert len(piece) <= batch or all(
            blanks(piece.take(slice_of(0, end))) & blanks(piece.take(slice_of(end, len(piece))))
            for end in range(batch, len(piece))
        )


def slice_of(start: int, end: int) -> np.ndarray:
    return np.arange(start, end)


@given(
    triples.flatmap(
        lambda rows: st.tuples(st.just(rows), st.lists(st.integers(0, 1500), min_size=len(rows), max_size=len(rows)))
    ),
    st.integers(1, 6),
    st.sampled_from([0.5, 1, 10]),
)
@settings(max_examples=examples(100), deadline=None)
def test_by_time_it_is_told_in_order_and_never_late(recorded: tuple[list, list[int]], batch: int, speed: float) -> None:
    rows, stamps = recorded
    recording = Recording(Chunk.from_triples(rows, stamps), batch)
    pieces = list(recording.by_time(speed))
    if not rows:
        assert (pieces, recording.span) == ([], 0)
        return
    told = [(t, *triple) for _, piece in pieces for t, triple in zip(piece.t.tolist(), piece.triples(), strict=True)]
    assert told == sorted(((t, *triple) for t, triple in zip(stamps, rows, strict=True)), key=lambda told: told[0])
    dues = [due for due, _ in pieces]
    assert dues == sorted(dues) and dues[0] == 0
    assert all(due == piece.t[0] - min(stamps) for due, piece in pieces)
    assert recording.span == max(stamps) - min(stamps)


@given(triples, st.booleans())
@settings(max_examples=examples(50), deadline=None)
def test_arrow_says_the_same(rows: list[tuple[str, str, str]], stamped: bool) -> None:
    stamps = [1000 + i if i % 3 else Chunk.UNSTAMPED for i in range(len(rows))] if stamped else None
    chunk = Chunk.from_triples(rows, stamps)
    again = read_arrow(as_arrow(chunk), blank_prefix="k")
    assert (len(again), again.t.tolist()) == (len(chunk), chunk.t.tolist())
    names = {
        one: other
        for triple, told in zip(rows, again.triples(), strict=True)
        for one, other in zip(triple, told, strict=True)
    }
    assert [tuple(names[term] for term in triple) for triple in rows] == again.triples()
    assert all(name == term or term.startswith("_:") for term, name in names.items())


def test_later_moves_what_has_a_timestamp() -> None:
    chunk = Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:a>")] * 2, [5, Chunk.UNSTAMPED])
    assert later(chunk, 100).t.tolist() == [105, Chunk.UNSTAMPED]
