"""Measures: what queries cost, point by point, and what that sums up to. Hints like a status, not part of any answer.

A point is about one query in one batch of the engine. The newest of each query are kept, and go with it; what they sum
up to is carried on from point to point, so that it outlives the engine and the points that are forgotten.

    measures = Measures(database)
    with database.transaction() as connection:
        measures.write(connection, [cost], at=now)        # of answers that are told already
    measures.points(17)                                   # the newest of query 17, newest last
    measures.newest(17).totals.seconds

A batch that is run again after a crash is counted again: measures may be a little too high, and never hold up anybody.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict

from csparql_spark.disk.database import Database

MOST_POINTS = 300
SWEEP = 16  # points are forgotten so many at a time
MOST_KNOWN = 10_000  # queries whose totals are remembered
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds of latency

_json = json.JSONEncoder(separators=(",", ":")).encode
_COLUMNS = "query, number, at, instant, latency, micros, instants, rows, elements, late, state, totals"


class Totals(NamedTuple):
    """Since the query was registered. `latencies`: how many instants came within each of the buckets, and how many
    later."""

    instants: int = 0
    rows: int = 0
    micros: int = 0
    latency: float = 0.0  # seconds, of the instants that are in `latencies`
    latencies: tuple[int, ...] = (0,) * (len(BUCKETS) + 1)
    refused_patterns: int = 0  # how often a rule had a pattern that cannot be matched

    @classmethod
    def from_json(cls, text: str) -> Totals:
        instants, rows, micros, latency, latencies, *refused = json.loads(text)
        return cls(instants, rows, micros, latency, tuple(latencies), *refused)

    def to_json(self) -> str:
        return _json(
            [self.instants, self.rows, self.micros, round(self.latency, 6), self.latencies, self.refused_patterns]
        )


class Cost(NamedTuple):
    """What the engine says of a query in a batch. `due`: when each of its instants could have been answered at the
    earliest, epoch ms, None where that is not known."""

    query: int
    instant: int  # the newest; `last_rows` and `last_micros` are about this one
    instants: int
    rows: int
    last_rows: int
    micros: int
    last_micros: int
    elements: int
    late: int
    state: int
    due: Sequence[int | None] = ()
    nodes: object = None  # the plan, with what each of its parts took
    refused_patterns: int = 0


class PlanRecord(TypedDict):
    """The plan of a query as it was at an instant: the JSON of `Cost.nodes`, which nobody here looks into."""

    instant: int
    plan: object


class Point(NamedTuple):
    query: int
    number: int
    at: int
    instant: int
    latency: float | None  # ms
    micros: int
    instants: int
    rows: int
    elements: int
    late: int
    state: int
    totals: Totals


class Measures:
    """One process writes, any number read."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[int, tuple[int, Totals]] = {}  # the number of a query's newest point, and its totals

    def write(self, connection: sqlite3.Connection, costs: Iterable[Cost], *, at: float) -> None:
        """Write what a batch has cost, in a transaction that is open. `at`: epoch ms."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        rows, trees = [], []
        for cost in costs:
            number, totals = self._known.get(cost.query) or self._last(connection, cost.query)
            late = [(at - due) / 1000 for due in cost.due if due is not None]
            number, totals = self._known[cost.query] = number + 1, _sum(totals, cost, late)
            latency = None if not cost.due or cost.due[-1] is None else at - cost.due[-1]
            rows.append(
                (
                    cost.query,
                    number,
                    int(at),
                    cost.instant,
                    latency,
                    cost.last_micros,
                    cost.instants,
                    cost.last_rows,
                    cost.elements,
                    cost.late,
                    cost.state,
                    totals.to_json(),
                )
            )
            if cost.nodes is not None:
                trees.append((_tree(cost.query), json.dumps({"instant": cost.instant, "plan": cost.nodes})))
        connection.executemany(
            f"INSERT OR REPLACE INTO measures ({_COLUMNS}) VALUES ({', '.join('?' * (_COLUMNS.count(',') + 1))})", rows
        )
        connection.executemany(
            "DELETE FROM measures WHERE query = ? AND number <= ?",
            [(row[0], row[1] - MOST_POINTS) for row in rows if row[1] % SWEEP == 0],
        )
        connection.executemany(
            "INSERT INTO status (name, payload) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET payload = excluded.payload",
            trees,
        )

    def forgotten(self) -> None:
        """The transaction was undone: look again at what is there."""
        self._known.clear()

    @staticmethod
    def _last(connection: sqlite3.Connection, query: int) -> tuple[int, Totals]:
        row = connection.execute(
            "SELECT number, totals FROM measures WHERE query = ? ORDER BY number DESC LIMIT 1", (query,)
        ).fetchone()
        return (row[0], Totals.from_json(row[1])) if row else (0, Totals())

    def points(self, query: int, limit: int = MOST_POINTS) -> list[Point]:
        """The newest points of a query, newest last."""
        rows = self._database.connection.execute(
            f"SELECT {_COLUMNS} FROM measures WHERE query = ? ORDER BY number DESC LIMIT ?",
            (query, min(limit, MOST_POINTS)),
        ).fetchall()
        return [Point(*row)._replace(totals=Totals.from_json(row[-1])) for row in reversed(rows)]

    def newest(self, query: int) -> Point | None:
        return next(iter(self.points(query, 1)), None)

    def plan(self, query: int) -> PlanRecord | None:
        """The plan of a query as it was told last."""
        row = self._database.connection.execute("SELECT payload FROM status WHERE name = ?", (_tree(query),)).fetchone()
        return json.loads(row[0]) if row else None


def forget(connection: sqlite3.Connection, query: int) -> None:
    """Delete what is known of a query, which is gone."""
    connection.execute("DELETE FROM measures WHERE query = ?", (query,))
    connection.execute("DELETE FROM status WHERE name = ?", (_tree(query),))


def _tree(query: int) -> str:
    return f"plan {query}"


def _sum(totals: Totals, cost: Cost, late: list[float]) -> Totals:
    latencies = totals.latencies
    if late:
        counts = list(latencies)
        for seconds in late:
            counts[bisect_left(BUCKETS, seconds)] += 1
        latencies = tuple(counts)
    return Totals(
        totals.instants + cost.instants,
        totals.rows + cost.rows,
        totals.micros + cost.micros,
        totals.latency + sum(late),
        latencies,
        totals.refused_patterns + cost.refused_patterns,
    )
