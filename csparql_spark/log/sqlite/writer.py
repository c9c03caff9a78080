"""Group commit: the one way into the log.

Any number of threads append; one thread writes. While it waits for the disk, the next entries queue up, and then share
one transaction, so that 32 concurrent pushers cost few waits for the disk more than one. `append` returns when its
entry is durable.

Invariants: entries are stamped in the order of the log, with stamps that never go back; a guard is decided by the log
exactly as it is before its entry; a refused entry leaves no trace and holds up nobody; what is `beside` a draft is
committed with it, or not at all.

    writer = LogWriter(database, directory.bell("log"), reads_of).start()
    entry = writer.append(Draft("chunk", subject=iri, payload=chunk))
    writer.append(Draft("unregister", subject="q"), Present("queries", "q"))         # raises Refused
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from concurrent.futures import Future
from pathlib import Path

from csparql_spark.disk.bell import Bell
from csparql_spark.disk.checksum import EntryHead, head_sum, payload_sum
from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import StoreError
from csparql_spark.log.clock import ArrivalClock
from csparql_spark.log.contract import KEPT_KEYS, KEPT_MS
from csparql_spark.log.entries import Draft, Entry, Keys, Relayed, Reply
from csparql_spark.log.guards import AnyGuard, ReadsOf, Refused, unknown
from csparql_spark.log.sqlite.decisions import Decisions
from csparql_spark.log.sqlite.reader import next_stamp
from csparql_spark.log.sqlite.relays import relay, relayed_to
from csparql_spark.log.sqlite.repeats import Repeats, write_keys

Waiting = tuple[Draft, int, AnyGuard | None, Future[Entry]]  # the number is its payload's checksum

GROUP_ENTRIES = 256
GROUP_BYTES = 32 << 20
PATIENCE_SECONDS = 60.0


class LogWriter:
    """The writer of a log. There is one for each data directory: the directory's lock sees to that."""

    def __init__(self, database: Database, bell: Path, reads_of: ReadsOf = unknown) -> None:
        """`reads_of` knows what registered queries read: guards that ask for it cannot be decided without."""
        self._database = database
        self._decisions = Decisions(reads_of)
        self._repeats = Repeats(database)
        self._bell = Bell(bell)
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._last = next_stamp(database.connection)
        self._stopped = False
        self._appended: dict[str, tuple[int, int]] = {}  # how many chunks, and rows, it has written to each stream
        self.clock = ArrivalClock(self._last)
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)

    def start(self) -> LogWriter:
        self._thread.start()
        return self

    def append(self, draft: Draft, guard: AnyGuard | None = None) -> Entry:
        if self._stopped:
            raise StoreError("the log is closed: the server is stopping; try again")
        done: Future[Entry] = Future()
        # Payloads are summed up by those who append them: the writer has everybody's to write.
        self._queue.put((draft, payload_sum(draft.payload), guard, done))
        try:
            return done.result(PATIENCE_SECONDS)
        except TimeoutError:
            raise StoreError(
                "the log did not take the entry in time, and may still do so: the disk does not keep up"
            ) from None

    def reply_to(self, stream: int, key: str, digest: bytes) -> Reply | None:
        return self._repeats.reply_to(stream, key, digest)

    def now(self) -> int:
        return self.clock.now()

    def appended(self, stream: str) -> tuple[int, int]:
        return self._appended.get(stream, (0, 0))

    def relayed_to(self, query: int) -> int | None:
        return relayed_to(self._database.connection, query)

    def forget_keys(self, now: int, *, kept_ms: int = KEPT_MS, kept_keys: int = KEPT_KEYS) -> int:
        return self._repeats.forget(now, kept_ms=kept_ms, kept_keys=kept_keys)

    def stop(self) -> None:
        """Write what is queued, then end."""
        self._stopped = True
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        running = True
        while running:
            group: list[Waiting] = []
            size, waiting = 0, self._queue.get()
            while waiting is not None:
                group.append(waiting)
                size += len(waiting[0].payload or b"")
                if len(group) >= GROUP_ENTRIES or size >= GROUP_BYTES:
                    break
                try:
                    waiting = self._queue.get_nowait()
                except queue.Empty:
                    break
            running = waiting is not None
            if group:
                self._commit(group)
        self._database.close()

    def _commit(self, group: list[Waiting]) -> None:
        outcomes: list[Entry | Refused] = []
        try:
            with self._database.transaction() as connection:
                outcomes = [self._insert(connection, draft, sum, guard) for draft, sum, guard, _ in group]
        # Whatever it was (a full disk, say), nothing of this group was written: tell each one.
        except Exception as error:
            self._decisions.forget()
            for *_, done in group:
                failure = StoreError(f"the log could not be written ({error}): nothing of this request was kept")
                failure.__cause__ = error
                done.set_exception(failure)
            return
        for (*_, done), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Refused):
                done.set_exception(outcome)
            else:
                if outcome.kind == "chunk" and outcome.subject is not None:
                    chunks, rows = self.appended(outcome.subject)
                    self._appended[outcome.subject] = chunks + 1, rows + outcome.rows
                done.set_result(outcome)
        self._bell.ring()

    def _insert(
        self, connection: sqlite3.Connection, draft: Draft, sum: int, guard: AnyGuard | None
    ) -> Entry | Refused:
        if guard is not None:
            refusal = self._decisions.refusal(connection, guard)
            if refusal is not None:
                return refusal
        self._decisions.before(connection, draft)
        if draft.kind != "tick":
            at = self._last = max(self._last, self.clock.now())
        elif draft.subject is None:
            # Entries may already be stamped later than the instant, but none that follow may be stamped earlier.
            at = max(draft.at or 0, self._last - 1)
            self._last = max(self._last, at + 1)
        else:
            at = draft.at or 0
        head = EntryHead(draft.kind, at, draft.subject, draft.rows, draft.first, draft.last, draft.unstamped)
        cursor = connection.execute(
            "INSERT INTO log (kind, at, subject, rows, first, last, unstamped, payload, head_sum, payload_sum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*head, draft.payload, head_sum(head), sum),
        )
        entry = draft.entry(cursor.lastrowid or 0, at)
        self._decisions.after(entry)
        match draft.beside:
            case Keys():
                write_keys(connection, draft.beside, entry)
            case Relayed(query, instant):
                relay(connection, query, instant)
        return entry
