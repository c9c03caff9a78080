"""The order of answers: one line in which everything that was ever told stands, whichever query told it.

`position` numbers the parts of answers as they were written; it only grows, and no number is used twice. The place of
an instant is the position of its last part, so whoever has been told everything up to a place has been told whole
instants. The instants of a query stand in the order of time.

    order.head()                                       # 48213: the newest position that was ever given
    order.after(48000, head=48213, limit=16)           # what was told in between, and what of it is forgotten
    order.after(48000, head=48213, limit=16, queries=[17, 20])

What is forgotten leaves its place behind (see `retention`): for each query the last one that is gone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

from csparql_spark.disk.database import Database
from csparql_spark.log.sqlite.incarnations import Incarnations, Lineage

NEAR = 1000  # so many positions are read at once, whoever wants which of them
_WHOLE = (
    "position = (SELECT max(part.position) FROM answers AS part "
    "WHERE part.query = answers.query AND part.instant = answers.instant)"
)


class AnswerPlace(NamedTuple):
    """An instant of a query, and its position; no instant: answers up to here are forgotten."""

    position: int
    query: int
    instant: int | None


class AnswerOrder:
    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def lineage(self) -> Lineage:
        """Of the log whose answers these are. Another incarnation begins with another process."""
        return Incarnations(self._database).lineage()

    def head(self) -> int:
        row = self._database.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'answers'").fetchone()
        return row[0] if row else 0

    def queries_since(self, position: int, head: int) -> set[int]:
        """The queries that have answers after `position` and up to `head`."""
        rows = self._database.connection.execute(
            "SELECT DISTINCT query FROM answers WHERE position > ? AND position <= ?", (position, head)
        )
        return {query for (query,) in rows}

    def after(
        self, position: int, *, head: int, limit: int, queries: Collection[int] | None = None
    ) -> list[AnswerPlace]:
        """The places after `position` and up to `head`, at most `limit`, in order. None: of all queries."""
        with self._database.snapshot() as connection:  # what is gone is either here or there
            if queries is None:
                places = _all(connection, position, head, limit)
            elif head - position <= NEAR:
                places = [place for place in _all(connection, position, head, NEAR) if place.query in queries][:limit]
            else:
                places = sorted(place for query in queries for place in _of(connection, query, position, head, limit))[
                    :limit
                ]
            reached = places[-1].position if len(places) == limit else head
            gone = _gone(connection, position, reached)
        if queries is not None:
            gone = [place for place in gone if place.query in queries]
        return sorted(places + gone, key=lambda place: place.position) if gone else places

    def newest(self, queries: Collection[int], head: int) -> list[AnswerPlace]:
        """The place of the newest instant of each query, in order."""
        places = []
        for query in queries:
            row = self._database.connection.execute(
                "SELECT max(position), query, instant FROM answers WHERE query = ? AND instant = "
                "(SELECT max(instant) FROM answers WHERE query = ?)",
                (query, query),
            ).fetchone()
            if row[0] is not None and row[0] <= head:
                places.append(AnswerPlace(*row))
        return sorted(places)

    def last(self, position: int, head: int, count: int, queries: Collection[int] | None) -> list[AnswerPlace]:
        """The last `count` places up to `head`, in order."""
        if queries is None or head - position <= NEAR:
            rows = self._database.connection.execute(
                f"SELECT position, query, instant FROM answers WHERE position > ? AND position <= ? AND {_WHOLE} "
                "ORDER BY position DESC",
                (position, head),
            )
            chosen = (AnswerPlace(*row) for row in rows if queries is None or row[1] in queries)
            return sorted(place for place, _ in zip(chosen, range(count)))
        found = [
            AnswerPlace(*row)
            for query in queries
            for row in self._database.connection.execute(
                f"SELECT position, query, instant FROM answers WHERE query = ? AND +position > ? AND +position <= ? "
                f"AND {_WHOLE} ORDER BY instant DESC LIMIT ?",
                (query, position, head, count),
            )
        ]
        return sorted(found)[-count:]

    def waiting(self, position: int, head: int, queries: Collection[int] | None) -> dict[int, tuple[int, int, int]]:
        """Of each query the number of instants between the two, and the first and the last of them."""
        rows = self._database.connection.execute(
            "SELECT query, count(DISTINCT instant), min(instant), max(instant) FROM answers "
            "WHERE position > ? AND position <= ? GROUP BY query",
            (position, head),
        )
        return {query: tuple(rest) for query, *rest in rows if queries is None or query in queries}

    def next_instant(self, query: int, position: int) -> int | None:
        """The first instant of a query that is kept and stands after `position`."""
        return self._database.connection.execute(
            "SELECT min(instant) FROM answers WHERE query = ? AND +position > ?", (query, position)
        ).fetchone()[0]

    def last_instant(self, query: int, position: int) -> int | None:
        """The newest instant of a query that is kept and stands up to `position`."""
        return self._database.connection.execute(
            "SELECT max(instant) FROM answers WHERE query = ? AND +position <= ?", (query, position)
        ).fetchone()[0]

    def instant_before(self, query: int, instant: int) -> int | None:
        """The newest instant of a query that is kept and is before that one."""
        return self._database.connection.execute(
            "SELECT max(instant) FROM answers WHERE query = ? AND instant < ?", (query, instant)
        ).fetchone()[0]

    def up_to(self, query: int, instant: int) -> int | None:
        """The position of the newest instant t <= `instant` of a query; None if none is kept."""
        return self._database.connection.execute(
            "SELECT max(position) FROM answers WHERE query = ? AND instant <= ?", (query, instant)
        ).fetchone()[0]

    def gaps(self, position: int, head: int) -> list[AnswerPlace]:
        """Up to where answers of queries are forgotten, if that is after `position` and up to `head`."""
        return _gone(self._database.connection, position, head)

    def gone(self, query: int) -> tuple[int, int] | None:
        """The place of the last forgotten answer of a query: position and instant."""
        return self._database.connection.execute(
            "SELECT position, instant FROM forgotten WHERE query = ?", (query,)
        ).fetchone()


def forget(connection: sqlite3.Connection, query: int, condition: str, values: dict[str, int]) -> int:
    """Delete the answers of a query for which the condition holds, and note up to where they are gone."""
    position, instant = connection.execute(
        f"SELECT max(position), max(instant) FROM answers WHERE {condition}", values
    ).fetchone()
    if position is None:
        return 0
    connection.execute(
        "INSERT INTO forgotten (query, position, instant) VALUES (?, ?, ?) ON CONFLICT (query) "
        "DO UPDATE SET position = max(position, excluded.position), "
        "instant = max(instant, excluded.instant)",
        (query, position, instant),
    )
    return connection.execute(f"DELETE FROM answers WHERE {condition}", values).rowcount


def forget_query(connection: sqlite3.Connection, query: int) -> int:
    """Delete the answers of a query that is gone, and what was noted of them."""
    connection.execute("DELETE FROM forgotten WHERE query = ?", (query,))
    return connection.execute("DELETE FROM answers WHERE query = ?", (query,)).rowcount


def _all(connection: sqlite3.Connection, position: int, head: int, limit: int) -> list[AnswerPlace]:
    return [
        AnswerPlace(*row)
        for row in connection.execute(
            f"SELECT position, query, instant FROM answers WHERE position > ? AND position <= ? AND {_WHOLE} "
            "ORDER BY position LIMIT ?",
            (position, head, limit),
        )
    ]


def _of(connection: sqlite3.Connection, query: int, position: int, head: int, limit: int) -> list[AnswerPlace]:
    # The sign keeps SQLite from walking over the positions of all queries.
    return [
        AnswerPlace(*row)
        for row in connection.execute(
            f"SELECT position, query, instant FROM answers WHERE query = ? AND +position > ? AND +position <= ? "
            f"AND {_WHOLE} ORDER BY instant LIMIT ?",
            (query, position, head, limit),
        )
    ]


def _gone(connection: sqlite3.Connection, position: int, reached: int) -> list[AnswerPlace]:
    rows = connection.execute(
        "SELECT position, query FROM forgotten WHERE position > ? AND position <= ?", (position, reached)
    )
    return [AnswerPlace(position, query, None) for position, query in rows]
