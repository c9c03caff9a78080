"""Moments: where the log stood when a query answered an instant, and where its windows that count stood then.

An instant of a query passes at one place of the log (see `windows.progress`). What is logged after that is late, and
was not seen, whatever its stamp:

    log        ──●(8)──●(9)──●(14)──●(9)──      instant 10 passes with the element stamped 14; the last one is late
                              └ place

    sighting = Moments(log, clock).sighting(record, 10)
    sighting.moment.seq                # the place
    sighting.counts                    # of each window that counts, by its place in the text: what it had counted

Where all windows are of time, the place is found (see `passage`). A query with windows that count is followed from its
registration on, through the outlines of the log, as the engine follows it (see `engine.member`); chunks are opened only
where their outlines do not tell the stamps that make turns. It is followed no further than through so many entries, and
so many chunks that are opened. Where that does not reach the instant, or the log has forgotten some of what a window
has counted, it is not known which elements made its turns: it is taken to have turned with the last element up to the
instant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from csparql_spark.asking.passage import Passage, outlines
from csparql_spark.asking.timeline import stamped
from csparql_spark.engine.member import Member
from csparql_spark.engine.moment import Moment
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.language import Window
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log import Entry, Log
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import ClockSpec
from csparql_spark.store import QueryRecord
from csparql_spark.windows.counting import TurnCount
from csparql_spark.windows.progress import Clock

MOST_OPENED = 1000  # chunks that are opened to count what they hold
MOST_BYTES = 32 << 20  # of them together, but for the last one


class Sighting(NamedTuple):
    """A moment, and what the windows that count had counted then, by their places in the text."""

    moment: Moment
    counts: Mapping[int, TurnCount]


class TooLong(Exception):
    """There is more to open than is opened."""


class Moments:
    def __init__(self, log: Log, clock: Callable[[str], Clock]) -> None:
        """`clock` gives the clock of a stream."""
        self._log, self._clock = log, clock

    def sighting(self, record: QueryRecord, instant: int) -> Sighting:
        """What a query looked at when it answered an instant. Raises `Damaged` where what a window counts is."""
        follower = Follower(record, self._clock, self._log)
        passage = Passage(self._log, record.name, since=record.id, clocks=follower.member.progress.clocks)
        if not follower.counted:
            return Sighting(Moment(record.id, instant, self._timed(follower.member, passage, instant)), {})
        is_whole = all(self._log.forgotten(stream) <= record.id for stream in follower.counted)
        if is_whole and follower.follow(instant):
            return Sighting(Moment(record.id, instant, follower.place), dict(follower.member.counts))
        return self._guess(follower, passage, instant)

    def _timed(self, member: Member, passage: Passage, instant: int) -> int:
        """Where an instant had passed for a query whose windows are all of time."""
        passed, began = passage.passed(instant), passage.began()
        if passed is None or began is None or member.grid is None or member.grid.at_or_after(instant) != instant:
            return self._log.tail()
        return max(passed, began)

    def _guess(self, follower: Follower, passage: Passage, instant: int) -> Sighting:
        """The windows that count have turned with the last element up to the instant."""
        member = follower.member
        place = passage.came(instant, follower.counted) if member.turns_only else passage.passed(instant)
        if place is None:
            place = self._log.tail()
        counts = {
            at: self._last_turn(member.windows[at], count, Moment(member.id, instant, place))
            for at, count in member.counts.items()
        }
        return Sighting(Moment(member.id, instant, place), counts)

    def _last_turn(self, window: Window, count: TurnCount, moment: Moment) -> TurnCount:
        """The count as it is when the last element up to the instant has made the turn."""
        later = 0  # elements that were logged after that
        for entry in islice(self._log.recent(window.stream, moment.since, moment.seq), MOST_OPENED):
            stamps = Chunk.from_ipc(entry.payload).stamped(entry.at).t
            if window.elements is not None:
                stamps = distinct(ordered(stamps))
            until = np.count_nonzero(np.maximum.accumulate(stamps) <= moment.instant)
            later += len(stamps) - int(until)
            if until:
                break
        # How many there were before it is not known; those that there are not are not found.
        return replace(count, total=later + count.size, viewed=count.size)


def _spec(clock: Clock) -> ClockSpec:
    return {"kind": clock.kind, "delay": clock.delay}


class Follower:
    """One query, followed through the log."""

    def __init__(self, record: QueryRecord, clock: Callable[[str], Clock], log: Log) -> None:
        self._name, self._log = record.name, log
        query = read(record.text, record.base, record.compiled)
        clocks = {window.stream: _spec(clock(window.stream)) for window in query.windows}
        self.member = Member(
            {"id": record.id, "name": record.name, "text": record.text, "base": record.base, "clocks": clocks},
            record.registered,
        )
        self.counted = {self.member.windows[place].stream for place in self.member.counts}
        self.place = record.id
        self._opened = self._bytes = 0

    def follow(self, instant: int) -> bool:
        """Go on to where an instant had passed, or to the end of the log; False if that is too far."""
        tail = self._log.tail()
        try:
            for entry in outlines(self._log, self.place):
                if entry.seq > tail:
                    break
                self.place = entry.seq
                self.read(entry)
                if self.has_passed(instant):
                    break
                self.member.pass_over()
            else:
                if self.place < tail:
                    return False
        except TooLong:
            return False
        self.member.see(instant)
        return True

    def read(self, entry: Entry) -> None:
        progress = self.member.progress
        if entry.kind == "tick" and entry.subject is None:
            progress.shared.tick(entry.at)
        elif entry.kind == "tick":
            progress.tick(entry.subject, entry.at)
        elif entry.kind in ("pause", "resume") and entry.subject == self._name:
            progress.tick(None, entry.at - 1)
        elif entry.kind == "chunk" and entry.subject in progress.clocks and entry.rows:
            progress.arrived(entry.subject, entry.at, *stamped(entry))
            if entry.subject in self.counted:
                self._count(entry.subject, entry)

    def _count(self, stream: str, entry: Entry) -> None:
        first, last = stamped(entry)
        stamps: np.ndarray | None
        if first == last or not self._may_turn(stream, entry.rows):
            stamps = np.full(entry.rows, last)
        else:
            stamps = self._open(entry)
        if stamps is not None:
            self.member.arrived(stream, stamps, distinct(ordered(stamps)))

    def _may_turn(self, stream: str, rows: int) -> bool:
        """Whether it matters to a window that counts which stamps so many triples have."""
        windows = self.member.windows
        return any(
            windows[place].elements is not None or count.turns_within(rows)
            for place, count in self.member.counts.items()
            if windows[place].stream == stream
        )

    def _open(self, entry: Entry) -> np.ndarray | None:
        """The stamps in a chunk; None if it was forgotten meanwhile. Raises `TooLong`."""
        if self._opened >= MOST_OPENED or self._bytes > MOST_BYTES:
            raise TooLong
        payload = self._log.payload(entry.seq)
        if payload is None:
            return None
        self._opened += 1
        self._bytes += len(payload)
        return Chunk.from_ipc(payload).stamped(entry.at).t

    def has_passed(self, instant: int) -> bool:
        """Whether an instant is due that the query has answered."""
        member = self.member
        turns = {turn for count in member.counts.values() for turn, _ in count.turns}
        if member.grid is None:
            return instant in turns
        # A turn may be of the past, and clocks may have passed instants before it is known where these begin.
        timed = member.grid.at_or_after(instant) == instant and member.progress.start() is not None
        return member.progress.passed >= instant and (timed or member.turns_tell and instant in turns)
