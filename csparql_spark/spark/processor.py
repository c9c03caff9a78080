"""A group of queries as Spark's stateful processor: an adapter, all meaning is in `engine.group`.

Its answers are told from here (see `answer_writer`); what comes out of it are failures and costs.

Spark may run a batch in any worker, and run it again. Each worker process remembers the groups that it has seen;
`engine.group_state` says whether what it remembers is what the state store holds.
"""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

import pandas
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from csparql_spark.answers import confinement
from csparql_spark.answers.limits import Limits
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.closings import Closings, ForkedClosings
from csparql_spark.engine.group_state import StoredGroup, restore, save
from csparql_spark.engine.guard import EvaluationGuard, GuardTerms, KernelGuard
from csparql_spark.engine.notes import Notes
from csparql_spark.engine.state_keys import StateKey
from csparql_spark.entailment.maintain.strategies import AUTO
from csparql_spark.pulse import Pulse
from csparql_spark.schedule.routing import WAKE, Row, in_order
from csparql_spark.spark.answer_writer import AnswerWriter
from csparql_spark.spark.report_rows import ReportRow, row_of
from csparql_spark.store.waiting_groups import WaitingGroups

SUMMARY = StateKey.summary()
Item = TypeVar("Item")

_remembered: dict[tuple[str, str, int], StoredGroup] = {}


class GroupProcessor(StatefulProcessor):
    def __init__(
        self,
        job: str,
        answer_writer: AnswerWriter,
        limits: Limits = Limits(),  # noqa: B008  it cannot change
        maintenance: str = AUTO,
        pulse: Pulse | None = None,
        terms: GuardTerms | None = None,
    ) -> None:
        """`job` names the checkpoint, so that a worker never takes one job's groups for another's; `limits` are what
        each query may have; `maintenance` names the strategy of their closures; `pulse` beats with each row and
        answer; the kernel holds evaluations to their limits on `terms`, if there are any."""
        self._job, self._answer_writer, self._limits, self._maintenance = job, answer_writer, limits, maintenance
        self._pulse, self._terms = pulse, terms

    def init(self, handle: StatefulProcessorHandle) -> None:
        # One state variable: each costs a set-up in every batch.
        self._values = handle.getMapState("values", "seq long, stream int", "value binary")
        _settle_in()
        if self._terms is not None:
            _guard(self._terms, self._limits).renew()

    def handleInputRows(
        self, key: tuple[str, int], rows: Iterator[pandas.DataFrame], timers: object
    ) -> Iterator[pandas.DataFrame]:
        batch = in_order(
            Row(*row) for frame in rows for row in zip(*(frame[field] for field in Row._fields), strict=True)
        )
        place = (self._job, *key)
        state = SparkState(self._values)
        # Taken out while it is at work: if the batch fails half-way, the next try starts from what is kept.
        group = restore(key[0], state, _remembered.pop(place, None))
        group.limit(self._limits)
        group.keep_by(self._answer_writer)
        if self._terms is not None:
            group.guard(_guard(self._terms, self._limits))
        group.maintain(self._maintenance)
        beside = None if self._terms is None else self._terms.beside
        if beside is not None:
            group.close_by(_closings(beside, self._limits))
        waited = group.waiting
        living = _living(group)
        rest = [row_of(failure) for failure in self._answer_writer.through(self._alive(group.feed(self._alive(batch))))]
        lighter = bool(rest) or _living(group) < living
        costs = group.costs()
        if costs is not None:
            rest.append(row_of(costs, at=int(time.time() * 1000)))  # now is when all answers are told
        if beside is not None:
            _note(beside, group, woken=not waited and any(row.kind == WAKE for row in batch))
        save(group, state)
        if group.members:
            _remembered[place] = group
        if lighter:
            confinement.give_back()  # nothing of what was held for queries that are gone waits here for others
        yield pandas.DataFrame(rest, columns=ReportRow._fields)

    def close(self) -> None:
        pass

    def _alive(self, items: Iterable[Item]) -> Iterable[Item]:
        return items if self._pulse is None else self._pulse.along(items)


class MapState(Protocol):
    """A state variable of Spark: rows by the columns of their keys."""

    def getValue(self, key: tuple[int, int]) -> tuple[bytes] | None: ...
    def updateValue(self, key: tuple[int, int], value: tuple[bytes]) -> None: ...
    def keys(self) -> Iterator[tuple[int, int]]: ...
    def removeKey(self, key: tuple[int, int]) -> None: ...
    def clear(self) -> None: ...


class SparkState:
    """A group's share of Spark's state store. Each call is a round trip to the JVM."""

    def __init__(self, values: MapState) -> None:
        self._values = values

    def summary(self) -> bytes | None:
        value = self._values.getValue(SUMMARY)
        return None if value is None else bytes(value[0])

    def set_summary(self, summary: bytes) -> None:
        self._values.updateValue(SUMMARY, (summary,))

    def keys(self) -> Iterator[StateKey]:
        return (StateKey(*key) for key in self._values.keys() if tuple(key) != SUMMARY)

    def get(self, key: StateKey) -> bytes:
        value = self._values.getValue(key)
        if value is None:
            raise KeyError(key)
        return bytes(value[0])

    def put(self, key: StateKey, value: bytes) -> None:
        self._values.updateValue((key.seq, key.stream), (value,))

    def drop(self, key: StateKey) -> None:
        self._values.removeKey((key.seq, key.stream))

    def clear(self) -> None:
        self._values.clear()


@functools.cache
def _guard(terms: GuardTerms, limits: Limits) -> EvaluationGuard:
    """That of this process."""
    return KernelGuard(Notes(terms.notes), limits, terms.most)


@functools.cache
def _closings(data: str, limits: Limits) -> Closings:
    """Those of this process."""
    return ForkedClosings(DataDirectory(data).closed, limits)


@functools.cache
def _waiting(data: str) -> WaitingGroups:
    return WaitingGroups(Database(DataDirectory(data).database))


def _note(data: str, group: StoredGroup, *, woken: bool) -> None:
    """Note that a group waits. `woken`: it did not, and somebody thinks that it does."""
    if group.waiting:
        held = (row.seq for row in group.wait.held if row.kind == "register")
        queries = {*group.members, *held}
        _waiting(data).note(group.key, queries=queries, triples=group.wait.triples, now=int(time.time() * 1000))
    elif woken:
        _waiting(data).forget(group.key)


def _living(group: StoredGroup) -> int:
    return sum(member.failed is None for member in group.members.values())


@functools.cache
def _settle_in() -> None:
    """Once in each worker: its modules are there to stay. PySpark collects garbage after every task, and need not look
    at them."""
    gc.collect()
    gc.freeze()
