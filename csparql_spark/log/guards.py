"""Guards: on what condition an entry goes into the log, as values.

    writer.append(draft, Every((Absent("streams", iri), Room("streams", 1000))))         # raises Refused

A guard is decided by what the log holds before its entry, in the log's own order, so that whoever decides it anywhere
comes to the same. It says all that it needs; only what a registered query reads is told to the log by whoever opens it
(`ReadsOf`), since that is in the query's text. `Refused` names the guard that did not hold, and what was found instead.

Guards are compared as values, and written as text: `guard_of(text_of(guard)) == guard`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from csparql_spark.log.contents import QueryRegistered
from csparql_spark.log.entries import Reply

Things = Literal["streams", "queries"]
KnowledgeKind = Literal["background", "rules"]
QuotaKind = Literal["streams", "queries", "graphs", "rules"]
Readable = Literal["streams", "graphs", "rules"]


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such stream (by its IRI), or query (by its name)."""

    things: Things
    name: str


@dataclass(frozen=True, slots=True)
class Present:
    """There is one."""

    things: Things
    name: str


@dataclass(frozen=True, slots=True)
class Same:
    """There is what the entry `id` made: it is not gone, not made again, and (a query) not replaced."""

    things: Things
    id: int


@dataclass(frozen=True, slots=True)
class IsPaused:
    """There is the query that the entry `query` registered, and it is paused, or is not."""

    query: int
    paused: bool


@dataclass(frozen=True, slots=True)
class Unfailed:
    """There is the query of which the entry `query` registered a version, and the log does not say that this one has
    failed."""

    query: int


@dataclass(frozen=True, slots=True)
class IsSet:
    """There is this graph or rule set, whoever has changed it meanwhile."""

    kind: KnowledgeKind
    name: str


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The graph or rule set is the one that the entry `id` set (None: there is none)."""

    kind: KnowledgeKind
    name: str
    id: int | None


@dataclass(frozen=True, slots=True)
class Unread:
    """No query reads one of these streams, graphs or rule sets, but the one of a name."""

    things: Readable
    names: tuple[str, ...]
    but: str | None = None


@dataclass(frozen=True, slots=True)
class Unfilled:
    """There is no derived stream of the query of that name, but the one that the entry `but` made."""

    producer: str
    but: int | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """There are fewer of them than `most`."""

    things: QuotaKind
    most: int


@dataclass(frozen=True, slots=True)
class Unused:
    """No push into the stream (by its id) had this key. If one had it, and the same content (`digest`), `Refused` tells
    what was answered to it."""

    stream: int
    key: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Once:
    """There are the query, one of whose versions this is, and the stream (by their ids), and no answer of that version
    of this instant or a later one is in the log. It goes with a draft that is `Relayed`."""

    query: int
    stream: int
    instant: int


@dataclass(frozen=True, slots=True)
class Every:
    """All of them hold. The first that does not is named."""

    guards: tuple[AnyGuard, ...]


AnyGuard = (
    Absent | Present | Same | IsPaused | Unfailed | IsSet | Unchanged | Unread | Unfilled | Room | Unused | Once | Every
)

# What makes them of their fields as JSON has them.
_GUARDS: dict[str, Callable[..., AnyGuard]] = {
    **{
        guard.__name__: guard
        for guard in (Absent, Present, Same, IsPaused, Unfailed, IsSet, Unchanged, Unfilled, Room, Once)
    },
    "Unread": lambda things, names, but: Unread(things, tuple(names), but),
    "Unused": lambda stream, key, digest: Unused(stream, key, bytes.fromhex(digest)),
}


class Refused(Exception):
    """A guard does not hold (never `Every`: one of its own). `readers`: the queries that read what must be `Unread`, in
    the order in which they were registered; `reply`: what was answered to the push whose content is the same."""

    def __init__(self, guard: AnyGuard, *, readers: tuple[str, ...] = (), reply: Reply | None = None) -> None:
        super().__init__(guard)
        self.guard, self.readers, self.reply = guard, readers, reply


@dataclass(frozen=True, slots=True)
class Reads:
    """What a query reads: IRIs of streams and graphs, names of rule sets."""

    streams: frozenset[str] = frozenset()
    graphs: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()

    def any_of(self, guard: Unread) -> bool:
        match guard.things:
            case "streams":
                return not self.streams.isdisjoint(guard.names)
            case "graphs":
                return not self.graphs.isdisjoint(guard.names)
            case "rules":
                return not self.rules.isdisjoint(guard.names)


ReadsOf = Callable[[QueryRegistered], Reads]


def unknown(query: QueryRegistered) -> Reads:
    """For a log that was opened by somebody who deletes nothing that a query may read."""
    raise ValueError("whoever deletes what a query may read opens the log with what queries read")


def text_of(guard: AnyGuard) -> str:
    return json.dumps(_fields(guard))


def guard_of(text: str) -> AnyGuard:
    """Raises `ValueError` if it is no guard."""
    try:
        return _guard(json.loads(text))
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"{text[:200]!r} is no guard: {error!r}") from None


def _fields(guard: AnyGuard) -> list[object]:
    if isinstance(guard, Every):
        return ["Every", *(_fields(one) for one in guard.guards)]
    values = (getattr(guard, field.name) for field in dataclasses.fields(guard))
    return [type(guard).__name__, *(value.hex() if isinstance(value, bytes) else value for value in values)]


def _guard(fields: list[object]) -> AnyGuard:
    match fields:
        case ["Every", *guards] if all(isinstance(guard, list) for guard in guards):
            return Every(tuple(_guard(guard) for guard in guards if isinstance(guard, list)))
        case [str(name), *values]:
            return _GUARDS[name](*values)
    raise ValueError("a guard is a list that begins with its name")
