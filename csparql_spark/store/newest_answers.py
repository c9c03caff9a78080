"""Newest answers: what is stored last of each query, remembered by whoever writes the next one.

    newest = NewestAnswers(database)
    newest.state((17, 0))                     # StoredState(newest=Newest(instant=18_000, …), …)
    newest.whole((17, 0), 18_000)                # that answer, if it is remembered; read_whole: or as it is stored
    newest.is_current(connection, {17})          # whether nobody else has written answers of these queries meanwhile

Others write, too: another worker that a group has moved to, or an engine that was started again. Each answer has a
position, which only grows: so the answers behind the last known one say which queries to look up again.

Invariant: no more than `MOST_BYTES` of wholes are remembered. Those of queries that have not answered in a while make
room; else who comes when there is none is read from the store each time: of many that come in turn, to drop the oldest
would be to drop each before it is asked for.
"""

from __future__ import annotations

import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import PageDamaged
from csparql_spark.store.chains import AnswerRows, ChainReader
from csparql_spark.store.keyframes import Newest, after_whole
from csparql_spark.store.stored_answers import SIZE

if TYPE_CHECKING:
    from csparql_spark.answers.bindings import Result

MOST_BYTES = 64 << 20
UNUSED_SECONDS = 60.0
MOST_STATES = 100_000
MANY = 10_000  # answers of others: then everything is looked up again

PartKey = tuple[int, int]  # a query and a part of its answers


class StoredState(NamedTuple):
    """What the store has of a query: its newest answer; up to which instant answers are forgotten; whether it has
    failed, so that it takes no more."""

    newest: Newest | None
    forgotten: int | None = None
    failed: bool = False

    def takes(self, instant: int) -> bool:
        """Whether an answer at an instant is new."""
        if self.failed or self.newest is not None and instant <= self.newest.instant:
            return False
        return self.forgotten is None or instant > self.forgotten


class ChangeBytes(NamedTuple):
    changed: int
    payload: bytes


class KnownWhole:
    """The whole answer of an instant."""

    def __init__(self, instant: int, payload: bytes) -> None:
        self.instant, self.payload = instant, payload

    @cached_property
    def result(self) -> Result | None:
        from csparql_spark.store.folding import read

        return read(self.payload)

    @property
    def nbytes(self) -> int:
        return 2 * len(self.payload)  # what is read is beside it

    def again(self, instant: int) -> KnownWhole:
        """The same at a later instant, if it has been read with what was made of it."""
        same = KnownWhole(instant, self.payload)
        same.__dict__.update({name: value for name, value in self.__dict__.items() if name == "result"})
        return same

    def after(self, changes: Sequence[bytes], instant: int) -> KnownWhole | None:
        """What becomes of it at a later instant; None if that cannot be told."""
        from csparql_spark.answers.bindings import CorruptAnswer
        from csparql_spark.store.folding import folded_payloads

        try:
            return KnownWhole(instant, folded_payloads(self.payload, changes).to_bytes())
        except CorruptAnswer:
            return None

    def change_to(self, now: KnownWhole, most: int, *, listed: bool) -> ChangeBytes | None:
        """What has changed; None if that is more than so many rows, or cannot be told."""
        from csparql_spark.answers.delta_bytes import to_bytes, unchanged
        from csparql_spark.store.folding import compared, least_changed

        if self.payload == now.payload and self.result is not None:
            return ChangeBytes(0, unchanged(self.result, listed=listed))
        # Equal answers have equal bytes: in these something has changed.
        if not most or least_changed(self.payload, now.payload) > most or self.result is None:
            return None
        delta = None if now.result is None else compared(self.result, now.result, most, listed=listed)
        return None if delta is None else ChangeBytes(delta.changed, to_bytes(delta))


class NewestAnswers:
    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._head: int | None = None  # the position up to which states are known
        self._states: dict[PartKey, StoredState] = {}
        self._wholes: OrderedDict[PartKey, tuple[KnownWhole, float]] = OrderedDict()  # and when they were noted
        self._bytes = 0

    def state(self, key: PartKey) -> StoredState:
        found = self._states.get(key)
        if found is None:
            connection = self._database.connection
            if self._head is None:
                self._head = head(connection)
            found = self._states[key] = _state(connection, key)
        return found

    def whole(self, key: PartKey, instant: int) -> KnownWhole | None:
        found = self._wholes.get(key)
        return None if found is None or found[0].instant != instant else found[0]

    def read_whole(self, key: PartKey, instant: int) -> KnownWhole | None:
        """That which is stored; None if it cannot be read."""
        query, part = key
        parts = ChainReader(AnswerRows(self._database), query).at(instant)
        found = next((one for one in parts if one.part == part and one.damage is None), None)
        return None if found is None else KnownWhole(instant, found.payload)

    def is_registered(self, query: int) -> bool:
        row = self._database.connection.execute("SELECT 1 FROM versions WHERE id = ?", (query,)).fetchone()
        return row is not None

    def is_current(self, connection: sqlite3.Connection, queries: Collection[int]) -> bool:
        """Whether what is known of these queries is so, seen from a transaction. What others have written is forgotten,
        to be looked up."""
        now, known = head(connection), self._head
        if known is None or now == known:
            return True
        self._head = now
        if now < known or now - known > MANY:  # what was given there was given back: nothing of it is stored
            self.forget(None)
            return False
        others = {
            query
            for (query,) in connection.execute(
                "SELECT DISTINCT query FROM answers WHERE position > ? AND position <= ?", (known, now)
            )
        }
        self.forget(others)
        return others.isdisjoint(queries)

    def forget(self, queries: Collection[int] | None) -> None:
        """What is known of these queries, or of all, may be otherwise."""
        for key in [key for key in self._states if queries is None or key[0] in queries]:
            del self._states[key]
            self._drop(key)

    def note(
        self, head: int, states: Mapping[PartKey, StoredState], wholes: Mapping[PartKey, KnownWhole | None]
    ) -> None:
        """What has been stored, up to a position."""
        self._head = head
        if len(self._states) + len(states) > MOST_STATES:
            self.forget(None)
        self._states.update(states)
        now = self._clock()
        for key, whole in wholes.items():
            self._drop(key)
            if whole is not None:
                self._hold(key, whole, now)

    def _hold(self, key: PartKey, whole: KnownWhole, now: float) -> None:
        while self._wholes and self._bytes + whole.nbytes > MOST_BYTES:
            oldest, (_, noted) = next(iter(self._wholes.items()))
            if noted > now - UNUSED_SECONDS:
                return
            self._drop(oldest)
        if whole.nbytes <= MOST_BYTES:
            self._wholes[key] = whole, now
            self._bytes += whole.nbytes

    def _drop(self, key: PartKey) -> None:
        found = self._wholes.pop(key, None)
        if found is not None:
            self._bytes -= found[0].nbytes


def head(connection: sqlite3.Connection) -> int:
    """The newest position that was ever given."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'answers'").fetchone()
    return row[0] if row else 0


def _state(connection: sqlite3.Connection, key: PartKey) -> StoredState:
    query, _ = key
    gone = connection.execute("SELECT max(instant) FROM forgotten WHERE query = ?", (query,)).fetchone()[0]
    failed = connection.execute("SELECT 1 FROM failures WHERE query = ?", (query,)).fetchone() is not None
    try:
        row = connection.execute(
            f"SELECT instant, rows, {SIZE}, frame, weight FROM answers WHERE query = ? AND "
            "part = ? ORDER BY instant DESC LIMIT 1",
            key,
        ).fetchone()
        newest = None if row is None else _newest(connection, key, LastRow(*row))
    except (PageDamaged, TypeError):  # the index says where it is; nothing can be made of it
        (instant,) = connection.execute(
            "SELECT max(instant) FROM answers WHERE query = ? AND part = ? AND typeof(instant) = 'integer'", key
        ).fetchone()
        newest = None if instant is None else after_whole(instant, 0, 0)
    return StoredState(newest, gone, failed)


class LastRow(NamedTuple):
    """The last row of a part, as it stands in the table: what is damaged may be of any type."""

    instant: int
    rows: int
    size: int
    frame: int | None
    weight: int | None


def _newest(connection: sqlite3.Connection, key: PartKey, last: LastRow) -> Newest:
    """What the table says; `TypeError` where it is damaged, and something else stands there than numbers."""
    instant, rows, size, frame, weight = last
    if frame is None or frame == instant:
        return _of_numbers(after_whole(instant, rows, size))
    chain = connection.execute(
        f"SELECT instant, rows, {SIZE} FROM answers WHERE query = ? AND part = ? AND "
        "instant BETWEEN ? AND ? AND (frame = ? OR instant = ?) ORDER BY instant",
        (*key, frame, instant, frame, frame),
    ).fetchall()
    if not chain or chain[0][0] != frame:  # without its keyframe nothing can be made of a change: the next is whole
        return _of_numbers(Newest(instant, rows, frame, 0, weight or 0, len(chain)))
    (_, frame_rows, frame_size), *changes = chain
    sizes = [size for _, _, size in changes]
    return _of_numbers(Newest(instant, rows, frame, frame_rows, weight or 0, len(changes), frame_size, sum(sizes)))


def _of_numbers(newest: Newest) -> Newest:
    if not all(type(number) is int for number in newest):
        raise TypeError("what is damaged may be of any type")
    return newest
