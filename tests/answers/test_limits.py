from __future__ import annotations

import pytest

from csparql_spark.answers import processor
from csparql_spark.answers.limits import Deadline, Debt, Limits, TooManyRows, TooMuch, size


def test_limits_of_an_environment() -> None:
    assert Limits.from_environment(
        {"CSPARQL_SPARK_MOST_ROWS": "7", "CSPARQL_SPARK_MOST_BYTES": " 90 ", "CSPARQL_SPARK_MOST_MILLISECONDS": ""}
    ) == Limits(rows=7, bytes=90)
    assert Limits.from_environment({}) == Limits()


@pytest.mark.parametrize("value", ["0", "-1", "1e3", "many", "²"])
def test_what_is_no_limit(value: str) -> None:
    with pytest.raises(ValueError, match=f"^CSPARQL_SPARK_MOST_ROWS is {value!r}: write a whole number, 1 or more$"):
        Limits.from_environment({"CSPARQL_SPARK_MOST_ROWS": value})


def test_what_is_within_them_passes() -> None:
    limits = Limits(rows=2, milliseconds=60_000, bytes=2048)
    limits.check_rows(2)
    limits.check_bytes(2048, "they")
    Deadline(limits).check()
    with pytest.raises(TooManyRows, match="^the answer has more than 2 triples, which is the limit for one instant$"):
        limits.check_rows(3, "triples")
    with pytest.raises(TooMuch, match="^they need 3 KiB, and a query may have 2 KiB: choose a narrower RANGE, or ask"):
        limits.check_bytes(3072, "they")
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
    times = iter([processor.Time(0.0, 0.0), processor.Time(worked, passed), processor.Time(worked, passed)])
    monkeypatch.setattr(processor, "now", times.__next__)
    deadline = Deadline(Limits(milliseconds=1_000))
    assert deadline.took == took
    if sentence is None:
        deadline.check()
    else:
        with pytest.raises(TooMuch, match=f"^{sentence}"):
            deadline.check()


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


def test_sizes() -> None:
    assert [size(count) for count in (0, 1023, 1024, 5 << 20, 3 << 29)] == [
        "0 bytes",
        "1,023 bytes",
        "1 KiB",
        "5 MiB",
        "1.5 GiB",
    ]
