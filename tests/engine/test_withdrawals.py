"""What leaves windows that count beside others, compared with lists that are looked through."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.engine.withdrawals import UNTOLD, CountedFacts, Withdrawals
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples

Triple = tuple[int, int, int]
triples = st.tuples(st.integers(0, 2), st.just(7), st.integers(0, 1))
pushes = st.lists(st.tuples(st.lists(triples, max_size=4), st.booleans()), min_size=1, max_size=12)


def facts(rows: list[Triple], tags: list[int]) -> Facts:
    s, p, o = (np.array([row[place] for row in rows], np.int64) for place in range(3))
    return Facts(s, p, o, np.array(tags, np.int64))


def rows_of(found: Facts) -> list[Triple]:
    return list(zip(found.s.tolist(), found.p.tolist(), found.o.tolist(), strict=True))


@given(pushes, st.integers(1, 5))
@settings(max_examples=examples(200), deadline=None)
def test_what_leaves_is_what_was_there_and_is_not(pushed: list[tuple[list[Triple], bool]], size: int) -> None:
    """
    TRIPLES 2     a b a c             up to the third b a, up to the fourth a c: b has left
    """
    counted, came, before = CountedFacts(), list[Triple](), set[Triple]()
    waiting: list[tuple[Triple, int]] = []
    for rows, turns in pushed:
        waiting += [(row, len(came) + place) for place, row in enumerate(rows, 1)]
        came += rows
        if not turns:
            continue
        entered = [one for one in waiting if one[1] > len(came) - size]
        waiting.clear()
        left = counted.move(facts(*map(list, zip(*entered, strict=True))) if entered else Facts.none(), len(came), size)
        now = set(came[-size:])
        assert sorted(rows_of(left)) == sorted(before - now)
        known = sorted({*came, (9, 7, 9)})
        assert counted.holds(facts(known, [UNTOLD] * len(known))).tolist() == [row in now for row in known]
        before = now


def test_what_a_window_of_time_still_holds_stays_as_long_as_it_says() -> None:
    a, b, c = (1, 7, 1), (2, 7, 2), (3, 7, 3)
    withdrawals = Withdrawals(facts([c], [ALWAYS]))
    withdrawals.keep(facts([a, b], [5, 9]))
    withdrawals.expire(5)
    left = facts([a, b, c], [UNTOLD] * 3)
    assert rows_of(withdrawals.still_held(left)) == [b] and withdrawals.still_held(left).tag.tolist() == [9]
    assert rows_of(withdrawals.unknown(left)) == [a, b]


def test_ids_that_change_their_meaning() -> None:
    table = np.arange(10)[::-1].copy()
    counted = CountedFacts()
    counted.move(facts([(1, 7, 1), (2, 7, 2)], [1, 2]), 2, 2)
    counted.renumber(table)
    assert sorted(set(np.concatenate(counted.terms()).tolist())) == [2, 7, 8]
    assert rows_of(counted.move(facts([(3, 2, 3)], [3]), 3, 2)) == [(8, 2, 8)]
