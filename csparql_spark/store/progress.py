"""Progress: how far the engine has come in the log.

Two places:

    read         what Spark has noted as read, durably: a batch that is run again begins there or later
    batch_end    up to where everything is answered, also where Spark has not said so yet; but for what those hold who
                 wait for a background (see `waiting_groups`)

    with database.transaction() as connection:
        advance(connection, batch_end=812)      # never back
    read(database.connection)                   # 800
    answered(database.connection)               # 812
"""

from __future__ import annotations

import sqlite3


def advance(connection: sqlite3.Connection, *, read: int = 0, batch_end: int = 0) -> None:
    """Note how far the engine has come, unless it was further already."""
    connection.execute(
        "INSERT INTO engine_progress (one, read, batch_end) VALUES (1, ?, ?) ON CONFLICT (one) "
        "DO UPDATE SET read = max(read, excluded.read), batch_end = max(batch_end, excluded.batch_end)",
        (read, batch_end),
    )


def read(connection: sqlite3.Connection) -> int:
    row: tuple[int] | None = connection.execute("SELECT read FROM engine_progress").fetchone()
    return row[0] if row else 0


def answered(connection: sqlite3.Connection) -> int:
    """Up to where everything is answered: what is read is answered, too."""
    row: tuple[int] | None = connection.execute("SELECT max(read, batch_end) FROM engine_progress").fetchone()
    return row[0] if row else 0
