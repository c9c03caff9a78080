"""Forgotten: up to which place of the log chunks of a stream are gone. Other gaps say nothing of it: ticks and what was
undone go at any age.

    note(connection, "urn:s", 41)       # with what is deleted, in one transaction
    last_forgotten(connection, "urn:s") # 41

It stands in the table `status`, one row for each stream. The row for all streams is made before the first of them: in a
log that has been forgetting before it was noted, any gap may have been a chunk of any stream.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

_ALL = "forgotten"


def begin(connection: sqlite3.Connection) -> None:
    """Note what may be gone already, unless that is noted."""
    if connection.execute("SELECT 1 FROM status WHERE name = ?", (_ALL,)).fetchone() is None:
        connection.execute("INSERT INTO status (name, payload) VALUES (?, ?)", (_ALL, str(_newest_gap(connection))))


def note(connection: sqlite3.Connection, stream: str, seq: int) -> None:
    """Note that a chunk of a stream goes."""
    before = last_forgotten(connection, stream)
    connection.execute("REPLACE INTO status (name, payload) VALUES (?, ?)", (f"{_ALL} {stream}", str(max(seq, before))))


def keep(connection: sqlite3.Connection, streams: Collection[str]) -> None:
    """Let go of the notes on other streams."""
    for (name,) in connection.execute("SELECT name FROM status WHERE name GLOB ?", (f"{_ALL} *",)).fetchall():
        if name.removeprefix(f"{_ALL} ") not in streams:
            connection.execute("DELETE FROM status WHERE name = ?", (name,))


def last_forgotten(connection: sqlite3.Connection, stream: str) -> int:
    """No chunk of a stream is gone that was logged after this place; 0 if none is."""
    noted = dict(
        connection.execute("SELECT name, payload FROM status WHERE name IN (?, ?)", (_ALL, f"{_ALL} {stream}"))
    )
    return max(map(int, noted.values())) if _ALL in noted else _newest_gap(connection)


def _newest_gap(connection: sqlite3.Connection) -> int:
    """A place after which the log has no gap, about; 0 if it has none."""
    number, newest = connection.execute("SELECT count(*), coalesce(max(seq), 0) FROM log").fetchone()
    return 0 if number == newest else newest
