"""Times: what Python has for an instant, in milliseconds since 1970.

    milliseconds(datetime(2026, 1, 1, 12, tzinfo=timezone.utc))      # 1767268800000
    milliseconds("2026-01-01T12:00:00Z")                             # the same; without a zone it is UTC, as in pushes
    milliseconds(1767268800000)                                      # the same

A datetime without a time zone is refused: what it means would depend on the machine. What is below the millisecond is
cut off, towards the past.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

Time = int | float | str | datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(value: Time) -> int:
    """Raises `ValueError` with a sentence."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(
                f"{value!r} has no time zone: give it one, as in value.replace(tzinfo=datetime.timezone.utc)"
            )
        return (value - _EPOCH) // _MILLISECOND
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return math.floor(value)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            pass
        else:
            return milliseconds(moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc))
    if hasattr(value, "__index__") and not isinstance(value, bool):  # numbers of others, as numpy's
        return int(value)
    raise ValueError(
        f"{value!r} is no instant: use a datetime with a time zone, an ISO time like "
        "2026-01-01T12:00:00Z, or milliseconds since 1970"
    )


def place(value: Time, *words: str) -> str:
    """An instant, or one of some words, as it is asked for in a URL."""
    return value if isinstance(value, str) and value in words else str(milliseconds(value))
