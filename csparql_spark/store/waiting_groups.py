"""Waiting: which groups hold entries back until their background is closed, so that somebody wakes them, and others can
be told.

    waiting = WaitingGroups(database)
    waiting.note("1f0c…", queries=[17], triples=1_000_000, now=1700000000000)
    waiting.groups()                  # {"1f0c…": WaitingGroup(queries=(17,), triples=1_000_000, since=1700000000000)}
    waiting.of(17)                    # that group; None where a query does not wait
    waiting.forget("1f0c…")

The worker notes it before the state in which the group waits is written down, and forgets it only when that says that
it does not: who is noted and does not wait is woken once too often, and nobody waits who is not noted. No answer hangs
on it but in when it is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from csparql_spark.disk.database import Database

_NAME = "waiting"  # of the row among those of `status`


class WaitingGroup(NamedTuple):
    queries: tuple[int, ...]
    triples: int  # of the background
    since: int  # epoch ms


class WaitingGroups:
    def __init__(self, database: Database) -> None:
        self._database = database

    def groups(self) -> dict[str, WaitingGroup]:
        row = self._database.connection.execute("SELECT payload FROM status WHERE name = ?", (_NAME,)).fetchone()
        noted = json.loads(row[0]) if row else {}
        return {group: WaitingGroup(tuple(queries), *rest) for group, (queries, *rest) in noted.items()}

    def of(self, query: int) -> WaitingGroup | None:
        """The one that a query waits with."""
        return next((one for one in self.groups().values() if query in one.queries), None)

    def note(self, group: str, *, queries: Iterable[int], triples: int, now: int) -> None:
        groups = self.groups()
        since = groups[group].since if group in groups else now
        self._write(groups, {**groups, group: WaitingGroup(tuple(sorted(queries)), triples, since)})

    def forget(self, group: str) -> None:
        groups = self.groups()
        self._write(groups, {name: one for name, one in groups.items() if name != group})

    def _write(self, before: dict[str, WaitingGroup], groups: dict[str, WaitingGroup]) -> None:
        if groups == before:
            return
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO status (name, payload) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET payload = excluded.payload",
                (_NAME, json.dumps(groups)),
            )
