"""What is put in order once for windows of several RANGEs. (That it is the same as made anew: `streams.Stage.check`.)"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.ordering import Ordered, Ordering, longest_first, order_of_rows
from tests.examples import examples

from .streams import Stage, integer

JOINED = "SELECT ?s ?n WHERE { ?s <urn:p> ?n . ?s <urn:q> ?m }"
COUNTED = "SELECT ?s (COUNT(*) AS ?c) WHERE { ?s <urn:p> ?n } GROUP BY ?s"


class Asker:
    pass


def ordered(versions: tuple[int, ...] = (1,), after: int = 10) -> Ordered:
    """Rows that hold until 11, 12, 14 and 15."""
    return Ordered(
        versions, after, pa.array(["<urn:a>", "<urn:b>"]), [np.array([0, 0, 1, -1])], np.array([11, 12, 14, 15])
    )


def test_later_rows_are_cut_out_in_their_order():
    ordering, askers = Ordering(), [Asker(), Asker()]
    for asker in askers:
        ordering.join(asker)
    assert ordering.later((1,), 12) is None  # nobody has made any
    ordering.hold(ordered())
    found = ordering.later((1,), 12)
    assert (found.ranks[0].tolist(), found.tag.tolist()) == ([1, -1], [14, 15])
    assert ordering.later((1,), 10).tag.tolist() == [11, 12, 14, 15]
    assert ordering.later((1,), 15).tag.tolist() == []
    assert ordering.later((1,), 9) is None  # a wider window
    assert ordering.later((2,), 12) is None  # there is more to be seen by now


def test_nothing_is_held_for_one_who_is_alone():
    ordering, asker, other = Ordering(), Asker(), Asker()
    ordering.join(asker)
    ordering.hold(ordered())
    assert ordering.later((1,), 12) is None and ordering.nbytes == 0
    ordering.join(other)
    ordering.hold(ordered())
    assert ordering.later((1,), 12) is not None and ordering.nbytes > 0
    del other
    ordering.hold(ordered())
    assert ordering.later((1,), 12) is None


@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(
            st.tuples(*[st.sampled_from([-1, 0, 1, 2, 1 << 30])] * width, st.integers(0, 5)), max_size=40
        )
    )
)
@settings(max_examples=examples(100), deadline=None)
def test_rows_come_in_the_order_of_their_ranks_and_of_equal_rows_the_one_that_holds_longest(rows):
    *ranks, tag = (np.array(column, dtype=np.int64) for column in (zip(*rows) if rows else ([], [])))
    order = order_of_rows(ranks)
    ranks = [column[order] for column in ranks]
    made = list(zip(*(column.tolist() for column in ranks), longest_first(ranks, tag[order]).tolist()))
    assert made == sorted(rows, key=lambda row: (row[:-1], -row[-1]))


def parts_that_ran(stage: Stage, body: str) -> list[bool]:
    """Of each query, widest window first: whether it has matched anything itself."""
    ran = []
    for _, range_, _, query in sorted((asked for asked in stage.queries if asked[0] == body), key=lambda one: -one[1]):
        query.move(after=stage.now - range_)
        query.answer()
        ran.append(any("rows" in part for part in query.nodes()["parts"]))
    return ran


def test_the_widest_window_does_the_work_where_rows_have_tags():
    stage = Stage([(body, range_) for body in (JOINED, COUNTED) for range_ in (3, 9, 5)])
    stage.move(10, [("<urn:a>", "<urn:p>", integer(1)), ("<urn:a>", "<urn:q>", integer(1))])
    stage.check()
    stage.move(11, [("<urn:b>", "<urn:p>", integer(2)), ("<urn:b>", "<urn:q>", integer(1))])
    assert parts_that_ran(stage, JOINED) == [True, False, False]
    assert parts_that_ran(stage, COUNTED) == [True, True, True]
