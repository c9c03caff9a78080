"""Answers: what a query said at an instant, told exactly once.

An answer is keyed by (query, instant, part), and the first one written stands: a batch that Spark runs again after a
crash changes nothing that a subscriber may already have seen. So does a failure: a query that has failed says no more,
also where such a batch would come to something else. `position` numbers answers in the order in which they
were told; it only ever grows.

    answers.write([StoredAnswer(query=17, instant=1700000000000, part=0, rows=2, payload=b"…")])
    answers.after(query=17, instant=0, limit=10)

Each carries a checksum, which is looked at when it is read. Of one that is damaged `damage` says so, and `payload` is
empty: whoever gives it to somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from csparql_spark.disk.bell import Bell
from csparql_spark.disk.checksum import answer_sum
from csparql_spark.disk.damage import PAYLOAD, Damage, Damages, answer_damage
from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import PageDamaged
from csparql_spark.store.measures import Cost, Measures
from csparql_spark.store.progress import advance


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    query: int
    instant: int
    part: int
    rows: int
    payload: bytes
    position: int = 0
    damage: str | None = None


# As it was written; what is damaged need not even be of these types.
AnswerRow = tuple[int, int, int, int, bytes, int, int | None]
_COLUMNS = "query, instant, part, rows, payload, position"
WHOLE = f"{_COLUMNS}, checksum"


def damage_of(row: AnswerRow) -> Damage | None:
    """What is damaged of an answer that was read as `WHOLE`."""
    query, instant, part, rows, payload, position, checksum = row
    formed = all(type(number) is int for number in (query, instant, part, rows)) and isinstance(payload, bytes)
    if formed and (checksum is None or checksum == answer_sum(query, instant, part, rows, payload)):
        return None
    return answer_damage(position, query, instant, PAYLOAD)


class AnswerStore:
    def __init__(self, database: Database, bell: Path, measures: Measures | None = None) -> None:
        """Without measures what answers have cost is not written."""
        self._database, self._measures = database, measures
        self._bell = Bell(bell)
        self._damages = Damages(database)

    def write(
        self,
        answers: Iterable[StoredAnswer],
        failures: Iterable[tuple[int, int, str]] = (),
        *,
        costs: Iterable[tuple[float, list[Cost]]] = (),
        end: int | None = None,
    ) -> None:
        """Write all of them or none, durably, and ring. `failures`: (query, instant, reason) of queries that failed;
        `costs`: what answers have cost, and when that was measured, epoch ms; `end`: the place up to which the batch
        has answered everything. Nobody waits for the disk if there are neither answers nor failures."""
        # Positions are given in this order: the instants of a query one after the other, the parts of one together.
        answers = sorted(answers, key=lambda answer: (answer.instant, answer.query, answer.part))
        failures = list(failures)
        news = bool(answers or failures)
        try:
            self._write(answers, failures, costs, end, durable=news)
        except BaseException:
            if self._measures is not None:
                self._measures.forgotten()
            raise
        if news:
            self._bell.ring()

    def _write(
        self,
        answers: list[StoredAnswer],
        failures: list[tuple[int, int, str]],
        costs: Iterable[tuple[float, list[Cost]]],
        end: int | None,
        *,
        durable: bool,
    ) -> None:
        with self._database.transaction(durable=durable) as connection:
            # What is forgotten was told, too: an engine that starts from the log again may come to it again.
            connection.executemany(
                "INSERT OR IGNORE INTO answers (query, instant, part, rows, payload, checksum) "
                "SELECT ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM forgotten WHERE query = ? AND instant >= ?) "
                "AND NOT EXISTS (SELECT 1 FROM failures WHERE query = ?)",
                (
                    (
                        a.query,
                        a.instant,
                        a.part,
                        a.rows,
                        a.payload,
                        answer_sum(a.query, a.instant, a.part, a.rows, a.payload),
                        a.query,
                        a.instant,
                        a.query,
                    )
                    for a in answers
                ),
            )
            connection.executemany("INSERT OR IGNORE INTO failures (query, instant, reason) VALUES (?, ?, ?)", failures)
            if end is not None:
                advance(connection, batch_end=end)
            if self._measures is not None:
                for at, batch_costs in costs:
                    self._measures.write(connection, batch_costs, at=at)

    def latest(self, query: int) -> list[StoredAnswer]:
        """All parts of the newest instant."""
        return self._select(
            "WHERE query = ? AND instant = (SELECT max(instant) FROM answers WHERE query = ?) ORDER BY part",
            (query, query),
        )

    def at(self, query: int, instant: int) -> list[StoredAnswer]:
        return self._select("WHERE query = ? AND instant = ? ORDER BY part", (query, instant))

    def after(self, query: int, instant: int, limit: int) -> list[StoredAnswer]:
        """The parts of the instants after `instant`, oldest first, at most `limit` parts."""
        return self._select("WHERE query = ? AND instant > ? ORDER BY instant, part LIMIT ?", (query, instant, limit))

    def size(self, query: int, instant: int | None) -> int:
        """Bytes of all parts of an instant, or of the newest one; 0 if there is none."""
        newest = "(SELECT max(instant) FROM answers WHERE query = ?)" if instant is None else "?"
        return self._database.connection.execute(
            f"SELECT coalesce(sum(length(payload)), 0) FROM answers WHERE query = ? AND instant = {newest}",
            (query, query if instant is None else instant),
        ).fetchone()[0]

    def largest(self, query: int, instants: Iterable[int]) -> int:
        """Bytes of the one of these instants that has most."""
        return max((self.size(query, instant) for instant in instants), default=0)

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

    def _select(self, clause: str, values: tuple[int, ...]) -> list[StoredAnswer]:
        connection = self._database.connection
        try:
            return [self._answer(row) for row in connection.execute(f"SELECT {WHOLE} FROM answers {clause}", values)]
        except PageDamaged:
            pass
        found = []  # around what SQLite cannot read: where the parts stand, an index tells
        for position, query, instant, part in connection.execute(
            f"SELECT position, query, instant, part FROM answers {clause}", values
        ).fetchall():
            try:
                row = connection.execute(f"SELECT {WHOLE} FROM answers WHERE position = ?", (position,)).fetchone()
            except PageDamaged as error:
                found.append(self._damaged(answer_damage(position, query, instant, str(error)), part))
            else:
                found += [self._answer(row)] if row else []
        return found

    def _answer(self, row: AnswerRow) -> StoredAnswer:
        damage = damage_of(row)
        return StoredAnswer(*row[:6]) if damage is None else self._damaged(damage, row[2])

    def _damaged(self, damage: Damage, part: int) -> StoredAnswer:
        self._damages.note(damage)
        return StoredAnswer(int(damage.subject or 0), damage.at, part, 0, b"", damage.place, damage.reason)
