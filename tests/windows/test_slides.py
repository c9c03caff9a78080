"""Slides say what a list of all elements says (`scanning`), whatever they are cut into."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows import slides as module
from csparql_spark.windows.content import Content
from csparql_spark.windows.rule import END_OF_TIME
from csparql_spark.windows.slides import LONGEST, Elements, Slides
from tests.examples import examples
from tests.windows.scanning import Element, Scanning

LAST = 30  # the greatest stamp of what comes in time; what is later comes before its time
stamps = st.one_of(st.integers(0, LAST), st.integers(0, LAST), st.integers(-5, 3 * LAST))
ids = st.integers(0, 9)
pushes = st.lists(st.tuples(stamps, ids, ids, ids), max_size=9)
moves = st.lists(
    min_size=1,
    max_size=25,
    elements=st.one_of(
        st.tuples(st.just("add"), pushes, st.integers(1, 2)),
        st.tuples(st.just("add"), pushes, st.integers(1, 2)),
        st.tuples(st.just("forget"), st.integers(0, 2 * LAST), st.one_of(st.none(), st.integers(0, 30))),
        st.tuples(st.just("forget"), st.just(END_OF_TIME), st.integers(0, 30)),
        st.tuples(st.just("renumber"), st.permutations(range(10)), st.none()),
    ),
)


def said(elements: Elements) -> list[Element]:
    return [Element(*row) for row in zip(*(column.tolist() for column in elements), strict=True)]


def agree(slides: Slides, twin: Scanning, data: st.DataObject) -> None:
    """All questions about a window, and one that counts, at some moment."""
    low, since = data.draw(st.integers(-6, 2 * LAST)), data.draw(st.integers(-1, 30))
    high, moment = low + data.draw(st.integers(0, LAST)), (data.draw(stamps), data.draw(st.integers(0, 30)))
    assert said(slides.window(low, high, since)) == twin.window(low, high, since)
    assert slides.extent(low, high, since) == twin.extent(low, high, since)
    assert slides.extent(low, high).nbytes == sum(column.nbytes for column in slides.window(low, high))
    assert said(slides.new(low, high, since, moment)) == twin.new(low, high, since, moment)
    place = max((one.seq for one in twin.elements), default=0)
    for moment in ((LAST // 2, place - 1), (LAST // 2, place), (4 * LAST, place - 1), (LAST, place - 3)):
        assert said(slides.new(-6, 4 * LAST, -1, moment)) == twin.new(-6, 4 * LAST, -1, moment)
    begin, end = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 60))
    seq, passed = data.draw(st.integers(0, 30)), data.draw(stamps)
    assert slides.late(seq, passed) == twin.late(seq, passed)
    for graphs in (False, True):
        assert said(slides.counted(since, begin, end, graphs=graphs)) == twin.counted(since, begin, end, graphs)
        assert slides.counted_extent(since, begin, end, graphs=graphs) == twin.counted_extent(since, begin, end, graphs)
        assert slides.oldest(since, end, graphs=graphs) == twin.oldest(since, end, graphs)
    assert len(slides) == len(twin.elements)
    assert sorted(id for ids in slides.triples() for id in ids.ravel().tolist()) == sorted(
        id for one in twin.elements for id in one[:3]
    )


@pytest.mark.parametrize("longest", [1, 2, 4, 16])
@given(moves, st.data())
@settings(max_examples=examples(60), deadline=None)
def test_slides_say_what_a_list_says(longest: int, moves: list[tuple], data: st.DataObject) -> None:
    slides, twin, seq = Slides(), Scanning(), 0
    with mock.patch.multiple(module, LONGEST=longest, FEW=longest // 2, SHORTEST=1):
        for what, value, number in moves:
            if what == "add":
                seq += number
                columns = [np.array([row[place] for row in value], dtype=np.int64) for place in range(4)]
                slides.add(columns[0], seq, *columns[1:])
                twin.add([row[0] for row in value], seq, [row[1:] for row in value])
            elif what == "forget":
                place = END_OF_TIME if number is None else number
                count, newest = twin.forget(value, place)
                gone = slides.forget(value, place)
                assert gone.elements == count and (not count or gone.newest == newest)
                # However they go, what is left is in few slides.
                assert slides.number <= 1 + 4 * len(slides) / longest
            else:
                for columns in slides.triples():
                    columns[:] = np.array(value)[columns]
                twin.renumber(value)
            agree(slides, twin, data)


streams = st.integers(0, 2)
chunks = st.lists(st.tuples(stamps, st.tuples(ids, ids, ids)), max_size=9)


@given(
    st.lists(
        min_size=1,
        max_size=15,
        elements=st.one_of(
            st.tuples(st.just("add"), streams, chunks),
            st.tuples(st.just("add"), streams, chunks),
            st.tuples(st.just("replace"), st.just(3), chunks),
            st.tuples(st.just("forget"), streams, st.tuples(st.integers(0, 2 * LAST), st.integers(0, 16))),
        ),
    ),
    st.data(),
)
@settings(max_examples=examples(100), deadline=None)
def test_content_says_of_each_stream_what_lists_say(moves: list[tuple], data: st.DataObject) -> None:
    """Several streams, and background that is replaced; terms are forgotten, and ids are others afterwards."""
    content, twins = Content(), {stream: Scanning() for stream in range(4)}
    places: dict[int, int] = {}
    horizons = dict.fromkeys(range(3), -10)
    with mock.patch.multiple(module, LONGEST=4, FEW=2, SHORTEST=1), mock.patch("csparql_spark.rdf.dictionary.SPARE", 0):
        for seq, (what, stream, value) in enumerate(moves, 1):
            if what == "forget":
                horizons[stream], places[stream] = max(horizons[stream], value[0]), value[1]
                content.forget(horizons, places)
                for number, horizon in horizons.items():
                    twins[number].forget(horizon, places.get(number, END_OF_TIME))
            else:
                t, triples = [row[0] for row in value], [row[1] for row in value]
                chunk = Chunk.from_triples([tuple(f"<urn:n{id}>" for id in triple) for triple in triples], t)
                if what == "add":
                    content.add(stream, seq, chunk)
                    twins[stream].add(t, seq, triples)
                else:
                    content.replace(stream, chunk)
                    twins[stream] = Scanning()
                    twins[stream].add([END_OF_TIME] * len(t), 0, triples)
            stream, low = data.draw(st.integers(0, 3)), data.draw(st.integers(-6, 2 * LAST))
            bounds = (END_OF_TIME - 1, END_OF_TIME) if stream == 3 else (low, low + LAST)
            elements = content.window(stream, *bounds)
            terms = [[int(term[6:-1]) for term in content.dictionary.decode(column)] for column in elements[:3]]
            assert said(Elements(*terms_and(terms, elements))) == twins[stream].window(*bounds)
            assert content.extent(stream, *bounds) == twins[stream].extent(*bounds)
            assert len(content) == sum(len(twin.elements) for twin in twins.values())


def terms_and(terms: list[list[int]], elements: Elements) -> list[np.ndarray]:
    return [*(np.array(column, dtype=np.int64) for column in terms), elements.seq, elements.t]


def stamped(slides: Slides, seq: int, t: list[int]) -> None:
    nothing = np.zeros(len(t), dtype=np.int64)
    slides.add(np.array(t), seq, nothing, nothing, nothing)


def test_small_pushes_share_a_slide_and_large_ones_make_several() -> None:
    slides = Slides()
    for seq in range(3 * LONGEST):
        stamped(slides, seq, [seq])
    assert slides.number == 3
    stamped(slides, 3 * LONGEST, list(range(2 * LONGEST + 1)))
    assert slides.number == 6 and slides.size < 6 * LONGEST


def test_of_a_long_window_only_the_slides_that_a_bound_cuts_are_looked_into() -> None:
    slides, looked = Slides(), []
    for seq in range(64):
        stamped(slides, seq, list(range(seq * LONGEST, (seq + 1) * LONGEST)))
    within = module._within

    def counting(columns: np.ndarray, low: int, high: int, since: int) -> np.ndarray:
        looked.append(columns.shape[1])
        return within(columns, low, high, since)

    low, high = 10 * LONGEST + 5, 60 * LONGEST + 5
    with mock.patch.object(module, "_within", counting):
        assert slides.extent(low, high) == (high - low, 10)
        assert looked == [LONGEST, LONGEST]
        assert len(slides.new(low, high, -1, (high - 3, 60)).t) == 3
        assert looked == [LONGEST] * 3


def test_late_elements_cut_slides_only_until_they_are_forgotten() -> None:
    """In each slide one element has come long after its time."""
    slides = Slides()
    for seq in range(8):
        stamped(slides, seq, [0, *range(seq * LONGEST + 1, (seq + 1) * LONGEST)])
    assert slides.forget(5) == (8 + 5, 5)
    first = slides._summaries[0]
    assert first.tolist() == [6, *(seq * LONGEST + 1 for seq in range(1, 8))]


def test_what_is_left_of_many_slides_becomes_few() -> None:
    """In each slide one element is stamped far ahead."""
    slides = Slides()
    for seq in range(100):
        stamped(slides, seq, [10**9 + seq, *range(LONGEST - 1)])
    assert slides.number == 100
    slides.forget(LONGEST)
    assert (len(slides), slides.number) == (100, 1) and slides.size < LONGEST
    assert slides.window(0, 10**10).seq.tolist() == list(range(100))


def test_graphs_that_were_looked_at_have_other_ids_when_ids_are_others() -> None:
    slides = Slides()
    slides.add(np.array([1, 2, 3]), 7, *np.array([[4, 5, 6]] * 3))
    assert slides.counted(-1, 0, 1, graphs=True).s.tolist() == [6]
    assert slides.counted(8, 0, 1, graphs=True).s.tolist() == []
    slides.add(np.array([4]), 9, *np.array([[8]] * 3))
    assert slides.counted(8, 0, 2, graphs=True).s.tolist() == [8]
    for ids in slides.triples():
        ids[:] = ids + 10
    assert slides.counted(8, 0, 2, graphs=True).s.tolist() == [18]
