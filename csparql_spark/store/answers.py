"""Answers: what a query said at an instant, told exactly once.

An answer is keyed by (query, instant, part), and the first one written stands: a batch that Spark runs again after a
crash changes nothing that a subscriber may already have seen. So does a failure: a query that has failed says no more,
also where such a batch would come to something else. `position` numbers answers in the order in which they
were told; it only ever grows.

    answers.write([StoredAnswer(query=17, instant=1700000000000, part=0, rows=2, content=b"…")])
    answers.after(query=17, instant=0, limit=10)

What is stored is a whole answer, or what has changed since the one before it (see `keyframes`); what is read is whole,
unless somebody asks for the `change`.

Each carries a checksum, which is looked at when it is read. Of one that is damaged, or that is put together of such,
`damage` says so, and `payload` is empty: whoever gives it to somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from csparql_spark.disk.bell import Bell
from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import PageDamaged
from csparql_spark.store import progress
from csparql_spark.store.answer_batch import AnswerBatch
from csparql_spark.store.chains import AnswerRows, ChainReader
from csparql_spark.store.measures import Cost, Measures
from csparql_spark.store.newest_answers import NewestAnswers
from csparql_spark.store.stored_answers import SIZE, StoredAnswer
from csparql_spark.store.waiting_groups import WaitingGroups

if TYPE_CHECKING:
    from csparql_spark.answers.delta import Delta


class StoredChange(NamedTuple):
    """What has changed since the answer of an instant, and the position of the answer that it is."""

    since: int
    delta: Delta
    position: int


class AnswerStore:
    def __init__(self, database: Database, bell: Path, measures: Measures | None = None) -> None:
        """Without measures what answers have cost is not written."""
        self._database, self._measures = database, measures
        self._bell = Bell(bell)
        self._rows, self._newest = AnswerRows(database), NewestAnswers(database)

    def write(
        self,
        answers: AnswerBatch | Iterable[StoredAnswer],
        failures: Iterable[tuple[int, int, str]] = (),
        *,
        costs: Iterable[tuple[float, list[Cost]]] = (),
        end: int | None = None,
    ) -> None:
        """Write all of them or none, durably, and ring. `failures`: (query, instant, reason) of queries that failed;
        `costs`: what answers have cost, and when that was measured, epoch ms; `end`: the place up to which the batch
        has answered everything. Nobody waits for the disk if there are neither answers nor failures."""
        batch, failures = answers if isinstance(answers, AnswerBatch) else self._batch_of(answers), list(failures)
        news = bool(batch or failures)
        try:
            self._write(batch, failures, costs, end, durable=news)
        except BaseException:
            if self._measures is not None:
                self._measures.forgotten()
            raise
        if batch:
            batch.written()
        if failures:
            self._newest.forget({query for query, _, _ in failures})
        if news:
            self._bell.ring()

    def _batch_of(self, answers: Iterable[StoredAnswer]) -> AnswerBatch:
        batch = self.batch()
        for answer in sorted(answers, key=lambda answer: (answer.instant, answer.query, answer.part)):
            batch.add(answer)
        return batch

    def batch(self) -> AnswerBatch:
        """Answers to be written together, prepared one by one."""
        return AnswerBatch(self._newest)

    def _write(
        self,
        batch: AnswerBatch,
        failures: list[tuple[int, int, str]],
        costs: Iterable[tuple[float, list[Cost]]],
        end: int | None,
        *,
        durable: bool,
    ) -> None:
        with self._database.transaction(durable=durable) as connection:
            if batch:
                batch.write(connection)
            connection.executemany("INSERT OR IGNORE INTO failures (query, instant, reason) VALUES (?, ?, ?)", failures)
            if end is not None:
                progress.advance(connection, batch_end=end)
            if self._measures is not None:
                for at, batch_costs in costs:
                    self._measures.write(connection, batch_costs, at=at)

    def latest(self, query: int) -> list[StoredAnswer]:
        """All parts of the newest instant."""
        found = self._rows.select(
            "WHERE query = ? AND instant = (SELECT max(instant) FROM answers WHERE query = ?) ORDER BY part",
            (query, query),
        )
        return list(self.reader(query).wholes(found))

    def at(self, query: int, instant: int) -> list[StoredAnswer]:
        return self.reader(query).at(instant)

    def within(self, query: int, instant: int, most: int) -> list[StoredAnswer]:
        """The same of an answer of so many bytes at most. Raises `TooManyBytes`."""
        return self.reader(query).within(instant, most)

    def each(self, query: int, instants: Iterable[int]) -> Iterator[list[StoredAnswer]]:
        """The parts of the answers of these instants, which go up, as long as they are kept. What is held meanwhile is
        one answer."""
        reader = self.reader(query)
        return (parts for instant in instants if (parts := reader.at(instant)))

    def reader(self, query: int) -> ChainReader:
        """Who reads several answers one after the other goes on from the last one."""
        return ChainReader(self._rows, query)

    def after(self, query: int, instant: int, limit: int) -> list[StoredAnswer]:
        """The parts of the instants after `instant`, oldest first, at most `limit` parts."""
        found = self._rows.select(
            "WHERE query = ? AND instant > ? ORDER BY instant, part LIMIT ?", (query, instant, limit)
        )
        return list(self.reader(query).wholes(found))

    def change(self, query: int, instant: int, most: int = 1 << 40) -> StoredChange | None:
        """What has changed, if an answer is stored as that, in at most so many bytes; None if it is stored whole, or
        damaged. What the answers of a query have in common (`fleeting`) is not said there."""
        row = self.reader(query).change(instant, most)
        if row is None or row.since is None:
            return None
        from csparql_spark.answers.bindings import CorruptAnswer
        from csparql_spark.answers.delta_bytes import from_bytes

        try:
            return StoredChange(row.since, from_bytes(row.unpacked), row.position)
        except CorruptAnswer:
            return None

    def size(self, query: int, instant: int | None) -> int:
        """Bytes that an instant, or the newest one, has at most when it is put together; 0 if there is none."""
        if instant is None:
            newest = self._database.connection.execute("SELECT max(instant) FROM answers WHERE query = ?", (query,))
            instant = newest.fetchone()[0]
        return 0 if instant is None else self.largest(query, [instant])

    def largest(self, query: int, instants: Iterable[int]) -> int:
        """The same of the one of these instants that has most: bytes of the keyframe and of all changes since."""
        wanted = set(instants)
        if not wanted:
            return 0
        low, high = min(wanted), max(wanted)
        try:
            rows = self._database.connection.execute(
                f"SELECT instant, part, frame, {SIZE} FROM answers WHERE query = ?1 AND "
                "instant >= (SELECT min(coalesce(frame, instant)) FROM answers WHERE query = ?1 AND instant = ("
                "SELECT min(instant) FROM answers WHERE query = ?1 AND instant >= ?2)) AND instant <= ?3 "
                "ORDER BY instant, part",
                (query, low, high),
            ).fetchall()
        except PageDamaged:  # who reads it is told which one is damaged
            return 0
        chains: dict[int, int] = {}  # of each part, the bytes up to here
        found: dict[int, int] = {}
        for at, part, frame, size in rows:
            chains[part] = size + (0 if frame in (None, at) else chains.get(part, 0))
            found[at] = found.get(at, 0) + chains[part]
        return max((size for at, size in found.items() if at in wanted), default=0)

    def instants(self, query: int, low: int, high: int, limit: int) -> list[int]:
        """The instants t with low <= t <= high that have answers, oldest first."""
        rows = self._database.connection.execute(
            "SELECT DISTINCT instant FROM answers WHERE query = ? AND instant >= ? AND instant <= ? "
            "ORDER BY instant LIMIT ?",
            (query, low, high, limit),
        )
        return [instant for (instant,) in rows]

    def sizes(self, query: int, low: int, high: int, limit: int) -> list[tuple[int, int]]:
        """The newest instants from `low` to `high`, each with its number of rows, oldest first."""
        rows = self._database.connection.execute(
            "SELECT instant, sum(rows) FROM answers WHERE query = ? AND instant >= ? AND instant <= ? "
            "GROUP BY instant ORDER BY instant DESC LIMIT ?",
            (query, low, high, limit),
        ).fetchall()
        return rows[::-1]

    def bounds(self, query: int) -> tuple[int, int] | None:
        """The oldest and the newest instant that are kept."""
        low, high = self._database.connection.execute(
            "SELECT min(instant), max(instant) FROM answers WHERE query = ?", (query,)
        ).fetchone()
        return None if low is None else (low, high)

    def newest_instant(self, query: int) -> int | None:
        """The newest instant that was ever told; it may be forgotten."""
        return self._database.connection.execute(
            "SELECT max(instant) FROM (SELECT max(instant) AS instant FROM answers WHERE query = ? "
            "UNION ALL SELECT instant FROM forgotten WHERE query = ?)",
            (query, query),
        ).fetchone()[0]

    def is_complete(self, query: int, ended: int) -> bool:
        """Whether a version that another one has replaced, with the entry at a place, has said all that it will."""
        # In this order: that a group waits is noted before its batch has ended.
        answered = progress.answered(self._database.connection) >= ended
        return answered and WaitingGroups(self._database).of(query) is None

    def queries_since(self, position: int) -> tuple[int, set[int]]:
        """The newest position, and the queries that have answers after `position`."""
        rows = self._database.connection.execute(
            "SELECT query, max(position) FROM answers WHERE position > ? GROUP BY query", (position,)
        ).fetchall()
        return max((p for _, p in rows), default=position), {query for query, _ in rows}

    def failure(self, query: int) -> tuple[int, str] | None:
        """(instant, reason) if the query has failed."""
        return self._database.connection.execute(
            "SELECT instant, reason FROM failures WHERE query = ?", (query,)
        ).fetchone()

    def failures(self) -> list[tuple[int, int, str]]:
        """(query, instant, reason) of all queries that have failed."""
        return self._database.connection.execute(
            "SELECT query, instant, reason FROM failures ORDER BY query"
        ).fetchall()

    def wait(self, timeout: float) -> bool:
        """Sleep until answers are written, at most `timeout` seconds; true if some were. One listener a process."""
        return self._bell.wait(timeout)
