"""Replay: recorded streams, through the same processor as live ones, to their end.

A recording is complete, so nothing in it is late: its elements are taken in the order of their stamps, whatever the
order in the file, on the event clock. A query is answered from the first instant at or after the first element to the
first instant at which every stream's last window has closed (one RANGE after its last element), or `until`:

        first           last      last + RANGE
    ────●──●───●──●──●──●────────────┤
      │   │   │   │   │   │   │   │   │        answered at each instant of the grid
      └ first instant                 └ last instant

    script = Script.of(text, streams={"http://…/temp": chunk})
    for message in answer(script.entries()):
        ...
    for message in answer_log(log):                     # and so is the log of a server
        ...
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from csparql_spark.answers.limits import UNLIMITED, Limits
from csparql_spark.asking.admission import Refusal, admit, check_rules, check_together
from csparql_spark.engine.evaluator_choice import AUTO
from csparql_spark.engine.group import Group
from csparql_spark.engine.member import Member
from csparql_spark.engine.messages import Message
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.language import ContinuousQuery, Window, show
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log import Draft, Entry
from csparql_spark.log.contents import (
    GraphSet,
    InstantPassed,
    QueryFailed,
    QueryRegistered,
    RulesSet,
    StreamMade,
    TriplesPushed,
    draft_of,
)
from csparql_spark.log.contract import ReadableLog
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Router, failures_of, to_fail
from csparql_spark.windows.rule import emptied, grid_of, is_timed

PIECE = 50_000  # elements in one chunk of a replayed recording
NO_FAILURES: Mapping[int, QueryFailed] = {}


@dataclass(frozen=True)
class Script:
    """One query and its recordings, as a log."""

    query: ContinuousQuery
    base: str | None
    streams: Mapping[str, Chunk]
    background: Mapping[str, Chunk] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    until: int | None = None

    @classmethod
    def of(
        cls,
        text: str,
        *,
        streams: Mapping[str, Chunk],
        background: Mapping[str, Chunk] | None = None,
        rules: Mapping[str, str] | None = None,
        entailment: Collection[str] = (),
        base: str | None = None,
        until: int | None = None,
    ) -> Script:
        """Check a query against what is there to replay: recordings, background graphs, texts of rule sets by name.
        `entailment` are regimes besides those that the query names. Raises `LanguageError` and `Refusal`. There are as
        many parameters as there are things to replay: `testing.replay` and `run` give them as they are given them."""
        background, rules = background or {}, rules or {}
        for name, written in rules.items():
            check_rules(name, written, rules)
        if entailment:
            query = read(text, base)
            text = show(dataclasses.replace(query, entailment=tuple(dict.fromkeys((*query.entailment, *entailment)))))
        query = admit(text, base=base, streams=streams.keys(), graphs=background.keys(), rules=rules.keys())
        check_together(query.entailment, rules)
        for iri, chunk in streams.items():
            if chunk.unstamped:
                raise Refusal(
                    "no-timestamps",
                    f"{chunk.unstamped} of the {len(chunk)} triples recorded for <{iri}> "
                    "have no timestamp: name their graphs <urn:t:EPOCH-MILLISECONDS> or <urn:t:DATETIME>",
                )
        return cls(query, base, streams, background, rules, until)

    @property
    def elements(self) -> int:
        return sum(len(chunk) for chunk in self.streams.values())

    def end(self) -> int | None:
        """The last instant; None if there is no element."""
        if self.until is not None:
            return self.until
        fed = [window for window in self.query.windows if len(self.streams[window.stream])]
        if not fed:
            return None
        closed = max(self._closed(window) for window in fed)
        grid = grid_of(self.query)
        if grid is None:
            return closed
        if not all(map(is_timed, fed)):  # turns wait for the clock, as instants of time do
            member = Member({"id": 0, "text": self.query.text, "base": self.base, "clocks": {}}, 0)
            for iri, chunk in self._in_order(None):
                member.arrived(iri, chunk.t, distinct(ordered(chunk.t)))
            closed = closed if member.turned is None else max(closed, member.turned)
        return grid.at_or_after(closed)

    def _closed(self, window: Window) -> int:
        """When a window is seen without the last element for the first time."""
        return emptied(window, int(self.streams[window.stream].t.max()))

    def drafts(self) -> Iterator[Draft]:
        """The entries, before a log has numbered them."""
        for iri in self.streams:
            yield draft_of(StreamMade(iri, clock="event", delay=0), iri)
        for iri, chunk in self.background.items():
            yield draft_of(GraphSet(chunk.to_ipc(), len(chunk)), iri)
        for name, text in self.rules.items():
            yield draft_of(RulesSet(text), name)
        yield draft_of(QueryRegistered(self.query.text, self.base), self.query.name or "query")
        end = self.end()
        for iri, chunk in self._in_order(end):
            yield draft_of(TriplesPushed(chunk.to_ipc(), len(chunk), chunk.first, chunk.last), iri)
        if end is not None:
            for iri in self.streams:
                yield draft_of(InstantPassed(end), iri)

    def entries(self) -> Iterator[Entry]:
        """The entries of the log, as a log would number them."""
        for seq, draft in enumerate(self.drafts(), 1):
            yield Entry(
                seq, draft.kind, draft.at or 0, draft.subject, draft.rows, draft.first, draft.last, 0, draft.payload
            )

    def _in_order(self, end: int | None) -> Iterator[tuple[str, Chunk]]:
        """The chunks of all streams, in the order of their first stamps."""
        return heapq.merge(
            *(self._pieces(iri, chunk, end) for iri, chunk in self.streams.items()),
            key=lambda piece: int(piece[1].t[0]),
        )

    @staticmethod
    def _pieces(iri: str, chunk: Chunk, end: int | None) -> Iterator[tuple[str, Chunk]]:
        order = np.argsort(chunk.t, kind="stable")
        if end is not None:
            order = order[: np.searchsorted(chunk.t[order], end, side="right")]
        stamps = chunk.t[order]
        start = 0
        while start < len(order):
            # Elements of one stamp stay together: for ELEMENTS they are one.
            end_of_piece = int(np.searchsorted(stamps, stamps[min(start + PIECE, len(order)) - 1], side="right"))
            yield iri, chunk.take(order[start:end_of_piece])
            start = end_of_piece


def answer_log(log: ReadableLog, evaluator: str = AUTO, maintenance: str = AUTO) -> Iterator[Message]:
    """What a log says. Its failures are read first, wherever they stand: a query tells what it told before, whatever
    that takes here, and fails as it did. Who has failed of limits it says, and nobody else has: here nobody does."""
    tail = log.tail()
    failures = failures_of(log.registrations(0, tail))
    yield from answer(log.read(0, tail), evaluator, maintenance, failures, UNLIMITED)


def answer(
    entries: Iterable[Entry],
    evaluator: str = AUTO,
    maintenance: str = AUTO,
    failures: Mapping[int, QueryFailed] = NO_FAILURES,
    limits: Limits | None = None,
) -> Iterator[Message]:
    """Run entries through the processor in this process, without Spark, with one of `evaluator_choice.EVALUATORS`, and
    closures by one of `strategies.NAMES`. `failures`: what they say later of how queries fail (`failures_of`).
    `limits` are those of each query, the usual ones if nobody says anything."""
    background: dict[str, Entry] = {}
    router = Router(background.get)
    groups: dict[str, Group] = {}
    for entry in entries:
        if entry.kind == "background" and entry.subject is not None:
            background[entry.subject] = entry
        for row in router.route(entry):
            if row.kind == "register":
                row = to_fail(row, failures.get(row.seq))
            if row.group not in groups:
                groups[row.group] = Group(row.group, evaluator)
                if limits is not None:
                    groups[row.group].limit(limits)
                groups[row.group].maintain(maintenance)
            yield from groups[row.group].feed([row])
