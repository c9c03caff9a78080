"""Moment: from where a query is looked at: its instant, how far the log has come, and since when it looks.

    log      ──1──2──3──4──5──6──7──▶        since 2, seq 6: entries 3 to 6 are seen
    time     ────────────t─────────▶         instant t: windows close at t

Invariant: what windows hold at a moment is a function of the log up to `seq`; two looks at one moment see the same.

A graph that several look at has moved to where its clock stands (`ClockReading`): that of time reads the instant, that
of a window that counts how many elements it has passed.

    now = Moment(since=2, instant=17_000, seq=6)
    now.shared()                    # Moment(since=0, …): what is seen by everybody, whenever they came
"""

from __future__ import annotations

from typing import NamedTuple


class ClockReading(NamedTuple):
    """Where a graph's clock stands, and how far the log had come then."""

    clock: int
    seq: int


class Moment(NamedTuple):
    """An instant of a query that sees what was logged after the place `since`, where the log stands at `seq`."""

    since: int
    instant: int
    seq: int

    def shared(self) -> Moment:
        """The same for who sees all that the log says."""
        return self._replace(since=0)
