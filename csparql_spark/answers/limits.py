"""Limits: what one query may have, so that it takes nothing from the others. Over a limit it fails, by name.

    Limits()                                        # what is meant where nobody has said anything
    Limits(rows=50_000, milliseconds=2_000)
    Limits.from_environment(os.environ)             # CSPARQL_SPARK_MOST_ROWS, …_MILLISECONDS, …_BYTES

Limits are handed down: the processor of a group is given them, and its queries fail with `TooMuch`, whose text says
which limit it was and what to do (see `excess`). The time of one answer is watched by `deadline`, that of many by
`arrears`.

Time is that of the processor: what else the machine does is no reason to end a query. The clock counts for a tenth of
it, so that an answer that waits for something, or gets next to nothing of a processor, comes to an end, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

PATIENCE = 10  # seconds on the clock for each second of the processor
PREFIX = "CSPARQL_SPARK_MOST_"


class TooMuch(Exception):
    """A query needs more than it may have."""


class Overloaded(TooMuch):
    """It has got less than it may have: the machine had too little for it, and at another time it may be done."""


class TooManyRows(TooMuch):
    """An answer is larger than what a query may give at one instant."""


@dataclass(frozen=True)
class Limits:
    """`rows`: of an answer at one instant; `milliseconds`: of the processor, for making it; `bytes`: of what is held
    for it."""

    rows: int = 1_000_000
    milliseconds: int = 10_000
    bytes: int = 1 << 30

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Limits:
        """The limits that an environment names, and the usual ones for the rest. `ValueError` says what is wrong."""
        chosen = {}
        for limit in fields(cls):
            name = f"{PREFIX}{limit.name.upper()}"
            text = environment.get(name, "").strip()
            if text:
                if not text.isascii() or not text.isdigit() or not int(text):
                    raise ValueError(f"{name} is {text!r}: write a whole number, 1 or more")
                chosen[limit.name] = int(text)
        return cls(**chosen)

    def check_rows(self, rows: int, what: str = "rows") -> None:
        if rows > self.rows:
            raise TooManyRows(
                f"the answer has more than {self.rows:,} {what}, which is the limit for one instant: add a LIMIT or a "
                "FILTER"
            )

    def check_bytes(self, used: int, of: str, count: int = 0) -> None:
        """`of` says of what so many bytes are, with `count` in its place."""
        if used > self.bytes:
            raise TooMuch(
                f"{of.format(count)} need {size(used)}, and a query may have {size(self.bytes)}: choose a narrower "
                "RANGE, or ask for less"
            )

    @property
    def seconds(self) -> float:
        """Of the processor, for an answer."""
        return self.milliseconds / 1000


UNLIMITED = Limits(rows=1 << 40, milliseconds=1_000_000_000, bytes=1 << 40)


def size(count: float) -> str:
    """So many bytes, for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}"
        count /= 1024
    return f"{count:,.1f} GiB"
