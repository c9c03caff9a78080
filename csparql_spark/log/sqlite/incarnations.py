"""Incarnations: which past a log has.

A log has an *identity*, made with its database and never changed. Each start of a server begins another *incarnation*
of it, and the database keeps the list of them, with the places at which each began. A copy of the database that is put
back has the list as it was then; what a server did after the copy was taken is a branch that this log has lost:

    positions    0 ──────── 400 ─────── 520
    list         ├── a ─────┴── b ──────▶        a copy is taken at 440, and put back
    list         ├── a ─────┴─ b ─┬── c ──▶      440 stands between b and c
                                440

So a position is told with the incarnation that it lies in, and a name and a position say together whether they are of
this log's past: `520-b` is not, since b ended at 440; nor would `600-d` be, whoever d was.

Invariants: the places in the list never go back; names are random, and no two incarnations of whatever log have the
same one. The first incarnation of a log, before any start, has the empty name: it has the ids that were given before
there were names.

    incarnations = Incarnations(database)
    incarnations.begin(at=1700000000000)            # durably, before anything is accepted
    incarnations.lineage().of(520)                  # the name of the incarnation that the position 520 lies in
    incarnations.lineage().stands("b", 520)         # 440: up to there it is of this log's past; None: nothing is
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from csparql_spark.disk.database import Database

FIRST = ""
LETTERS = "bcdfghjkmnpqrstvwxz"  # of which no word can be made
NAME_LENGTH = 10
RECENT = 16  # incarnations that a checkpoint may still speak of
MOST = 1000

_dice = random.SystemRandom()


class Incarnation(NamedTuple):
    """It began when the newest answer had this position, and the newest entry this place (`seq`)."""

    name: str
    position: int
    seq: int
    at: int


class Lineage:
    """The incarnations of a log, the oldest first: a value, that of a log that was looked at."""

    def __init__(self, identity: str, incarnations: Sequence[Incarnation]) -> None:
        self.identity = identity
        self.incarnations = tuple(incarnations)
        self._begins = [incarnation.position for incarnation in incarnations]
        self._numbers = {incarnation.name: number for number, incarnation in enumerate(incarnations)}

    @property
    def newest(self) -> Incarnation:
        return self.incarnations[-1]

    @property
    def oldest(self) -> Incarnation:
        return self.incarnations[0]

    def of(self, position: int) -> str:
        """The name of the incarnation in which the position was given. What is older than the list is of the oldest."""
        return self.incarnations[max(0, bisect_left(self._begins, position) - 1)].name

    def knows(self, name: str) -> bool:
        return name in self._numbers

    def next(self, name: str) -> Incarnation | None:
        """The one that began where this one ended; None for the newest. The name is known."""
        number = self._numbers[name] + 1
        return self.incarnations[number] if number < len(self.incarnations) else None

    def stands(self, name: str, position: int) -> int | None:
        """Up to where who was at a position of an incarnation has seen what is in this log; None if that cannot be
        told, because the log does not know the incarnation."""
        if not self.knows(name):
            return None
        end = self.next(name)
        return position if end is None else min(position, end.position)


class Incarnations:
    def __init__(self, database: Database) -> None:
        self._database = database

    def lineage(self) -> Lineage:
        with self._database.snapshot() as connection:
            (identity,) = connection.execute("SELECT name FROM identity").fetchone()
            rows = connection.execute("SELECT name, position, seq, at FROM incarnations ORDER BY number").fetchall()
        return Lineage(identity, [Incarnation(*row) for row in rows])

    def begin(self, at: int) -> Incarnation:
        """Begin another one, durably. Nobody else may be writing into the log."""
        name = "".join(_dice.choices(LETTERS, k=NAME_LENGTH))
        with self._database.transaction() as connection:
            (position,) = connection.execute(
                "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'answers'"
            ).fetchone()
            (seq,) = connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()
            number = (
                connection.execute(
                    "INSERT INTO incarnations (name, position, seq, at) VALUES (?, ?, ?, ?)", (name, position, seq, at)
                ).lastrowid
                or 0
            )
            # No id names one in which nothing was answered.
            connection.execute(
                "DELETE FROM incarnations WHERE number <= ? AND position = (SELECT later.position FROM incarnations "
                "AS later WHERE later.number > incarnations.number ORDER BY later.number LIMIT 1)",
                (number - RECENT,),
            )
            # Nor do those that lie before everything that is kept matter, but for the last of them.
            (covering,) = connection.execute(
                "SELECT coalesce(max(number), 0) FROM incarnations WHERE position < "
                "coalesce((SELECT min(position) FROM answers), ?)",
                (position,),
            ).fetchone()
            connection.execute(
                "DELETE FROM incarnations WHERE number <= ? AND (number < (SELECT max(number) FROM incarnations WHERE "
                "number < ?) OR number <= (SELECT number FROM incarnations ORDER BY number DESC LIMIT 1 OFFSET ?))",
                (number - RECENT, covering, MOST),
            )
        return Incarnation(name, position, seq, at)
