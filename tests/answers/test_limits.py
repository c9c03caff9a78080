from __future__ import annotations

import pytest

from csparql_spark.answers.limits import Limits, TooManyRows, TooMuch, size


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
    with pytest.raises(
        TooManyRows,
        match="^the answer has more than 2 triples, which is the limit for one instant: add a LIMIT or a FILTER$",
    ):
        limits.check_rows(3, "triples")
    with pytest.raises(TooMuch, match="^they need 3 KiB, and a query may have 2 KiB: choose a narrower RANGE, or ask"):
        limits.check_bytes(3072, "they")


def test_sizes() -> None:
    assert [size(count) for count in (0, 1023, 1024, 5 << 20, 3 << 29)] == [
        "0 bytes",
        "1,023 bytes",
        "1 KiB",
        "5 MiB",
        "1.5 GiB",
    ]
