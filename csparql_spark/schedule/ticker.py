"""The ticker: writes a tick into the log when an instant of some registered query has passed on the arrival clock.

Without ticks a window would close only when somebody pushes, and "all sensors are silent" would never be said. It
sleeps until the next instant is due, and for ever when no query reads a stream on the arrival clock, or all that do are
paused: an idle server is idle. An instant t has passed when the clock reads t + 1 or more; the tick at t tells the log
that no later entry is stamped t or earlier.

    ticker = Ticker(registry, writer).start()
    ticker.changed()          # after a query was registered, paused, resumed or deleted
"""

from __future__ import annotations

import sys
import threading
import time
from typing import NamedTuple

from csparql_spark.disk import StoreError
from csparql_spark.language import LanguageError
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log import Draft, LogWriter
from csparql_spark.store import QueryRecord, Registry
from csparql_spark.windows.grid import Grid
from csparql_spark.windows.rule import grid_of

RETRY_SECONDS = 1.0
LOOK_SECONDS = 1.0           # its longest sleep: meanwhile the machine may have slept, or somebody have set the clock


class Timetable(NamedTuple):
    """What matters of a query: what it reads, how often it has an instant, and whether it begins paused."""

    streams: frozenset[str]
    steps: tuple[int, ...]
    paused: bool = False


class Ticker:
    def __init__(self, registry: Registry, writer: LogWriter) -> None:
        self._registry, self._writer = registry, writer
        self._change = threading.Condition()
        self._changed = False
        self._asked: dict[int, Timetable] = {}       # by the place of the registration
        self._due: tuple[Grid, int] | None = None       # the instants, and one after which the next is due
        self._running = True
        self._thread = threading.Thread(target=self._run, name="ticker", daemon=True)

    def start(self) -> Ticker:
        self._thread.start()
        return self

    def overdue(self, now: int) -> int:
        """How long ago, in ms, an instant has passed whose tick is not in the log; 0 if there is none."""
        due = self._due
        if due is None:
            return 0
        grid, ticked = due
        return max(0, now - 1 - grid.after(ticked))

    def changed(self) -> None:
        with self._change:
            self._changed = True
            self._change.notify()

    def stop(self) -> None:
        with self._change:
            self._running = False
            self._change.notify()
        self._thread.join()

    def _run(self) -> None:
        grid = self.instants()
        # Instants that passed while nobody was there are made up for at once.
        begun = self._writer.clock.now() - 1
        ticked = begun if grid is None else 0
        self._due = None if grid is None else (grid, begun)
        while True:
            with self._change:
                if self._running and not self._changed:
                    self._change.wait(self._pause(grid, ticked))
                if not self._running:
                    return
                changed, self._changed = self._changed, False
            try:
                if changed:
                    grid = self.instants()
                passed = self._writer.clock.now() - 1
                if changed:
                    # Who comes now has waited for none of the instants before.
                    waits = self._due is not None and self._due[0].after(self._due[1]) <= passed
                    self._due = None if grid is None else (grid, self._due[1] if waits else passed)
                if grid is not None and grid.after(ticked) <= passed:
                    ticked = self._writer.append(Draft("tick", at=passed)).at
                    self._due = grid, ticked
            except StoreError as error:
                print(f"csparql-spark: no tick was written: {error}", file=sys.stderr, flush=True)
                self._changed = True        # look again at everything, after a moment
                time.sleep(RETRY_SECONDS)

    def _pause(self, grid: Grid | None, ticked: int) -> float | None:
        """How long to sleep until the next instant: for ever if there is none, and a second at most if there is one,
        because wall clocks jump and machines sleep."""
        if grid is None:
            return None
        return min(LOOK_SECONDS, (grid.after(ticked) + 1 - self._writer.clock.now()) / 1000)

    def instants(self) -> Grid | None:
        """The instants of all queries that read a stream on the arrival clock and are not paused."""
        event = {stream.iri for stream in self._registry.streams() if stream.clock != "arrival"}
        # Of thousands that are known, only what turns is looked at again: one of them may come each millisecond.
        for record in self._registry.queries(after=max(self._asked, default=0)):
            self._asked[record.id] = _asked(record)
        turns = self._registry.turns()
        self._asked = {id: self._asked[id] for id in turns if id in self._asked}
        going = {asked for id, asked in self._asked.items() if not (asked.paused if turns[id] is None else turns[id])}
        steps = {step for asked in going if not asked.streams <= event for step in asked.steps}
        return Grid(tuple(sorted(steps))) if steps else None


def _asked(record: QueryRecord) -> Timetable:
    try:
        query = read(record.text, record.base, record.compiled)
    except LanguageError:
        return Timetable(frozenset(), ())           # the engine says of this query that it cannot be read
    grid, streams = grid_of(query), frozenset(window.stream for window in query.windows)
    return Timetable(streams, () if grid is None else grid.steps, record.paused)
