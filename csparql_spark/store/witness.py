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
_MARK = "."  # between two checksums; a hash has none


class LogState(NamedTuple):
    """What was seen of a database."""

    identity: str
    incarnation: str
    seq: int  # of the newest entry; 0 for an empty log
    digest: str  # its checksums, or of what it says a hash; empty if that cannot be believed
    position: int  # the newest that an answer was given


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
        state = self._look()
        if state != self._written:
            new = self._path.with_name(f".{NAME}.new")
            new.write_text(json.dumps(state._asdict()))
            os.replace(new, self._path)
            self._written = state

    def contradiction(self) -> str | None:
        """What of the database is not as it was seen, as a sentence; None if nothing is."""
        state = self._read()
        if state is None:
            return None
        path, lineage = self._directory.database, Incarnations(self._database).lineage()
        if state.identity != lineage.identity:
            return f"the checkpoint of the engine is that of another database than {path}"
        if not lineage.knows(state.incarnation):
            return f"{path} knows nothing of the server that the engine worked for last: it is a copy that was put back"
        end = lineage.next(state.incarnation)
        log_end = _tail(self._database.connection) if end is None else end.seq
        if state.seq > log_end:
            return (
                f"the engine has seen {path} with {state.seq} entries in its log, and it went on after {log_end}: "
                "it is a copy that was put back"
            )
        answers_end = self._order.head() if end is None else end.position
        if state.position > answers_end:
            return (
                f"the engine has seen {path} with {state.position} answers, and it went on after {answers_end}: it "
                "is a copy that was put back"
            )
        there = _checked_digest(self._database.connection, state)
        if there and state.digest and there != state.digest:
            return (
                f"{path} has another entry {state.seq} in its log than the engine has seen: it is a copy that was "
                "put back"
            )
        return None

    def _look(self) -> LogState:
        before = self._written
        with self._database.snapshot() as connection:
            identity, incarnation = connection.execute(
                "SELECT identity.name, newest.name FROM identity, incarnations AS newest ORDER BY number DESC LIMIT 1"
            ).fetchone()
            seq, position = _tail(connection), self._order.head()
            same = before is not None and before[:3] == (identity, incarnation, seq)
            digest = before.digest if before is not None and same else _digest(connection, seq)
        return LogState(identity, incarnation, seq, digest, position)

    def _read(self) -> LogState | None:
        try:
            return LogState(**json.loads(self._path.read_text()))
        except (FileNotFoundError, NotADirectoryError):
            return None  # there is no checkpoint, or it is older than witnesses
        except (ValueError, TypeError):
            return None  # cut by the loss of power


def _tail(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()[0]


def _digest(connection: sqlite3.Connection, seq: int) -> str:
    """Of what an entry says, as its checksums tell it: its payload is not looked at with each batch. Empty if there is
    none, or if it was passed over."""
    try:
        row = connection.execute("SELECT kind, head_sum, payload_sum FROM log WHERE seq = ?", (seq,)).fetchone()
    except PageDamaged:
        return ""
    if row is None or row[0] == "skipped":
        return ""
    _, head, body = row
    return _hashed(connection, seq) if head is None or body is None else f"{head}{_MARK}{body}"


def _checked_digest(connection: sqlite3.Connection, state: LogState) -> str:
    """The digest of an entry in the form that was noted; empty if what it says is not what was written, either."""
    hashed = _hashed(connection, state.seq)
    return _digest(connection, state.seq) if hashed and _MARK in state.digest else hashed


def _hashed(connection: sqlite3.Connection, seq: int) -> str:
    """The digest of an entry that is older than checksums, or was noted by a version before; empty if it is damaged."""
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
