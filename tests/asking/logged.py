"""A log in memory, for those who read a log: as much of `log.Log` as the asking room calls."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from types import SimpleNamespace

from csparql_spark.asking.log_view import Current
from csparql_spark.asking.timeline import stamped
from csparql_spark.log import Entry
from csparql_spark.store import StreamRecord
from csparql_spark.windows.rule import may_hold
from tests.engine.logs import STREAMS


class InMemory:
    """A log of these entries; `read` has the places of those whose payloads were read, and `outlined` says how many
    were read without."""

    def __init__(self, entries: list[Entry], last_forgotten: int = 0) -> None:
        self.entries, self._last_forgotten = entries, last_forgotten
        self.read: list[int] = []
        self.outlined = 0

    def tail(self) -> int:
        return self.entries[-1].seq

    def outline(self, after: int, limit: int) -> list[Entry]:
        first = bisect.bisect_right(self.entries, after, key=lambda entry: entry.seq)
        found = self.entries[first : first + limit]
        self.outlined += len(found)
        return [
            Entry(entry.seq, entry.kind, entry.at, entry.subject, entry.rows, entry.first, entry.last, entry.unstamped)
            for entry in found
        ]

    def chunks(self, stream: str, *, low: int, high: int, after: int) -> Iterator[Entry]:
        for entry in self.entries:
            if entry.kind == "chunk" and entry.subject == stream and entry.seq > after:
                if not may_hold(*stamped(entry), low, high):
                    continue
                self.read.append(entry.seq)
                yield entry

    def recent(self, stream: str, after: int = 0, upto: int | None = None) -> Iterator[Entry]:
        for entry in reversed(self.entries):
            if upto is not None and entry.seq > upto:
                continue
            if entry.kind == "chunk" and entry.subject == stream and entry.seq > after:
                self.read.append(entry.seq)
                yield entry

    def forgotten(self, stream: str) -> int:
        return self._last_forgotten

    def logged_at(self, at: int, *, after: int) -> int | None:
        return next(
            (
                entry.seq
                for entry in self.entries
                if entry.seq > after
                and entry.at + (entry.kind == "tick") >= at
                and (entry.kind != "tick" or entry.subject is None)
            ),
            None,
        )

    def reached(self, stream: str, stamp: int, *, after: int) -> int | None:
        return next(
            (
                entry.seq
                for entry in self.entries
                if (entry.kind, entry.subject) == ("chunk", stream)
                and entry.seq > after
                and entry.rows
                and stamped(entry)[1] >= stamp
            ),
            None,
        )

    def ticked(self, stream: str, at: int, *, after: int, upto: int) -> int | None:
        return next(
            (
                entry.seq
                for entry in self.entries
                if (entry.kind, entry.subject) == ("tick", stream) and after < entry.seq <= upto and entry.at >= at
            ),
            None,
        )

    def payload(self, seq: int) -> bytes | None:
        self.read.append(seq)
        return next(entry.payload for entry in self.entries if entry.seq == seq)

    def last(self, subject: str, kind: str, upto: int) -> Entry | None:
        return next(
            (
                entry
                for entry in reversed(self.entries)
                if (entry.kind, entry.subject) == (kind, subject) and entry.seq <= upto
            ),
            None,
        )


def stream_of(iri: str) -> StreamRecord:
    clock, delay = STREAMS[iri]
    return StreamRecord(0, iri, 0, iri, clock, delay)


def registry() -> SimpleNamespace:
    return SimpleNamespace(stream=stream_of)


def current(entries: list[Entry]) -> Current:
    return Current(InMemory(entries), registry())
