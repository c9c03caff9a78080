"""The ticker: writes a tick into the log when an instant of some registered query has passed on the arrival clock.

Without ticks a window would close only when somebody pushes, and "all sensors are silent" would never be said. It
sleeps until the next instant is due, and for ever when no query reads a stream on the arrival clock, or all that do are
paused: an idle server is idle. An instant t has passed when the clock reads t + 1 or more; the tick at t tells the log
that no later entry is stamped t or earlier.

    ticker = Ticker(registry, writer).start()
    ticker.changed()          # after a query was registered, paused, resumed or deleted
"""

from __future__ import annotations

from typing import NamedTuple

from csparql_spark.disk import StoreError
from csparql_spark.language import LanguageError
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log.contents import InstantPassed, draft_of
from csparql_spark.log.contract import WritableLog
from csparql_spark.store import QueryRecord, Registry
from csparql_spark.windows.grid import Grid
from csparql_spark.windows.rule import grid_of
from csparql_spark.worker_thread import Trouble, WorkerThread

RETRY_SECONDS = 1.0
LOOK_SECONDS = 1.0  # its longest sleep: meanwhile the machine may have slept, or somebody have set the clock


class Timetable(NamedTuple):
    """What matters of a query: what it reads, how often it has an instant, and whether it begins paused."""

    streams: frozenset[str]
    steps: tuple[int, ...]
    paused: bool = False


class Ticker:
    def __init__(self, registry: Registry, writer: WritableLog) -> None:
        self._registry, self._writer = registry, writer
        self._timetables: dict[int, Timetable] = {}  # by the place of the registration
        self._grid: Grid | None = None  # the instants there are
        self._ticked: int | None = None  # the newest tick; None: it has not looked yet
        self._due: tuple[Grid, int] | None = None  # the instants, and one after which the next is due
        self._worker = WorkerThread(
            "ticker", self._work, Trouble((StoreError,), "no tick was written", RETRY_SECONDS), pause=self._pause
        )

    def start(self) -> Ticker:
        self._worker.wake()
        self._worker.start()
        return self

    def overdue(self, now: int) -> int:
        """How long ago, in ms, an instant has passed whose tick is not in the log; 0 if there is none."""
        due = self._due
        if due is None:
            return 0
        grid, ticked = due
        return max(0, now - 1 - grid.after(ticked))

    def changed(self) -> None:
        self._worker.wake()

    def stop(self) -> None:
        self._worker.stop()

    def _work(self, changed: bool) -> None:
        """Write a tick if an instant has passed; `changed`: which instants there are may be something else now."""
        if changed:
            self._grid = self.instants()
        passed = self._writer.now() - 1
        if changed and self._ticked is None:
            # Instants that passed while nobody was there are made up for at once.
            self._ticked = passed if self._grid is None else 0
        if changed:
            # Who comes now has waited for none of the instants before.
            waits = self._due is not None and self._due[0].after(self._due[1]) <= passed
            since = self._due[1] if waits and self._due is not None else passed
            self._due = None if self._grid is None else (self._grid, since)
        if self._grid is not None and self._ticked is not None and self._grid.after(self._ticked) <= passed:
            self._ticked = self._writer.append(draft_of(InstantPassed(passed))).at
            self._due = self._grid, self._ticked

    def _pause(self) -> float | None:
        """How long to sleep until the next instant: for ever if there is none, and a second at most if there is one,
        because wall clocks jump and machines sleep."""
        if self._grid is None or self._ticked is None:
            return None
        return max(0.0, min(LOOK_SECONDS, (self._grid.after(self._ticked) + 1 - self._writer.now()) / 1000))

    def instants(self) -> Grid | None:
        """The instants of all queries that read a stream on the arrival clock and are not paused."""
        event = {stream.iri for stream in self._registry.streams() if stream.clock != "arrival"}
        # Of thousands that are known, only what turns is looked at again: one of them may come each millisecond.
        for record in self._registry.queries(after=max(self._timetables, default=0)):
            self._timetables[record.id] = _timetable(record)
        pauses = self._registry.pauses()
        self._timetables = {id: self._timetables[id] for id in pauses if id in self._timetables}
        going = {
            timetable
            for id, timetable in self._timetables.items()
            if not (timetable.paused if pauses[id] is None else pauses[id])
        }
        steps = {step for timetable in going if not timetable.streams <= event for step in timetable.steps}
        return Grid(tuple(sorted(steps))) if steps else None


def _timetable(record: QueryRecord) -> Timetable:
    try:
        query = read(record.text, record.base, record.compiled)
    except LanguageError:
        return Timetable(frozenset(), ())  # the engine says of this query that it cannot be read
    grid, streams = grid_of(query), frozenset(window.stream for window in query.windows)
    return Timetable(streams, () if grid is None else grid.steps, record.paused)
