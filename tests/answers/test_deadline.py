"""The time of an answer: the processor's, and a tenth of the clock's."""

from __future__ import annotations

import pytest

from csparql_spark import processor_time
from csparql_spark.answers.deadline import Deadline
from csparql_spark.answers.limits import Limits, TooMuch


def test_a_deadline_is_over_when_the_limit_is() -> None:
    Deadline(Limits(milliseconds=60_000)).check()
    with pytest.raises(TooMuch, match="^its answer takes longer than 0 s of processor time, which is the limit, "):
        Deadline(Limits(milliseconds=0)).check()


@pytest.mark.parametrize(
    ("worked", "passed", "took", "sentence"),
    [
        (0.9, 9.9, 0.99, None),  # a busy machine is no reason
        (0.999, 0.5, 0.999, None),
        (
            1.0,
            1.0,
            1.0,
            "its answer takes longer than 1 s of processor time, which is the limit, since the others wait ",
        ),
        (
            1.0,
            50.0,
            5.0,
            "its answer takes longer than 1 s of processor time, which is the limit, since the others wait ",
        ),
        (
            0.2,
            10.0,
            1.0,
            "its answer takes longer than 10 s on the clock, 10 times the processor time that it may have",
        ),
    ],
)
def test_the_processor_decides_and_the_clock_has_patience(
    monkeypatch: pytest.MonkeyPatch, worked: float, passed: float, took: float, sentence: str | None
) -> None:
    times = iter(
        [processor_time.Time(0.0, 0.0), processor_time.Time(worked, passed), processor_time.Time(worked, passed)]
    )
    for name in ("now", "lately"):
        monkeypatch.setattr(processor_time, name, times.__next__)
    deadline = Deadline(Limits(milliseconds=1_000))
    assert deadline.took == took
    if sentence is None:
        deadline.check()
    else:
        with pytest.raises(TooMuch, match=f"^{sentence}"):
            deadline.check()
