"""How many graphs begin in each slide, and which of them are counted."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.windows import slides as module
from csparql_spark.windows.slide_graphs import ranks_of
from csparql_spark.windows.slides import Slides

Entry = list[int]  # the stamps of its triples


def slides_of(entries: list[Entry]) -> Slides:
    slides = Slides()
    for seq, stamps in enumerate(entries, 1):
        nodes = np.full(len(stamps), seq)
        slides.add(np.array(stamps, np.int64), seq, nodes, nodes, nodes)
    return slides


def counts_of(slides: Slides) -> list[int]:
    _, _, lowest, highest, _ = slides._summaries
    return slides._graph_counts.counts(slides._columns, lowest, highest).tolist()


def test_a_graph_is_counted_where_its_entry_begins() -> None:
    """
    entries    a a b b b b b b b b c d        of b the half is stamped 2, and the other 3
    slides     ├───────┼───────┼───────┤
    graphs         3       0       2
    """
    with mock.patch.multiple(module, LONGEST=4, SHORTEST=1):
        slides = slides_of([[1, 1], [2, 3] * 4, [4], [5]])
        assert counts_of(slides) == [3, 0, 2]
        assert slides.counted(0, 1, 3, graphs=True).t.tolist() == [3, 3, 3, 3, 4]
        # What is stamped 1 and 2 goes: of b the later graph stays, which now begins in the first slide that is left.
        slides.forget(2)
        assert sum(counts_of(slides)) == 3
        assert slides.counted_extent(0, 1, 9, graphs=True) == (5, 2)


def test_it_is_counted_without_a_look_at_what_is_there() -> None:
    slides = slides_of([[seq, seq] for seq in range(1, 400)])
    with mock.patch("csparql_spark.windows.slide_graphs.ranks_of", side_effect=AssertionError("it looked")):
        assert counts_of(slides) == [399]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=12))
def test_ranks_are_those_of_the_graphs_in_their_order(rows: list[tuple[int, int]]) -> None:
    rows.sort(key=lambda row: row[0])  # in the order of the log
    seq, t = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    order = sorted(set(rows))
    assert ranks_of(seq, t).tolist() == [order.index(row) for row in rows]
