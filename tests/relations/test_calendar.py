from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.relations.calendar import Calendar
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples


def facts(rows: list[tuple[int, int]]) -> Facts:
    """Facts that are told apart by their subjects."""
    s, tag = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return Facts(s.copy(), np.zeros(len(s), dtype=np.int64), s.copy(), tag.copy())


def rows(found: Facts) -> list[tuple[int, int]]:
    return sorted(zip(found.s.tolist(), found.tag.tolist(), strict=True))


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 10**9))
def test_what_ends_is_taken_when_it_does_and_nothing_else(seed: int) -> None:
    random, now, number = Random(seed), 0, 0
    there = [(-1, 3), (-2, ALWAYS)]
    calendar = Calendar(facts(there))
    for _ in range(20):
        came = [
            (number + place, random.choice((now + random.randint(1, 20), ALWAYS)))
            for place in range(random.choice((0, 1, 3, 30)))
        ]
        number += len(came)
        calendar.add(facts(came))
        there += came
        now += random.randint(0, 4)
        assert rows(calendar.take(now)) == sorted(row for row in there if row[1] <= now)
        there = [row for row in there if row[1] > now]
        assert len(calendar) == sum(tag != ALWAYS for _, tag in there)
