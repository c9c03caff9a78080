from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.language.durations import (
    LONGEST,
    UNITS,
    DurationProblem,
    in_words,
    iso_milliseconds,
    milliseconds,
    shortest,
)

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("units", "size"),
    [
        ("ms msec millisecond milliseconds", 1),
        ("s sec secs second seconds", SECOND),
        ("m min mins minute minutes", MINUTE),
        ("h hour hours", HOUR),
        ("d day days", DAY),
    ],
)
def test_every_spelling_of_a_unit(units: str, size: int) -> None:
    assert {unit: milliseconds("3", unit) for unit in units.split()} == dict.fromkeys(units.split(), 3 * size)


def test_no_unit_is_forgotten() -> None:
    assert len(UNITS) == 4 + 5 + 5 + 3 + 3


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("PT10S", 10 * SECOND),
        ("PT0.5S", 500),
        ("PT0.050S", 50),
        ("PT1M30S", 90 * SECOND),
        ("PT2H", 2 * HOUR),
        ("P1D", DAY),
        ("P1DT0H", DAY),
        ("P2W", 14 * DAY),
        ("P1DT2H3M4.005S", DAY + 2 * HOUR + 3 * MINUTE + 4005),
    ],
)
def test_iso_durations(text: str, length: int) -> None:
    assert iso_milliseconds(text) == length


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("P", "bad-duration"),
        ("PT", "bad-duration"),
        ("P1DT", "bad-duration"),
        ("P1M", "bad-duration"),
        ("P1Y", "bad-duration"),
        ("PT10s", "bad-duration"),
        ("PT1.0005S", "bad-duration"),
        ("PT0S", "zero-duration"),
        ("P99999D", "bad-duration"),
        ("PT9999999999999999S", "bad-duration"),
        ("tomorrow", "bad-duration"),
        ("P\u0661D", "bad-duration"),
    ],
)
def test_what_is_no_iso_duration(text: str, code: str) -> None:
    with pytest.raises(DurationProblem) as caught:
        iso_milliseconds(text)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("number", "unit", "code", "hint"),
    [
        ("10", "S", "bad-unit", "Units are lower case: write 10s."),
        ("10", "Sec", "bad-unit", "Units are lower case: write 10sec."),
        ("5", "M", "bad-unit", "Minutes are lower case: write 5m. Months have no fixed length."),
        ("5", "years", "bad-unit", "Write one of ms, s, m (minutes), h, d."),
        ("0", "s", "zero-duration", "A duration is at least 1ms."),
        ("000", "d", "zero-duration", "A duration is at least 1ms."),
        ("9" * 5000, "s", "bad-duration", "A century is the longest."),
        ("36601", "d", "bad-duration", "A century is the longest."),
    ],
)
def test_what_is_no_duration(number: str, unit: str, code: str, hint: str) -> None:
    with pytest.raises(DurationProblem) as caught:
        milliseconds(number, unit)
    assert (caught.value.code, caught.value.hint) == (code, hint)


def test_the_longest_duration_is_one() -> None:
    assert milliseconds("36600", "d") == LONGEST


@given(st.integers(1, LONGEST))
def test_the_shortest_text_is_read_back(length: int) -> None:
    text = shortest(length)
    digits = text.rstrip("dhms")
    assert milliseconds(digits, text[len(digits) :]) == length


@pytest.mark.parametrize(
    ("length", "text", "words"),
    [
        (1, "1ms", "1 ms"),
        (500, "500ms", "500 ms"),
        (90_000, "90s", "1 min 30 s"),
        (3_600_000, "1h", "1 h"),
        (90_000_000, "25h", "1 d 1 h"),
        (86_461_001, "86461001ms", "1 d 1 min 1 s 1 ms"),
    ],
)
def test_texts_and_words(length: int, text: str, words: str) -> None:
    assert (shortest(length), in_words(length)) == (text, words)
