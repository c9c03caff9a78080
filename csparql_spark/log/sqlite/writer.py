"""Group commit: the one way into the log.

Any number of threads append; one thread writes. While it waits for the disk, the next entries queue up, and then share
one transaction, so that 32 concurrent pushers cost few waits for the disk more than one. `append` returns when its
entry is durable.

Invariants: entries are stamped in the order of the log, with stamps that never go back; a `guard` sees the log exactly
as it is before its entry, and may refuse it by raising `Refused`; a refused entry leaves no trace and holds up nobody;
what `beside` writes about an entry is committed with it, or not at all.

    writer = LogWriter(database, directory.bell("log")).start()
    entry = writer.append(Draft("chunk", subject=iri, payload=chunk))
    writer.append(Draft("unregister", subject="q"), guard=must_exist)
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from csparql_spark.disk.bell import Bell
from csparql_spark.disk.checksum import head_sum, payload_sum
from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import StoreError
from csparql_spark.log.clock import ArrivalClock
from csparql_spark.log.sqlite.reader import Draft, Entry, next_stamp

Guard = Callable[[sqlite3.Connection], None]
Beside = Callable[[sqlite3.Connection, Entry], None]
Waiting = tuple[Draft, int, Guard | None, Beside | None, Future[Entry]]       # the number is its payload's checksum

GROUP_ENTRIES = 256
GROUP_BYTES = 32 << 20
PATIENCE_SECONDS = 60.0


class Refused(Exception):
    """A guard does not let the entry in."""


class LogWriter:
    """The writer of a log. There is one for each data directory: the directory's lock sees to that."""

    def __init__(self, database: Database, bell: Path) -> None:
        self._database = database
        self._bell = Bell(bell)
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._last = next_stamp(database.connection)
        self._stopped = False
        self.chunks: dict[str, tuple[int, int]] = {}       # how many, and how many rows, it has written to each stream
        self.clock = ArrivalClock(self._last)
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)

    def start(self) -> LogWriter:
        self._thread.start()
        return self

    def append(self, draft: Draft, guard: Guard | None = None, beside: Beside | None = None) -> Entry:
        if self._stopped:
            raise StoreError("the log is closed: the server is stopping; try again")
        done: Future[Entry] = Future()
        # Whoever appends sums his own payload up: the writer has everybody's to write.
        self._queue.put((draft, payload_sum(draft.payload), guard, beside, done))
        try:
            return done.result(PATIENCE_SECONDS)
        except TimeoutError:
            raise StoreError("the log did not take the entry in time, and may still do so: "
                             "the disk does not keep up") from None

    def stop(self) -> None:
        """Write what is queued, then end."""
        self._stopped = True
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        running = True
        while running:
            group = [self._queue.get()]
            size = 0
            while group[-1] is not None and len(group) < GROUP_ENTRIES and size < GROUP_BYTES:
                size += len(group[-1][0].payload or b"")
                try:
                    group.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            if group[-1] is None:
                running = False
                group.pop()
            if group:
                self._commit(group)
        self._database.close()

    def _commit(self, group: list[Waiting]) -> None:
        outcomes: list[Entry | Refused] = []
        try:
            with self._database.transaction() as connection:
                outcomes = [self._insert(connection, *waiting) for *waiting, _ in group]
        # Whatever it was (a full disk, say), nothing of this group was written: tell each one.
        except Exception as error:
            for *_, done in group:
                failure = StoreError(f"the log could not be written ({error}): nothing of this request was kept")
                failure.__cause__ = error
                done.set_exception(failure)
            return
        for (*_, done), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Refused):
                done.set_exception(outcome)
            else:
                if outcome.kind == "chunk":
                    chunks, rows = self.chunks.get(outcome.subject, (0, 0))
                    self.chunks[outcome.subject] = chunks + 1, rows + outcome.rows
                done.set_result(outcome)
        self._bell.ring()

    def _insert(self, connection: sqlite3.Connection, draft: Draft, sum: int, guard: Guard | None,
                beside: Beside | None) -> Entry | Refused:
        if guard is not None:
            try:
                guard(connection)
            except Refused as refusal:
                return refusal
        if draft.kind != "tick":
            at = self._last = max(self._last, self.clock.now())
        elif draft.subject is None:
            # Entries may already be stamped later than the instant, but none that follow may be stamped earlier.
            at = max(draft.at, self._last - 1)
            self._last = max(self._last, at + 1)
        else:
            at = draft.at
        seq = connection.execute(
            "INSERT INTO log (kind, at, subject, rows, first, last, unstamped, payload, head_sum, payload_sum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (draft.kind, at, draft.subject, draft.rows, draft.first, draft.last, draft.unstamped, draft.payload,
             head_sum(draft.kind, at, draft.subject, draft.rows, draft.first, draft.last, draft.unstamped),
             sum)).lastrowid
        entry = Entry(seq, draft.kind, at, draft.subject, draft.rows, draft.first, draft.last, draft.unstamped,
                      draft.payload)
        if beside is not None:
            beside(connection, entry)
        return entry
