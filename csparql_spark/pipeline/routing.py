"""Routing: which groups an entry of the log goes to.

A *group* is the set of queries that can share one materialization: the same streams, the same background graphs, the
same rules. Its key says so and nothing else, so a group that ends and comes again has the same key. A *shard* is a
slice of a group's data; a group has one.

The router is a fold over the entries that make the registry. It is given the log from its beginning (chunks and ticks
may be left out), and answers for the place in the log where it stands: the rows of an entry are a function of the log.

    router.route(entry)      # [Row(group="1f0c…", shard=0, seq=7, kind="chunk", …)]
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import NamedTuple

from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.pipeline.admission import read
from csparql_spark.pipeline.instants import grid_of, is_known_before
from csparql_spark.store.log import Entry
from csparql_spark.windows.grid import Grid


class Row(NamedTuple):
    """What travels to a group: one entry of the log, addressed."""

    group: str
    shard: int
    seq: int
    kind: str
    at: int
    subject: str | None
    payload: bytes | None


class Routed(NamedTuple):
    """A registered query, as far as the router needs to know it."""

    id: int
    group: str
    streams: tuple[str, ...]
    graphs: tuple[str, ...]
    grid: Grid | None
    counts: bool = False       # whether a window that counts makes instants of its own: then each push may make one
    entailment: tuple[str, ...] = ()
    paused: bool = False


UNREADABLE = "unreadable"      # the group of queries whose text cannot be read (any more): it tells why


class Router:
    def __init__(self, background: Callable[[str], Entry | None] = lambda graph: None) -> None:
        """`background` finds the newest `background` entry of a graph where the router stands, with its payload."""
        self.seq = 0
        self.version = 0                           # how many entries of the registry it has taken
        self._background = background
        self._clocks: dict[str, dict[str, object]] = {}
        self._queries: dict[str, Routed] = {}
        self._graphs: dict[str, int] = {}
        self._rules: dict[str, Entry] = {}         # users' rule sets; they are small

    @property
    def queries(self) -> dict[str, Routed]:
        return self._queries

    def clock(self, stream: str) -> dict[str, object]:
        """The clock of a stream: {"kind", "delay"}."""
        return self._clocks.get(stream, {"kind": "arrival", "delay": 0})

    def route(self, entry: Entry) -> list[Row]:
        """Take the next entry; return its rows."""
        self.seq = entry.seq
        self.version += entry.kind not in ("chunk", "tick")
        match entry.kind:
            case "stream":
                made = json.loads(entry.payload)
                self._clocks[entry.subject] = {"kind": made["clock"], "delay": made["delay"]}
                return []
            case "drop":
                self._clocks.pop(entry.subject, None)
                return []
            case "register":
                return self._register(entry)
            case "unregister":
                routed = self._queries.pop(entry.subject, None)
                return [_row(routed.group, entry, json.dumps({"id": routed.id}).encode())] if routed else []
            case "pause" | "resume":
                routed = self._queries.get(entry.subject)
                if routed is None:
                    return []
                self._queries[entry.subject] = routed._replace(paused=entry.kind == "pause")
                return [_row(routed.group, entry, json.dumps({"id": routed.id}).encode())]
            case "rules":
                return self._set_rules(entry)
            case "background":
                self._graphs[entry.subject] = entry.seq
                return self._to(entry, lambda routed: entry.subject in routed.graphs)
            case "chunk":
                return self._to(entry, lambda routed: entry.subject in routed.streams)
            case "tick" if entry.subject is None:
                return self._to(entry, lambda routed: any(self.clock(s)["kind"] == "arrival" for s in routed.streams))
            case "tick":
                return self._to(entry, lambda routed: entry.subject in routed.streams)
        raise ValueError(f"the log holds an entry of the unknown kind {entry.kind!r}")

    def _register(self, entry: Entry) -> list[Row]:
        made = json.loads(entry.payload)
        try:
            query = read(made["text"], made["base"])
            routed = Routed(entry.seq, group_key(query), tuple(dict.fromkeys(w.stream for w in query.windows)),
                            tuple(dict.fromkeys((*query.graphs, *query.named_graphs))), grid_of(query),
                            not is_known_before(query), query.entailment, made.get("paused", False))
        except (LanguageError, ValueError):
            routed = Routed(entry.seq, UNREADABLE, (), (), None)
        self._queries[entry.subject] = routed
        told = {"id": entry.seq, "name": entry.subject, **made, "clocks": {s: self.clock(s) for s in routed.streams}}
        rows = [_row(routed.group, entry, json.dumps(told).encode())]
        # A group may be new, and background is logged once: it is sent again, and groups that have it already see that.
        for graph in routed.graphs:
            if graph in self._graphs and (background := self._background(graph)) is not None:
                rows.append(_row(routed.group, background, background.payload))
        rows += [_row(routed.group, self._rules[name], self._rules[name].payload) for name in routed.entailment
                 if name in self._rules]
        return rows

    def _set_rules(self, entry: Entry) -> list[Row]:
        if entry.payload is None:
            self._rules.pop(entry.subject, None)         # nobody uses it: that was seen to
            return []
        self._rules[entry.subject] = entry
        return self._to(entry, lambda routed: entry.subject in routed.entailment)

    def _to(self, entry: Entry, wanted: Callable[[Routed], bool]) -> list[Row]:
        groups = dict.fromkeys(routed.group for routed in self._queries.values() if wanted(routed))
        return [_row(group, entry, entry.payload) for group in groups]


def group_key(query: ContinuousQuery) -> str:
    """The key of the group of a query."""
    shared = {"streams": sorted({window.stream for window in query.windows}),
              "graphs": sorted(set(query.graphs)), "entailment": sorted(query.entailment)}
    if query.named_graphs:
        shared["named"] = sorted(set(query.named_graphs))
    return hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:16]


def _row(group: str, entry: Entry, payload: bytes | None) -> Row:
    return Row(group, 0, entry.seq, entry.kind, entry.at, entry.subject, payload)
