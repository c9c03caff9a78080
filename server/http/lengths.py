"""Lengths of time in requests: `5000` (ms), `"5s"`, `"500 ms"` or `"PT5S"`, as in the language.

For example:

    length_of_time("delay", "5s")       # 5000
    remark("delay", "5")                # The delay 5 has no unit, and is taken for 5 ms. Write 5s if seconds are meant.
"""

from __future__ import annotations

import re

from csparql_spark.language.durations import LONGEST, DurationProblem, iso_milliseconds, milliseconds
from csparql_spark.server.http.problems import Problem

_WITH_UNIT = re.compile(r"([0-9]+)\s*([A-Za-z]+)")


def length_of_time(setting: str, value: object) -> int:
    """Milliseconds; 0 is allowed. Raises `Problem`."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LONGEST:
        return value
    if isinstance(value, str):
        text = value.strip()
        if text.isascii() and text.isdigit() and len(text) < 16 and int(text) <= LONGEST:
            return int(text)
        match = _WITH_UNIT.fullmatch(text)
        try:
            if match:
                nothing = not match[1].strip("0") and milliseconds("1", match[2])  # of a unit that exists
                return 0 if nothing else milliseconds(match[1], match[2])
            return iso_milliseconds(text)
        except DurationProblem as problem:
            reason = " ".join(filter(None, (problem.message, problem.hint)))
            raise Problem("bad-setting", f"The {setting} cannot be read: {reason}") from None
    raise Problem("bad-setting", f'The {setting} {value!r} is not a length of time: write 5000 (milliseconds) or "5s".')


def remark(setting: str, value: object) -> str | None:
    """What there is to say of a length that was understood: that of a text without a unit may be another one than was
    meant. Numbers of JSON are written by programs, which know what they count."""
    if isinstance(value, str) and value.strip().isdecimal() and int(value):
        text = value.strip()
        return f"The {setting} {text} has no unit, and is taken for {text} ms. Write {text}s if seconds are meant."
    return None
