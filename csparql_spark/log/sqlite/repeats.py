"""Repeats: pushes that were named by who sent them, so that sending one again does not count it again.

A producer whose connection breaks does not know whether its push was counted. If it has given the push a key, it sends
the same again: the key is written in the transaction of the chunk, so after any crash both are there or neither is. Who
comes second, also while the first is still being written, is told what the first was told.

    repeats = Repeats(database)
    sent = repeats.found(stream=17, key="k", digest=…)            # what was told then, or None; may raise `Reused`
    writer.append(draft, repeats.guard(17, "k", digest), repeats.beside(17, {"k": digest}, told_of))

A key belongs to one stream, and to one content (`digest`): the same key with another one is refused. Keys are kept for
`KEPT_MS`, and the newest `KEPT_KEYS` of each stream.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping

from csparql_spark.disk.database import Database
from csparql_spark.log.sqlite.reader import Entry
from csparql_spark.log.sqlite.writer import Beside, Guard, Refused

KEPT_MS = 24 * 60 * 60 * 1000
KEPT_KEYS = 100_000
STEP = 5000

Told = dict[str, object]


class Repeated(Refused):
    """It is in the log already; `told` is what was said of it."""

    def __init__(self, told: Told) -> None:
        super().__init__("the key was used for the same before")
        self.told = told


class Reused(Refused):
    """The key was used before, for something else."""


class Repeats:
    def __init__(self, database: Database) -> None:
        self._database = database

    def found(self, stream: int, key: str, digest: bytes) -> Told | None:
        """What was told of the push with that key. Raises `Reused` if it was another push."""
        return _found(self._database.connection, stream, key, digest)

    @staticmethod
    def guard(stream: int, key: str, digest: bytes) -> Guard:
        """Lets a push in once; raises `Repeated` or `Reused` after that."""
        def check(connection: sqlite3.Connection) -> None:
            told = _found(connection, stream, key, digest)
            if told is not None:
                raise Repeated(told)
        return check

    @staticmethod
    def beside(stream: int, keys: Mapping[str, bytes], told: Callable[[Entry], Told], prefix: str = "",
               newest: int | None = None) -> Beside:
        """Writes the keys of what an entry holds. Of those with the prefix only so many of the `newest` are kept."""
        def write(connection: sqlite3.Connection, entry: Entry) -> None:
            said = json.dumps(told(entry), ensure_ascii=False, separators=(",", ":"))
            connection.executemany(
                "INSERT OR REPLACE INTO repeats (stream, key, digest, at, told) VALUES (?, ?, ?, ?, ?)",
                [(stream, key, digest, entry.at, said) for key, digest in keys.items()])
            if newest is not None:
                connection.execute(
                    "DELETE FROM repeats WHERE stream = :stream AND key GLOB :like AND id <= (SELECT id FROM repeats "
                    "WHERE stream = :stream AND key GLOB :like ORDER BY id DESC LIMIT 1 OFFSET :newest)",
                    {"stream": stream, "like": f"{prefix}*", "newest": newest})
        return write

    def forget(self, now: int, *, kept_ms: int = KEPT_MS, kept_keys: int = KEPT_KEYS) -> int:
        """Let go of keys that are old, that are too many, or whose stream is gone; return how many went."""
        connection = self._database.connection
        live = {row[0] for row in connection.execute("SELECT id FROM streams")}
        gone = 0
        for (stream,) in connection.execute("SELECT DISTINCT stream FROM repeats").fetchall():
            if stream not in live:
                condition, values = "stream = ?", (stream,)
            else:
                # Ids grow with time, so that what is old, and what is too many, is all below one of them.
                last = connection.execute(
                    "SELECT max(coalesce((SELECT max(id) FROM repeats WHERE stream = ? AND at < ?), 0), "
                    "coalesce((SELECT id FROM repeats WHERE stream = ? ORDER BY id DESC LIMIT 1 OFFSET ?), 0))",
                    (stream, now - kept_ms, stream, kept_keys)).fetchone()[0]
                condition, values = "stream = ? AND id <= ?", (stream, last)
            while True:
                with self._database.transaction(durable=False) as transaction:
                    count = transaction.execute(
                        f"DELETE FROM repeats WHERE id IN (SELECT id FROM repeats WHERE {condition} LIMIT ?)",
                        (*values, STEP)).rowcount
                gone += count
                if count < STEP:
                    break
        return gone


def _found(connection: sqlite3.Connection, stream: int, key: str, digest: bytes) -> Told | None:
    row = connection.execute("SELECT digest, told FROM repeats WHERE stream = ? AND key = ?", (stream, key)).fetchone()
    if row is None:
        return None
    if row[0] != digest:
        raise Reused
    return json.loads(row[1])
