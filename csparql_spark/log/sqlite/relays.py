"""Relays: how far the answers of each query are in the log, for those that fill a stream.

The newest instant of a query that was relayed is written in the transaction of the entry that it has become, so that
both are durable or neither.

    relay(connection, 17, 5000)            # the answer at 5000 is in the log
    relayed_to(connection, 17)             # 5000: the newest instant that is in the log; None: nothing yet
"""

from __future__ import annotations

import sqlite3

# In statements that know a query as `:query`: its newest instant that is in the log.
NEWEST = "(SELECT instant FROM relayed WHERE query = :query)"


def relayed_to(connection: sqlite3.Connection, query: int) -> int | None:
    row: tuple[int] | None = connection.execute("SELECT instant FROM relayed WHERE query = ?", (query,)).fetchone()
    return row[0] if row else None


def relay(connection: sqlite3.Connection, query: int, instant: int) -> None:
    """Note that the answer at an instant is in the log."""
    connection.execute(
        "INSERT INTO relayed (query, instant) VALUES (?, ?) "
        "ON CONFLICT (query) DO UPDATE SET instant = excluded.instant",
        (query, instant),
    )


def forget_relays(connection: sqlite3.Connection) -> None:
    """Of versions that are gone. Nobody writes of one again: that is done only while it is there."""
    connection.execute("DELETE FROM relayed WHERE query NOT IN (SELECT id FROM versions)")
