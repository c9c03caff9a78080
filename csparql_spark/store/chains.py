"""Chains: answers that are stored as changes, read whole.

    keyframe ◀──since── change ◀──since── change        the answer at the last one: all three, folded

    chains = ChainReader(rows, query=17)
    chains.at(17_000)                  # the parts of an answer, each whole
    chains.at(18_000)                  # whoever goes on from there reads what has changed only
    chains.within(19_000, most=1000)   # the same, if that has no more bytes
    chains.change(18_000, most=1000)   # the row, as it is stored

Nothing is locked while an answer is put together of several rows. What is told never changes, and where its keyframe
has gone in between it is forgotten itself: then there is nothing, as if it had been asked for a moment later.

A keyframe may have many times the bytes of the answers after it. So an answer
whose size matters is put together change by change, until there is more than it may have.

Where a row of a chain is damaged, those after it cannot be put together up to the next keyframe, and say so.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from csparql_spark.disk.damage import Damage, Damages, answer_damage
from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import PageDamaged
from csparql_spark.store.stored_answers import COLUMNS, FROM_ANOTHER, SIZE, AnswerRow, StoredAnswer, damage_of

if TYPE_CHECKING:
    from csparql_spark.answers.bindings import Result

HELD = 3  # times an answer are held while a change is folded into it: one has no more than the answers on its two sides

ReadRow = tuple[AnswerRow, Damage | None]


class AnswerRows:
    """The table, read row by row. What is damaged is noted, and its row says no more than where it stands."""

    def __init__(self, database: Database) -> None:
        self._database, self._damages = database, Damages(database)

    @property
    def connection(self) -> sqlite3.Connection:
        return self._database.connection

    def select(self, clause: str, values: tuple[int | None, ...]) -> list[ReadRow]:
        connection = self.connection
        try:
            return [self._read(row) for row in connection.execute(f"SELECT {COLUMNS} FROM answers {clause}", values)]
        except PageDamaged:
            pass
        found: list[ReadRow] = []  # around what SQLite cannot read: where the parts stand, an index tells
        for position, query, instant, part in connection.execute(
            f"SELECT position, query, instant, part FROM answers {clause}", values
        ).fetchall():
            try:
                row = connection.execute(f"SELECT {COLUMNS} FROM answers WHERE position = ?", (position,)).fetchone()
            except PageDamaged as error:
                lost = AnswerRow(query, instant, part, 0, b"", position, None, None, None, None, None)
                found.append((lost, self._noted(answer_damage(position, query, instant, str(error)))))
            else:
                found += [self._read(row)] if row else []
        return found

    def _read(self, values: tuple[object, ...]) -> ReadRow:
        row = AnswerRow(*values)  # type: ignore[arg-type]    # damage_of says whether they are of these types
        damage = damage_of(row)
        return row, None if damage is None else self._noted(damage)

    def _noted(self, damage: Damage) -> Damage:
        self._damages.note(damage)
        return damage


class Whole(NamedTuple):
    """The last answer of a part that was put together."""

    frame: int | None
    instant: int
    content: bytes | Result


class BrokenChain(Exception):
    """An answer that cannot be put together; the text says why."""


class TooManyBytes(Exception):
    """An answer that has more bytes than somebody has asked for, or comes after one that has many more; `size`: what
    was found."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class ForgottenMeanwhile(Exception):
    """An answer that has been forgotten in this moment."""


class ChainReader:
    def __init__(self, rows: AnswerRows, query: int) -> None:
        self._rows, self._query = rows, query
        self._wholes: dict[int, Whole] = {}  # by part

    @property
    def nbytes(self) -> int:
        """Bytes that are held to go on from."""
        contents = [whole.content for whole in self._wholes.values()]
        return sum(len(content) if isinstance(content, bytes) else content.nbytes for content in contents)

    def at(self, instant: int) -> list[StoredAnswer]:
        """The parts of an answer."""
        found = self._rows.select("WHERE query = ? AND instant = ? ORDER BY part", (self._query, instant))
        return [answer for row in found for answer in self._answers(row)]

    def within(self, instant: int, most: int) -> list[StoredAnswer]:
        """The same of an answer of so many bytes at most. No more than `HELD` times as many are held meanwhile. Raises
        `TooManyBytes`."""
        try:
            frame, sizes = self._chain(instant)
        except PageDamaged:  # who reads it is told which one is damaged
            frame, sizes = None, []
        if sum(size for _, size in sizes) > HELD * most:
            if sizes[0][0] == frame:  # nobody goes on from what is held
                self._wholes.clear()
            for step, size in sizes:
                if (held := self.nbytes + size) > HELD * most:
                    raise TooManyBytes(held)
                self.at(step)
        parts = self.at(instant)
        size = sum(part.size for part in parts)
        if size > most:
            raise TooManyBytes(size)
        return parts

    def _chain(self, instant: int) -> tuple[int | None, list[tuple[int, int]]]:
        """The instant of an answer's keyframe, and what it is put together of beside what is held: instants, and the
        bytes of what is stored there."""
        (frame,) = self._rows.connection.execute(
            "SELECT min(coalesce(frame, instant)) FROM answers WHERE query = ? AND instant = ?", (self._query, instant)
        ).fetchone()
        known = min((held.instant for held in self._wholes.values() if held.frame == frame), default=instant)
        sizes = self._rows.connection.execute(
            f"SELECT instant, sum({SIZE}) FROM answers "
            "WHERE query = ? AND instant >= ? AND instant <= ? GROUP BY instant ORDER BY instant",
            (self._query, frame if known >= instant else known + 1, instant),
        ).fetchall()
        return frame, sizes

    def wholes(self, found: list[ReadRow]) -> Iterator[StoredAnswer]:
        """Rows of the query one after the other, each whole."""
        return (answer for row in found for answer in self._answers(row))

    def change(self, instant: int, most: int) -> AnswerRow | None:
        """The row of an answer that is stored as a change, of at most so many bytes; None if it is stored whole, or in
        parts, or damaged."""
        place = self._query, instant
        try:
            found = self._rows.connection.execute(
                "SELECT since, size FROM answers WHERE query = ? AND instant = ?", place
            ).fetchall()
        except PageDamaged:
            return None
        if len(found) != 1 or type(found[0][0]) is not int or type(found[0][1]) is not int or found[0][1] > most:
            return None
        read = self._rows.select("WHERE query = ? AND instant = ? AND part = 0", place)
        return next((row for row, damage in read if damage is None), None)

    def _answers(self, found: ReadRow) -> list[StoredAnswer]:
        """The answer of a row; none if it has been forgotten in this moment."""
        row, damage = found
        if damage is not None:
            self._wholes.pop(row.part, None)
            return [_damaged(row, damage)]
        try:
            if row.since is None:
                frame: int | None = row.instant
                content: bytes | Result = row.unpacked
            else:
                frame, content = row.frame, self._folded(row)
        except ForgottenMeanwhile:
            return []
        except (BrokenChain, ValueError) as error:
            self._wholes.pop(row.part, None)
            return [_damaged(row, answer_damage(row.position, row.query, row.instant, str(error)))]
        self._wholes[row.part] = Whole(frame, row.instant, content)
        return [StoredAnswer(row.query, row.instant, row.part, row.rows, content, row.position)]

    def _folded(self, row: AnswerRow) -> Result:
        """Raises `BrokenChain` and `CorruptAnswer`; `ForgottenMeanwhile` if that is what it is now."""
        from csparql_spark.store.folding import folded_payloads

        held = self._wholes.get(row.part)
        if held is not None and held.frame == row.frame and held.instant <= row.instant:
            links = [] if held.instant == row.instant else self._links(row, held.instant)
            if links is not None:
                return self._checked(row, folded_payloads(held.content, links))
        assert row.frame is not None  # who has a `since` has a keyframe: the checksum holds
        links = self._links(row, row.frame)
        base = self._rows.select("WHERE query = ? AND instant = ? AND part = ?", (row.query, row.frame, row.part))
        if links is None or not base:
            raise self._lost(row, f"{FROM_ANOTHER}, and that is not there")
        frame, damage = base[0]
        if damage is not None:
            raise BrokenChain(f"{FROM_ANOTHER}, and {damage.reason}")
        return self._checked(row, folded_payloads(frame.unpacked, links))

    def _links(self, row: AnswerRow, begin: int) -> list[bytes] | None:
        """The changes after the answer at `begin` up to that of the row; None if they are not from that."""
        if row.since == begin:
            return [row.unpacked]
        found = self._rows.select(
            "WHERE query = ? AND part = ? AND instant > ? AND instant < ? ORDER BY instant",
            (row.query, row.part, begin, row.instant),
        )
        between = {one.instant: (one, damage) for one, damage in found}
        links = [row.unpacked]
        since = row.since
        while since != begin:
            if since is None or (link := between.pop(since, None)) is None:
                return None
            one, damage = link
            if damage is not None:
                raise BrokenChain(f"{FROM_ANOTHER}, and {damage.reason}")
            links.append(one.unpacked)
            since = one.since
        return links[::-1]

    def _lost(self, row: AnswerRow, why: str) -> Exception:
        found = self._rows.select("WHERE position = ?", (row.position,))
        return BrokenChain(why) if found else ForgottenMeanwhile()

    @staticmethod
    def _checked(row: AnswerRow, whole: Result) -> Result:
        if len(whole) != row.rows:
            raise BrokenChain(f"put together it has {len(whole)} rows in the place of {row.rows}")
        return whole


def _damaged(row: AnswerRow, damage: Damage) -> StoredAnswer:
    return StoredAnswer(int(damage.subject or 0), damage.at, row.part, 0, b"", damage.place, damage.reason)
