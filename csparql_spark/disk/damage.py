"""Damage: what was found on the disk to be not what was written, entries of the log and answers.

    damages = Damages(database)
    damages.note(entry_damage(812, "chunk", "urn:x", at, "its payload is not what was written"))
    damages.all()                    # what is damaged, and what was decided to be passed over
    damages.skip(damages.all()[0])   # the entry counts as never written

Whoever reads something damaged notes it here, and the first says so on stderr. Who has to read it fails, with the same
sentence, whether or not it could be noted: the file itself says that it is damaged, at each reading.

What is passed over stays in its place, as an entry of the kind `skipped` that says nothing.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from dataclasses import dataclass

from csparql_spark.disk.checksum import EntryHead, head_sum, payload_sum
from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import DatabaseFault, StoreError

ENTRY, ANSWER = "entry", "answer"
PAYLOAD = "its payload is not what was written"
HEAD = "what it says of itself is not what was written, so every query that was there may have had to read it"
LONGEST_NAME = 200

_OF = {
    "chunk": "of the stream {}",
    "background": "that set the graph {}",
    "rules": "that set the rule set {}",
    "register": "that registered the query {}",
    "stream": "that made the stream {}",
    "fail": "that says that the query {} has failed",
}
_COLUMNS = "what, place, kind, subject, at, noticed, reason, skipped"


class Damaged(StoreError):
    """What was asked for is damaged; the text says what."""


@dataclass(frozen=True, slots=True)
class Damage:
    """`place`: the seq of an entry, the position of an answer. `kind` and `subject` are None if they cannot be
    believed; then `at` is the stamp of what came before. Of an answer they are None, the id of its query, its instant.
    `skipped`: when it was decided to pass it over."""

    what: str
    place: int
    kind: str | None
    subject: str | None
    at: int
    noticed: int
    reason: str
    skipped: int | None = None


def entry_damage(seq: int, kind: str | None, subject: str | None, at: int, why: str) -> Damage:
    of = f" {_OF[kind].format((subject or '')[:LONGEST_NAME])}" if kind in _OF else ""
    return Damage(ENTRY, seq, kind, subject, at, _now(), f"the entry {seq}{of} is damaged: {why}")


def answer_damage(position: int, query: int, instant: int, why: str) -> Damage:
    return Damage(ANSWER, position, None, str(query), instant, _now(), f"the answer at {instant} is damaged: {why}")


class Damages:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: set[tuple[str, int]] = set()

    def note(self, damage: Damage) -> None:
        """Keep that it is damaged, unless that is known."""
        key = damage.what, damage.place
        # A reader in the middle of a transaction would wait for its own end.
        if key in self._noted or self._database.connection.in_transaction:
            return
        self._noted.add(key)
        own, new = Database(self._database.path), True  # the reader's connection is in the middle of reading
        try:
            with own.transaction(durable=False) as connection:
                new = (
                    connection.execute(
                        f"INSERT OR IGNORE INTO damages ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
                        (
                            damage.what,
                            damage.place,
                            damage.kind,
                            damage.subject,
                            damage.at,
                            damage.noticed,
                            damage.reason,
                        ),
                    ).rowcount
                    == 1
                )
        except DatabaseFault as error:
            print(
                f"csparql-spark: it could not be noted that something is damaged: {error}", file=sys.stderr, flush=True
            )
        finally:
            own.close()
        if new:
            print(
                f"csparql-spark: {damage.reason} ({self._database.path}); `csparql-spark store check` finds all that "
                "is damaged",
                file=sys.stderr,
                flush=True,
            )

    def all(self) -> list[Damage]:
        rows = self._database.connection.execute(f"SELECT {_COLUMNS} FROM damages ORDER BY what, place")
        return [Damage(*row) for row in rows]

    def newest_unknown(self, after: int, upto: int = (1 << 63) - 1) -> Damage | None:
        """The newest entry after a place, and up to another, of which nobody can tell whom it concerned, and which is
        not passed over."""
        row = self._database.connection.execute(
            f"SELECT {_COLUMNS} FROM damages WHERE what = 'entry' AND kind IS NULL AND skipped IS NULL AND place > ? "
            "AND place <= ? ORDER BY place DESC LIMIT 1",
            (after, upto),
        ).fetchone()
        return Damage(*row) if row else None

    def skip(self, damage: Damage) -> None:
        """Pass an entry over from now on, durably. Its place is kept, and says nothing."""
        now = _now()
        with self._database.transaction() as connection:
            connection.execute(
                "REPLACE INTO log (seq, kind, at, head_sum, payload_sum) VALUES (?, 'skipped', ?, ?, ?)",
                (damage.place, damage.at, head_sum(EntryHead("skipped", damage.at)), payload_sum(None)),
            )
            connection.execute(
                f"INSERT OR IGNORE INTO damages ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
                (ENTRY, damage.place, damage.kind, damage.subject, damage.at, damage.noticed, damage.reason),
            )
            connection.execute("UPDATE damages SET skipped = ? WHERE what = 'entry' AND place = ?", (now, damage.place))


def forget(connection: sqlite3.Connection) -> None:
    """What is forgotten is not damaged any more."""
    connection.execute(
        "DELETE FROM damages WHERE what = 'entry' AND place NOT IN (SELECT seq FROM log) "
        "OR what = 'answer' AND place NOT IN (SELECT position FROM answers)"
    )


def _now() -> int:
    return int(time.time() * 1000)
