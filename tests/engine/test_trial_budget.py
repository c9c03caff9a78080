"""Whoever needs too much, and however many do: one and a half limits together, and a twentieth for each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.excess import OF_ANSWERS
from csparql_spark.answers.limits import Limits
from csparql_spark.engine.trial_budget import LEAST, SHARE, TrialBudget

LIMITS = Limits(milliseconds=10_000)
seconds = st.floats(0.01, 25.0)


@given(st.lists(st.tuples(seconds, st.floats(0.0, 1.0)), max_size=60), st.floats(0.1, 50.0))
def test_all_that_are_ended_take_the_budget_and_a_twentieth_each(drawn, most: float) -> None:
    budget, took, first = TrialBudget(LIMITS, most), 0.0, 0.0
    for whole, part in drawn:
        share = budget.share(whole)
        assert min(whole, max(SHARE * whole, LEAST)) <= share <= whole
        first = first or share  # nobody is told of others, of whom there are none
        took += share * part
        budget.charge(share * part)
    assert took <= max(first, most) + sum(max(SHARE * whole, LEAST) for whole, _ in drawn) + 1e-6


def test_ten_of_the_usual_limit() -> None:
    budget = TrialBudget(LIMITS, most=23.0)
    for _ in range(2):  # the second batch begins as the first
        shares = []
        for _ in range(10):
            shares.append(budget.share(11.5))
            budget.charge(shares[-1])
        assert shares == [11.5, 11.5, *[11.5 * SHARE] * 8]
        budget.renew()


def test_what_a_worker_has_spent_is_spent() -> None:
    """Its end told whose time was over."""
    budget = TrialBudget(LIMITS, most=17.25)
    budget.renew([11.5])
    shares = []
    for _ in range(4):
        shares.append(budget.share(11.5))
        budget.charge(shares[-1])
    assert shares == [5.75, *[11.5 * SHARE] * 3]
    budget.renew([11.5, 11.5, 11.5])
    assert budget.share(11.5) == 11.5 * SHARE


def test_who_comes_through_takes_nothing_of_it() -> None:
    budget = TrialBudget(LIMITS, most=23.0)
    assert [budget.share(11.5) for _ in range(50)] == [11.5] * 50


@pytest.mark.parametrize(
    "ended, share, on_the_clock, reason",
    [
        (0, 11.5, False, str(OF_ANSWERS.of_processor(LIMITS.seconds))),
        (7, 11.5, True, str(OF_ANSWERS.of_clock(LIMITS.seconds))),
        (
            1,
            0.5,
            False,
            "its answer takes longer than 0.5 s of processor time, and the server had just ended 1 other that needs too "
            "much, for which all wait: register it again",
        ),
        (
            1200,
            0.575,
            True,
            "its answer takes longer than 5.8 s on the clock, and the server had just ended 1,200 others that need too "
            "much, for which all wait: register it again",
        ),
    ],
)
def test_the_sentence_says_what_it_had_and_why_it_had_no_more(
    ended: int, share: float, on_the_clock: bool, reason: str
) -> None:
    budget = TrialBudget(LIMITS, most=23.0)
    for _ in range(ended):
        budget.charge(11.5)
    assert str(budget.too_long(share, on_the_clock=on_the_clock)) == reason
