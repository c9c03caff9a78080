"""A group: the stateful processor of the queries that share one materialization. It knows nothing of Spark.

It is given the rows of its log entries in order, and answers instant by instant:

    row ─▶ content grows ─▶ clocks move ─▶ for each instant that has passed: window ─▶ graph ─▶ plan ─▶ answer
                                                                 └─▶ what no window will see again is forgotten

Invariants: rows that it has seen are ignored, so a batch may come twice; answers depend on the rows and their order
alone, not on how they are cut into batches; a query that fails is marked, says so once, and the others go on.

    group = Group("1f0c…")
    for told in group.feed(rows):
        print(told.query, told.instant, told.payload)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.plan import Plan
from csparql_spark.answers.snapshot import Snapshot
from csparql_spark.language import Window
from csparql_spark.pipeline.member import Member, TooManyInstants
from csparql_spark.pipeline.routing import Row
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.content import ALWAYS, Content, Elements

ROWS_LIMIT = 1_000_000       # rows of one answer at one instant
FAILURE = -1                 # the part of what is told when a query has failed


class Told(NamedTuple):
    """What a group says: an answer, or (part FAILURE) the reason why a query will not answer any more."""

    query: int
    instant: int
    part: int
    rows: int
    payload: bytes


class View(NamedTuple):
    """What members have in common that say the same: the plan, and the graph that they look at."""

    plan: Plan
    stream: str
    range: int
    since: int


class Sight(NamedTuple):
    """What a window sees, where the log stood at `seq`; `oldest` is the place of its first element in the log."""

    instant: int
    seq: int
    elements: Elements
    oldest: int


class Piece:
    """Chunks that came between two registrations, by stream: a member sees all of them or none."""

    def __init__(self) -> None:
        self.seq = 0
        self.chunks: dict[int, list[Chunk]] = {}

    def take(self, stream: int, seq: int, chunk: Chunk) -> None:
        self.seq = seq
        self.chunks.setdefault(stream, []).append(chunk)


class Said(NamedTuple):
    """The last answer of a view, and the version of the graph that it was the answer for."""

    version: int
    rows: int
    payload: bytes


def unreadable(error: Exception) -> str:
    return f"the query cannot be read: {error}"


class Group:
    def __init__(self, key: str) -> None:
        self.key = key
        self.seq = 0
        self.members: dict[int, Member] = {}
        self.streams: dict[str, int] = {}                 # IRI of a stream or graph → its number in `content`
        self.graphs: dict[str, int] = {}                  # background graph → place of the entry that set it
        self.content = Content()
        self.new_graphs: dict[str, Chunk] = {}            # background that came since it was kept
        self.unreadable: dict[int, str] = {}              # queries that could not be read when the group came back
        self.fresh = [Piece()]                            # what came since it was kept, cut at registrations
        self._snapshots: dict[View, Snapshot] = {}
        self._moved: dict[View, tuple[int, int]] = {}     # the instant, and where the log stood
        self._said: dict[View, Said] = {}
        self._views: dict[int, View] = {}                 # where each member looked last
        self._sights: dict[tuple[str, int], Sight] = {}

    def feed(self, rows: Iterable[Row]) -> Iterator[Told]:
        """Take the next rows, in the order of the log; say what became true."""
        for id, reason in self.unreadable.items():
            yield Told(id, 0, FAILURE, 0, reason.encode())
        self.unreadable = {}
        for row in rows:
            if row.kind == "background":
                # It may come again long after its place, for a query that has just been registered.
                self.set_background(row.subject, row.seq, Chunk.from_ipc(row.payload))
                self.seq = max(self.seq, row.seq)
                continue
            if row.seq <= self.seq:
                continue
            self.seq = row.seq
            match row.kind:
                case "register":
                    yield from self._register(row)
                case "unregister":
                    self._unregister(row)
                case "chunk":
                    self._chunk(row)
                case "tick":
                    for member in self.members.values():
                        member.progress.tick(row.subject, row.at)
            yield from self._answer()
        self._forget()

    # --- what a row changes

    def _register(self, row: Row) -> Iterator[Told]:
        try:
            member = Member.read(row.payload, row.at)
        # A text that was admitted once and cannot be read now: its own failure, nobody else's.
        except Exception as error:
            yield Told(row.seq, row.at, FAILURE, 0, unreadable(error).encode())
            return
        self.members[member.id] = member
        self.fresh.append(Piece())

    def _unregister(self, row: Row) -> None:
        self.members.pop(json.loads(row.payload)["id"], None)       # none, if it could not be read

    def set_background(self, graph: str, seq: int, chunk: Chunk) -> None:
        """Take a background graph, unless it is known at `seq` or later."""
        if seq > self.graphs.get(graph, 0):
            self.graphs[graph] = seq
            self.new_graphs[graph] = chunk
            self.content.replace(self.number(graph), chunk)

    def _chunk(self, row: Row) -> None:
        chunk = Chunk.from_ipc(row.payload).stamped(row.at)
        if not len(chunk):
            return
        stream = self.number(row.subject)
        self.content.add(stream, row.seq, chunk)
        self.fresh[-1].take(stream, row.seq, chunk)
        first, last = chunk.first, chunk.last
        for member in self.members.values():
            progress = member.progress
            if row.subject in progress.clocks:
                reading = progress.reading(row.subject)
                if first <= reading and row.subject in progress.event:
                    progress.late += self.content.late(stream, row.seq, reading)
                progress.arrived(row.subject, row.at, first, last)

    def number(self, iri: str) -> int:
        return self.streams.setdefault(iri, len(self.streams))

    # --- answering

    def _answer(self) -> Iterator[Told]:
        due = []
        for member in self.members.values():
            if member.failed is None:
                try:
                    due += [(instant, member.id) for instant in member.due()]
                except TooManyInstants as error:
                    yield self._fail(member, member.next, error)
        for instant, id in sorted(due):
            member = self.members[id]
            if member.failed is None:
                yield self._tell(member, instant)

    def _tell(self, member: Member, instant: int) -> Told:
        try:
            said = self._evaluate(member, instant)
        except Exception as error:       # whatever a query does to the evaluator, it does to itself alone
            return self._fail(member, instant, error)
        return Told(member.id, instant, 0, said.rows, said.payload)

    def _fail(self, member: Member, instant: int, error: Exception) -> Told:
        member.failed = str(error) or type(error).__name__
        return Told(member.id, instant, FAILURE, 0, member.failed.encode())

    def _evaluate(self, member: Member, instant: int) -> Said:
        sight = self._look(member.window, instant)
        # When all that the window can see came after the registration, the member looks at the same graph as everybody.
        since = 0 if sight.oldest > member.id else member.id
        view = View(member.plan, member.window.stream, member.window.range, since)
        if view not in self._snapshots:
            self._snapshots[view] = Snapshot(member.plan, self.content)
        snapshot = self._snapshots[view]
        if self._moved.get(view) != (instant, self.seq):
            seen = sight.elements.seq > since
            columns = [column if since == 0 else column[seen] for column in sight.elements[:3]]
            background = [self.content.window(self.number(graph), ALWAYS - 1, ALWAYS)[:3]
                          for graph in member.query.graphs]
            snapshot.move(*(np.concatenate(parts) for parts in zip(columns, *background, strict=True)))
            self._moved[view] = (instant, self.seq)
        said = self._said.get(view)
        if said is None or said.version != snapshot.version:
            answer = snapshot.select(limit=ROWS_LIMIT)
            said = self._said[view] = Said(snapshot.version, len(answer), answer.to_bytes())
        self._views[member.id] = view
        return said

    def _look(self, window: Window, instant: int) -> Sight:
        """What a window sees at the instant; members with the same window share it."""
        key = (window.stream, window.range)
        sight = self._sights.get(key)
        if sight is None or (sight.instant, sight.seq) != (instant, self.seq):
            elements = self.content.window(self.number(window.stream), instant - window.range, instant)
            oldest = int(elements.seq.min()) if len(elements.seq) else ALWAYS
            sight = self._sights[key] = Sight(instant, self.seq, elements, oldest)
        return sight

    # --- forgetting

    def _forget(self) -> None:
        self.content.forget(self.horizons())
        self._sights.clear()
        self._views = {id: view for id, view in self._views.items()
                       if id in self.members and self.members[id].failed is None}
        used = set(self._views.values())
        for kept in (self._snapshots, self._moved, self._said):
            for view in kept.keys() - used:
                del kept[view]

    def horizons(self) -> dict[int, int]:
        """For each stream that it is known of: elements stamped this or earlier are not seen again by any query."""
        horizons = {}
        for iri, stream in self.streams.items():
            if iri not in self.graphs:
                reach = [member.horizon() for member in self.members.values()
                         if member.failed is None and iri in member.progress.clocks]
                if None not in reach:
                    horizons[stream] = min(reach, default=ALWAYS)
        return horizons
