"""Observers: whom the server calls when a query has said something, and how far each of them has heard.

An observer is a query and a URL. `position` is the instant of the last answer that it has taken; it moves only after
the answer was taken, so that whoever goes on after a crash tells the last one twice rather than one never. `active`
observers are called; a `failed` one keeps its position, and goes on from there when it is added again. `when` says
which answers it wants; the position moves past the others, too. `taken` does not: it is what changes are since.

It is told what a query says in one `version` after the other: when it was told all of one that is over, it `moved` on,
to the beginning of the next. What it is an observer of is the query, by its first version, whatever that is by now.

    observers.add(ObserverDraft(17, "https://hooks.example.org/hot", position=1700000000000), at=now, most=1000)
    observers.took(id, instant=1700000001000)
    observers.passed(id, instant=1700000002000)              # it does not want that one
    observers.missed(id, "HTTP 503", at=now, fail=False)
    observers.moved(id, 21)

The id is made of the query and the URL: the same two are the same observer. Observers go with their query.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass

from csparql_spark.disk.database import Database
from csparql_spark.store.registry import Registry

# Beside the tables of `database`: a directory that was made without it gets it when it is opened.
TABLE = """
CREATE TABLE IF NOT EXISTS observers (
    id        TEXT    PRIMARY KEY,
    query     INTEGER NOT NULL,   -- seq of the registration
    url       TEXT    NOT NULL,
    secret    TEXT,
    created   INTEGER NOT NULL,
    position  INTEGER NOT NULL,   -- the last instant that was taken
    state     TEXT    NOT NULL DEFAULT 'active',
    delivered INTEGER NOT NULL DEFAULT 0,
    failures  INTEGER NOT NULL DEFAULT 0,     -- since something was taken
    failing   INTEGER,            -- when the first of them was
    error     TEXT
)
"""
# Columns that directories of earlier versions do not have, with what holds for the observers there.
LATER = {
    "tells": "TEXT NOT NULL DEFAULT 'always'",  # which answers: `nonempty`, `always`, or `changes` of them
    "begin": "TEXT",  # where it began: `latest`, `beginning`, an instant; NULL: not known
    "gap": "INTEGER",  # answers after this instant were forgotten or are damaged, and it is not told yet
    "version": "INTEGER",  # of the query, whose answers `position` is one of; NULL: its first one
    "taken": "INTEGER",  # the last instant that it has taken, and not passed over; NULL: since it wants changes, none
}
ALWAYS, NONEMPTY, CHANGES = "always", "nonempty", "changes"
_COLUMNS = (
    "id, query, url, secret, created, position, state, delivered, failures, failing, error, tells, begin, gap, taken, "
    "coalesce(version, query)"
)


@dataclass(frozen=True, slots=True)
class Observer:
    id: str
    query: int
    url: str
    secret: str | None
    created: int
    position: int
    state: str = "active"
    delivered: int = 0
    failures: int = 0
    failing: int | None = None
    error: str | None = None
    when: str = ALWAYS
    begin: str | None = None
    gap: int | None = None
    taken: int | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class ObserverDraft:
    """What is asked of an observer, new or not: no secret or `when` leaves those that it has. It begins in a `version`
    of the query, the first one if nothing else is said."""

    query: int
    url: str
    position: int  # the last instant that it is not told
    secret: str | None = None
    when: str | None = None
    begin: str = "latest"
    version: int | None = None


class TooManyObservers(Exception):
    """There are as many observers as there may be."""


class ObserverStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self) -> ObserverStore:
        with self._database.transaction() as connection:
            connection.execute(TABLE)
            there = {name for _, name, *_ in connection.execute("PRAGMA table_info(observers)")}
            for name in LATER.keys() - there:
                connection.execute(f"ALTER TABLE observers ADD COLUMN {name} {LATER[name]}")
        return self

    def add(self, draft: ObserverDraft, *, at: int, most: int) -> tuple[Observer, bool]:
        """The observer, durably, and whether it is new. One that is there keeps its position, is active again, and has
        the secret and the `when` that are given now, if they are. Raises `TooManyObservers`."""
        id = name_of(draft.query, draft.url)
        with self._database.transaction() as connection:
            known = self._one(connection, id)
            if known is None:
                if connection.execute("SELECT count(*) FROM observers").fetchone()[0] >= most:
                    raise TooManyObservers
                connection.execute(
                    "INSERT INTO observers (id, query, url, secret, created, position, tells, begin, version) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        id,
                        draft.query,
                        draft.url,
                        draft.secret,
                        at,
                        draft.position,
                        draft.when or NONEMPTY,
                        draft.begin,
                        draft.version,
                    ),
                )
            else:
                connection.execute(
                    "UPDATE observers SET secret = coalesce(?, secret), tells = coalesce(?, tells), "
                    "taken = CASE WHEN coalesce(?, tells) = tells THEN taken END, "
                    "state = 'active', failures = 0, failing = NULL, error = NULL WHERE id = ?",
                    (draft.secret, draft.when, draft.when, id),
                )
            made = self._one(connection, id)
        assert made is not None
        return made, known is None

    def remove(self, query: int, id: str) -> bool:
        with self._database.transaction() as connection:
            return connection.execute("DELETE FROM observers WHERE query = ? AND id = ?", (query, id)).rowcount == 1

    def of(self, query: int) -> list[Observer]:
        return self._select("WHERE query = ? ORDER BY created, id", query)

    def one(self, query: int, id: str) -> Observer | None:
        return next(iter(self._select("WHERE query = ? AND id = ?", query, id)), None)

    def active(self) -> list[Observer]:
        return self._select("WHERE state = 'active' ORDER BY id")

    def took(self, id: str, instant: int) -> None:
        """It has taken the answer of an instant. That it has may be lost with the power: then it is told twice."""
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "UPDATE observers SET position = max(position, ?), taken = ?, delivered = delivered + 1, "
                "failures = 0, failing = NULL, error = NULL, gap = NULL WHERE id = ?",
                (instant, instant, id),
            )

    def passed(self, id: str, instant: int, *, gap: int | None = None) -> None:
        """It does not want the answers up to an instant; `gap`: after that one, some of them were forgotten, which it
        is still to be told."""
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "UPDATE observers SET position = max(position, ?), gap = coalesce(gap, ?) WHERE id = ?",
                (instant, gap, id),
            )

    def missed(self, id: str, error: str, *, at: int, fail: bool) -> None:
        """It has not taken an answer; `fail`: and nobody tries any more."""
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "UPDATE observers SET failures = failures + 1, failing = coalesce(failing, ?), "
                "error = ?, state = CASE WHEN ? THEN 'failed' ELSE state END WHERE id = ?",
                (at, error, fail, id),
            )

    def moved(self, id: str, version: int, *, position: int, gap: int | None = None) -> None:
        """It goes on with another version, behind a position that is before all of it; `gap`: after that instant,
        answers were forgotten, which it is still to be told."""
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "UPDATE observers SET version = ?, position = ?, taken = NULL, gap = coalesce(gap, ?) WHERE id = ?",
                (version, position, gap, id),
            )

    def forget(self) -> int:
        """Let the observers of queries that are gone go; how many those were."""
        there = {id for query in Registry(self._database).queries() for id in (query.id, query.origin)}
        gone = [one.id for one in self._select("") if one.query not in there and one.version not in there]
        if not gone:
            return 0
        with self._database.transaction(durable=False) as connection:
            return connection.executemany("DELETE FROM observers WHERE id = ?", [(id,) for id in gone]).rowcount

    def _select(self, clause: str, *values: object) -> list[Observer]:
        rows = self._database.connection.execute(f"SELECT {_COLUMNS} FROM observers {clause}", values)
        return [Observer(*row) for row in rows]

    @staticmethod
    def _one(connection: sqlite3.Connection, id: str) -> Observer | None:
        row = connection.execute(f"SELECT {_COLUMNS} FROM observers WHERE id = ?", (id,)).fetchone()
        return Observer(*row) if row else None


def name_of(query: int, url: str) -> str:
    return hashlib.sha256(f"{query} {url}".encode()).hexdigest()[:16]
