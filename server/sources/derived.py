"""Derived streams: what REGISTER STREAM makes. The query fills its stream (see `schedule.relay`) and ends with it.

    REGISTER STREAM Hot AS CONSTRUCT … FROM STREAM <…/streams/temp> …       makes the stream <base>/streams/Hot

The stream is logged before its query, and dropped after it. A crash between the two leaves an *orphan*: a derived
stream whose query is not there, or is no stream query. Nobody can register a query that reads it; the next registration
under the name takes it over, or drops it. Where a stream query is replaced by another one, the stream stays.

Invariants, kept by guards in the log's own order: a query that is no stream query has no stream of its name; no query
reads a derived stream without a producer; no query reads, perhaps through others, what it writes itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from csparql_spark.language import ContinuousQuery
from csparql_spark.log import Refused
from csparql_spark.log.contents import StreamDropped, StreamMade, draft_of
from csparql_spark.log.guards import Absent, AnyGuard, Every, Room, Same
from csparql_spark.server.dependents import asked_of, streams_of
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.quotas import room
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores
from csparql_spark.store import QueryRecord, Registry, StreamRecord


def made_by(registry: Registry, name: str) -> list[StreamRecord]:
    """The derived streams of the query of that name: one, if it is there; orphans, if it is not."""
    return [stream for stream in registry.streams() if stream.producer == name]


def fills(query: QueryRecord | None) -> bool:
    """Whether there is a query that fills the stream of its name; of one that is damaged nobody knows better."""
    asked = None if query is None else asked_of(query)
    return query is not None and (asked is None or asked.kind == "stream")


def readable(registry: Registry) -> dict[str, tuple[StreamRecord, QueryRecord | None]]:
    """The streams that a query may read, and the producers of the derived ones, by IRI."""
    streams = registry.streams()
    producers = {name: registry.query(name) for name in {stream.producer for stream in streams} if name is not None}
    return {
        stream.iri: (stream, None if stream.producer is None else producers[stream.producer])
        for stream in streams
        if stream.producer is None or fills(producers[stream.producer])
    }


def still_readable(stream: StreamRecord, producer: QueryRecord | None) -> AnyGuard:
    """A guard that lets a reader in only while the stream, and whoever fills it, are the ones that it was checked
    against."""
    there = Same("streams", stream.id)
    return there if producer is None else Every((there, Same("queries", producer.id)))


def own_stream(settings: Settings, stores: Stores, name: str, live: QueryRecord | None = None) -> StreamRecord:
    """The stream that the query of that name will fill: made now, or an orphan that is taken over, or that of the
    version that it replaces (`live`)."""
    iri, writer = stores.names.stream_iri(name), stores.writer
    draft = draft_of(StreamMade(stores.names.stream_name(iri), clock="derived", delay=0, producer=name), iri)
    while True:
        stream = stores.registry.stream(iri)
        if stream is not None:
            if stream.producer != name:
                raise Problem(
                    "stream-exists",
                    f"The query would make the stream <{iri}>, and there is one already: "
                    "delete that stream first, or give the query another name.",
                    stream=iri,
                    clock=stream.clock,
                )
            return stream
        try:
            writer.append(draft, Every((Absent("streams", iri), _still(name, live), room(settings, "streams"))))
        except Refused as refused:
            # Whoever registers tells that there is no room, or that somebody else has registered a query of this name.
            if isinstance(refused.guard, Room) or stores.registry.query(name) != live:
                raise


def _still(name: str, live: QueryRecord | None) -> AnyGuard:
    """The guard that there is this query of that name, or none."""
    return Absent("queries", name) if live is None else Same("queries", live.id)


def drop_orphans(stores: Stores, name: str, *, but: str | None = None) -> None:
    """Drop the streams of a query that is not there (any more), or fills none, but the one with that IRI."""
    live = stores.registry.query(name)
    if fills(live):
        return
    for stream in made_by(stores.registry, name):
        if stream.iri != but:
            try:
                stores.writer.append(
                    draft_of(StreamDropped(), stream.iri), Every((Same("streams", stream.id), _still(name, live)))
                )
            except Refused:
                continue  # somebody has dropped it, or taken it over


def refuse_cycle(name: str, iri: str, asked: ContinuousQuery, registry: Registry) -> None:
    """Raises `Problem` if the query that will fill `iri` reads what comes from there."""
    reads = {query.name: streams_of(other) for query in registry.queries() if (other := asked_of(query)) is not None}
    producers = {stream.iri: stream.producer for stream in registry.streams() if stream.producer is not None}
    path = way(streams_of(asked), iri, producers, reads)
    if path is None:
        return
    cycle = [name, *path, name]
    steps = ", ".join(f"{reader} reads what {writer} writes" for reader, writer in pairwise(cycle))
    raise Problem(
        "cycle",
        f"The query {name} writes the stream <{iri}>, and would read its own output: {steps}. "
        "Read another stream, or give the query another name.",
        query=name,
        stream=iri,
        cycle=cycle,
    )


def way(
    start: Collection[str], goal: str, producers: Mapping[str, str], reads: Mapping[str, Collection[str]]
) -> list[str] | None:
    """The producers that lead from the streams `start` back to the stream `goal`, nearest first: empty if it is among
    them, None if none does."""
    waiting: list[tuple[Collection[str], list[str]]] = [(start, [])]
    visited: set[str] = set()
    for streams, path in waiting:
        if goal in streams:
            return path
        for producer in dict.fromkeys(producers[stream] for stream in streams if stream in producers):
            if producer not in visited:
                visited.add(producer)
                waiting.append((reads.get(producer, ()), [*path, producer]))
    return None
