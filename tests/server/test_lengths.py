"""Lengths of time in requests."""

from __future__ import annotations

import pytest

from csparql_spark.language.durations import LONGEST
from csparql_spark.server.http.lengths import length_of_time, remark
from csparql_spark.server.http.problems import Problem


@pytest.mark.parametrize(
    "value, expected",
    [
        (0, 0),
        (5000, 5000),
        (LONGEST, LONGEST),
        ("5000", 5000),
        ("5s", 5000),
        (" 5 s ", 5000),
        ("500ms", 500),
        ("2h", 7_200_000),
        ("0s", 0),
        ("00ms", 0),
        ("PT0.25S", 250),
        ("P1D", 86_400_000),
    ],
)
def test_lengths(value: object, expected: int) -> None:
    assert length_of_time("delay", value) == expected


@pytest.mark.parametrize(
    "value, said",
    [
        (-1, 'The delay -1 is not a length of time: write 5000 (milliseconds) or "5s".'),
        (True, 'The delay True is not a length of time: write 5000 (milliseconds) or "5s".'),
        (1.5, 'The delay 1.5 is not a length of time: write 5000 (milliseconds) or "5s".'),
        (None, 'The delay None is not a length of time: write 5000 (milliseconds) or "5s".'),
        (LONGEST + 1, f'The delay {LONGEST + 1} is not a length of time: write 5000 (milliseconds) or "5s".'),
        ("5S", 'The delay cannot be read: "S" is not a unit of time. Units are lower case: write 5s.'),
        ("0x", 'The delay cannot be read: "x" is not a unit of time. Write one of ms, s, m (minutes), h, d.'),
        ("soon", 'The delay cannot be read: "soon" is not a duration. Write a number and a unit (10s, 5m) or PT10S.'),
        ("-5s", 'The delay cannot be read: "-5s" is not a duration. Write a number and a unit (10s, 5m) or PT10S.'),
        (
            "9" * 20,
            f'The delay cannot be read: "{"9" * 20}" is not a duration. Write a number and a unit (10s, 5m) or PT10S.',
        ),
        ("99999d", 'The delay cannot be read: "99999d" is longer than a century. A century is the longest.'),
    ],
)
def test_what_is_none(value: object, said: str) -> None:
    with pytest.raises(Problem) as caught:
        length_of_time("delay", value)
    assert (caught.value.code, caught.value.detail) == ("bad-setting", said)


@pytest.mark.parametrize("value, number", [("2", "2"), (" 2 ", "2"), ("2000", "2000"), ("020", "020")])
def test_a_text_without_a_unit_is_remarked_on(value: str, number: str) -> None:
    assert remark("delay", value) == (
        f"The delay {number} has no unit, and is taken for {number} ms. Write {number}s if seconds are meant."
    )


@pytest.mark.parametrize("value", [2, 0, None, "0", "00", "2s", "2 ms", "PT2S", ""])
def test_of_a_length_that_is_clear_there_is_nothing_to_say(value: object) -> None:
    assert remark("delay", value) is None
