"""How far answers bring others behind that are each in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import pytest

from csparql_spark import processor_time
from csparql_spark.answers.arrears import Arrears, Debt
from csparql_spark.answers.limits import Limits, TooMuch


def test_debts_are_what_is_beyond_the_time_between_instants() -> None:
    debt, limits = Debt(), Limits(milliseconds=5_000)
    told = []
    for instant, seconds in ((1_000, 4.0), (2_000, 3.0), (3_000, 3.5), (9_000, 1.5), (10_000, 0.9), (11_000, 2.0)):
        debt.note(instant, seconds, limits)
        told.append(debt.milliseconds)
    #               at first there is nothing to compare with                 short ones make none
    assert told == [0, 2_000, 4_500, 0, 0, 1_000]
    debt.note(12_000, 5.0, limits)
    with pytest.raises(
        TooMuch,
        match="^its answers take longer than the time between them, and keep the others "
        "waiting for 9 s by now, where 5 s is the limit: choose a larger STEP or a ",
    ):
        debt.note(13_000, 5.0, limits)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """What an answer takes: on the clock, and a quarter less of the processor."""
    clock = 0.0

    def work(seconds: float) -> None:
        nonlocal clock
        clock += seconds

    monkeypatch.setattr(time, "perf_counter", lambda: clock)
    monkeypatch.setattr(processor_time, "now", lambda: processor_time.Time(0.75 * clock, clock))
    return work


def behind(arrears: Arrears, work: Callable[[float], None], instants: Iterable[int], seconds: float, entry: int) -> int:
    """How many milliseconds a query is behind when it has answered these."""
    for instant in instants:
        arrears.begin()
        work(seconds)
        arrears.end(instant, entry=entry, arrival=entry)
    return round(1000 * arrears.seconds)


def test_short_answers_fall_behind_where_instants_are_closer(work: Callable[[float], None]) -> None:
    arrears, limits = Arrears(), Limits(milliseconds=1_000)
    # The first is compared with nothing, and the second is the first that is looked at: then each takes 2 ms too much.
    assert behind(arrears, work, range(1000, 1500), 0.004, 17) == 498 * 2
    arrears.check(limits)
    assert behind(arrears, work, range(1500, 1503), 0.004, 17) == 501 * 2
    with pytest.raises(
        TooMuch, match="^its answers take longer than the time between them, .* 1 s by now, where 1 s is"
    ):
        arrears.check(limits)


def test_what_has_waited_is_no_backlog(work: Callable[[float], None]) -> None:
    """A thousand entries, each with ten turns a millisecond apart; an hour of instants at once."""
    arrears = Arrears()
    for entry in range(1, 1000):
        assert behind(arrears, work, range(10 * entry, 10 * entry + 10), 0.004, entry) == 8 * 2
    assert behind(arrears, work, range(1_000_000, 4_600_000, 1000), 0.9, 1000) == 0


def test_a_backlog_lasts_until_it_has_caught_up(work: Callable[[float], None]) -> None:
    """Instants of the clock: the same for all entries."""
    arrears = Arrears()
    assert behind(arrears, work, range(0, 102_000, 1000), 1.6, 0) == 100 * 200
    assert behind(arrears, work, [106_000], 1.6, 0) == 100 * 200 - 3800
    assert behind(arrears, work, range(107_000, 300_000, 1000), 0.8, 0) == 0


def test_pushes_are_counted_by_the_times_they_come(work: Callable[[float], None]) -> None:
    """Each makes one instant due, an hour after the one before, and comes a second after it."""
    arrears, limits = Arrears(), Limits(milliseconds=1_000)

    def push(second: int, seconds: float) -> float:
        arrears.begin()
        work(seconds)
        arrears.end(3_600_000 * second, entry=second, arrival=1000 * second)
        return round(arrears.pushed, 3)

    assert [push(second, 3.0) for second in range(10, 14)] == [0, 2, 4, 6]
    arrears.begin()
    work(10.0)
    arrears.end(3_600_000 * 14, entry=14, arrival=None)
    assert arrears.pushed == 6, "nobody has pushed that"
    assert push(20, 0.5) == 0, "it has caught up"
    assert [push(second, 6.0) for second in range(21, 23)] == [5, 10] and arrears.seconds == 0
    arrears.check(limits)
    assert push(23, 1.5) == 10.5
    with pytest.raises(TooMuch, match="^its answers take longer than the time between the pushes .* 10 s is the limit"):
        arrears.check(limits)
