"""What is seen of healthy queries that are not well: the judge has no answers of a server here, but those that are put in
its mouth.

    pushes    1   2           at 1500, 2500
    instants    │   │   │     2000, 3000, 4000: [1], [1, 2], [1, 2]
"""

from __future__ import annotations

import pytest

from tests.poison.healthy import QUERIES, Health, Healthy

RIGHT = {1000: (1.0, []), 2000: (2.1, [1]), 3000: (3.1, [1, 2]), 4000: (4.1, [1, 2])}


def judged(answers: dict[int, tuple[float, list[int]]], since: int = 1000) -> Health:
    healthy = Healthy("http://127.0.0.1:1")
    healthy._pushed = {1: 1500, 2: 2500}
    healthy._told = {name: dict(RIGHT) for name in QUERIES} | {"Plain": answers}
    return healthy.since(since)


def test_who_says_what_is_right_in_time_is_well() -> None:
    assert judged(RIGHT).broken == [] and judged(RIGHT, since=0).broken == []
    assert (judged(RIGHT).late, round(judged(RIGHT).lag, 3)) == (0, 0.1)


@pytest.mark.parametrize(
    "changed, said",
    [
        ({3000: (3.1, [2])}, "Plain says [2] at 3000, and should [1, 2]; 1 are wrong"),
        ({3000: (3.1, [1, 2, 2])}, "Plain says [1, 2, 2] at 3000, and should [1, 2]; 1 are wrong"),
        ({3000: None}, "Plain tells nothing after 2000"),
        ({2000: None}, "Plain tells nothing after 1000"),
    ],
)
def test_what_is_wrong_or_missing_is_said(changed: dict, said: str) -> None:
    answers = {at: answer for at, answer in {**RIGHT, **changed}.items() if answer is not None}
    assert judged(answers).broken == [said]


def test_answers_are_late_once_however_many_come_together() -> None:
    late = judged({**RIGHT, 2000: (9.0, [1]), 3000: (9.0, [1, 2])})
    assert (late.late, late.lag, late.broken) == (1, 7.0, [])
    twice = judged({**RIGHT, 2000: (9.0, [1]), 4000: (9.0, [1, 2])})
    assert twice.late == 2
