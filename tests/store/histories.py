"""Histories of answers of queries of every kind, as they follow one after the other."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from csparql_spark.answers.bag_difference import difference
from csparql_spark.answers.bindings import Result
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.store import StoredAnswer

KINDS = ["table", "plain", "list", "istream", "graph", "truth", "columnless"]


class History(NamedTuple):
    query: int
    kind: str
    answers: list[Result]

    @property
    def listed(self) -> bool:
        return self.kind == "list"

    def stored(self) -> list[StoredAnswer]:
        return [
            StoredAnswer(self.query, 1000 * at, 0, len(one), one.to_bytes(), listed=self.listed)
            for at, one in enumerate(self.answers, 1)
        ]


Row = tuple[str, str | None, int]


def _row(random: Random) -> Row:
    term = random.choice([None, '"é"@en', f'"{random.randrange(50)}"'])
    return f"<urn:{random.randrange(400)}>", term, random.choice([*range(5000, 9000, 500), ALWAYS])


def _moved(rows: list[Row], random: Random, step: int) -> list[Row]:
    """The rows an instant later: of `step` some go, some come, and of some it is another instant until which they hold."""
    rows = list(rows)
    for _ in range(step):
        what = random.randrange(4)
        if what == 0 and rows:
            rows.pop(random.randrange(len(rows)))
        elif what == 1 and rows:
            place = random.randrange(len(rows))
            rows[place] = (*rows[place][:2], random.randrange(5000, 9000))
        elif what == 2 and rows:
            rows.insert(random.randrange(len(rows) + 1), rows[random.randrange(len(rows))])
        else:
            rows.insert(random.randrange(len(rows) + 1), _row(random))
    return rows


def _key(row: Row) -> tuple[object, ...]:
    return row[0].encode(), row[1] is not None, (row[1] or "").encode(), -row[2]


def _table(rows: list[Row], kind: str) -> Result:
    if kind == "columnless":
        return Result.bindings((), [], len(rows)).holding(np.sort([row[2] for row in rows])[::-1].astype(np.int64))
    if kind != "list":
        rows = sorted(rows, key=_key if kind != "plain" else lambda row: _key(row)[:3])
    made = Result.bindings(("x", "y"), [[row[0] for row in rows], [row[1] for row in rows]], len(rows))
    return made if kind == "plain" else made.holding(np.array([row[2] for row in rows], dtype=np.int64))


def _graph(rows: list[Row]) -> Result:
    return Result.graph("".join(sorted({f'{row[0]} <urn:p> "{row[2]}é" .\n' for row in rows})))


@st.composite
def histories(draw: st.DrawFn, query: int, most: int = 12) -> History:
    kind = draw(st.sampled_from(KINDS))
    random = Random(draw(st.integers(0, 1 << 30)))
    rows = [_row(random) for _ in range(draw(st.sampled_from([0, 30, 60, 150])))]
    answers: list[Result] = []
    for step in draw(st.lists(st.sampled_from([0, 0, 1, 1, 3, 3, 10, 60]), min_size=1, max_size=most)):
        rows = _moved(rows, random, step)
        if kind == "truth":
            answers.append(Result.boolean(len(rows) % 2 == 0))
        elif kind == "graph":
            answers.append(_graph(rows))
        else:
            answers.append(_table(rows, kind))
    if kind == "istream":
        answers = answers[:1] + [difference(now, before) for before, now in zip(answers, answers[1:])]
    return History(query, kind, answers)
