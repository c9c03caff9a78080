"""Limits: what one query may have, so that it takes nothing from the others. Over a limit it fails, by name.

    Limits()                                        # what is meant where nobody has said anything
    Limits(rows=50_000, milliseconds=2_000)
    Limits.from_environment(os.environ)             # CSPARQL_SPARK_MOST_ROWS, …_MILLISECONDS, …_BYTES

Limits are handed down: the processor of a group is given them, and its queries fail with `TooMuch`, whose text says
which limit it was and what to do. `Deadline` is the time that is left of an answer that has been begun. `Debt` is what
answers took that were each in time, and together keep the others waiting for ever.

Time is that of the processor: what else the machine does is no reason to end a query. The clock counts for a tenth of
it, so that an answer that waits for something, or gets next to nothing of a processor, comes to an end, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from csparql_spark.answers import processor

PATIENCE = 10  # seconds on the clock for each second of the processor
PREFIX = "CSPARQL_SPARK_MOST_"


class TooMuch(Exception):
    """A query needs more than it may have."""


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
            raise TooManyRows(f"the answer has more than {self.rows:,} {what}, which is the limit for one instant")

    def check_bytes(self, used: int, of: str) -> None:
        """`of` says of what so many bytes are."""
        if used > self.bytes:
            raise TooMuch(
                f"{of} need {size(used)}, and a query may have {size(self.bytes)}: choose a narrower RANGE, "
                "or ask for less"
            )

    @property
    def seconds(self) -> float:
        """Of the processor, for an answer."""
        return self.milliseconds / 1000

    @property
    def too_long(self) -> TooMuch:
        return TooMuch(
            f"its answer takes longer than {self.seconds:g} s of processor time, which is the limit, since "
            "the others wait for it: connect all parts of its pattern by variables, choose a narrower "
            "RANGE, or ask for less"
        )

    @property
    def too_long_on_the_clock(self) -> TooMuch:
        return TooMuch(
            f"its answer takes longer than {PATIENCE * self.seconds:g} s on the clock, {PATIENCE} times the "
            "processor time that it may have, and the others wait for it: the machine has too little time "
            "for it; ask for less, or give the server more processors"
        )


class Deadline:
    """The time that an answer may still take, in the thread that makes it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._begun = processor.now()

    @property
    def took(self) -> float:
        """Seconds of the processor so far, or a tenth of those on the clock, if that is more."""
        now = processor.now()
        return max(now.processor - self._begun.processor, (now.clock - self._begun.clock) / PATIENCE)

    def check(self) -> None:
        now = processor.now()
        if now.processor - self._begun.processor >= self.limits.seconds:
            raise self.limits.too_long
        if now.clock - self._begun.clock >= PATIENCE * self.limits.seconds:
            raise self.limits.too_long_on_the_clock


class Debt:
    """How far behind a query brings the others: what its answers took beyond the time between its instants.

    Answers that are soon there do not count, however close its instants are: those may be a machine's bad moment, or a
    recording's many instants, and are no reason to end a query.

        debt = Debt()
        debt.note(5_000, 3.0, limits)       # at the first instant nothing is expected yet
        debt.note(6_000, 3.0, limits)       # two seconds more than there are between the two
    """

    SOON = 1.0  # seconds

    def __init__(self) -> None:
        self.milliseconds = 0.0
        self._instant: int | None = None

    def note(self, instant: int, seconds: float, limits: Limits) -> None:
        """The answer of an instant took so long (see `Deadline.took`). `TooMuch` if that is too often so."""
        before, self._instant = self._instant, instant
        if before is not None:
            took = 1000 * seconds if seconds > self.SOON else 0.0
            self.milliseconds = max(0.0, self.milliseconds + took - (instant - before))
        if self.milliseconds > limits.milliseconds:
            raise TooMuch(
                f"its answers take longer than the time between them, and keep the others waiting for "
                f"{self.milliseconds / 1000:,.0f} s by now, where {limits.seconds:g} s is the "
                "limit: choose a larger STEP or a narrower RANGE, or ask for less"
            )


def size(count: float) -> str:
    """So many bytes, for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}"
        count /= 1024
    return f"{count:,.1f} GiB"
