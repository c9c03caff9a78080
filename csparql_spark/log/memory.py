"""A log in memory: the contract in plain Python, over a list of entries and the fold of them.

It is as durable as its process. Whoever wants to know what a log does, or needs one for a moment, has it here; and what
the log in SQLite does is held against it.

    log = MemoryLog(reads_of)
    log.append(draft_of(StreamMade("temp", clock="arrival", delay=0), "urn:temp"), Absent("streams", "urn:temp"))
    list(log.read(0, log.tail()))
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

from csparql_spark.disk import StoreError
from csparql_spark.disk.damage import Damaged
from csparql_spark.log.clock import ArrivalClock
from csparql_spark.log.contract import KEPT_KEYS, KEPT_MS, Reused, StampSpan
from csparql_spark.log.entries import REGISTRY_KINDS, Draft, Entry, Reply
from csparql_spark.log.fold import Fold
from csparql_spark.log.guards import AnyGuard, ReadsOf, unknown


class MemoryLog:
    def __init__(self, reads_of: ReadsOf = unknown, clock: ArrivalClock | None = None) -> None:
        self.fold = Fold(reads_of)
        self.clock = clock or ArrivalClock()
        self._entries: list[Entry] = []
        self._floor = 0  # no entry is stamped earlier from now on
        self._lock = threading.Lock()
        self._stopped = False

    def append(self, draft: Draft, guard: AnyGuard | None = None) -> Entry:
        with self._lock:
            if self._stopped:
                raise StoreError("the log is closed: the server is stopping; try again")
            refusal = None if guard is None else self.fold.refusal(guard)
            if refusal is not None:
                raise refusal
            entry = draft.entry(len(self._entries) + 1, self._stamp(draft))
            self.fold.take(entry, draft.beside)
            self._entries.append(entry)
            return entry

    def _stamp(self, draft: Draft) -> int:
        if draft.kind == "tick" and draft.subject is not None:
            return draft.at or 0
        if draft.kind == "tick":
            at = max(draft.at or 0, self._floor - 1)
            self._floor = max(self._floor, at + 1)
            return at
        self._floor = max(self._floor, self.clock.now())
        return self._floor

    def reply_to(self, stream: int, key: str, digest: bytes) -> Reply | None:
        known = self.fold.keys.get(stream, {}).get(key)
        if known is not None and known.digest != digest:
            raise Reused
        return None if known is None else known.reply

    def now(self) -> int:
        return self.clock.now()

    def appended(self, stream: str) -> tuple[int, int]:
        return self.totals(stream)

    def relayed_to(self, query: int) -> int | None:
        return self.fold.relayed.get(query)

    def forget_keys(self, now: int, *, kept_ms: int = KEPT_MS, kept_keys: int = KEPT_KEYS) -> int:
        with self._lock:
            return self.fold.forget_keys(now - kept_ms, kept_keys)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True

    # Reading

    def tail(self) -> int:
        return len(self._entries)

    def waiting_since(self, after: int) -> int | None:
        if after >= self.tail():
            return None
        stamps = (
            entry.at
            for entry in (*reversed(self._entries[: after + 1]), *self._entries[after + 1 :])
            if entry.kind != "tick" or entry.subject is None
        )
        return next(stamps, None)

    def read(self, after: int, upto: int) -> Iterable[Entry]:
        return [_as_is(entry) for entry in self._entries[after : max(after, upto)]]

    def one(self, seq: int) -> Entry | None:
        return _as_is(self._entries[seq - 1]) if 1 <= seq <= self.tail() else None

    def payload(self, seq: int) -> bytes | None:
        entry = self.one(seq)
        return None if entry is None else _whole(entry).payload

    def size(self, seq: int) -> int:
        return len(self._entries[seq - 1].payload or b"") if 1 <= seq <= self.tail() else 0

    def outline(self, after: int, limit: int) -> list[Entry]:
        return [replace(entry, payload=None) for entry in self._entries[after : after + limit]]

    def registrations(self, after: int, upto: int) -> Iterable[Entry]:
        return [
            replace(entry, payload=None) if entry.kind == "background" else entry
            for entry in self.read(after, upto)
            if entry.kind in REGISTRY_KINDS
        ]

    def last(self, subject: str, kind: str, upto: int) -> Entry | None:
        entry = self.last_as_is(subject, kind, upto)
        return None if entry is None else _whole(entry)

    def last_as_is(self, subject: str, kind: str, upto: int) -> Entry | None:
        return next(
            (
                _as_is(entry)
                for entry in reversed(self._entries[:upto])
                if (entry.subject, entry.kind) == (subject, kind)
            ),
            None,
        )

    def chunks(self, stream: str, *, low: int, high: int, after: int) -> Iterator[Entry]:
        return (
            _whole(entry)
            for entry in self._of_stream(stream, after)
            if low < entry.at <= high
            or entry.last is not None
            and entry.first is not None
            and entry.last > low
            and entry.first <= high
        )

    def outlines(self, stream: str, *, after: int, newest_first: bool = False) -> Iterator[Entry]:
        chunks = [entry for entry in self._of_stream(stream, after) if entry.kind == "chunk"]
        return (replace(entry, payload=None) for entry in (reversed(chunks) if newest_first else chunks))

    def recent(self, stream: str, after: int = 0, upto: int | None = None) -> Iterator[Entry]:
        return (
            _whole(entry) for entry in reversed(self._of_stream(stream, after)) if upto is None or entry.seq <= upto
        )

    def forgotten(self, stream: str) -> int:
        return 0

    def logged_at(self, at: int, *, after: int) -> int | None:
        return next(
            (
                entry.seq
                for entry in self._entries[after:]
                if entry.at + (entry.kind == "tick") >= at and (entry.kind != "tick" or entry.subject is None)
            ),
            None,
        )

    def reached(self, stream: str, stamp: int, *, after: int) -> int | None:
        return next(
            (entry.seq for entry in self.outlines(stream, after=after) if entry.rows and _newest(entry) >= stamp), None
        )

    def ticked(self, stream: str, at: int, *, after: int, upto: int) -> int | None:
        return next(
            (
                entry.seq
                for entry in self._entries[after : max(after, upto)]
                if (entry.kind, entry.subject) == ("tick", stream) and entry.at >= at
            ),
            None,
        )

    def newest(self, stream: str) -> int | None:
        return max(map(_newest, self.outlines(stream, after=0)), default=None)

    def span(self, stream: str, *, after: int) -> StampSpan | None:
        chunks = list(self.outlines(stream, after=after))
        if not chunks:
            return None
        return StampSpan(max(chunk.at for chunk in chunks), min(map(_oldest, chunks)), max(map(_newest, chunks)))

    def totals(self, stream: str) -> tuple[int, int]:
        rows = [entry.rows for entry in self._of_stream(stream, 0) if entry.kind == "chunk"]
        return len(rows), sum(rows)

    def _of_stream(self, stream: str, after: int) -> list[Entry]:
        """What was logged of a stream, and what stands in the place of what is lost."""
        return [
            _as_is(entry)
            for entry in self._entries[after:]
            if entry.subject == stream and entry.kind in ("chunk", "damaged")
        ]


def _newest(entry: Entry) -> int:
    """The newest stamp in a chunk, given or of its arrival."""
    return entry.at if entry.last is None or entry.unstamped and entry.at > entry.last else entry.last


def _oldest(entry: Entry) -> int:
    return entry.at if entry.first is None or entry.unstamped and entry.at < entry.first else entry.first


def _as_is(entry: Entry) -> Entry:
    """The entry as it is read: one that says that something is lost has this as its damage."""
    if entry.kind != "damaged":
        return entry
    return replace(entry, payload=None, damage=(entry.payload or b"").decode())


def _whole(entry: Entry) -> Entry:
    if entry.damage is not None:
        raise Damaged(entry.damage)
    return entry
