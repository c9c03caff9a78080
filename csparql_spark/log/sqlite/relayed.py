"""Relayed: up to which instant the answers of a query are in the log, as chunks of the stream that it makes.

    with database.transaction() as connection:
        advance(connection, query=17, instant=5000)     # True; False if it was there already: nothing is relayed twice
    instant(connection, query=17)                       # 5000; None: nothing is relayed yet
"""

from __future__ import annotations

import sqlite3


def instant(connection: sqlite3.Connection, query: int) -> int | None:
    """The newest instant of a query that is in the log; None if there is none."""
    row: tuple[int] | None = connection.execute("SELECT instant FROM relayed WHERE query = ?", (query,)).fetchone()
    return row[0] if row else None


def advance(connection: sqlite3.Connection, query: int, instant: int) -> bool:
    """Note that an instant is in the log, in the transaction that puts it there; whether it is a later one."""
    return connection.execute(
        "INSERT INTO relayed (query, instant) VALUES (?, ?) ON CONFLICT (query) DO UPDATE "
        "SET instant = excluded.instant WHERE instant < excluded.instant", (query, instant)).rowcount == 1


def forget(connection: sqlite3.Connection) -> None:
    """Those of queries that are gone. Nobody writes one again: it is written only while the query is there."""
    connection.execute("DELETE FROM relayed WHERE query NOT IN (SELECT id FROM queries)")
