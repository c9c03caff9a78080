"""Zones: which points in time can be compared at all, when some are given with a time zone and others without one.

A point without a zone may be meant in any zone, from 14 hours before UTC to 14 hours behind it. So beside one with a
zone it is earlier or later only where the two are further apart than that; closer, nobody can say whether they are
equal, and each comparison of them is an error. XML Schema says so of dates and times of any precision:

    ──────────┬─────────[ 14 h ──── 09:00 ──── 14 h ]─────────┬──────────
            earlier        =, !=, <, > are errors            later

    comparable('"2006-08-23"^^<…#date>', '"2006-08-23Z"^^<…#date>')      # False: `=` and `!=` are errors
    comparable('"2006-08-23"^^<…#date>', '"2006-08-25Z"^^<…#date>')      # True: `!=` is true
    comparable('"2006-08-23"^^<…#date>', '"2006-08-23"^^<…#date>')       # True: both have no zone

Terms are not concerned: DISTINCT, GROUP BY, sameTerm and patterns go by equal terms, ORDER BY, MIN and MAX by the order
of all terms (see `order`).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from csparql_spark.rdf.terms import XSD, parse
from csparql_spark.remembering import remembered

APART = 14 * 3600  # seconds: no zone is further from UTC

_YEAR, _MONTH, _DAY = "(?P<year>-?(?:[1-9][0-9]{4,17}|[0-9]{4}))", "(?P<month>[0-9]{2})", "(?P<day>[0-9]{2})"
_CLOCK = r"(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}):(?P<seconds>[0-9]{2}(?:\.[0-9]{1,18})?)"
_ZONE = r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?"
_SHAPES = {
    f"{XSD}{name}": re.compile(shape + _ZONE)
    for name, shape in {
        "dateTime": f"{_YEAR}-{_MONTH}-{_DAY}T{_CLOCK}",
        "date": f"{_YEAR}-{_MONTH}-{_DAY}",
        "time": _CLOCK,
        "gYear": _YEAR,
        "gYearMonth": f"{_YEAR}-{_MONTH}",
        "gMonth": f"--{_MONTH}",
        "gMonthDay": f"--{_MONTH}-{_DAY}",
        "gDay": f"---{_DAY}",
    }.items()
}
_SHAPES[f"{XSD}dateTimeStamp"] = _SHAPES[f"{XSD}dateTime"]
_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)  # days, in a year of 365

DATATYPES = frozenset(_SHAPES)


class TimePoint(NamedTuple):
    """A point in time: what it is one of, its seconds (in UTC, where it has a zone), and whether it has a zone."""

    shape: re.Pattern[str]
    seconds: Fraction
    zoned: bool


def comparable(first: str, second: str) -> bool:
    """Whether it can be said how the values of two terms compare, as far as their zones are concerned."""
    return are_comparable(point(first), point(second))


def are_comparable(one: TimePoint | None, other: TimePoint | None) -> bool:
    if one is None or other is None or one.zoned == other.zoned or one.shape is not other.shape:
        return True
    return abs(one.seconds - other.seconds) > APART


@remembered
def point(term: str) -> TimePoint | None:
    """The point in time of a term; None if it is none."""
    _, text, datatype, *_ = parse(term)
    shape = None if datatype is None else _SHAPES.get(datatype)  # only literals have one
    if shape is None or (match := shape.fullmatch(text)) is None:
        return None
    # What a datatype leaves out is the same for all its points: those of a leap year, so that 29 February is there.
    fields = {
        "year": "1972",
        "month": "1",
        "day": "1",
        "hours": "0",
        "minutes": "0",
        "seconds": "0",
        **{name: part for name, part in match.groupdict().items() if part is not None},
    }
    month = int(fields["month"])
    if not 1 <= month <= 12:
        return None
    hours = 0 if fields["hours"] == "24" and "year" not in match.re.groupindex else int(fields["hours"])
    days = _days(int(fields["year"]), month, int(fields["day"]))
    seconds = 60 * (60 * (24 * days + hours) + int(fields["minutes"])) + Fraction(fields["seconds"])
    zone = match["zone"]
    if zone is None:
        return TimePoint(shape, seconds, False)
    if zone == "Z":
        return TimePoint(shape, seconds, True)
    east = 60 * (60 * int(zone[1:3]) + int(zone[4:]))
    return TimePoint(shape, seconds - east if zone[0] == "+" else seconds + east, True)


def _days(year: int, month: int, day: int) -> int:
    """The days before a day, from the first of year 0 of the calendar that goes on for ever in both directions."""
    last = year - 1
    leap = month > 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 365 * year + last // 4 - last // 100 + last // 400 + _BEFORE_MONTH[month - 1] + leap + day
