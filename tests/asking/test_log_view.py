"""What windows held at an instant, as the log tells it: as much of the log is read as a window needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.asking import moments, passage
from csparql_spark.asking.allowance import Allowance, AllowanceSpent
from csparql_spark.asking.log_view import Current
from csparql_spark.asking.moments import Follower, Sighting
from csparql_spark.asking.passage import AT_ONCE
from csparql_spark.engine.moment import Moment
from csparql_spark.language import Window, parse
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import QueryRecord
from csparql_spark.windows.content import Content
from csparql_spark.windows.counting import TurnCount
from csparql_spark.windows.progress import Clock
from tests.asking.logged import InMemory, registry
from tests.engine.logs import STREAMS, entries, law, logs
from tests.engine.naive import Logged
from tests.examples import examples


def one(seq: int, stream: str, at: int, *stamps: int | None) -> Entry:
    """A push into a stream, logged at a time."""
    given = [Chunk.UNSTAMPED if stamp is None else stamp for stamp in stamps]
    chunk = Chunk.from_triples([(f"<urn:{seq}>", "<urn:p>", f'"{place}"') for place in range(len(given))], given)
    return Entry(seq, "chunk", at, stream, len(chunk), chunk.first, chunk.last, chunk.unstamped, chunk.to_ipc())


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


def clock_of(stream: str) -> Clock:
    return Clock(*STREAMS[stream])


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
    current, text = Current(InMemory(entries, forgotten and 1 + forgotten), registry()), COUNTING.format(step)
    windows = current.windows(parse(text), current.sighting(record(text), instant))
    assert [chunk.t.tolist() for chunk in windows] == [holds]


@given(logs, st.integers(-5, 60))
@law(max_examples=examples(200))
def test_the_place_of_an_instant_is_where_one_comes_who_follows_the_query(log: list[Logged], instant: int) -> None:
    written = entries(log)
    for one in log:
        if one.kind != "register" or any(window.counts for window in one.value.windows):
            continue
        asked = QueryRecord(one.seq, one.subject, one.at, one.value.text, None)
        follower = Follower(asked, clock_of, InMemory(written))
        assert follower.follow(instant)
        assert Current(InMemory(written), registry()).sighting(asked, instant).moment.seq == follower.place


def test_gaps_that_no_chunk_has_left_are_no_reason_to_guess() -> None:
    entries = [REGISTERED, *(entry(seq, seq) for seq in range(4, 9))]  # a tick, or a query that is gone, was at 2 and 3
    text = COUNTING.format(2)
    for last_forgotten, held in ((0, [6, 7]), (1, [6, 7]), (3, [7, 8])):
        current = Current(InMemory(entries, last_forgotten), registry())
        windows = current.windows(parse(text), current.sighting(record(text), 8))
        assert [chunk.t.tolist() for chunk in windows] == [held]


def test_the_background_is_that_of_the_instant_and_where_it_is_forgotten_that_of_now() -> None:
    text = TIMED.replace("FROM STREAM", "FROM <urn:g> FROM STREAM")
    old, new = [("<urn:k>", "<urn:p>", "<urn:old>")], [("<urn:k>", "<urn:p>", "<urn:new>")]
    graphs = [
        Entry(seq, "background", 0, "urn:g", 1, payload=Chunk.from_triples(triples).to_ipc())
        for seq, triples in ((2, old), (5, new))
    ]
    log = [replace(REGISTERED, seq=3), entry(4, 8, 11), graphs[1], entry(6, 16)]

    def seen(entries: list[Entry], instant: int) -> list[tuple[str, str, str]]:
        watched = Current(InMemory(entries), registry()).watched(replace(record(text), id=3), parse(text), instant)
        return list(watched.graphs["urn:g"].triples())

    assert [seen([graphs[0], *log], instant) for instant in (10, 15)] == [old, new]
    assert [seen(log, instant) for instant in (10, 15)] == [new, new]


# --- how much is read of it


@pytest.mark.parametrize("stream, clock", [("urn:a", "arrival"), ("urn:e", "event")])
def test_of_a_long_log_only_what_is_near_the_instant_is_read(stream: str, clock: str) -> None:
    log = InMemory(
        [REGISTERED, *(one(seq, stream, seq, None if clock == "arrival" else seq) for seq in range(2, 3000))]
    )
    current, text = Current(log, registry()), TIMED.replace("urn:e", stream)
    for instant in (100, 2900):
        windows = current.windows(parse(text), current.sighting(record(text), instant))
        assert [chunk.t.tolist() for chunk in windows] == [list(range(instant - 4, instant + 1))]
    assert log.outlined <= 2 * AT_ONCE and len(log.read) < 20


@pytest.mark.parametrize(
    "unit, stream", [("RANGE TRIPLES", "urn:a"), ("ELEMENTS", "urn:a"), ("RANGE TRIPLES", "urn:e")]
)
def test_what_has_one_stamp_is_counted_without_being_opened(unit: str, stream: str) -> None:
    stamped = None if stream == "urn:a" else 7
    log = InMemory([REGISTERED, *(one(seq, stream, 7, stamped, stamped) for seq in range(2, 9))])
    text = COUNTING.format(2).replace("urn:e", stream).replace("RANGE TRIPLES", unit)
    Current(log, registry()).sighting(record(text), 8)
    assert log.read == []


def test_what_makes_no_turn_is_counted_without_being_opened() -> None:
    log = InMemory([REGISTERED, entry(2, 1, 2), entry(3, 3, 4), entry(4, 5, 6), entry(5, 7, 8)])
    text = COUNTING.format(5)
    sighting = Current(log, registry()).sighting(record(text), 5)
    assert (sighting.moment.seq, log.read) == (4, [4])
    assert sighting.counts[0].view() == (1, 3)


@pytest.mark.parametrize("most, step, read", [("MOST_ENTRIES", 9, 4), ("MOST_OPENED", 2, 3), ("MOST_BYTES", 2, 3)])
def test_where_there_is_too_much_to_count_it_is_as_where_it_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, most: str, step: int, read: int
) -> None:
    pushes = [entry(seq, seq, seq + 1) for seq in range(2, 30)]
    log = InMemory([REGISTERED, *pushes])
    limit = {"MOST_ENTRIES": 20, "MOST_OPENED": 3, "MOST_BYTES": 2 * len(pushes[0].payload)}[most]
    for module in (moments, passage):
        monkeypatch.setattr(module, most, limit, raising=False)
    text = COUNTING.format(step)
    current = Current(log, registry())
    windows = current.windows(parse(text), current.sighting(record(text), 28))
    assert [chunk.t.tolist() for chunk in windows] == [[27, 28]]
    opened = [place for place in log.read if place < 26]
    assert len(opened) == read and log.outlined <= 2 * 30


# --- how much is read


def graph_set(seq: int, iri: str, count: int) -> Entry:
    chunk = Chunk.from_triples([(f"<urn:{number}>", "<urn:p>", "<urn:o>") for number in range(count)])
    return Entry(seq, "background", 0, iri, len(chunk), payload=chunk.to_ipc())


@pytest.mark.parametrize("window, read", [("[RANGE 9ms STEP 9ms]", [2, 3]), ("[RANGE TRIPLES 8 STEP 8]", [6, 5, 4])])
def test_windows_are_read_until_they_are_too_large(window: str, read: list[int]) -> None:
    """What would be too much is found with the piece after which it is, and no entry behind that one is read."""
    text = TIMED.replace("[RANGE 5ms STEP 5ms]", window)
    log = InMemory([REGISTERED, *(entry(seq, seq, seq) for seq in range(2, 6)), entry(6, 30)])
    current = Current(log, registry())
    sighting = current.sighting(record(text), 9)
    whole = [piece for piece in current.holding(parse(text).windows[0], 0, sighting) if len(piece)]
    size = sum(piece.size for piece in whole)
    assert [piece.triples() for piece in whole] == [entry_triples(seq) for seq in range(2, 6)]

    reader = current.within(Allowance(size, "the query reads", "ask for less"))
    (found,) = reader.windows(parse(text), sighting)
    assert found.triples() == [triple for piece in whole for triple in piece.triples()]
    log.read.clear()
    most = whole[0].size + 1
    with pytest.raises(AllowanceSpent) as raised:
        current.within(Allowance(most, "the query reads", "ask for less")).windows(parse(text), sighting)
    assert str(raised.value) == (
        f"the windows, with the graphs beside them, hold more than the {most} bytes that a question may have: "
        "choose a narrower RANGE"
    )
    assert log.read == read


def entry_triples(seq: int) -> list[tuple[str, str, str]]:
    return Chunk.from_ipc(entry(seq, seq, seq).payload).triples()


def test_graphs_and_windows_count_together_before_they_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [graph_set(2, "urn:a", 3), graph_set(3, "urn:b", 30), graph_set(4, "urn:c", 3)]
    log = InMemory([REGISTERED, *graphs, entry(5, 9)])
    text = TIMED.replace("FROM STREAM", "FROM <urn:a> FROM <urn:b> FROM NAMED <urn:c> FROM STREAM")
    query, current = parse(text), Current(log, registry())
    sighting = current.sighting(record(text), 10)
    (window,) = current.windows(query, sighting)
    size = sum(len(graph.payload) for graph in graphs) + window.size
    watched = current.within(Allowance(size, "the query reads", "…")).watched(record(text), query, 10)
    assert {iri: len(chunk) for iri, chunk in watched.graphs.items()} == {"urn:a": 3, "urn:b": 30, "urn:c": 3}
    assert current.version("urn:b")[0] == 3 and current.version("urn:d") is None

    decoded, decode = [], Chunk.from_ipc
    monkeypatch.setattr(Chunk, "from_ipc", lambda payload: decoded.append(payload) or decode(payload))
    reader = current.within(Allowance(len(graphs[0].payload) + 9, "the query reads", "name fewer of them"))
    with pytest.raises(AllowanceSpent, match="^the graphs that the query reads hold more than .*: name fewer of them$"):
        reader.background(query, sighting)
    assert decoded == [graphs[0].payload]
