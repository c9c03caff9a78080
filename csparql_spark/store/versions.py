"""Versions: how much is kept of those that were replaced.

What a query has said is kept for its newest instants, whichever version said it: what the newest one leaves of them is
its predecessor's, and so on, for so many versions at most. A version that is over stays known (its text, how it
failed) as long as something that it said is kept, and so do all that came after it: whoever reads the log from its
beginning finds each to end where it ended.

    place = EnginePlace(read=4711, waiting=())
    instants(connection, place, keep=1000)      # {3: 0, 17: 800}: of versions that were replaced
    forget(transaction, stale(connection, place))

Invariants: however often a query is replaced, no more of it is kept than of another one, but for `MOST` texts; of what
is gone with a version it stays known up to where it is gone, under the query's first version (`origin`). Of a version
that the engine may still be answering the newest instant stays, however many came after it.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from csparql_spark.log.contents import registered
from csparql_spark.log.sqlite.reader import is_whole
from csparql_spark.store import measures

MOST = 10  # versions of a query that are over and still kept


class Version(NamedTuple):
    id: int
    ended: int | None  # the place where the next one begins


class EnginePlace(NamedTuple):
    """How far the engine has come: up to where it has read, and which queries still hold entries back."""

    read: int
    waiting: Collection[int]

    def is_behind(self, version: Version) -> bool:
        """Whether it has said all of a version."""
        return version.ended is not None and version.ended <= self.read and version.id not in self.waiting


class Stale(NamedTuple):
    """The versions of a query that go: those before `first`, which is kept."""

    name: str
    origin: int
    first: int
    gone: tuple[int, ...]


def instants(connection: sqlite3.Connection, place: EnginePlace, keep: int) -> dict[int, int]:
    """Of how many instants answers are kept, of each version that was replaced."""
    kept: dict[int, int] = {}
    for versions in _replaced(connection).values():
        left = keep
        for age, version in enumerate(reversed(versions)):
            if version.ended is not None:
                kept[version.id] = max(left if age <= MOST else 0, 0 if place.is_behind(version) else 1)
            if left:
                left = max(0, left - _instants(connection, version.id))
    return kept


def stale(connection: sqlite3.Connection, place: EnginePlace) -> list[Stale]:
    """What may go: the versions of which nothing is kept, and which the engine has left behind."""
    found = []
    for name, versions in _replaced(connection).items():
        gone = []
        for version in versions:
            if not place.is_behind(version) or _instants(connection, version.id, most=1):
                break
            gone.append(version.id)
        if gone:
            newest = versions[-1].id
            found.append(Stale(name, _origin(connection, newest), versions[len(gone)].id, tuple(gone)))
    return found


def forget(connection: sqlite3.Connection, stale: Stale) -> int:
    """Let them go; how many entries went."""
    for id in stale.gone:
        connection.execute(
            "INSERT INTO forgotten (query, position, instant) SELECT ?, position, instant FROM forgotten "
            "WHERE query = ? AND query != ? "
            "ON CONFLICT (query) DO UPDATE SET position = max(position, excluded.position)",
            (stale.origin, id, stale.origin),
        )
        connection.execute("DELETE FROM forgotten WHERE query = ? AND query != ?", (id, stale.origin))
        connection.execute("DELETE FROM failures WHERE query = ?", (id,))
        measures.forget(connection, id)
    return connection.execute(
        "DELETE FROM log WHERE seq IN (SELECT seq FROM log INDEXED BY log_registry WHERE kind NOT IN ('chunk', 'tick') "
        "AND kind IN ('register', 'pause', 'resume', 'fail') AND subject = ? AND seq < ?)",
        (stale.name, stale.first),
    ).rowcount


def _replaced(connection: sqlite3.Connection) -> Mapping[str, list[Version]]:
    """The versions of each query of which there are several, oldest first."""
    found: defaultdict[str, list[Version]] = defaultdict(list)
    rows = connection.execute(
        "SELECT name, id, ended FROM versions "
        "WHERE name IN (SELECT name FROM versions WHERE ended IS NOT NULL) ORDER BY id"
    )
    for name, id, ended in rows:
        found[name].append(Version(id, ended))
    return found


def _instants(connection: sqlite3.Connection, query: int, most: int = -1) -> int:
    """Of how many instants there are answers; it is not counted further than to `most`."""
    rows = connection.execute(
        "SELECT count(*) FROM (SELECT DISTINCT instant FROM answers WHERE query = ? LIMIT ?)", (query, most)
    )
    count: int = rows.fetchone()[0]
    return count


def _origin(connection: sqlite3.Connection, version: int) -> int:
    """The first version of the query of a version; of one that is damaged nobody knows."""
    payload, sum = connection.execute("SELECT payload, payload_sum FROM versions WHERE id = ?", (version,)).fetchone()
    return (registered(payload).origin if is_whole(payload, sum) else None) or version
