"""Repeats: pushes that were named by who sent them, so that sending one again does not count it again.

A producer whose connection breaks does not know whether its push was counted. If it has given the push a key, it sends
the same again: the key is written in the transaction of the chunk, so after any crash both are there or neither is. Who
comes second, also while the first is still being written, is told what the first was told.

    repeats = Repeats(database)
    reply = repeats.reply_to(stream=17, key="k", digest=…)        # what was answered then, or None; may raise `Reused`
    writer.append(Draft(…, beside=Keys(17, (("k", digest),), reply)), Unused(17, "k", digest))

A key belongs to one stream, and to one content (`digest`): the same key with another one is refused. Keys are kept for
`KEPT_MS`, and the newest `KEPT_KEYS` of each stream.
"""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

from csparql_spark.disk.database import Database
from csparql_spark.log.contract import KEPT_KEYS, KEPT_MS, Reused
from csparql_spark.log.entries import Entry, Keys, Reply

STEP = 5000


class KeyedPush(NamedTuple):
    """The push that had a key: the digest of what was sent, and what was answered, as text."""

    digest: bytes
    text: str

    @property
    def reply(self) -> Reply:
        return json.loads(self.text)


class Repeats:
    def __init__(self, database: Database) -> None:
        self._database = database

    def reply_to(self, stream: int, key: str, digest: bytes) -> Reply | None:
        push = push_of(self._database.connection, stream, key)
        if push is None:
            return None
        if push.digest != digest:
            raise Reused
        return push.reply

    def forget(self, now: int, *, kept_ms: int = KEPT_MS, kept_keys: int = KEPT_KEYS) -> int:
        """Let go of keys that are old, that are too many, or whose stream is gone; return how many went."""
        connection = self._database.connection
        live = {row[0] for row in connection.execute("SELECT id FROM streams")}
        gone = 0
        for (stream,) in connection.execute("SELECT DISTINCT stream FROM repeats").fetchall():
            if stream not in live:
                condition, values = "stream = ?", [stream]
            else:
                # Ids grow with time, so that what is old, and what is too many, is all below one of them.
                last = connection.execute(
                    "SELECT max(coalesce((SELECT max(id) FROM repeats WHERE stream = ? AND at < ?), 0), "
                    "coalesce((SELECT id FROM repeats WHERE stream = ? ORDER BY id DESC LIMIT 1 OFFSET ?), 0))",
                    (stream, now - kept_ms, stream, kept_keys),
                ).fetchone()[0]
                condition, values = "stream = ? AND id <= ?", [stream, last]
            while True:
                with self._database.transaction(durable=False) as transaction:
                    count = transaction.execute(
                        f"DELETE FROM repeats WHERE id IN (SELECT id FROM repeats WHERE {condition} LIMIT ?)",
                        (*values, STEP),
                    ).rowcount
                gone += count
                if count < STEP:
                    break
        return gone


def push_of(connection: sqlite3.Connection, stream: int, key: str) -> KeyedPush | None:
    row = connection.execute("SELECT digest, told FROM repeats WHERE stream = ? AND key = ?", (stream, key)).fetchone()
    return None if row is None else KeyedPush(*row)


def write_keys(connection: sqlite3.Connection, keys: Keys, entry: Entry) -> None:
    """Write the keys of what an entry holds."""
    reply = json.dumps(keys.reply_to(entry), ensure_ascii=False, separators=(",", ":"))
    connection.executemany(
        "INSERT OR REPLACE INTO repeats (stream, key, digest, at, told) VALUES (?, ?, ?, ?, ?)",
        [(keys.stream, key, digest, entry.at, reply) for key, digest in keys.digests],
    )
    if keys.newest is not None:
        connection.execute(
            "DELETE FROM repeats WHERE stream = :stream AND key GLOB :like AND id <= (SELECT id FROM repeats "
            "WHERE stream = :stream AND key GLOB :like ORDER BY id DESC LIMIT 1 OFFSET :newest)",
            {"stream": keys.stream, "like": f"{keys.prefix}*", "newest": keys.newest},
        )
