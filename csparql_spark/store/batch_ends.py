"""Ends: where a batch ends that was begun before its end was in the log.

Such a batch takes what comes after a place up to a tick of the arrival clock that is still to be written:

    log       … chunk chunk chunk │ chunk tick chunk …
                      after ┘              └ the end: the first tick at `tick` or later
    or        … chunk chunk chunk │ chunk chunk chunk …
                      after ┘              └ nobody wanted to wait any longer, and it was settled

Invariant: once a batch has an end it has that one for ever, whoever asks, after whatever crash. A tick in the log is
there to stay as long as the engine may ask; an end without one is settled in the database, and only where there is no
tick. So no entry is left out between two batches, and none is taken twice.

    ends = Ends(database)
    ends.of(after, tick)         # its place; None: not known yet
    ends.settle(after, tick)     # its place, from now on
"""

from __future__ import annotations

from csparql_spark.disk.database import Database


class Ends:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, after: int, tick: int) -> int | None:
        """The place where the batch ends that takes what comes after the place `after` up to the tick `tick`."""
        connection = self._database.connection
        row = (
            connection.execute("SELECT seq FROM batch_ends WHERE after = ? AND tick = ?", (after, tick)).fetchone()
            or connection.execute(
                "SELECT seq FROM log WHERE seq > ? AND kind = 'tick' AND subject IS NULL "
                "AND at >= ? ORDER BY seq LIMIT 1",
                (after, tick),
            ).fetchone()
        )
        return row[0] if row else None

    def settle(self, after: int, tick: int) -> int:
        """Let it end with what is in the log now, unless it has an end."""
        with self._database.transaction() as connection:
            end = self.of(after, tick)
            if end is None:
                end = max(after, connection.execute("SELECT max(seq) FROM log").fetchone()[0] or 0)
                connection.execute("INSERT INTO batch_ends (after, tick, seq) VALUES (?, ?, ?)", (after, tick, end))
        return end

    def forget(self, before: int) -> None:
        """Drop what was settled before a place: no batch that may be run again begins or ends there."""
        if self._database.connection.execute("SELECT 1 FROM batch_ends WHERE seq < ?", (before,)).fetchone():
            with self._database.transaction(durable=False) as connection:
                connection.execute("DELETE FROM batch_ends WHERE seq < ?", (before,))
