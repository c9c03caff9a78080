"""Contents: what entries say, as values, and the one place that writes them into entries and reads them back.

    draft = draft_of(StreamMade("temp", clock="arrival", delay=0), "urn:temp")
    content_of(entry)                   # StreamMade(name='temp', clock='arrival', delay=0, …)

Invariants: `content_of` of what `draft_of` has made is what it was made of. The bytes are those that logs have always
had: a field that is not there is written nowhere, and one that an old entry lacks means what it meant then.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from csparql_spark.disk.damage import Damaged
from csparql_spark.log.entries import Draft, Entry
from csparql_spark.remembering import bounded

MOST, LONGEST = 16_384, 2048  # registrations that are remembered, and bytes of one

# The compiled form of a query, as JSON has it: `language.queries.compiled` knows what is in it.
Compiled = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StreamMade:
    name: str
    clock: str  # "arrival", "event", or "derived"
    delay: int  # ms that an element on the event clock may be late
    producer: str | None = None  # of a derived stream: the name of the query whose answers it holds
    mqtt: str | None = None  # which topics of the broker it is fed with
    mqtt_format: str | None = None  # media type of messages that do not tell theirs


@dataclass(frozen=True, slots=True)
class StreamDropped:
    pass


@dataclass(frozen=True, slots=True)
class QueryRegistered:
    text: str
    base: str | None
    paused: bool = False  # whether it begins so
    compiled: Compiled | None = field(default=None, repr=False)
    reads: Mapping[str, list[str]] | None = None  # what it reads ("streams", "graphs", "rules"), where it has no form
    replaces: int | None = None  # the version of the query that ends here: the place of its entry; None: it is new
    origin: int | None = None  # then, the first of its versions


@dataclass(frozen=True, slots=True)
class QueryUnregistered:
    pass


@dataclass(frozen=True, slots=True)
class QueryPaused:
    """The query that the entry `id` registered is paused, or goes on."""

    id: int
    paused: bool


@dataclass(frozen=True, slots=True)
class QueryFailed:
    """The query that the entry `id` registered has failed at an instant, and answers no more; `answered` is the newest
    instant that it has told (None: none). The instant says when, on whatever clock; where it stopped, `answered` says:
    an entry that is damaged fails a query when it arrives, and that is not on the clock of its instants."""

    id: int
    instant: int
    reason: str
    answered: int | None = None

    def precedes(self, instant: int) -> bool:
        """Whether an instant is one that it has not told."""
        return self.answered is None or instant > self.answered

    def tells_after(self, instant: int) -> bool:
        """Whether it has told anything later than an instant."""
        return self.answered is not None and instant < self.answered


@dataclass(frozen=True, slots=True)
class TriplesPushed:
    """Triples as Arrow IPC, how many, the smallest and largest stamp that the producer gave, and to how many none."""

    triples: bytes | None
    rows: int
    first: int | None = None
    last: int | None = None
    unstamped: int = 0


@dataclass(frozen=True, slots=True)
class InstantPassed:
    at: int


@dataclass(frozen=True, slots=True)
class GraphSet:
    """A background graph as Arrow IPC, and how many triples it has; None: there is none any more."""

    triples: bytes | None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class RulesSet:
    """The text of a rule file, and how many rules it has; None: there is no such rule set any more."""

    text: str | None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class ElementsLost:
    """What the stream was to hold here, stamped from `first` to `last`, is lost: a sentence says why."""

    reason: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class EntrySkipped:
    pass


AnyContent = (
    StreamMade
    | StreamDropped
    | QueryRegistered
    | QueryUnregistered
    | QueryPaused
    | QueryFailed
    | TriplesPushed
    | InstantPassed
    | GraphSet
    | RulesSet
    | ElementsLost
    | EntrySkipped
)


def draft_of(content: AnyContent, subject: str | None = None) -> Draft:
    """The entry that says this of a stream, query, graph or rule set."""
    match content:
        case TriplesPushed(triples, rows, first, last, unstamped):
            return Draft("chunk", subject, triples, rows, first, last, unstamped)
        case InstantPassed(at):
            return Draft("tick", subject, at=at)
        case StreamMade():
            return Draft("stream", subject, _json(fields_of(content)))
        case StreamDropped():
            return Draft("drop", subject)
        case QueryRegistered():
            return Draft("register", subject, _json(fields_of(content)))
        case QueryUnregistered():
            return Draft("unregister", subject)
        case QueryPaused(id, paused):
            return Draft("pause" if paused else "resume", subject, _json({"id": id}))
        case QueryFailed():
            return Draft("fail", subject, _json(dataclasses.asdict(content)))
        case GraphSet(triples, rows):
            return Draft("background", subject, triples, rows)
        case RulesSet(text, rows):
            return Draft("rules", subject, None if text is None else text.encode(), rows)
        case ElementsLost(reason, first, last):
            return Draft("damaged", subject, reason.encode(), first=first, last=last)
        case EntrySkipped():
            return Draft("skipped", subject)


def content_of(entry: Entry | Draft) -> AnyContent:
    """What an entry says that was read with its payload. Raises `Damaged`, and `ValueError` if it is of a kind that
    there is not."""
    damage = entry.damage if isinstance(entry, Entry) else None
    if damage is not None and entry.kind != "damaged":
        raise Damaged(damage)
    payload = entry.payload or b""
    match entry.kind:
        case "chunk":
            return TriplesPushed(entry.payload, entry.rows, entry.first, entry.last, entry.unstamped)
        case "tick":
            return InstantPassed(entry.at or 0)
        case "stream":
            return stream_made(payload)
        case "drop":
            return StreamDropped()
        case "register":
            return registered(payload)
        case "unregister":
            return QueryUnregistered()
        case "pause" | "resume":
            return QueryPaused(json.loads(payload)["id"], entry.kind == "pause")
        case "fail":
            return query_failed(payload)
        case "background":
            return GraphSet(entry.payload, entry.rows)
        case "rules":
            return RulesSet(None if entry.payload is None else payload.decode(), entry.rows)
        case "damaged":
            return ElementsLost(payload.decode() if damage is None else damage, entry.first, entry.last)
        case "skipped":
            return EntrySkipped()
    raise ValueError(f"the log holds an entry of the unknown kind {entry.kind!r}")


def stream_made(payload: bytes) -> StreamMade:
    """What the payload of an entry says that made a stream."""
    return StreamMade(**json.loads(payload))


def query_failed(payload: bytes) -> QueryFailed:
    """What the payload of an entry says of how a query has failed."""
    return QueryFailed(**json.loads(payload))


@bounded(MOST, LONGEST)
def registered(payload: bytes) -> QueryRegistered:
    """What the payload of a registration says. All of them are looked at again and again."""
    fields = json.loads(payload)
    return QueryRegistered(**fields)


def fields_of(content: StreamMade | QueryRegistered) -> dict[str, object]:  # JSON, whatever a query compiles to
    """What is written of it: all fields but those that say nothing."""
    fields = {field.name: getattr(content, field.name) for field in dataclasses.fields(content)}
    always = ("name", "clock", "delay", "text", "base")
    return {name: value for name, value in fields.items() if name in always or value not in (None, False)}


def _json(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields).encode()
