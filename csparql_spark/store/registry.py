"""The registry: which streams and queries there are, as a view of the log.

Nothing is stored twice: a stream exists from its `stream` entry to its `drop` entry, a query from `register` to
`unregister`, and is paused or not as the newest `pause` or `resume` says; a background graph or a rule set is what its
newest entry says. The place of the entry that made it is its identity, so a name that is used again names another
thing.

A query that is replaced has *versions*: each is the place of its `register` entry (`id`), and the first of them
(`origin`) stays what the query is known by. What a query has said belongs to the version that said it. Whoever asks by
name gets the newest one; the others are there as long as something of them is kept (see `retention`).

    registry.query("HotRooms").id          # 17
    registry.versions("HotRooms")          # those that are kept, oldest first
    registry.stream("http://…/temp").clock # "arrival"
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from csparql_spark.disk.database import Database
from csparql_spark.log import contents
from csparql_spark.log.contents import Compiled, QueryPaused, QueryRegistered, StreamMade
from csparql_spark.log.entries import Draft
from csparql_spark.log.sqlite.reader import is_whole

NO_CONTENT = QueryRegistered("", None)  # of a registration that is damaged


@dataclass(frozen=True, slots=True)
class StreamRecord:
    id: int
    iri: str
    created: int
    name: str
    clock: str  # "arrival", "event", or "derived"
    delay: int  # ms that an element on the event clock may be late
    producer: str | None = None  # of a derived stream: the name of the query whose answers it holds
    mqtt: str | None = None  # which topics of the broker it is fed with
    mqtt_format: str | None = None  # media type of messages that do not tell theirs
    damaged: bool = False  # what was said of it cannot be believed: nobody can push into it

    @staticmethod
    def draft(iri: str, *, name: str, clock: str, delay: int, producer: str | None = None) -> Draft:
        return contents.draft_of(StreamMade(name, clock, delay, producer), iri)


@dataclass(frozen=True, slots=True)
class QueryRecord:
    id: int
    name: str
    registered: int
    text: str
    base: str | None
    paused: bool = False
    compiled: Compiled | None = field(default=None, compare=False, repr=False)  # see `language.queries.compiled`
    damaged: bool = False  # what it asks for cannot be believed, and `text` is empty: the engine fails it
    replaces: int | None = None  # the version before it
    origin: int = 0  # the first version; itself where nothing else is given
    ended: int | None = None  # the place where the next version begins; None: it is the newest, or that was not asked

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", self.origin or self.id)

    @staticmethod
    def draft(
        name: str, *, text: str, base: str | None, paused: bool = False, compiled: Compiled | None = None
    ) -> Draft:
        return contents.draft_of(QueryRegistered(text, base, paused, compiled), name)

    def pause(self, paused: bool) -> Draft:
        """The entry that pauses the query, or lets it go on."""
        return contents.draft_of(QueryPaused(self.id, paused), self.name)


@dataclass(frozen=True, slots=True)
class KnowledgeRecord:
    """A background graph (`kind` "background", its size in triples) or a rule set ("rules"), as it is now."""

    id: int  # the entry that set it
    kind: str
    name: str
    changed: int
    rows: int


class Registry:
    def __init__(self, database: Database) -> None:
        self._database = database

    def streams(self) -> list[StreamRecord]:
        return list(_streams(self._database.connection, "ORDER BY id"))

    def stream(self, iri: str) -> StreamRecord | None:
        return next(_streams(self._database.connection, "WHERE iri = ?", iri), None)

    def queries(self, after: int = 0) -> list[QueryRecord]:
        """The queries that there are, of those that were registered after a place of the log."""
        return list(_queries(self._database.connection, "WHERE id > ? ORDER BY id", after))

    def pauses(self) -> dict[int, bool | None]:
        """The ids of the queries that there are, and whether each was paused or resumed last; None: neither."""
        return {
            id: None if pause is None else pause == "pause"
            for id, pause in self._database.connection.execute("SELECT id, turned FROM queries ORDER BY id")
        }

    def settings(self, kind: str) -> list[KnowledgeRecord]:
        """The graphs, or the rule sets, that there are."""
        rows = self._database.connection.execute(
            "SELECT id, kind, name, changed, rows FROM settings WHERE kind = ? ORDER BY name", (kind,)
        )
        return [KnowledgeRecord(*row) for row in rows]

    def setting(self, kind: str, name: str) -> KnowledgeRecord | None:
        rows = self._database.connection.execute(
            "SELECT id, kind, name, changed, rows FROM settings WHERE kind = ? AND name = ?", (kind, name)
        )
        return next((KnowledgeRecord(*row) for row in rows), None)

    def version(self, id: int) -> QueryRecord | None:
        """The version of a query that is there which the entry `id` registered, if it is kept."""
        return next(self._versions("WHERE id = ?", id), None)

    def versions(self, name: str) -> list[QueryRecord]:
        """The versions of the query of that name that are kept, oldest first: the last one is the one there is."""
        return list(self._versions("WHERE name = ? ORDER BY id", name))

    def registrations(self, name: str, most: int) -> list[tuple[int, int]]:
        """The newest of them, each with when it was registered, unread."""
        rows = self._database.connection.execute(
            "SELECT id, registered FROM versions WHERE name = ? ORDER BY id DESC LIMIT ?", (name, most)
        )
        return rows.fetchall()[::-1]

    def ends(self, name: str) -> list[tuple[int, int | None]]:
        """All of them, each with the place where the next one begins, and unread: there may be many for a moment."""
        return self._database.connection.execute(
            "SELECT id, ended FROM versions WHERE name = ? ORDER BY id", (name,)
        ).fetchall()

    def _versions(self, clause: str, value: object) -> Iterator[QueryRecord]:
        for id, name, registered, payload, sum, ended in self._database.connection.execute(
            f"SELECT id, name, registered, payload, payload_sum, ended FROM versions {clause}", (value,)
        ):
            yield replace(query_record(id, name, registered, payload, sum), ended=ended)

    def query(self, name: str) -> QueryRecord | None:
        return next(_queries(self._database.connection, "WHERE name = ?", name), None)


def _streams(connection: sqlite3.Connection, clause: str, *values: object) -> Iterator[StreamRecord]:
    for id, iri, created, payload, sum in connection.execute(
        f"SELECT id, iri, created, payload, payload_sum FROM streams {clause}", values
    ):
        if is_whole(payload, sum):
            content = contents.stream_made(payload)
            yield StreamRecord(
                id,
                iri,
                created,
                content.name,
                content.clock,
                content.delay,
                content.producer,
                content.mqtt,
                content.mqtt_format,
            )
        else:
            yield StreamRecord(id, iri, created, name=iri, clock="arrival", delay=0, damaged=True)


def _queries(connection: sqlite3.Connection, clause: str, *values: object) -> Iterator[QueryRecord]:
    for id, name, registered, payload, sum, turned in connection.execute(
        f"SELECT id, name, registered, payload, payload_sum, turned FROM queries {clause}", values
    ):
        yield query_record(id, name, registered, payload, sum, turned)


def query_record(
    id: int, name: str, registered: int, payload: bytes, sum: int | None, turned: str | None = None
) -> QueryRecord:
    """What the entry of a registration says, and the newest that was said of pausing it."""
    whole = is_whole(payload, sum)
    content = contents.registered(payload) if whole else NO_CONTENT
    return QueryRecord(
        id,
        name,
        registered,
        content.text,
        content.base,
        content.paused if turned is None else turned == "pause",
        compiled=content.compiled,
        damaged=not whole,
        replaces=content.replaces,
        origin=content.origin or 0,
    )
