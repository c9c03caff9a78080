"""What ends until an instant, of rows that come and go."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.maintained import row_calendar as module
from csparql_spark.answers.maintained.row_calendar import RowCalendar
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples


@pytest.fixture(autouse=True, params=[0, 6, 1024])
def spare(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPARE", request.param)


@settings(max_examples=examples(150), deadline=None)
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


def test_rows_that_come_again_and_again_are_held_once() -> None:
    count, again, range_ = 300, 40, 600
    calendar = RowCalendar(1)
    ends = np.full(count, range_)
    calendar.add([np.arange(count)], ends.copy())
    most = 3 * 16 * (count + again) + 32 * module.SPARE  # each row: a cell and a tag
    for now in range(1, 1500):
        rows = (np.arange(again) + now * again) % count
        calendar.add([rows], ends[rows], -1)
        ends[rows] = now + range_
        calendar.add([rows], ends[rows])
        assert not len(calendar.take(now)[1])
        assert calendar.nbytes <= most
    (rows,), tags = calendar.take(int(ends.max()))
    assert len(rows) == count and (tags == ends[rows]).all() and (np.sort(rows) == np.arange(count)).all()
    assert calendar.nbytes == 0
