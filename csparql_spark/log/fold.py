"""The fold: what there is after a place of a log. Streams, queries, graphs, rule sets, keys, and what was relayed.

    fold = Fold(reads_of)
    for entry, beside in log:
        fold.take(entry, beside)
    fold.refusal(guard)                     # None: an entry with this guard may come next

Whoever has the same entries has the same fold, and so decides every guard alike, but for keys: they are remembered
until whoever keeps the log forgets them (`forget_keys`). It is what the guards mean: a log that decides them otherwise,
by statements of its own say, is wrong where it comes to something else.

What is damaged is there all the same, as far as it can be told: a stream that nobody fills, a query that is not paused
and reads nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from csparql_spark.log.contents import query_failed, registered, stream_made
from csparql_spark.log.entries import Entry, Keys, Relayed, Reply
from csparql_spark.log.guards import (
    Absent,
    AnyGuard,
    Every,
    IsPaused,
    IsSet,
    Once,
    Present,
    Reads,
    ReadsOf,
    Refused,
    Room,
    Same,
    Unchanged,
    Unfailed,
    Unfilled,
    Unread,
    Unused,
    unknown,
)


@dataclass(frozen=True, slots=True)
class LiveStream:
    iri: str
    producer: str | None


@dataclass(frozen=True, slots=True)
class LiveQuery:
    name: str
    paused: bool
    payload: bytes | None  # None: it is damaged
    failed: bool = False
    replaced: bool = False  # there is a newer version


@dataclass(frozen=True, slots=True)
class LiveKey:
    digest: bytes
    reply: Reply
    at: int


class Fold:
    def __init__(self, reads_of: ReadsOf = unknown) -> None:
        self.seq = 0
        self.streams: dict[int, LiveStream] = {}  # by the place of the entry that made it
        self.versions: dict[int, LiveQuery] = {}  # of the queries that there are, the replaced ones as well
        self.settings: dict[tuple[str, str], int] = {}  # by kind and name: the entry that set it
        self.keys: dict[int, dict[str, LiveKey]] = {}  # of each stream, in the order in which they came
        self.relayed: dict[int, int] = {}  # of each query the newest instant
        self._reads_of = reads_of
        self._reads: dict[int, Reads] = {}

    def take(self, entry: Entry, beside: Keys | Relayed | None = None) -> None:
        """The next entry is this, and was written with what is beside it."""
        self.seq = entry.seq
        name = entry.subject or ""
        match entry.kind:
            case "stream":
                producer = None if entry.payload is None else stream_made(entry.payload).producer
                self.streams[entry.seq] = LiveStream(name, producer)
            case "drop":
                self.streams = {id: stream for id, stream in self.streams.items() if stream.iri != name}
            case "register":
                paused = entry.payload is not None and registered(entry.payload).paused
                if (current := self._current(name)) is not None:
                    self.versions[current] = replace(self.versions[current], replaced=True)
                self.versions[entry.seq] = LiveQuery(name, paused, entry.payload)
            case "unregister":
                self.versions = {id: query for id, query in self.versions.items() if query.name != name}
                self._reads = {id: reads for id, reads in self._reads.items() if id in self.versions}
            case "pause" | "resume":
                if (current := self._current(name)) is not None:
                    self.versions[current] = replace(self.versions[current], paused=entry.kind == "pause")
            case "fail":
                # Which version failed is in what it says; of one that is damaged it is taken to be the one there is.
                failed = self._current(name) if entry.payload is None else query_failed(entry.payload).id
                if failed in self.versions and self.versions[failed].name == name:
                    self.versions[failed] = replace(self.versions[failed], failed=True)
            case "background" | "rules":
                self.settings.pop((entry.kind, name), None)
                if entry.payload is not None or entry.damage is not None:
                    self.settings[entry.kind, name] = entry.seq
        match beside:
            case Keys():
                self._remember(beside, entry)
            case Relayed(query, instant):
                self.relayed[query] = instant

    @property
    def queries(self) -> dict[int, LiveQuery]:
        """The queries that there are: of each its newest version."""
        return {id: query for id, query in self.versions.items() if not query.replaced}

    def _current(self, name: str) -> int | None:
        """The newest version of the query of a name."""
        return next((id for id, query in reversed(self.versions.items()) if query.name == name), None)

    def refusal(self, guard: AnyGuard) -> Refused | None:
        """Why an entry with this guard may not come next; None if it may."""
        match guard:
            case Every(guards):
                return next((refusal for one in guards if (refusal := self.refusal(one)) is not None), None)
            case Unused(stream, key, digest):
                known = self.keys.get(stream, {}).get(key)
                if known is None:
                    return None
                return Refused(guard, reply=known.reply if known.digest == digest else None)
            case Unread():
                readers = tuple(
                    query.name
                    for id, query in self.queries.items()
                    if query.name != guard.but and self.reads(id).any_of(guard)
                )
                return Refused(guard, readers=readers) if readers else None
        return None if self._holds(guard) else Refused(guard)

    def reads(self, query: int) -> Reads:
        """What a query reads that is there."""
        if query not in self._reads:
            payload = self.versions[query].payload
            self._reads[query] = Reads() if payload is None else self._reads_of(registered(payload))
        return self._reads[query]

    def names(self, things: str) -> Mapping[int, str]:
        """The IRIs of the streams, or the names of the queries, that there are."""
        if things == "streams":
            return {id: stream.iri for id, stream in self.streams.items()}
        return {id: query.name for id, query in self.queries.items()}

    def _holds(self, guard: AnyGuard) -> bool:
        match guard:
            case Absent(things, name):
                return name not in self.names(things).values()
            case Present(things, name):
                return name in self.names(things).values()
            case Same(things, id):
                return id in (self.streams if things == "streams" else self.queries)
            case IsPaused(query, paused):
                known = self.queries.get(query)
                return known is not None and known.paused == paused
            case Unfailed(query):
                return query in self.versions and not self.versions[query].failed
            case IsSet(kind, name):
                return (kind, name) in self.settings
            case Unchanged(kind, name, id):
                return self.settings.get((kind, name)) == id
            case Unfilled(producer, but):
                return all(stream.producer != producer or id == but for id, stream in self.streams.items())
            case Room(things, most):
                return self._count(things) < most
            case Once(query, stream, instant):
                newest = self.relayed.get(query)
                return query in self.versions and stream in self.streams and (newest is None or newest < instant)
        raise ValueError(f"{guard!r} is no guard that is decided by what there is")

    def _count(self, things: str) -> int:
        match things:
            case "streams":
                return len(self.streams)
            case "queries":
                return len(self.queries)
        wanted = "background" if things == "graphs" else "rules"
        return sum(kind == wanted for kind, _ in self.settings)

    def _remember(self, beside: Keys, entry: Entry) -> None:
        keys = self.keys.setdefault(beside.stream, {})
        for key, digest in beside.digests:
            keys.pop(key, None)
            keys[key] = LiveKey(digest, beside.reply_to(entry), entry.at)
        if beside.newest is not None:
            prefixed = [key for key in keys if key.startswith(beside.prefix)]
            for key in prefixed[: max(0, len(prefixed) - beside.newest)]:
                del keys[key]

    def forget_keys(self, before: int, most: int) -> int:
        """Let go of keys that came before a moment, but for those that are newer by place, of those that are more than
        so many of one stream, and of those whose stream is gone; how many went."""
        gone = 0
        for stream, keys in list(self.keys.items()):
            if stream in self.streams:
                names = list(keys)
                old = [place for place, key in enumerate(names) if keys[key].at < before]
                # Stamps never go back: what is old, and what is too many, stands in front.
                cut = max(old[-1] + 1 if old else 0, len(names) - most)
                self.keys[stream] = {key: keys[key] for key in names[max(0, cut) :]}
            else:
                del self.keys[stream]
            gone += len(keys) - len(self.keys.get(stream, {}))
        return gone
