"""The registry: which streams and queries there are, as a view of the log.

Nothing is stored twice: a stream exists from its `stream` entry to its `drop` entry, a query from `register` to
`unregister`, and is paused or not as the newest `pause` or `resume` says; a background graph or a rule set is what its
newest entry says. The place of the entry that made it is its identity, so a name that is used again names another
thing.

    registry.query("HotRooms").id          # 17
    registry.stream("http://…/temp").clock # "arrival"
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from csparql_spark.disk.checksum import payload_sum
from csparql_spark.disk.database import Database
from csparql_spark.log.sqlite.reader import Draft
from csparql_spark.log.sqlite.writer import Guard, Refused
from csparql_spark.remembering import bounded

MOST, LONGEST = 16_384, 2048     # registrations that are remembered, and bytes of one

Compiled = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StreamRecord:
    id: int
    iri: str
    created: int
    name: str
    clock: str       # "arrival", "event", or "derived"
    delay: int       # ms that an element on the event clock may be late
    producer: str | None = None      # of a derived stream: the name of the query whose answers it holds
    mqtt: str | None = None          # which topics of the broker it is fed with
    mqtt_format: str | None = None   # media type of messages that do not tell theirs
    damaged: bool = False            # what was said of it cannot be believed: nobody can push into it

    @staticmethod
    def draft(iri: str, *, name: str, clock: str, delay: int, producer: str | None = None, mqtt: str | None = None,
              mqtt_format: str | None = None) -> Draft:
        made: dict[str, object] = {"name": name, "clock": clock, "delay": delay}
        more = {"producer": producer, "mqtt": mqtt, "mqtt_format": mqtt_format}
        made |= {name: value for name, value in more.items() if value is not None}
        return Draft("stream", subject=iri, payload=json.dumps(made).encode())


@dataclass(frozen=True, slots=True)
class QueryRecord:
    id: int
    name: str
    registered: int
    text: str
    base: str | None
    paused: bool = False
    compiled: Compiled | None = field(default=None, compare=False, repr=False)     # see `language.queries.compiled`
    damaged: bool = False      # what it asks for cannot be believed, and `text` is empty: the engine fails it

    @staticmethod
    def draft(name: str, *, text: str, base: str | None, paused: bool = False,
              compiled: Compiled | None = None) -> Draft:
        made: dict[str, object] = {"text": text, "base": base} | ({"paused": True} if paused else {})
        if compiled is not None:
            made["compiled"] = compiled
        return Draft("register", subject=name, payload=json.dumps(made).encode())

    def turn(self, paused: bool) -> Draft:
        """The entry that pauses the query, or lets it go on."""
        return Draft("pause" if paused else "resume", subject=self.name, payload=json.dumps({"id": self.id}).encode())


@dataclass(frozen=True, slots=True)
class KnowledgeRecord:
    """A background graph (`kind` "background", its size in triples) or a rule set ("rules"), as it is now."""

    id: int          # the entry that set it
    kind: str
    name: str
    changed: int
    rows: int


class Registry:
    def __init__(self, database: Database) -> None:
        self._database = database

    def streams(self) -> list[StreamRecord]:
        return streams_in(self._database.connection)

    def stream(self, iri: str) -> StreamRecord | None:
        return next(_streams(self._database.connection, "WHERE iri = ?", iri), None)

    def queries(self, after: int = 0) -> list[QueryRecord]:
        """The queries that there are, of those that were registered after a place of the log."""
        return list(_queries(self._database.connection, "WHERE id > ? ORDER BY id", after))

    def turns(self) -> dict[int, bool | None]:
        """The ids of the queries that there are, and whether each was paused or resumed last; None: neither."""
        return {id: None if turned is None else turned == "pause"
                for id, turned in self._database.connection.execute("SELECT id, turned FROM queries ORDER BY id")}

    def settings(self, kind: str) -> list[KnowledgeRecord]:
        """The graphs, or the rule sets, that there are."""
        rows = self._database.connection.execute(
            "SELECT id, kind, name, changed, rows FROM settings WHERE kind = ? ORDER BY name", (kind,))
        return [KnowledgeRecord(*row) for row in rows]

    def setting(self, kind: str, name: str) -> KnowledgeRecord | None:
        rows = self._database.connection.execute(
            "SELECT id, kind, name, changed, rows FROM settings WHERE kind = ? AND name = ?", (kind, name))
        return next((KnowledgeRecord(*row) for row in rows), None)

    def query(self, name: str) -> QueryRecord | None:
        return next(_queries(self._database.connection, "WHERE name = ?", name), None)


def streams_in(connection: sqlite3.Connection) -> list[StreamRecord]:
    """The streams that there are, as a guard sees them."""
    return list(_streams(connection, "ORDER BY id"))


def queries_in(connection: sqlite3.Connection) -> list[QueryRecord]:
    """The queries that there are, as a guard sees them."""
    return list(_queries(connection, "ORDER BY id"))


def _streams(connection: sqlite3.Connection, clause: str, *values: object) -> Iterator[StreamRecord]:
    for id, iri, created, payload, sum in connection.execute(
            f"SELECT id, iri, created, payload, payload_sum FROM streams {clause}", values):
        if _is_whole(payload, sum):
            yield StreamRecord(id, iri, created, **json.loads(payload))
        else:
            yield StreamRecord(id, iri, created, name=iri, clock="arrival", delay=0, damaged=True)


def _queries(connection: sqlite3.Connection, clause: str, *values: object) -> Iterator[QueryRecord]:
    for id, name, registered, payload, sum, turned in connection.execute(
            f"SELECT id, name, registered, payload, payload_sum, turned FROM queries {clause}", values):
        yield query_record(id, name, registered, payload, sum, turned)


def query_record(id: int, name: str, registered: int, payload: bytes, sum: int | None,
                 turned: str | None = None) -> QueryRecord:
    """What the entry of a registration says, and the newest that was said of pausing it."""
    whole = _is_whole(payload, sum)
    text, base, paused, compiled = read_payload(payload) if whole else ("", None, False, None)
    return QueryRecord(id, name, registered, text, base, paused if turned is None else turned == "pause",
                       compiled=compiled, damaged=not whole)


@bounded(MOST, LONGEST)
def read_payload(payload: bytes) -> tuple[str, str | None, bool, Compiled | None]:
    """What a registration says: the text, its base, whether it begins paused, and the compiled form, if it has one. All
    of them are looked at again and again."""
    made = json.loads(payload)
    return made["text"], made["base"], made.get("paused", False), made.get("compiled")


def _is_whole(payload: bytes, sum: int | None) -> bool:
    return sum is None or isinstance(payload, bytes) and sum == payload_sum(payload)


def absent(view: str, subject: str, refusal: Refused) -> Guard:
    """A guard that lets an entry in only while `view` ("streams" or "queries") has no `subject`."""
    return _presence(view, subject, False, refusal)


def present(view: str, subject: str, refusal: Refused) -> Guard:
    """A guard that lets an entry in only while `view` has `subject`."""
    return _presence(view, subject, True, refusal)


def same(view: str, id: int, refusal: Refused) -> Guard:
    """A guard that lets an entry in only while `view` has what the entry `id` made: not gone, and not made again."""
    if view not in ("streams", "queries"):
        raise ValueError(f"{view!r} is no view of the registry")

    def check(connection: sqlite3.Connection) -> None:
        if connection.execute(f"SELECT 1 FROM {view} WHERE id = ?", (id,)).fetchone() is None:
            raise refusal
    return check


def standing(query: int, paused: bool, refusal: Refused) -> Guard:
    """A guard that lets an entry in only while there is the query that the entry `query` registered, and it is paused,
    or is not."""
    def check(connection: sqlite3.Connection) -> None:
        if [one.paused for one in _queries(connection, "WHERE id = ?", query)] != [paused]:
            raise refusal
    return check


def is_set(kind: str, name: str, refusal: Refused) -> Guard:
    """A guard that lets an entry in only while there is this graph or rule set, whoever has changed it meanwhile."""
    def check(connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT 1 FROM settings WHERE kind = ? AND name = ?", (kind, name)).fetchone()
        if found is None:
            raise refusal
    return check


def unchanged(kind: str, name: str, id: int | None, refusal: Refused) -> Guard:
    """A guard that lets an entry in only while the graph or rule set is the one that the entry `id` set (None: there is
    none)."""
    def check(connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT id FROM settings WHERE kind = ? AND name = ?", (kind, name)).fetchone()
        if (found[0] if found else None) != id:
            raise refusal
    return check


def every(*guards: Guard) -> Guard:
    """All of the guards, in order."""
    def check(connection: sqlite3.Connection) -> None:
        for guard in guards:
            guard(connection)
    return check


def _presence(view: str, subject: str, wanted: bool, refusal: Refused) -> Guard:
    column = {"streams": "iri", "queries": "name"}[view]

    def check(connection: sqlite3.Connection) -> None:
        found = connection.execute(f"SELECT 1 FROM {view} WHERE {column} = ?", (subject,)).fetchone() is not None
        if found != wanted:
            raise refusal
    return check
