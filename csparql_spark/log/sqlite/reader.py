"""Reading the log in SQLite: one table of the data directory's database. Entries are written by `writer` alone.

    for entry in log.read(after=41, upto=log.tail()):
        ...

Each entry carries checksums, which are looked at when it is read. Those who fold the log (`read`, `registrations`) are
given a damaged entry as one that says so: `damage` is the sentence, `payload` is None, and the kind is `damaged` if it
cannot be told whom it concerned. Everybody else is told by `Damaged`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from csparql_spark.disk.checksum import EntryHead, head_sum, payload_sum
from csparql_spark.disk.damage import HEAD, PAYLOAD, Damage, Damaged, Damages, entry_damage
from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import PageDamaged
from csparql_spark.log.contract import StampSpan
from csparql_spark.log.entries import IN_THE_HEAD, REGISTRY_KINDS, Entry
from csparql_spark.log.sqlite.forgotten import last_forgotten

MOST_STREAMS = 4096  # of which it is remembered how far they were looked at
END_OF_LOG = (1 << 63) - 1  # later than any place
BELIEVED = 100  # of so many entries one after the other, some will say when they came

# As they were written; SQLite gives anything where a page is damaged, which the sums tell.
HeadRow = tuple[int, str, int, str | None, int, int | None, int | None, int]
WholeRow = tuple[int, str, int, str | None, int, int | None, int | None, int, bytes | None, int | None, int | None]

_COLUMNS = "seq, kind, at, subject, rows, first, last, unstamped"
WHOLE = f"{_COLUMNS}, payload, head_sum, payload_sum"
_HEADS = "SELECT seq, head_sum, kind, at, subject, rows, first, last, unstamped FROM log"
# The newest stamp in a chunk, given or of its arrival.
_NEWEST = "CASE WHEN last IS NULL OR unstamped > 0 AND at > last THEN at ELSE last END"
_OLDEST = "CASE WHEN first IS NULL OR unstamped > 0 AND at < first THEN at ELSE first END"
_PLAIN = (
    f"{_COLUMNS}, CASE kind WHEN 'background' THEN NULL ELSE payload END, head_sum, "
    "CASE kind WHEN 'background' THEN NULL ELSE payload_sum END"
)


def _of_stream(condition: str, order: str) -> str:
    """What was logged of a stream after a place: its chunks, and what stands in the place of some that are lost."""
    return (
        f"SELECT {WHOLE} FROM log WHERE kind = 'chunk' AND subject = :stream AND seq > :after {condition} "
        f"UNION ALL SELECT {WHOLE} FROM log INDEXED BY log_registry WHERE kind NOT IN ('chunk', 'tick') "
        f"AND kind = 'damaged' AND subject = :stream AND seq > :after {condition} ORDER BY {order}"
    )


def damage_of(connection: sqlite3.Connection, row: WholeRow) -> Damage | None:
    """What is damaged of an entry that was read as `WHOLE`."""
    seq, kind, at, subject, rows, first, last, unstamped, payload, head, body = row
    if head is not None and head != head_sum(EntryHead(kind, at, subject, rows, first, last, unstamped)):
        # Of a registration it matters to nobody else what it says.
        at = stamp_before(connection, seq) or 0
        if kind == "register":
            return entry_damage(seq, kind, str(subject), at, PAYLOAD)
        return entry_damage(seq, None, None, at, HEAD)
    if body is not None and (not isinstance(payload, bytes | None) or body != payload_sum(payload)):
        return entry_damage(seq, kind, subject, at, PAYLOAD)
    return None


def is_whole(payload: bytes, sum: int | None) -> bool:
    """Whether a payload is what was written; one without a sum is believed."""
    return sum is None or isinstance(payload, bytes) and sum == payload_sum(payload)


def stamp_before(connection: sqlite3.Connection, seq: int) -> int | None:
    """The arrival stamp of the last entry before a place that can be believed; None if there is none."""
    kind, at = _clock_before(connection, seq)
    return at if kind else None


def next_stamp(connection: sqlite3.Connection) -> int:
    """The least that the next entry can be stamped with, as what can be believed of the log says."""
    kind, at = _clock_before(connection, (1 << 63) - 1)
    return at + (kind == "tick")


def _clock_before(connection: sqlite3.Connection, seq: int) -> tuple[str, int]:
    """Kind and stamp of the last entry before a place that holds the arrival clock and can be believed."""
    for _ in range(BELIEVED):
        row = connection.execute(
            f"{_HEADS} WHERE seq < ? AND (kind != 'tick' OR subject IS NULL) ORDER BY seq DESC LIMIT 1", (seq,)
        ).fetchone()
        if row is None:
            break
        seq, head, *columns = row
        if _is_believed(head, columns):
            return columns[0], columns[1]
    return "", 0


def _is_believed(head: int | None, columns: Sequence[Any]) -> bool:  # what SQLite has: of any type, if damaged
    return head is None or head == head_sum(EntryHead(*columns))


def unreadable(connection: sqlite3.Connection, seq: int, error: PageDamaged) -> Damage:
    """An entry on a page of the file that SQLite cannot read."""
    try:
        at = stamp_before(connection, seq) or 0
    except PageDamaged:
        at = 0  # nor what came before
    return entry_damage(seq, None, None, at, f"{error}; {HEAD}")


class Log:
    """The reading side of the log."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._damages = Damages(database)
        self._heads: dict[str, tuple[int, int]] = {}  # of a stream the places between which all heads are right

    def tail(self) -> int:
        """The place of the newest entry; 0 for an empty log."""
        return self._database.connection.execute("SELECT max(seq) FROM log").fetchone()[0] or 0

    def waiting_since(self, after: int) -> int | None:
        """The arrival stamp of the first entry after a place; None if there is none. A tick of a stream's own clock is
        stamped with that clock, and what is damaged with anything: they wait since what came before them, which made
        somebody write the tick, or since what came after."""
        connection = self._database.connection
        (first,) = connection.execute("SELECT min(seq) FROM log WHERE seq > ?", (after,)).fetchone()
        if first is None:
            return None
        before = stamp_before(connection, first + 1)
        if before is not None:
            return before
        following = connection.execute(
            f"{_HEADS} WHERE seq > ? AND (kind != 'tick' OR subject IS NULL) ORDER BY seq LIMIT ?", (first, BELIEVED)
        )
        return next((columns[1] for _, head, *columns in following if _is_believed(head, columns)), None)

    def read(self, after: int, upto: int) -> Iterator[Entry]:
        return self._fold(WHOLE, "", "seq > ? AND seq <= ?", (after, upto))

    def outline(self, after: int, limit: int) -> list[Entry]:
        """The next entries without their payloads, unchecked: what they say is a hint."""
        sql = f"SELECT {_COLUMNS} FROM log WHERE seq > ? ORDER BY seq LIMIT ?"
        try:
            rows = self._database.connection.execute(sql, (after, limit)).fetchall()
        except PageDamaged:
            return list(self._one_by_one(_PLAIN, "", "seq > ?", (after,), limit))
        return [_hint(row) for row in rows]

    def registrations(self, after: int, upto: int) -> Iterator[Entry]:
        """The entries that say which streams, queries and graphs there are."""
        marks = ", ".join("?" * len(REGISTRY_KINDS))
        return self._fold(
            _PLAIN,
            "INDEXED BY log_registry",
            f"kind NOT IN ('chunk', 'tick') AND kind IN ({marks}) AND seq > ? AND seq <= ?",
            (*REGISTRY_KINDS, after, upto),
        )

    def last(self, subject: str, kind: str, upto: int) -> Entry | None:
        """The newest entry of the kind about the subject, as the log stood after `upto`. Raises `Damaged`."""
        entry = self.last_as_is(subject, kind, upto)
        return None if entry is None else _whole(entry)

    def last_as_is(self, subject: str, kind: str, upto: int) -> Entry | None:
        """The same, also if it is damaged."""
        # Without the words of its index it would be looked for in all that came after it.
        indexed = "AND kind NOT IN ('chunk', 'tick')" if kind in REGISTRY_KINDS else ""
        found = self._database.connection.execute(
            f"SELECT seq FROM log WHERE subject = ? AND kind = ? {indexed} AND seq <= ? ORDER BY seq DESC LIMIT 1",
            (subject, kind, upto),
        ).fetchone()
        return self.one(found[0]) if found else None

    def one(self, seq: int) -> Entry | None:
        """The entry of a place, as those are given it who fold the log; None if it is forgotten."""
        return next(self.read(seq - 1, seq), None)

    def chunks(self, stream: str, *, low: int, high: int, after: int) -> Iterator[Entry]:
        """The chunks of a stream that may hold elements stamped low < t <= high, logged after the place `after`.
        Raises `Damaged`: also if there is an entry that may have been one of them."""
        unknown = self._damages.newest_unknown(after)
        if unknown is not None:
            raise Damaged(unknown.reason)
        self._check_heads(stream, after)
        rows = self._database.connection.execute(
            _of_stream("AND (at > :low AND at <= :high OR last > :low AND first <= :high)", "seq"),
            {"stream": stream, "after": after, "low": low, "high": high},
        )
        return (_whole(self._entry(row)) for row in rows)

    def _check_heads(self, stream: str, after: int) -> None:
        """Raise `Damaged` if a chunk has other stamps than it was given: they would leave it out, and nobody would look
        at it. Each is looked at once."""
        first, last = self._heads.get(stream, (after, after))
        if not first <= after <= last:
            first = last = after
        for seq, head, *columns in self._database.connection.execute(
            f"{_HEADS} WHERE kind = 'chunk' AND subject = ? AND seq > ? ORDER BY seq", (stream, last)
        ):
            if head is not None and head != head_sum(EntryHead(*columns)):
                self.payload(seq)
            last = seq
        if len(self._heads) >= MOST_STREAMS:
            self._heads.clear()
        self._heads[stream] = first, last

    def outlines(self, stream: str, *, after: int, newest_first: bool = False) -> Iterator[Entry]:
        """The chunks of a stream that were logged after the place `after`, without their payloads, unchecked."""
        rows = self._database.connection.execute(
            f"SELECT {_COLUMNS} FROM log WHERE kind = 'chunk' AND subject = ? AND seq > ? "
            f"ORDER BY seq {'DESC' if newest_first else 'ASC'}",
            (stream, after),
        )
        return (Entry(*row) for row in rows)

    def recent(self, stream: str, after: int = 0, upto: int | None = None) -> Iterator[Entry]:
        """The chunks of a stream that were logged after a place, and up to another, the newest first. Raises `Damaged`:
        also when it comes to an entry that may have been one of them."""
        upto = END_OF_LOG if upto is None else upto
        unknown = self._damages.newest_unknown(after, upto)
        for row in self._database.connection.execute(
            _of_stream("AND seq <= :upto", "seq DESC"), {"stream": stream, "after": after, "upto": upto}
        ):
            if unknown is not None and row[0] < unknown.place:
                break
            yield _whole(self._entry(row))
        if unknown is not None:
            raise Damaged(unknown.reason)

    def forgotten(self, stream: str) -> int:
        """A place after which no chunk of a stream is forgotten; 0 if none is."""
        return last_forgotten(self._database.connection, stream)

    def logged_at(self, at: int, *, after: int) -> int | None:
        """The place of the first entry after a place that the arrival clock has stamped so or later."""
        low, high, found = after, self.tail(), None  # it is after `low`, and nowhere after `high` but at `found`
        while low < high:
            middle = (low + high) // 2
            there = self._next_stamp(middle)
            if there is not None and there[1] < at:
                low = there[0]
                continue
            high = middle
            if there is not None:
                found = there[0]
        return found

    def _next_stamp(self, after: int) -> tuple[int, int] | None:
        """The first entry after a place that holds the arrival clock and can be believed: its place, and the least that
        the next one is stamped with."""
        rows = self._database.connection.execute(
            f"{_HEADS} WHERE seq > ? AND (kind != 'tick' OR subject IS NULL) ORDER BY seq LIMIT ?", (after, BELIEVED)
        )
        return next(
            ((seq, columns[1] + (columns[0] == "tick")) for seq, head, *columns in rows if _is_believed(head, columns)),
            None,
        )

    def reached(self, stream: str, stamp: int, *, after: int) -> int | None:
        """The place of the first chunk of a stream, after a place, that holds an element stamped so or later."""
        row = self._database.connection.execute(
            f"SELECT seq FROM log WHERE kind = 'chunk' AND subject = ? AND seq > ? AND rows > 0 AND {_NEWEST} >= ? "
            "ORDER BY seq LIMIT 1",
            (stream, after, stamp),
        ).fetchone()
        return row[0] if row else None

    def ticked(self, stream: str, at: int, *, after: int, upto: int) -> int | None:
        """The place of the first tick of a stream's own clock, between places, that says that an instant has passed."""
        row = self._database.connection.execute(
            "SELECT seq FROM log WHERE kind = 'tick' AND subject = ? AND at >= ? AND seq > ? AND seq <= ? "
            "ORDER BY seq LIMIT 1",
            (stream, at, after, upto),
        ).fetchone()
        return row[0] if row else None

    def payload(self, seq: int) -> bytes | None:
        """The payload of an entry; None if it is forgotten. Raises `Damaged`."""
        entry = self.one(seq)
        return None if entry is None else _whole(entry).payload

    def size(self, seq: int) -> int:
        row = self._database.connection.execute("SELECT length(payload) FROM log WHERE seq = ?", (seq,)).fetchone()
        return 0 if row is None or row[0] is None else row[0]

    def newest(self, stream: str) -> int | None:
        """The newest stamp among the chunks of a stream."""
        span = self.span(stream, after=0)
        return None if span is None else span.last

    def span(self, stream: str, *, after: int) -> StampSpan | None:
        row = self._database.connection.execute(
            f"SELECT max(at), min({_OLDEST}), max({_NEWEST}) FROM log WHERE kind = 'chunk' AND subject = ? AND seq > ?",
            (stream, after),
        ).fetchone()
        return None if row[0] is None else StampSpan(*row)

    def totals(self, stream: str) -> tuple[int, int]:
        """Chunks and triples of a stream that the log holds."""
        return self._database.connection.execute(
            "SELECT count(*), coalesce(sum(rows), 0) FROM log WHERE kind = 'chunk' AND subject = ?", (stream,)
        ).fetchone()

    def _fold(self, columns: str, index: str, condition: str, values: tuple[int | str, ...]) -> Iterator[Entry]:
        """The entries for which a condition holds that ends in "seq > ? AND seq <= ?", whole or with their damage."""
        *rest, after, upto = values
        connection = self._database.connection
        try:
            for row in connection.execute(f"SELECT {columns} FROM log {index} WHERE {condition} ORDER BY seq", values):
                yield self._entry(row)
                after = row[0]
            return
        except PageDamaged:
            pass
        yield from self._one_by_one(columns, index, condition, (*rest, after, upto))

    def _one_by_one(
        self, columns: str, index: str, condition: str, values: tuple[int | str, ...], limit: int = -1
    ) -> Iterator[Entry]:
        """Around what SQLite cannot read. A page of rows that is gone takes with it what it was that they said."""
        connection = self._database.connection
        try:
            places: Iterable[int] = [
                seq
                for (seq,) in connection.execute(
                    f"SELECT seq FROM log {index} WHERE {condition} ORDER BY seq LIMIT ?", (*values, limit)
                )
            ]
        except PageDamaged:
            after, *upto = (int(value) for value in values[-2:])  # the last of them are places
            places = range(after + 1, min(upto[0] if upto else after + limit, self.tail()) + 1)
        for seq in places:
            try:
                row = connection.execute(f"SELECT {columns} FROM log WHERE seq = ?", (seq,)).fetchone()
            except PageDamaged as error:
                yield self._damaged(unreadable(connection, seq, error))
                continue
            if row is not None:
                yield self._entry(row)

    def _entry(self, row: WholeRow) -> Entry:
        damage = damage_of(self._database.connection, row)
        if damage is not None and damage.kind not in IN_THE_HEAD:
            return self._damaged(damage, row[4:8])
        entry = Entry(*row[:9])
        if entry.kind == "damaged":
            return Entry(*row[:8], damage=(entry.payload or b"").decode())
        return entry

    def _damaged(self, damage: Damage, stamps: tuple[int, int | None, int | None, int] = (0, None, None, 0)) -> Entry:
        self._damages.note(damage)
        if damage.kind is None or damage.kind == "register":
            stamps = 0, None, None, 0
        return Entry(damage.place, damage.kind or "damaged", damage.at, damage.subject, *stamps, damage=damage.reason)


def _whole(entry: Entry) -> Entry:
    if entry.damage is not None:
        raise Damaged(entry.damage)
    return entry


def _hint(row: HeadRow) -> Entry:
    """What an entry seems to be; that of a damaged one need not even be a number."""
    seq, _, at, _, rows, first, last, _ = row
    if not (type(at) is type(rows) is int and isinstance(first, int | None) and isinstance(last, int | None)):
        return Entry(seq, "damaged", 0)
    return Entry(*row)
