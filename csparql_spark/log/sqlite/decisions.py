"""Decisions: whether a guard holds, by what the database holds before an entry, in the transaction that writes it.

    decisions = Decisions(reads_of)
    refusal = decisions.refusal(connection, guard)         # None: it holds
    decisions.before(connection, draft)                    # the entry is going to be written; then after(entry)

How many things there are of a kind, and which queries the derived streams are filled by, is looked up once and then
kept: to count ten thousand queries takes milliseconds, and each registration asks. Whoever writes entries tells of each
`before` it is written and `after`, and of each transaction that came to nothing (`forget`). Nobody else
may make or undo registrations meanwhile: the lock of the data directory sees to that.
"""

from __future__ import annotations

import sqlite3

from csparql_spark.log.contents import query_failed, registered, stream_made
from csparql_spark.log.entries import Draft, Entry
from csparql_spark.log.guards import (
    Absent,
    AnyGuard,
    Every,
    IsPaused,
    IsSet,
    Once,
    Present,
    Reads,
    ReadsOf,
    Refused,
    Room,
    Same,
    Unchanged,
    Unfailed,
    Unfilled,
    Unread,
    Unused,
)
from csparql_spark.log.sqlite.reader import is_whole
from csparql_spark.log.sqlite.relays import relayed_to
from csparql_spark.log.sqlite.repeats import push_of

_NAMED = {"streams": "SELECT 1 FROM streams WHERE iri = ?", "queries": "SELECT 1 FROM queries WHERE name = ?"}
_MADE = {"streams": "SELECT 1 FROM streams WHERE id = ?", "queries": "SELECT 1 FROM queries WHERE id = ?"}
_VERSION = "SELECT 1 FROM versions WHERE id = ?"
_COUNT = {
    "streams": "SELECT count(*) FROM streams",
    "queries": "SELECT count(*) FROM queries",
    "graphs": "SELECT count(*) FROM settings WHERE kind = 'background'",
    "rules": "SELECT count(*) FROM settings WHERE kind = 'rules'",
}
# What an entry of a kind makes or undoes, and how many there are of it by its subject.
_MAKES = {"stream": "streams", "register": "queries"}
_UNDOES = {
    "drop": ("streams", "SELECT count(*) FROM streams WHERE iri = ?"),
    "unregister": ("queries", "SELECT count(*) FROM queries WHERE name = ?"),
}
_SETS = {"background": "graphs", "rules": "rules"}
_SETTING = "SELECT id FROM settings WHERE kind = ? AND name = ?"
# The conditions on `kind` are those of the index.
_FAILED = (
    "SELECT seq, payload, payload_sum FROM log INDEXED BY log_registry "
    "WHERE kind NOT IN ('chunk', 'tick') AND kind = 'fail' AND subject = ? AND seq > ?"
)

_NOTHING = Reads()


class Decisions:
    def __init__(self, reads_of: ReadsOf) -> None:
        self._reads_of = reads_of
        self._reads: dict[int, Reads] = {}  # of the queries that were there when somebody asked
        self._counts: dict[str, int] = {}
        self._filled: dict[int, tuple[str, str]] | None = None  # derived streams by their ids: their IRIs and producers

    def refusal(self, connection: sqlite3.Connection, guard: AnyGuard) -> Refused | None:
        """Why the guard does not hold; None if it does."""
        match guard:
            case Every(guards):
                for one in guards:
                    refusal = self.refusal(connection, one)
                    if refusal is not None:
                        return refusal
                return None
            case Same(things, id):
                holds = _is_there(connection, _MADE[things], id)
            case Unused(stream, key, digest):
                push = push_of(connection, stream, key)
                if push is None:
                    return None
                return Refused(guard, reply=push.reply if push.digest == digest else None)
            case Absent(things, name):
                holds = not _is_there(connection, _NAMED[things], name)
            case Present(things, name):
                holds = _is_there(connection, _NAMED[things], name)
            case Once(query, stream, instant):
                newest = relayed_to(connection, query)
                holds = (
                    _is_there(connection, _VERSION, query)
                    and _is_there(connection, _MADE["streams"], stream)
                    and (newest is None or newest < instant)
                )
            case IsPaused(query, paused):
                holds = _is_paused(connection, query) == paused
            case Unfailed(query):
                holds = _has_failed(connection, query) is False
            case IsSet(kind, name):
                holds = _is_there(connection, _SETTING, kind, name)
            case Unchanged(kind, name, id):
                row = connection.execute(_SETTING, (kind, name)).fetchone()
                holds = (row[0] if row else None) == id
            case Room(things, most):
                holds = self._count(connection, things) < most
            case Unfilled(producer, but):
                holds = all(
                    name != producer or stream == but for stream, (_, name) in self._producers(connection).items()
                )
            case Unread():
                readers = self._readers(connection, guard)
                return Refused(guard, readers=readers) if readers else None
        return None if holds else Refused(guard)

    def before(self, connection: sqlite3.Connection, draft: Draft) -> None:
        """An entry is going to be written."""
        kind, subject = draft.kind, draft.subject
        if kind in _MAKES:
            things = _MAKES[kind]
            replaces = things == "queries" and things in self._counts and _is_there(connection, _NAMED[things], subject)
            self._add(things, 0 if replaces else 1)
        elif kind in _UNDOES:
            things, sql = _UNDOES[kind]
            if things in self._counts:
                self._add(things, -connection.execute(sql, (subject,)).fetchone()[0])
            if kind == "drop" and self._filled is not None:
                self._filled = {id: filled for id, filled in self._filled.items() if filled[0] != subject}
        elif kind in _SETS and _SETS[kind] in self._counts:
            was = _is_there(connection, _SETTING, kind, subject)
            self._add(_SETS[kind], (draft.payload is not None) - was)

    def after(self, entry: Entry) -> None:
        """It is written."""
        if entry.kind == "stream" and self._filled is not None:
            producer = stream_made(entry.payload or b"").producer
            if producer is not None:
                self._filled[entry.seq] = entry.subject or "", producer

    def forget(self) -> None:
        """What was noted came to nothing."""
        self._reads.clear()  # another query may get the place of one that came to nothing
        self._counts.clear()
        self._filled = None

    def _add(self, things: str, number: int) -> None:
        if things in self._counts:
            self._counts[things] += number

    def _count(self, connection: sqlite3.Connection, things: str) -> int:
        if things not in self._counts:
            self._counts[things] = connection.execute(_COUNT[things]).fetchone()[0]
        return self._counts[things]

    def _producers(self, connection: sqlite3.Connection) -> dict[int, tuple[str, str]]:
        if self._filled is None:
            self._filled = {}
            for id, iri, payload, sum in connection.execute("SELECT id, iri, payload, payload_sum FROM streams"):
                if is_whole(payload, sum) and (producer := stream_made(payload).producer) is not None:
                    self._filled[id] = iri, producer
        return self._filled

    def _readers(self, connection: sqlite3.Connection, guard: Unread) -> tuple[str, ...]:
        names = dict(connection.execute("SELECT id, name FROM queries ORDER BY id"))
        # What a query reads is looked up once: there may be thousands of them.
        self._reads = {id: self._reads[id] if id in self._reads else self._reads_by(connection, id) for id in names}
        return tuple(name for id, name in names.items() if name != guard.but and self._reads[id].any_of(guard))

    def _reads_by(self, connection: sqlite3.Connection, query: int) -> Reads:
        payload, sum = connection.execute("SELECT payload, payload_sum FROM log WHERE seq = ?", (query,)).fetchone()
        # One that is damaged reads nothing: the engine has failed it.
        return self._reads_of(registered(payload)) if is_whole(payload, sum) else _NOTHING


def _is_there(connection: sqlite3.Connection, sql: str, *values: object) -> bool:
    return connection.execute(sql, values).fetchone() is not None


def _is_paused(connection: sqlite3.Connection, query: int) -> bool | None:
    """Whether a query is paused; None if it is not there."""
    row = connection.execute("SELECT payload, payload_sum, turned FROM queries WHERE id = ?", (query,)).fetchone()
    if row is None:
        return None
    payload, sum, turned = row
    if turned is not None:
        return turned == "pause"
    return is_whole(payload, sum) and registered(payload).paused


def _has_failed(connection: sqlite3.Connection, query: int) -> bool | None:
    """Whether the log says that a version of a query has failed; None if the query is not there. An entry that is
    damaged is taken to be of the version that was there."""
    row = connection.execute("SELECT name, ended FROM versions WHERE id = ?", (query,)).fetchone()
    if row is None:
        return None
    name, ended = row
    return any(
        query_failed(payload).id == query if is_whole(payload, sum) else ended is None or seq < ended
        for seq, payload, sum in connection.execute(_FAILED, (name, query))
    )
