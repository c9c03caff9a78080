"""The pipeline, run over a log: in one go, or in batches by several workers, as Spark would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar
from unittest import mock

from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.engine import member
from csparql_spark.engine.group import Group
from csparql_spark.engine.group_state import StoredGroup, restore, save
from csparql_spark.engine.guard import EvaluationGuard
from csparql_spark.engine.messages import Message, QueryFailure
from csparql_spark.engine.state_keys import StateKey
from csparql_spark.entailment.maintain.strategies import AUTO
from csparql_spark.log import Entry
from csparql_spark.log.entries import REGISTRY_KINDS
from csparql_spark.schedule.routing import Router, Row
from tests.engine.naive import Said

SPO = ("s", "p", "o")
Found = TypeVar("Found")


def router_of(log: list[Entry]) -> Router:
    """A router that finds the background of its place in the log."""

    def background(graph: str) -> Entry | None:
        versions = [
            entry for entry in log if entry.kind == "background" and entry.subject == graph and entry.seq <= router.seq
        ]
        return versions[-1] if versions else None

    router = Router(background)
    return router


def routed(log: list[Entry]) -> list[Row]:
    router = router_of(log)
    return [row for entry in log for row in router.route(entry)]


def routed_between(log: list[Entry], start: int, end: int, sent: set[tuple[str, int]] | None = None) -> list[Row]:
    """The rows of the entries after `start`, up to `end`: before, the router has seen what makes the registry. With
    `sent` they are those of a batch."""
    router = router_of(log)
    for entry in log:
        if entry.seq <= start and entry.kind in REGISTRY_KINDS:
            router.follow(entry)
    return [row for entry in log if start < entry.seq <= end for row in router.route(entry, sent)]


def in_one_go(log: list[Entry], maintenance: str = AUTO) -> dict[str, list[Message]]:
    """What each group says, row by row."""
    groups: dict[str, Group] = {}
    told: dict[str, list[Message]] = {}
    for row in routed(log):
        group = groups.setdefault(row.group, Group(row.group))
        group.maintain(maintenance)
        told.setdefault(row.group, []).extend(group.feed([row]))
    return told


def said(told: Iterable[Message]) -> dict[int, list[tuple[tuple[str, ...], Said]]]:
    """What each query says, in the words of the twin, and its variables."""
    by_query: dict[int, list[tuple[tuple[str, ...], Said]]] = {}
    for one in told:
        if isinstance(one, QueryFailure):
            by_query.setdefault(one.query, []).append(((), Said(one.instant, None)))
            continue
        answer = Result.from_bytes(one.payload)
        assert (one.part, one.rows) == (0, len(answer))
        table = answer.table
        if table is None:  # a graph: its triples, whose terms have no blanks here
            table = Bindings.from_rows(SPO, [dict(zip(SPO, line.split(b" "))) for line in answer.ntriples.splitlines()])
        by_query.setdefault(one.query, []).append((table.variables, Said(one.instant, table.rows())))
    return by_query


def matched_anew() -> mock._patch:
    """Queries that are read within are answered by the snapshot evaluator, also those that need not be."""
    return mock.patch.object(member, "why_snapshot", lambda query: "the test says so")


class DictState:
    """A group's share of a state store, in a dict."""

    def __init__(self) -> None:
        self.kept: bytes | None = None
        self.values: dict[StateKey, bytes] = {}

    def copy(self) -> DictState:
        state = DictState()
        state.kept, state.values = self.kept, dict(self.values)
        return state

    def summary(self) -> bytes | None:
        return self.kept

    def set_summary(self, summary: bytes) -> None:
        self.kept = summary

    def keys(self) -> Iterator[StateKey]:
        return iter(sorted(self.values))

    def get(self, name: StateKey) -> bytes:
        return self.values[name]

    def put(self, name: StateKey, value: bytes) -> None:
        self.values[name] = value

    def drop(self, name: StateKey) -> None:
        del self.values[name]

    def clear(self) -> None:
        self.kept = None
        self.values.clear()


class Worker:
    """A process that may be given any batch of any group, and remembers what it has seen."""

    def __init__(self) -> None:
        self.remembered: dict[str, StoredGroup] = {}

    def work(self, key: str, rows: list[Row], state: DictState) -> list[Message]:
        group = restore(key, state, self.remembered.pop(key, None))
        told = list(group.feed(sorted(rows, key=lambda row: row.seq)))
        save(group, state)
        if group.members:
            self.remembered[key] = group
        return told


class Terms(EvaluationGuard):
    """What members are evaluated under: who, at which instant, and the seconds that are added for them."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, float]] = []

    def evaluated(self, member: int, instant: int, seconds: float, work: Callable[[], Found]) -> Found:
        self.seen.append((member, instant, round(seconds, 3)))
        return super().evaluated(member, instant, seconds, work)
