"""The log: the only clock and the only input. Everything that ever happened to the server, in one total order.

Kinds of entries, and what their `subject` and `payload` are:

    stream       a stream is created        IRI      JSON {"name", "clock", "delay"}
    drop         a stream is deleted        IRI
    chunk        triples were pushed        IRI      Arrow IPC
    tick         an instant has passed      None     (arrival clock), or the IRI of a stream on the event clock
    register     a query is registered      name     JSON {"text", "base"}, {…, "paused": true}, {…, "compiled": {…}}
    unregister   a query is deleted         name
    pause        a query answers no more    name     JSON {"id"}
    resume       it goes on                 name     JSON {"id"}
    background   a graph is set             IRI      Arrow IPC; none: there is no such graph any more
    rules        a rule set is set          name     text of a rule file; none: there is no such rule set any more

`seq` is the place of an entry, `at` its arrival stamp. After a tick `at` T on the arrival clock no entry is stamped T
or earlier. Entries are written by `store.writer` alone, and read in order:

    for entry in log.read(after=41, upto=log.tail()):
        ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from csparql_spark.store.database import Database

REGISTRY_KINDS = ("stream", "drop", "register", "unregister", "pause", "resume", "background", "rules")
KINDS = (*REGISTRY_KINDS, "chunk", "tick")


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before the log has given it its place and its stamp (`at`: what a tick claims has passed)."""

    kind: str
    subject: str | None = None
    payload: bytes | None = None
    rows: int = 0
    first: int | None = None
    last: int | None = None
    unstamped: int = 0
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int
    kind: str
    at: int
    subject: str | None = None
    rows: int = 0
    first: int | None = None
    last: int | None = None
    unstamped: int = 0
    payload: bytes | None = None


_COLUMNS = "seq, kind, at, subject, rows, first, last, unstamped"


class Log:
    """The reading side of the log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tail(self) -> int:
        """The place of the newest entry; 0 for an empty log."""
        return self._database.connection.execute("SELECT max(seq) FROM log").fetchone()[0] or 0

    def waiting_since(self, after: int) -> int | None:
        """The arrival stamp of the first entry after a place; None if there is none. A tick of a stream's own clock is
        stamped with that clock: it waits since what came before it, which made somebody write it."""
        connection = self._database.connection
        (first,) = connection.execute("SELECT min(seq) FROM log WHERE seq > ?", (after,)).fetchone()
        if first is None:
            return None
        stamped = "SELECT at FROM log WHERE (kind != 'tick' OR subject IS NULL) AND seq"
        row = (connection.execute(f"{stamped} <= ? ORDER BY seq DESC LIMIT 1", (first,)).fetchone()
               or connection.execute(f"{stamped} > ? ORDER BY seq LIMIT 1", (first,)).fetchone())
        return row[0] if row else None

    def read(self, after: int, upto: int) -> Iterator[Entry]:
        rows = self._database.connection.execute(
            f"SELECT {_COLUMNS}, payload FROM log WHERE seq > ? AND seq <= ? ORDER BY seq", (after, upto))
        return (Entry(*row) for row in rows)

    def outline(self, after: int, limit: int) -> list[Entry]:
        """The next entries without their payloads."""
        rows = self._database.connection.execute(
            f"SELECT {_COLUMNS} FROM log WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
        return [Entry(*row) for row in rows]

    def registrations(self, after: int, upto: int) -> Iterator[Entry]:
        """The entries that say which streams, queries and graphs there are."""
        marks = ", ".join("?" * len(REGISTRY_KINDS))
        rows = self._database.connection.execute(
            f"SELECT {_COLUMNS}, CASE kind WHEN 'background' THEN NULL ELSE payload END FROM log "
            f"INDEXED BY log_registry WHERE kind NOT IN ('chunk', 'tick') AND kind IN ({marks}) "
            "AND seq > ? AND seq <= ? ORDER BY seq",
            (*REGISTRY_KINDS, after, upto))
        return (Entry(*row) for row in rows)

    def last(self, subject: str, kind: str, upto: int) -> Entry | None:
        """The newest entry of the kind about the subject, as the log stood after `upto`."""
        row = self._database.connection.execute(
            f"SELECT {_COLUMNS}, payload FROM log WHERE subject = ? AND kind = ? AND seq <= ? "
            "ORDER BY seq DESC LIMIT 1",
            (subject, kind, upto)).fetchone()
        return Entry(*row) if row else None

    def chunks(self, stream: str, *, low: int, high: int, after: int) -> Iterator[Entry]:
        """The chunks of a stream that may hold elements stamped low < t <= high, logged after the place `after`."""
        rows = self._database.connection.execute(
            f"SELECT {_COLUMNS}, payload FROM log WHERE kind = 'chunk' AND subject = ? AND seq > ? "
            "AND (at > ? AND at <= ? OR last > ? AND first <= ?) ORDER BY seq",
            (stream, after, low, high, low, high))
        return (Entry(*row) for row in rows)

    def outlines(self, stream: str, *, after: int) -> Iterator[Entry]:
        """The chunks of a stream that were logged after the place `after`, without their payloads."""
        rows = self._database.connection.execute(
            f"SELECT {_COLUMNS} FROM log WHERE kind = 'chunk' AND subject = ? AND seq > ? ORDER BY seq",
            (stream, after))
        return (Entry(*row) for row in rows)

    def recent(self, stream: str) -> Iterator[Entry]:
        """The chunks of a stream, the newest first."""
        rows = self._database.connection.execute(
            f"SELECT {_COLUMNS}, payload FROM log WHERE kind = 'chunk' AND subject = ? ORDER BY seq DESC", (stream,))
        return (Entry(*row) for row in rows)

    def payload(self, seq: int) -> bytes | None:
        """The payload of an entry; None if it is forgotten."""
        row = self._database.connection.execute("SELECT payload FROM log WHERE seq = ?", (seq,)).fetchone()
        return row[0] if row else None

    def newest(self, stream: str) -> int | None:
        """The newest stamp among the chunks of a stream."""
        return self._database.connection.execute(
            "SELECT max(CASE WHEN last IS NULL OR unstamped > 0 AND at > last THEN at ELSE last END) FROM log "
            "WHERE kind = 'chunk' AND subject = ?", (stream,)).fetchone()[0]

    def totals(self, stream: str) -> tuple[int, int]:
        """Chunks and triples of a stream that the log holds."""
        return self._database.connection.execute(
            "SELECT count(*), coalesce(sum(rows), 0) FROM log WHERE kind = 'chunk' AND subject = ?",
            (stream,)).fetchone()
