"""The registry: which streams and queries there are, as a view of the log.

Nothing is stored twice: a stream exists from its `stream` entry to its `drop` entry, a query from `register` to
`unregister`. The place of the entry that made it is its identity, so a name that is used again names another thing.

    registry.query("HotRooms").id          # 17
    registry.stream("http://…/temp").clock # "arrival"
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from csparql_spark.store.database import Database
from csparql_spark.store.log import Draft
from csparql_spark.store.writer import Guard, Refused


@dataclass(frozen=True, slots=True)
class StreamRecord:
    id: int
    iri: str
    created: int
    name: str
    clock: str       # "arrival" or "event"
    delay: int       # ms that an element on the event clock may be late

    @staticmethod
    def draft(iri: str, *, name: str, clock: str, delay: int) -> Draft:
        return Draft("stream", subject=iri, payload=json.dumps({"name": name, "clock": clock, "delay": delay}).encode())


@dataclass(frozen=True, slots=True)
class QueryRecord:
    id: int
    name: str
    registered: int
    text: str
    base: str | None

    @staticmethod
    def draft(name: str, *, text: str, base: str | None) -> Draft:
        return Draft("register", subject=name, payload=json.dumps({"text": text, "base": base}).encode())


class Registry:
    def __init__(self, database: Database) -> None:
        self._database = database

    def streams(self) -> list[StreamRecord]:
        rows = self._database.connection.execute("SELECT id, iri, created, payload FROM streams ORDER BY id")
        return [StreamRecord(*row, **json.loads(payload)) for *row, payload in rows]

    def stream(self, iri: str) -> StreamRecord | None:
        rows = self._database.connection.execute("SELECT id, iri, created, payload FROM streams WHERE iri = ?", (iri,))
        return next((StreamRecord(*row, **json.loads(payload)) for *row, payload in rows), None)

    def queries(self) -> list[QueryRecord]:
        rows = self._database.connection.execute("SELECT id, name, registered, payload FROM queries ORDER BY id")
        return [QueryRecord(*row, **json.loads(payload)) for *row, payload in rows]

    def query(self, name: str) -> QueryRecord | None:
        rows = self._database.connection.execute(
            "SELECT id, name, registered, payload FROM queries WHERE name = ?", (name,))
        return next((QueryRecord(*row, **json.loads(payload)) for *row, payload in rows), None)


def absent(view: str, subject: str, refusal: Refused) -> Guard:
    """A guard that lets an entry in only while `view` ("streams" or "queries") has no `subject`."""
    return _presence(view, subject, False, refusal)


def present(view: str, subject: str, refusal: Refused) -> Guard:
    """A guard that lets an entry in only while `view` has `subject`."""
    return _presence(view, subject, True, refusal)


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
