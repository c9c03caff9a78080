"""Moments: where the log stood when a query answered an instant, and where its windows that count stood then.

An instant of a query passes at one place of the log (see `windows.progress`). What is logged after that is late, and
was not seen, whatever its stamp:

    log        ──●(8)──●(9)──●(14)──●(9)──      instant 10 passes with the element stamped 14; the last one is late
                              └ place

    sighting = Moments(log, clock).sighting(record, 10)
    sighting.moment.seq                # the place
    sighting.counts                    # of each window that counts, by its place in the text: what it had counted

The query is followed through the outlines of the log, as the engine follows it (see `engine.member`); only windows that
count need the chunks themselves. Where neither an event clock nor a count has a part in it, the log is not read. Where
the log has forgotten some of what a window has counted since the registration, it is not known any more which elements
made its turns: it is taken to have turned with the last element up to the instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from csparql_spark.asking.timeline import stamped
from csparql_spark.engine.member import Member
from csparql_spark.engine.moment import Moment
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log import Entry, Log
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import ClockSpec
from csparql_spark.store import QueryRecord
from csparql_spark.windows.counting import TurnCount, arrive
from csparql_spark.windows.progress import Clock

AT_ONCE = 5000  # outlines that are read together


class Sighting(NamedTuple):
    """A moment, and what the windows that count had counted then, by their places in the text."""

    moment: Moment
    counts: Mapping[int, TurnCount]


class Moments:
    def __init__(self, log: Log, clock: Callable[[str], Clock]) -> None:
        """`clock` gives the clock of a stream."""
        self._log, self._clock = log, clock

    def sighting(self, record: QueryRecord, instant: int) -> Sighting:
        """What a query looked at when it answered an instant. Raises `Damaged` where what a window counts is."""
        follower = Follower(record, self._clock, self._log)
        tail = self._log.tail()
        if not follower.member.counts and not follower.member.progress.event:
            return Sighting(Moment(record.id, instant, tail), {})
        if not self._is_whole(record.id, tail, follower.counted):
            follower.guess()
        for entry in self._entries(record.id, tail):
            follower.read(entry)
            if follower.has_passed(instant):
                tail = entry.seq
                break
            follower.member.pass_over()
        follower.member.see(instant)
        return Sighting(Moment(record.id, instant, tail), dict(follower.member.counts))

    def _entries(self, after: int, upto: int) -> Iterator[Entry]:
        while entries := self._log.outline(after, AT_ONCE):
            for entry in entries:
                if entry.seq > upto:
                    return
                yield entry
            after = entries[-1].seq

    def _is_whole(self, after: int, upto: int, streams: set[str]) -> bool:
        """Whether nothing of these streams was forgotten that was logged after a place: the log forgets what is oldest
        first, and is without gaps where it has forgotten nothing."""
        awaited, place = set(streams), after
        for entry in self._entries(after, upto):
            place += 1
            if entry.seq != place:
                return False
            if entry.kind == "chunk" and entry.subject is not None:
                awaited.discard(entry.subject)
            if not awaited:
                break
        return True


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
        self.guesses = False

    def guess(self) -> None:
        """Take each element for one that makes a turn."""
        self.guesses = True
        self.member.counts = {place: replace(count, step=1) for place, count in self.member.counts.items()}

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
                payload = self._log.payload(entry.seq)
                if payload is not None:  # not forgotten meanwhile
                    self._count(entry.subject, Chunk.from_ipc(payload).stamped(entry.at).t)

    def _count(self, stream: str, stamps: np.ndarray) -> None:
        if not self.guesses:
            self.member.arrived(stream, stamps, np.unique(stamps))
            return
        for place, count in self.member.counts.items():
            window = self.member.windows[place]
            if window.stream == stream:
                arrive([count], stamps if window.elements is None else np.unique(stamps), apart=False)

    def has_passed(self, instant: int) -> bool:
        """Whether an instant is due that the query has answered."""
        member = self.member
        turns = {turn for count in member.counts.values() for turn, _ in count.turns}
        if self.guesses:
            return any(turn >= instant for turn in turns) if member.turns_only else member.progress.passed >= instant
        if member.grid is None:
            return instant in turns
        # A turn may be of the past, and clocks may have passed instants before it is known where these begin.
        timed = member.grid.at_or_after(instant) == instant and member.progress.start() is not None
        return member.progress.passed >= instant and (timed or member.turns_tell and instant in turns)
