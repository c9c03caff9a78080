"""What ends until an instant, of rows that come and go."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.maintained.row_calendar import RowCalendar
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 3), st.integers(0, 10**9))
def test_what_has_come_and_not_gone_ends_when_its_tag_says(width: int, seed: int) -> None:
    random, calendar = Random(seed), RowCalendar(width)
    there: Counter[tuple[int, ...]] = Counter()  # rows, each with its tag at its end
    now = 0
    for _ in range(12):
        came = [
            (*random.choices(range(3), k=width), random.choice([now + random.randint(1, 9), ALWAYS]))
            for _ in range(random.randint(0, 8))
        ]
        there.update(came)
        gone = random.sample(sorted(there.elements()), min(there.total(), random.randint(0, 3)))
        there.subtract(gone)
        for rows, sign in ((came, 1), (gone, -1)):
            *columns, tags = np.array(rows, dtype=np.int64).reshape(len(rows), width + 1).T.copy()
            calendar.add(columns, tags, sign)
        now += random.randint(0, 4)
        columns, tags = calendar.take(now)
        ended = Counter(zip(*(column.tolist() for column in (*columns, tags)), strict=True))
        assert ended == Counter({row: count for row, count in there.items() if row[-1] <= now and count})
        there = Counter({row: count for row, count in there.items() if row[-1] > now})
    calendar.take(ALWAYS - 1)
    assert calendar.nbytes == 0
