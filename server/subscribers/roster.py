"""The roster: which queries there are, and how they stand, as subscribers are told of it.

    roster = read_roster(database, registry)
    roster.known[17].name                   # "HotRooms": every registration that the log still knows, also undone ones
    roster.standing[17].status              # "running", "paused" or "failed": of those that are there
    roster.versions[3]                      # (3, 17): those of one that was registered as 3, as far as they are known
    changes(before, after)                  # what there is to say of the difference

A roster is a value: nobody changes it, and whoever holds one knows what was told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from csparql_spark.disk import Database
from csparql_spark.server.subscribers.instants import notice
from csparql_spark.store import QueryRecord, Registry
from csparql_spark.store.registry import query_record

_REGISTRATIONS = (
    "SELECT seq, subject, at, payload, payload_sum FROM log INDEXED BY log_registry "
    "WHERE kind NOT IN ('chunk', 'tick') AND kind = 'register' ORDER BY seq"
)
_NEWEST = "SELECT max(seq) FROM log INDEXED BY log_registry WHERE kind NOT IN ('chunk', 'tick')"


@dataclass(frozen=True)
class Standing:
    """How a query stands. `at` and `reason`: when and why it failed."""

    query: QueryRecord
    status: str = "running"
    at: int | None = None
    reason: str | None = None

    def event(self) -> bytes:
        """The event that says it."""
        if self.status == "failed":
            return notice("problem", {"query": self.query.name, "at": self.at, "reason": self.reason})
        return notice("paused" if self.status == "paused" else "resumed", {"query": self.query.name})


@dataclass(frozen=True)
class Roster:
    known: Mapping[int, QueryRecord] = field(default_factory=dict)
    standing: Mapping[int, Standing] = field(default_factory=dict)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The queries that are there, by name."""
        return {standing.query.name: id for id, standing in self.standing.items()}

    @cached_property
    def origins(self) -> Mapping[int, int]:
        """The queries that are there, by what they are known by whatever version they are."""
        return {standing.query.origin: id for id, standing in self.standing.items()}

    @cached_property
    def versions(self) -> Mapping[int, tuple[int, ...]]:
        """The versions that are known of each query, oldest first, by what it is known by."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for version, query in sorted(self.known.items()):
            found[query.origin].append(version)
        return {origin: tuple(versions) for origin, versions in found.items()}


class RosterReader:
    """Reads the roster, and makes another one only if something has changed."""

    def __init__(self, database: Database, registry: Registry) -> None:
        self._database, self._registry = database, registry
        self._newest: tuple[object, ...] = ()
        self.roster = Roster()

    def read(self) -> Roster:
        connection = self._database.connection
        (newest,) = connection.execute(_NEWEST).fetchone()
        failures = connection.execute("SELECT query, instant, reason FROM failures ORDER BY query").fetchall()
        if (newest, failures) != self._newest:
            before = self.roster.known  # what was logged in a place does not change
            known = {
                id: record if (record := before.get(id)) is not None and record.id == id else query_record(id, *rest)
                for id, *rest in connection.execute(_REGISTRATIONS)
            }
            standing = self._standing(failures)
            # Where the first version is gone, what is gone with it and later ones is told of under its number.
            known |= {one.query.origin: one.query for one in standing.values() if one.query.origin not in known}
            self.roster = Roster(known, standing)
            self._newest = newest, failures
        return self.roster

    def _standing(self, failures: list[tuple[int, int, str]]) -> dict[int, Standing]:
        failed = {query: (at, reason) for query, at, reason in failures}
        standing = {}
        for query in self._registry.queries():
            if query.id in failed:
                standing[query.id] = Standing(query, "failed", *failed[query.id])
            else:
                standing[query.id] = Standing(query, "paused" if query.paused else "running")
        return standing


def registered(query: QueryRecord) -> bytes:
    return notice("registered", {"query": query.name, "id": query.origin, "version": query.id})


def replaced(query: QueryRecord, before: int) -> bytes:
    return notice("replaced", {"query": query.name, "id": query.origin, "version": query.id, "replaces": before})


def ended(name: str) -> bytes:
    return notice("end", {"query": name, "reason": "the query is deleted"})


def changes(before: Roster, after: Roster) -> Iterator[tuple[int, bytes]]:
    """Of which query there is what to say, but for its registration: ends first. One that is replaced has not ended."""
    for id, standing in before.standing.items():
        if standing.query.origin not in after.origins:
            yield id, ended(standing.query.name)
    for id, standing in after.standing.items():
        status = before.standing[id].status if id in before.standing else "running"
        if standing.status != status:
            yield id, standing.event()
