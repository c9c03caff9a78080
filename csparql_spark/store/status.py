"""Status: what a process says of itself, for others to show. A hint like a bell, not part of any answer.
Beside it, under names of their own, stand the sums of `measures` and what `log.sqlite.forgotten` notes.

For example:

    Status(database).say("engine", {"state": "running", "pid": 4711})
    Status(database).of("engine")          # the same, or None
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from csparql_spark.disk.database import Database


class Status:
    def __init__(self, database: Database) -> None:
        self._database = database

    def say(self, name: str, status: Mapping[str, object]) -> None:
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "INSERT INTO status (name, payload) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET payload = excluded.payload",
                (name, json.dumps(status)),
            )

    def of(self, name: str) -> dict[str, object] | None:  # JSON: each process has words of its own
        row = self._database.connection.execute("SELECT payload FROM status WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None
