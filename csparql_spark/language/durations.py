"""Lengths of time as texts write them, in whole milliseconds.

A number with a unit (`500ms`, `10 sec`, `2h`) or an ISO 8601 duration (`PT0.5S`, `P1DT2H`). Units are lower case, and
`m` is always the minute. Months and years have no fixed length and are refused.

    milliseconds("10", "sec")   ->  10000
    iso_milliseconds("PT1M30S") ->  90000
    in_words(90_000)            ->  '1 min 30 s'
    shortest(90_000)            ->  '90s'
"""

from __future__ import annotations

import re

UNITS = {
    "ms": 1,
    "msec": 1,
    "millisecond": 1,
    "milliseconds": 1,
    "s": 1000,
    "sec": 1000,
    "secs": 1000,
    "second": 1000,
    "seconds": 1000,
    "m": 60_000,
    "min": 60_000,
    "mins": 60_000,
    "minute": 60_000,
    "minutes": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "hours": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "days": 86_400_000,
}

# The longest window: a century. It keeps every sum of instants and ranges far inside 64 bits.
LONGEST = 100 * 366 * 86_400_000

_ISO = re.compile(
    r"P(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?P<time>T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)(?:\.(?P<fraction>\d+))?S)?)?",
    re.ASCII,
)
_ISO_PARTS = {"weeks": 7 * 86_400_000, "days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000}


class DurationProblem(Exception):
    """Why a text is no length of time: code, message, hint, and what to write instead."""

    def __init__(self, code: str, message: str, hint: str | None = None, instead: str | None = None) -> None:
        super().__init__(code, message, hint, instead)
        self.code = code
        self.instead = instead  # what to write for the unit, or for an ISO 8601 duration
        self.message = message
        self.hint = hint


def milliseconds(number: str, unit: str) -> int:
    """The length of `number` times `unit`."""
    if unit not in UNITS:
        raise _unit_problem(number, unit)
    return _bounded(_integer(number) * UNITS[unit], f"{number}{unit}")


def iso_milliseconds(text: str) -> int:
    """The length of an ISO 8601 duration."""
    match = _ISO.fullmatch(text)
    if match is None and _ISO.fullmatch(text.upper()):
        raise DurationProblem(
            "bad-duration",
            f'"{text}" is not a duration.',
            f"ISO durations are upper case: write {text.upper()}.",
            text.upper(),
        )
    if match is None or text == "P" or match["time"] == "T":
        raise DurationProblem(
            "bad-duration", f'"{text}" is not a duration.', "Write a number and a unit (10s, 5m) or PT10S."
        )
    if match["years"] or match["months"]:
        raise DurationProblem(
            "bad-duration",
            f'"{text}" has no fixed length: months and years differ.',
            "Write days instead; minutes come after the T (PT5M).",
        )
    total = sum(_integer(match[part] or "0") * size for part, size in _ISO_PARTS.items())
    fraction = (match["fraction"] or "").rstrip("0")
    if len(fraction) > 3:
        raise DurationProblem(
            "bad-duration", f'"{text}" is finer than a millisecond.', "Three digits after the point are the most."
        )
    return _bounded(total + int(fraction.ljust(3, "0")), text)


def shortest(length: int) -> str:
    """A length as `parse` reads it back: one number, the largest unit that divides it."""
    for unit in ("d", "h", "m", "s"):
        if length and length % UNITS[unit] == 0:
            return f"{length // UNITS[unit]}{unit}"
    return f"{length}ms"


def in_words(length: int) -> str:
    """A length for people: its parts, largest first."""
    parts: list[str] = []
    for unit, word in (("d", "d"), ("h", "h"), ("m", "min"), ("s", "s"), ("ms", "ms")):
        count, length = divmod(length, UNITS[unit])
        if count:
            parts.append(f"{count} {word}")
    return " ".join(parts) or "0 s"


def _integer(digits: str) -> int:
    if len(digits) > 15:
        raise DurationProblem("bad-duration", "This length of time is too large.", "A century is the longest.")
    return int(digits)


def _bounded(length: int, text: str) -> int:
    if length == 0:
        raise DurationProblem("zero-duration", f'"{text}" is no time at all.', "A duration is at least 1ms.")
    if length > LONGEST:
        raise DurationProblem("bad-duration", f'"{text}" is longer than a century.', "A century is the longest.")
    return length


def _unit_problem(number: str, unit: str) -> DurationProblem:
    message = f'"{unit}" is not a unit of time.'
    if unit == "M":
        hint = f"Minutes are lower case: write {number}m. Months have no fixed length."
        return DurationProblem("bad-unit", message, hint, "m")
    if unit.lower() in UNITS:
        right = unit.lower()
        return DurationProblem("bad-unit", message, f"Units are lower case: write {number}{right}.", right)
    return DurationProblem("bad-unit", message, "Write one of ms, s, m (minutes), h, d.")
