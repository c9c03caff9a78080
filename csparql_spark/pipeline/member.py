"""A member: one registered query in its group, with its plan, its progress and the instant it will answer next.

    registered ──▶ waiting for its first instant ──▶ answering ──▶ failed (with a reason; the others go on)

A member sees only elements logged after it (`id` is the place of its registration). Everything that changes is in
`state()`, which is kept between batches: after `Member(told, at).restore(state)` it is the same member.
"""

from __future__ import annotations

import json

from csparql_spark.answers.plan import plan
from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.pipeline.admission import read
from csparql_spark.windows.grid import Grid
from csparql_spark.windows.progress import Clock, Progress

MOST_INSTANTS = 200_000      # a step of one second, and silence for more than two days

CHANGING = ("arrival", "event", "first", "late")      # the fields of Progress that entries change


class TooManyInstants(Exception):
    """A clock has jumped over more instants than can be answered at once."""


class Member:
    def __init__(self, told: dict[str, object], at: int) -> None:
        """`told` is what routing says of a registration; `at` its arrival stamp."""
        self.told = told
        self.id: int = told["id"]
        self.query: ContinuousQuery = read(told["text"], told["base"])
        self.plan = plan(self.query)
        self.window: Window = self.query.windows[0]
        self.grid = Grid((self.window.step,))
        clocks = {stream: Clock(**clock) for stream, clock in told["clocks"].items()}
        self.progress = Progress.begin(at=at, clocks=clocks)
        self.next: int | None = None
        self.failed: str | None = None

    @classmethod
    def read(cls, payload: bytes, at: int) -> Member:
        return cls(json.loads(payload), at)

    def due(self) -> list[int]:
        """The instants that have passed and are not answered yet; they count as answered from now on. `TooManyInstants`
        if a clock has jumped too far."""
        if self.next is None:
            start = self.progress.start()
            if start is None:
                return []
            self.next = self.grid.at_or_after(start)
        passed = self.progress.passed
        most = self.grid.most_between(self.next, passed)
        if most > MOST_INSTANTS:
            raise TooManyInstants(
                f"the clock has moved from {self.next} to {passed} at once, which is {most:,} instants of this query, "
                f"and at most {MOST_INSTANTS:,} are answered at once: delete the query and register it "
                "again (over a new stream, if a wrong timestamp was the reason)")
        instants = list(self.grid.between(self.next, passed))
        if instants:
            self.next = self.grid.after(instants[-1])
        return instants

    def horizon(self) -> int | None:
        """Elements stamped this or earlier are not seen again by this query; None while that is not known."""
        return None if self.next is None else self.next - self.window.range

    def state(self) -> dict[str, object]:
        progress = self.progress
        return {"registered": progress.registered, "next": self.next, "failed": self.failed,
                "progress": {name: getattr(progress, name) for name in CHANGING}}

    def restore(self, state: dict[str, object]) -> None:
        self.next, self.failed = state["next"], state["failed"]
        for name, value in state["progress"].items():
            setattr(self.progress, name, value)
