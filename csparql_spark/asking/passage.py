"""Passage: where in the log an instant had passed for a query, found without following the query through the log.

Each clock of the query has passed the instant at a place of its own, and the query has with the last of them:

    arrival clock    ──9──9──●──▶      the first entry stamped later that tells the query so, or the tick
    event clock      ──8──9──14─9─▶    the first chunk whose newest stamp is late enough, or the tick
                              └ place

    passage = Passage(log, "q", since=17, clocks={"urn:s": Clock("event")})
    passage.passed(10)                 # 21
    passage.began()                    # 18: before it, nothing on an event clock had come

It is what `windows.progress` says of the same entries. The arrival clock never goes back, so its place is found by its
stamps; that of an event clock the log finds by the heads of the stream's chunks. Ticks of a stream's own clock are
forgotten as soon as the engine has read them: only the newest entries are looked through for one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from csparql_spark.log import Entry
from csparql_spark.log.contract import ReadableLog
from csparql_spark.windows.progress import Clock
from csparql_spark.windows.rule import BEGINNING_OF_TIME

AT_ONCE = 200  # outlines that are read together
MOST_ENTRIES = 10_000  # that are looked through


class Passage:
    def __init__(self, log: ReadableLog, name: str, *, since: int, clocks: Mapping[str, Clock]) -> None:
        """Of the query of this name that was registered at the place `since`, and reads these streams."""
        self._log, self._name, self._since, self._clocks = log, name, since, clocks
        self._event = {stream: clock for stream, clock in clocks.items() if clock.kind != "arrival"}

    def passed(self, instant: int) -> int | None:
        """The place at which all clocks had passed an instant; None if it is not known, or they have not."""
        places = [self._on(stream, clock, instant) for stream, clock in self._event.items()]
        if len(self._event) < len(self._clocks):
            places.append(self._on_arrival(instant))
        known = [place for place in places if place is not None]
        return max(known) if len(known) == len(places) else None

    def began(self) -> int | None:
        """The place from which on it is known where the instants of the query begin, if its clocks had passed one."""
        if not self._event or any(clock.kind == "derived" for clock in self._event.values()):
            return self._since
        return self.came(BEGINNING_OF_TIME, self._event)

    def came(self, stamp: int, streams: Collection[str]) -> int | None:
        """The place of the first chunk, of any of these streams, that holds an element stamped so or later."""
        places = (self._log.reached(stream, stamp, after=self._since) for stream in streams)
        return min((place for place in places if place is not None), default=None)

    def _on(self, stream: str, clock: Clock, instant: int) -> int | None:
        needed = instant + (instant - clock.reading(instant))  # the stamp at which the clock reads the instant
        chunk = self._log.reached(stream, needed, after=self._since)
        upto = self._log.tail() if chunk is None else chunk
        tick = self._log.ticked(stream, instant, after=max(self._since, upto - MOST_ENTRIES), upto=upto)
        return chunk if tick is None else tick

    def _on_arrival(self, instant: int) -> int | None:
        first = self._log.logged_at(instant + 1, after=self._since)
        if first is None:
            return None
        return next((entry.seq for entry in outlines(self._log, first - 1) if self._tells(entry, instant)), None)

    def _tells(self, entry: Entry, instant: int) -> bool:
        """Whether an entry moves the arrival clock of the query past an instant."""
        if entry.kind == "tick":
            return entry.subject is None and entry.at >= instant
        is_heard = (
            entry.subject == self._name
            if entry.kind in ("pause", "resume")
            else entry.kind == "chunk" and entry.subject in self._clocks and bool(entry.rows)
        )
        return is_heard and entry.at > instant


def outlines(log: ReadableLog, after: int) -> Iterator[Entry]:
    """The entries after a place, so many at most as are looked through, without payloads."""
    left = MOST_ENTRIES
    while left > 0 and (entries := log.outline(after, min(left, AT_ONCE))):
        yield from entries
        after, left = entries[-1].seq, left - len(entries)
