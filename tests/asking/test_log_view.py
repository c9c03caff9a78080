"""What windows held at an instant, as the log tells it: as much of the log is read as a window needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.asking.log_view import Current
from csparql_spark.asking.moments import Sighting
from csparql_spark.engine.moment import Moment
from csparql_spark.language import Window, parse
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import QueryRecord
from csparql_spark.windows.content import Content
from csparql_spark.windows.counting import TurnCount
from tests.asking.logged import InMemory, registry


def entry(seq: int, *stamps: int) -> Entry:
    """Elements that say where they were logged."""
    chunk = Chunk.from_triples([(f"<urn:{seq}>", "<urn:p>", f'"{place}"') for place in range(len(stamps))], stamps)
    return Entry(seq, "chunk", 0, "urn:e", len(chunk), chunk.first, chunk.last, 0, chunk.to_ipc())


@pytest.mark.parametrize(
    ("size", "total", "viewed", "seq", "since", "holds", "read"),
    [
        (3, 18, 18, 9, 0, [8, 9, 9], [9, 8]),
        (3, 18, 16, 9, 0, [7, 8, 8], [9, 8, 7]),  # as of a turn before
        (4, 14, 14, 7, 0, [6, 6, 7, 7], [7, 6]),  # what came after the moment is not among them
        (100, 6, 6, 9, 6, [7, 7, 8, 8, 9, 9], [9, 8, 7]),  # nor what was logged before the query
        (3, 0, 0, 9, 0, [], []),
    ],
)
def test_a_window_that_counts_reads_the_end_of_the_log(
    size: int, total: int, viewed: int, seq: int, since: int, holds: list[int], read: list[int]
) -> None:
    log = InMemory([entry(seq, seq, seq) for seq in range(1, 10)])
    sighting = Sighting(Moment(since, 9, seq), {0: TurnCount(size, 1, total, viewed)})
    window = Window("urn:e", triples=size, triples_step=1)
    assert [t for piece in Current(log, registry()).holding(window, 0, sighting) for t in piece.t.tolist()] == holds
    assert [place for place in log.read if place <= seq] == read


@given(
    st.lists(st.lists(st.integers(1, 4), max_size=4), max_size=6),
    st.integers(0, 5),
    st.integers(0, 5),
    st.booleans(),
    st.integers(0, 3),
)
def test_the_end_of_the_log_is_cut_as_content_is(
    stamps: list[list[int]], begin: int, length: int, graphs: bool, since: int
) -> None:
    entries = [entry(seq, *pushed) for seq, pushed in enumerate(stamps, 1)]
    content = Content()
    for one in entries:
        content.add(0, one.seq, Chunk.from_ipc(one.payload))
    expected = content.counted(0, since, begin, begin + length, graphs=graphs)
    window = Window("urn:e", elements=1, elements_step=1) if graphs else Window("urn:e", triples=1, triples_step=1)
    sighting = Sighting(Moment(since, 9, 9), {0: TurnCount(length, 1, begin + length, length)})
    pieces = Current(InMemory(entries), registry()).holding(window, 0, sighting)
    assert [triple for piece in pieces for triple in piece.triples()] == list(
        zip(*(content.dictionary.decode(column) for column in expected[:3]), strict=True)
    )


# --- where the log stood


def record(text: str, registered: int = 0) -> QueryRecord:
    return QueryRecord(1, "q", registered, text, None)


TIMED = "REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:e> [RANGE 5ms STEP 5ms] WHERE { ?s ?p ?o }"
COUNTING = "REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:e> [RANGE TRIPLES 2 STEP {}] WHERE {{ ?s ?p ?o }}"
REGISTERED = Entry(1, "register", 0, "q")


def test_what_is_logged_after_an_instant_has_passed_was_not_seen() -> None:
    log = InMemory([REGISTERED, entry(2, 8), entry(3, 9), entry(4, 14), entry(5, 9), entry(6, 30)])
    current = Current(log, registry())
    for instant, place in ((10, 4), (15, 6), (25, 6)):
        assert current.sighting(record(TIMED), instant).moment == Moment(1, instant, place)
    assert log.read == []  # the outlines say it
    windows = current.windows(parse(TIMED), current.sighting(record(TIMED), 10))
    assert [chunk.t.tolist() for chunk in windows] == [[8, 9]]


def test_on_the_arrival_clock_nothing_is_late() -> None:
    log = InMemory([REGISTERED, entry(2, 8)])
    assert Current(log, registry()).sighting(record(TIMED.replace("urn:e", "urn:a")), 10) == Sighting(
        Moment(1, 10, 2), {}
    )


@pytest.mark.parametrize(
    "forgotten, step, instant, holds",
    [
        (0, 3, 1, [1, 1]),
        (0, 3, 4, [4, 4]),
        (0, 1, 3, [3]),
        (0, 1, 4, [3, 1]),
        # It is not known with which element it turned: with the last one up to the instant.
        (2, 3, 4, [4, 4]),
        (2, 1, 4, [4, 4]),
    ],
)
def test_where_the_count_began_in_what_is_forgotten(forgotten: int, step: int, instant: int, holds: list[int]) -> None:
    """
    log          3  1  1 │ 3 │ 4  4 │ 7       the first two entries are forgotten
    STEP 3             1            4         turns, at the stamp of the element that makes them
    STEP 1       3  4  5   6   7  8   9       or one later than the turn before
    """
    entries = [REGISTERED, entry(2, 3, 1, 1), entry(3, 3), entry(4, 4, 4), entry(5, 7)]
    del entries[1 : 1 + forgotten]
    current, text = Current(InMemory(entries), registry()), COUNTING.format(step)
    windows = current.windows(parse(text), current.sighting(record(text), instant))
    assert [chunk.t.tolist() for chunk in windows] == [holds]
