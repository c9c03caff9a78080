"""The witness: what the database last looked like, written down beside the checkpoint that was made of it.

A checkpoint says "read up to 500". If `store.db` is then replaced by a copy that ends at 400, and grows past 500 again,
the place alone tells nobody that 401 to 500 are other entries now:

    log          ●●●●●●●●●●●●●●● 400 ●●●●●●● 500        checkpoint and witness: 500
    put back     ●●●●●●●●●●●●●●● 400 ○○○○○○○○○○○○ 520   what the checkpoint has read is not there

So with each batch that ends it is noted beside the checkpoint which log it was (its identity and its incarnation, see
`incarnations`), the newest entry with a digest, and the newest position of an answer. Whoever is to go on from the
checkpoint compares.

Invariants: the witness of a batch is written before Spark notes that the batch has ended, so a checkpoint never knows
more than its witness. It names only what is durable already, so the loss of power makes no witness that is ahead of
its database. It may be older than the checkpoint's last batches then, or cut: then nothing is compared. An entry that
it names may be forgotten since, or damaged, or passed over because it was; its place is within its incarnation all the
same.

    witness = Witness(directory, database)
    witness.write()
    witness.contradiction()       # why the checkpoint is not one of this database; None: it may be gone on from
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from typing import NamedTuple

from csparql_spark.disk.database import Database
from csparql_spark.disk.directory import DataDirectory
from csparql_spark.disk.errors import PageDamaged
from csparql_spark.log.sqlite.incarnations import Incarnations
from csparql_spark.log.sqlite.reader import WHOLE, damage_of
from csparql_spark.store.order import AnswerOrder

NAME = "witness.json"


class LogState(NamedTuple):
    """What was seen of a database."""

    identity: str
    incarnation: str
    seq: int                # of the newest entry; 0 for an empty log
    digest: str             # of what it says; empty if that cannot be believed
    position: int           # the newest that an answer was given


class Witness:
    def __init__(self, directory: DataDirectory, database: Database) -> None:
        self._directory, self._database = directory, database
        self._path = directory.checkpoint / NAME
        self._order = AnswerOrder(database)
        self._written: LogState | None = None

    def write(self) -> None:
        """Note what the database looks like, if there is a checkpoint to note it of. Nobody waits for the disk."""
        if not self._path.parent.is_dir():
            return
        seen = self._look()
        if seen != self._written:
            new = self._path.with_name(f".{NAME}.new")
            new.write_text(json.dumps(seen._asdict()))
            os.replace(new, self._path)
            self._written = seen

    def contradiction(self) -> str | None:
        """What of the database is not as it was seen, as a sentence; None if nothing is."""
        seen = self._read()
        if seen is None:
            return None
        path, lineage = self._directory.database, Incarnations(self._database).lineage()
        if seen.identity != lineage.identity:
            return f"the checkpoint of the engine is that of another database than {path}"
        if not lineage.knows(seen.incarnation):
            return f"{path} knows nothing of the server that the engine worked for last: it is a copy that was put back"
        end = lineage.next(seen.incarnation)
        log_end = _tail(self._database.connection) if end is None else end.seq
        if seen.seq > log_end:
            return (f"the engine has seen {path} with {seen.seq} entries in its log, and it went on after {log_end}: "
                    "it is a copy that was put back")
        answers_end = self._order.head() if end is None else end.position
        if seen.position > answers_end:
            return (f"the engine has seen {path} with {seen.position} answers, and it went on after {answers_end}: it "
                    "is a copy that was put back")
        there = _digest(self._database.connection, seen.seq)
        if there and seen.digest and there != seen.digest:
            return (f"{path} has another entry {seen.seq} in its log than the engine has seen: it is a copy that was "
                    "put back")
        return None

    def _look(self) -> LogState:
        before = self._written
        with self._database.snapshot() as connection:
            identity, incarnation = connection.execute(
                "SELECT identity.name, newest.name FROM identity, incarnations AS newest ORDER BY number DESC LIMIT 1"
            ).fetchone()
            seq, position = _tail(connection), self._order.head()
            same = before is not None and before[:3] == (identity, incarnation, seq)
            made = before.digest if same else _digest(connection, seq)
        return LogState(identity, incarnation, seq, made, position)

    def _read(self) -> LogState | None:
        try:
            return LogState(**json.loads(self._path.read_text()))
        except (FileNotFoundError, NotADirectoryError):
            return None         # there is no checkpoint, or it is older than witnesses
        except (ValueError, TypeError):
            return None         # cut by the loss of power


def _tail(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()[0]


def _digest(connection: sqlite3.Connection, seq: int) -> str:
    """Of what an entry says; empty if there is none, or if what it says is not what was written."""
    try:
        row = connection.execute(f"SELECT {WHOLE} FROM log WHERE seq = ?", (seq,)).fetchone()
        if row is None or row[1] == "skipped" or damage_of(connection, row) is not None:
            return ""
    except PageDamaged:
        return ""
    _, kind, at, subject, *_, payload, _, _ = row
    made = hashlib.blake2b(json.dumps([kind, at, subject]).encode(), digest_size=16)
    made.update(payload or b"")
    return made.hexdigest()
