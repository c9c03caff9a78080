"""Early batches: which tick of the arrival clock comes next, and when a batch is begun for it before it is there.

Spark needs longer to begin a batch than a group needs to answer. Instants are known before they pass, so a batch is
begun a little earlier, up to a tick that is not written yet, and its reader waits for it in the log (see
`store.batch_ends`):

    instants        ─────────────t────────────────────t───▶
    begun at its tick            tick ├─begins─┤answers
    begun before           ├─begins─┤ tick ├answers

Nothing hangs on it but when an answer is told: where a batch ends changes no answer, and a tick that does not come ends
the waiting all the same. No batch is begun so where something has passed already, or where much is waiting.

    early = EarlyBatches(router)
    early.tick(outline, now)       # the instant whose tick a batch is begun for now; None: for none
"""

from __future__ import annotations

from collections.abc import Sequence

from csparql_spark.log import Entry
from csparql_spark.schedule.routing import Router
from csparql_spark.windows.grid import Grid

LEAD_MS = 120  # about what passes until the reader of a batch that is begun now looks into the log
LATEST_MS = 200  # a tick that is not there by then is not waited for any longer
MOST_ENTRIES = 2000  # with so many that wait already, the first of them are answered first
MOST_ROWS = 100_000


class EarlyBatches:
    def __init__(self, router: Router) -> None:
        self._router = router
        self._version: int | None = None  # of the router, for which the grid is
        self._grid: Grid | None = None
        self._ticked: int | None = None  # the newest tick that was seen
        self._begun: int | None = None  # the newest instant that a batch was begun for

    def tick(self, outline: Sequence[Entry], now: int) -> int | None:
        """The instant whose tick a batch is to be begun for at `now`. `outline`: what waits in the log."""
        if self.see(outline) or (next := self._next(now)) is None or now < next - LEAD_MS:
            return None
        if len(outline) > MOST_ENTRIES or sum(entry.rows for entry in outline) > MOST_ROWS:
            return None
        self._begun = next
        return next

    def see(self, outline: Sequence[Entry]) -> bool:
        """Note the ticks among these entries; whether there are any."""
        ticks = [entry.at for entry in outline if entry.kind == "tick" and entry.subject is None]
        if ticks:
            self._ticked = ticks[-1]
        return bool(ticks)

    def pause(self, now: int) -> int | None:
        """In how many ms a batch may be begun for a tick; None: as far as is known, never."""
        next = self._next(now)
        return None if next is None else max(0, next - LEAD_MS - now)

    def _next(self, now: int) -> int | None:
        grid = self._arrival_grid()
        if grid is None:
            return None
        next = grid.at_or_after(now) if self._ticked is None else grid.after(self._ticked)
        if next < now - LATEST_MS:  # whoever writes ticks does not do so
            next = grid.at_or_after(now)
        return next if self._begun is None or next > self._begun else grid.after(self._begun)

    def _arrival_grid(self) -> Grid | None:
        """The instants that ticks are written for (see `ticker`)."""
        if self._version != self._router.version:
            self._version = self._router.version
            steps = {
                step
                for routed in self._router.queries.values()
                if routed.grid is not None
                and not routed.paused
                and any(self._router.clock(stream)["kind"] == "arrival" for stream in routed.streams)
                for step in routed.grid.steps
            }
            self._grid = Grid(tuple(sorted(steps))) if steps else None
        return self._grid
