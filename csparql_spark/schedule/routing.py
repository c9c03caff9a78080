"""Routing: which groups an entry of the log goes to.

A *group* is the set of queries that can share one materialization: the same streams, the same background graphs, the
same rules. Its key says so and nothing else, so a group that ends and comes again has the same key. A *shard* is a
slice of a group's data; a group has one.

The router is a fold over the entries that make the registry. It is given the log from its beginning (chunks and ticks
may be left out), and answers for the place in the log where it stands: the rows of an entry are a function of the log.

A registration under the name of a query that is there replaces it: the version before `ends` with it, or, where it is
in another group, with a row of the kind `replaced` that goes there.

A damaged entry goes, as a row of the kind `damaged` that carries the sentence, to those who would have had to read it:
the queries of that group fail. If what is damaged is a registration, or what made a stream or graph that it reads, it
is that query alone.

    router.route(entry)      # [Row(group="1f0c…", shard=0, seq=7, kind="chunk", …)]

Who reads what is counted as queries come and go: what an entry costs does not grow with the number of queries.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple, NotRequired, TypedDict

from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.language.queries.compiled import Form
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log import Entry
from csparql_spark.log.contents import QueryFailed, QueryRegistered, content_of, fields_of, registered, stream_made
from csparql_spark.windows.grid import Grid
from csparql_spark.windows.rule import grid_of, is_known_before


class Row(NamedTuple):
    """What travels to a group: one entry of the log, addressed."""

    group: str
    shard: int
    seq: int
    kind: str
    at: int
    subject: str | None
    payload: bytes | None


class ClockSpec(TypedDict):
    """The clock of a stream."""

    kind: str
    delay: int


class FailureForm(TypedDict):
    """What the log says later of how a query fails (see `contents.QueryFailed`)."""

    instant: int
    reason: str
    answered: int | None


class RegisteredText(TypedDict):
    """What a registration says in the log."""

    text: str
    base: str | None
    compiled: NotRequired[Form]
    reads: NotRequired[dict[str, list[str]]]
    paused: NotRequired[bool]
    replaces: NotRequired[int]
    origin: NotRequired[int]
    failed: NotRequired[str]  # why it has failed before
    failure: NotRequired[FailureForm]  # how it is going to fail, as it did before
    answered: NotRequired[int | None]  # up to which instant it has answered before


class Registration(RegisteredText):
    """What a group is told of a registration."""

    id: int
    name: NotRequired[str | None]
    ends: NotRequired[int]  # the version that it replaces, if that is in the same group
    clocks: dict[str, ClockSpec]


class Routed(NamedTuple):
    """A registered query, as far as the router needs to know it."""

    id: int
    group: str
    streams: tuple[str, ...]
    graphs: tuple[str, ...]
    grid: Grid | None
    counts: bool = False  # whether a window that counts makes instants of its own: then each push may make one
    entailment: tuple[str, ...] = ()
    paused: bool = False


Thing = tuple[str, str]  # a stream, graph or rule set: ("stream", "http://…/temp")

REPLACED = "replaced"  # a row for another group than a registration's: the version before, by its id, ends there
DAMAGED = "damaged"  # a row in the place of a damaged entry: what that was, and where, and the sentence
WAKE = "wake"  # a row that is no entry: it says nothing but that a group may look whether it still has to wait
UNREADABLE = "unreadable"  # the group of queries whose text cannot be read (any more): it tells why


class Router:
    def __init__(self, background: Callable[[str], Entry | None] = lambda graph: None) -> None:
        """`background` finds the newest `background` entry of a graph where the router stands, with its payload."""
        self.seq = 0
        self.version = 0  # how many entries of the registry it has taken
        self._background = background
        self._clocks: dict[str, ClockSpec] = {}
        self._queries: dict[str, Routed] = {}
        self._readers: defaultdict[Thing, dict[str, int]] = defaultdict(dict)  # and how many queries of each group
        self._graphs: dict[str, int] = {}
        self._rules: dict[str, Entry] = {}  # users' rule sets; they are small
        self._damaged: dict[str, str] = {}  # streams of which it is not known how they were made, and why
        self._unknown: str | None = None  # why it is not known of some entry what it made, if there is one

    @property
    def queries(self) -> dict[str, Routed]:
        return self._queries

    def clock(self, stream: str) -> ClockSpec:
        """The clock of a stream."""
        return self._clocks.get(stream, {"kind": "arrival", "delay": 0})

    def route(self, entry: Entry, sent: set[tuple[str, int]] | None = None) -> list[Row]:
        """Take the next entry; return its rows. `sent`: which background and rules have gone to which group with the
        same batch; they are not sent again."""
        sent = set() if sent is None else sent
        self.seq = entry.seq
        self.version += entry.kind not in ("chunk", "tick")
        if entry.damage is not None:
            return self._of_damaged(entry, sent)
        subject = entry.subject or ""  # only a tick of the arrival clock is about nothing
        match entry.kind:
            case "stream":
                made = stream_made(_content(entry))
                self._clocks[subject] = {"kind": made.clock, "delay": made.delay}
                self._damaged.pop(subject, None)
                return []
            case "drop":
                self._clocks.pop(subject, None)
                self._damaged.pop(subject, None)
                return []
            case "register":
                return self._register(entry, sent)
            case "unregister":
                routed = self._forget(subject)
                return [_row(routed.group, entry, json.dumps({"id": routed.id}).encode())] if routed else []
            case "pause" | "resume":
                known = self._queries.get(subject)
                if known is None:
                    return []
                self._queries[subject] = known._replace(paused=entry.kind == "pause")
                return [_row(known.group, entry, json.dumps({"id": known.id}).encode())]
            case "fail":
                known = self._queries.get(subject)
                if known is None or json.loads(_content(entry))["id"] != known.id:
                    return []
                return [_row(known.group, entry, entry.payload)]
            case "rules":
                return self._set_rules(entry, sent)
            case "background":
                self._graphs[subject] = entry.seq
                return _unsent(self._to(entry, [("graph", subject)]), sent)
            case "chunk":
                return self._to(entry, [("stream", subject)])
            case "tick" if entry.subject is None:
                return self._to(
                    entry,
                    [
                        thing
                        for thing in self._readers
                        if thing[0] == "stream" and self.clock(thing[1])["kind"] == "arrival"
                    ],
                )
            case "tick":
                return self._to(entry, [("stream", subject)])
            case "skipped":
                return []
        raise ValueError(f"the log holds an entry of the unknown kind {entry.kind!r}")

    def follow(self, entry: Entry) -> None:
        """Take the next entry, where its rows have gone already."""
        if entry.kind == "register" and entry.damage is None:
            self.seq, self.version = entry.seq, self.version + 1
            self._know(entry, registered(_content(entry)))
        else:
            self.route(entry)

    def _know(self, entry: Entry, made: QueryRegistered) -> tuple[Routed, Routed | None]:
        """The query that an entry registers; it is there from now on. Besides, the one that was there by that name."""
        try:
            query = read(made.text, made.base, made.compiled)
            routed = Routed(
                entry.seq,
                group_key(query),
                tuple(dict.fromkeys(w.stream for w in query.windows)),
                tuple(dict.fromkeys((*query.graphs, *query.named_graphs))),
                grid_of(query),
                not is_known_before(query),
                query.entailment,
                made.paused,
            )
        except (LanguageError, ValueError):
            routed = Routed(entry.seq, UNREADABLE, (), (), None)
        before = self._forget(entry.subject or "")
        self._queries[entry.subject or ""] = routed
        for thing in _read_by(routed):
            groups = self._readers[thing]
            groups[routed.group] = groups.get(routed.group, 0) + 1
        return routed, before

    def _register(self, entry: Entry, sent: set[tuple[str, int]]) -> list[Row]:
        made = registered(_content(entry))
        routed, before = self._know(entry, made)
        same = before is not None and before.group == routed.group
        unsure = self._unsure(routed)
        if unsure is not None:
            return [*_ends(before, entry), _row(UNREADABLE, dataclasses.replace(entry, damage=unsure), None)]
        clocks = {stream: self.clock(stream) for stream in routed.streams}
        registration = {"id": entry.seq, "name": entry.subject, **fields_of(made), "clocks": clocks}
        if before is not None and same:
            registration["ends"] = before.id
        rows = []
        # A group may be new, and background is logged once: it is sent again, and groups that have it already see that.
        for graph in routed.graphs:
            if (routed.group, self._graphs.get(graph)) in sent:
                continue
            if graph in self._graphs and (background := self._background(graph)) is not None:
                if background.damage is not None:  # whatever of it is damaged: it is this graph that lacks
                    background = dataclasses.replace(background, kind="background", subject=graph)
                rows.append(_row(routed.group, background, background.payload))
        rows += [
            _row(routed.group, self._rules[name], self._rules[name].payload)
            for name in routed.entailment
            if name in self._rules
        ]
        # What is whole is there before the query, and what is damaged concerns it: it must be there to fail.
        rows = [row._replace(seq=entry.seq) if row.kind == DAMAGED else row for row in rows]
        ends = [] if same else _ends(before, entry)
        return [*ends, _row(routed.group, entry, json.dumps(registration).encode()), *_unsent(rows, sent)]

    def _unsure(self, routed: Routed) -> str | None:
        """Why it is not known how a stream or graph was made that a query reads; None if it is."""
        for stream in routed.streams:
            if stream in self._damaged:
                return self._damaged[stream]
        # Who was let in reads what there is: what is not known here was made by an entry that cannot be read.
        known = all(stream in self._clocks for stream in routed.streams) and all(
            graph in self._graphs for graph in routed.graphs
        )
        return None if known else self._unknown

    def _forget(self, name: str) -> Routed | None:
        routed = self._queries.pop(name, None)
        if routed is None:
            return None
        for thing in _read_by(routed):
            groups = self._readers[thing]
            groups[routed.group] -= 1
            if not groups[routed.group]:
                del groups[routed.group]
            if not groups:
                del self._readers[thing]
        return routed

    def _of_damaged(self, entry: Entry, sent: set[tuple[str, int]]) -> list[Row]:
        subject = entry.subject or ""
        match entry.kind:
            case "register":
                before = self._forget(subject)
                self._queries[subject] = Routed(entry.seq, UNREADABLE, (), (), None)
                return [*_ends(before, entry), _row(UNREADABLE, entry, None)]
            case "stream":  # queries that are there know its clock; those that come fail
                self._damaged[subject] = entry.damage or ""
                return []
            case "background":
                self._graphs[subject] = entry.seq
                return _unsent(self._to(entry, [("graph", subject)]), sent)
            case "rules":
                self._rules[subject] = entry
                return _unsent(self._to(entry, [("rules", subject)]), sent)
            case "fail":  # that it has failed is known all the same
                known = self._queries.get(subject)
                if known is None:
                    return []
                said = dataclasses.asdict(QueryFailed(known.id, entry.at, entry.damage or ""))
                return [_row(known.group, dataclasses.replace(entry, damage=None), json.dumps(said).encode())]
        if entry.subject is None:
            self._unknown = entry.damage
        return self._to(
            entry, [thing for thing in self._readers if thing[0] == "stream" and entry.subject in (None, thing[1])]
        )

    def everywhere(self, row: Row) -> list[Row]:
        """The row for its group, and for all others: nobody can tell any more which of them it concerns."""
        groups = dict.fromkeys((row.group, *(routed.group for routed in self._queries.values())))
        return [row._replace(group=group) for group in groups]

    def _set_rules(self, entry: Entry, sent: set[tuple[str, int]]) -> list[Row]:
        subject = entry.subject or ""
        if entry.payload is None:
            self._rules.pop(subject, None)  # nobody uses it: that was seen to
            return []
        self._rules[subject] = entry
        return _unsent(self._to(entry, [("rules", subject)]), sent)

    def _to(self, entry: Entry, things: Iterable[Thing]) -> list[Row]:
        groups = dict.fromkeys(group for thing in things for group in self._readers.get(thing, ()))
        return [_row(group, entry, entry.payload) for group in groups]


def wake(group: str) -> Row:
    """What makes a group look whether what it waits for is there."""
    return Row(group, 0, 0, WAKE, 0, None, None)


def failures_of(entries: Iterable[Entry]) -> dict[int, QueryFailed]:
    """How queries have failed, by the places of their registrations, as far as entries say it."""
    said = (content_of(entry) for entry in entries if entry.kind == "fail" and entry.damage is None)
    return {failure.id: failure for failure in said if isinstance(failure, QueryFailed)}


def to_fail(row: Row, failure: QueryFailed | None) -> Row:
    """A registration, with what the log says later of how its query fails."""
    if failure is None:
        return row
    form: FailureForm = {"instant": failure.instant, "reason": failure.reason, "answered": failure.answered}
    return row._replace(payload=json.dumps({**json.loads(row.payload or b""), "failure": form}).encode())


def in_order(rows: Iterable[Row]) -> list[Row]:
    """The rows of a batch as their group takes them: in the order of the log, and behind a registration what is damaged
    of what it reads."""
    return sorted(rows, key=lambda row: (row.seq, row.kind == DAMAGED))


def _ends(before: Routed | None, entry: Entry) -> list[Row]:
    """The row with which a version ends whose group the next one is not in; nobody is in that of the unreadable."""
    if before is None or before.group == UNREADABLE:
        return []
    id = json.dumps({"id": before.id}).encode()
    return [Row(before.group, 0, entry.seq, REPLACED, entry.at, entry.subject, id)]


def _read_by(routed: Routed) -> set[Thing]:
    """What a query reads, or is run under."""
    return {
        *(("stream", iri) for iri in routed.streams),
        *(("graph", iri) for iri in routed.graphs),
        *(("rules", name) for name in routed.entailment),
    }


def _unsent(rows: list[Row], sent: set[tuple[str, int]]) -> list[Row]:
    """The rows that have not gone to their groups with this batch, which they now have. Damage is told to each
    query."""
    fresh = [row for row in rows if (row.group, row.seq) not in sent]
    sent.update((row.group, row.seq) for row in fresh if row.kind != DAMAGED)
    return fresh


def group_key(query: ContinuousQuery) -> str:
    """The key of the group of a query."""
    shared = {
        "streams": sorted({window.stream for window in query.windows}),
        "graphs": sorted(set(query.graphs)),
        "entailment": sorted(query.entailment),
    }
    if query.named_graphs:
        shared["named"] = sorted(set(query.named_graphs))
    return hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:16]


def _content(entry: Entry) -> bytes:
    """The payload of an entry that is not damaged, and of a kind that has one."""
    assert entry.payload is not None
    return entry.payload


def _row(group: str, entry: Entry, payload: bytes | None) -> Row:
    if entry.damage is not None:
        damage = json.dumps({"kind": entry.kind, "seq": entry.seq, "reason": entry.damage}).encode()
        return Row(group, 0, entry.seq, DAMAGED, entry.at, entry.subject, damage)
    return Row(group, 0, entry.seq, entry.kind, entry.at, entry.subject, payload)
