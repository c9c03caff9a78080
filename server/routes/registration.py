"""Registering: how a query's text becomes an entry of the log, and how the query is deleted again.

A registration is checked whole before it is logged, and once more inside the log: what it was checked against (streams,
graphs, rule sets, the name) may have changed meanwhile, and then it is checked again.

    query, made = register(backend, "HotRooms", text)       # raises Problem, LanguageError, Refusal
    unregister(backend, "HotRooms")
"""

from __future__ import annotations

from csparql_spark.asking.admission import Refusal, admit, check_maintained, check_together
from csparql_spark.asking.log_view import Current
from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.language.queries.query_cache import compiled_of, read
from csparql_spark.log import Refused
from csparql_spark.log.contents import QueryRegistered, QueryUnregistered, draft_of
from csparql_spark.log.guards import Absent, AnyGuard, Every, IsSet, Same, Unfilled, Unread
from csparql_spark.server.backend import Backend
from csparql_spark.server.dependents import asked_of, graphs_of, readers, streams_of
from csparql_spark.server.http.names import is_plain
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.quotas import room, tell_if_full
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources import derived
from csparql_spark.server.stores import Stores
from csparql_spark.store import QueryRecord


def register(backend: Backend, name: str, text: str, *, paused: bool = False) -> tuple[QueryRecord, bool]:
    """The query of that name and text, and whether it was made now; then it may be `paused` from the beginning."""
    base = f"{backend.stores.names.base}/"
    try:
        while True:
            live = backend.stores.registry.query(name)
            if live is not None:
                if live.text == text and asks_the_same(live, base):
                    return live, False
                raise Problem(
                    "query-exists",
                    f"The query {name} is registered and asks for something else: delete it "
                    "first, or use another name.",
                    query=name,
                    url=backend.stores.names.query_url(name),
                )
            asked, guards = admitted(backend.settings, backend.stores, name, text, base)
            compiled = compiled_of(asked)
            try:
                guards += own(backend, name, asked)
                entry = backend.stores.writer.append(
                    draft_of(QueryRegistered(text, base, paused, compiled), name),
                    Every((Absent("queries", name), *guards, room(backend.settings, "queries"))),
                )
            except Refused as refused:
                tell_if_full(refused)
                continue  # what it was checked against has just changed: check again
            backend.threads.queries_changed()
            return QueryRecord(entry.seq, name, entry.at, text, base, paused, compiled), True
    except (Problem, LanguageError, Refusal):
        derived.drop_orphans(backend.stores, name)
        raise


def unregister(backend: Backend, name: str) -> None:
    while True:
        query = found(backend.stores, name)
        streams = {stream.iri for stream in derived.made_by(backend.stores.registry, name)}
        try:
            # What is not read by anybody need not be looked for among all queries.
            guards = [Unread("streams", tuple(sorted(streams)), but=name)] if streams else []
            backend.stores.writer.append(
                draft_of(QueryUnregistered(), name), Every((Same("queries", query.id), *guards))
            )
            break
        except Refused as refused:
            if isinstance(refused.guard, Unread):
                iri = min(streams)
                raise Problem(
                    "stream-in-use",
                    f"The query {name} makes the stream <{iri}>, which is read by {readers(refused)}.",
                    stream=iri,
                    queries=list(refused.readers),
                ) from None
            continue  # it has just been deleted: perhaps there is another one by now
    derived.drop_orphans(backend.stores, name)
    backend.threads.queries_changed()


def admitted(
    settings: Settings, stores: Stores, name: str, text: str, base: str
) -> tuple[ContinuousQuery, list[AnyGuard]]:
    """What the text asks for, if it is let in, and the guards of what it was checked against."""
    asked = read(text, base)
    registry = stores.registry
    if asked.kind == "stream":
        derived.refuse_cycle(name, stores.names.stream_iri(name), asked, registry)
    streams = derived.readable(registry)
    graphs = {graph.name for graph in registry.settings("background")}
    rules = {rules.name for rules in registry.settings("rules")}
    admit(text, base=base, streams=streams.keys(), graphs=graphs, rules=rules)
    same_name(name, asked)
    texts = Current(stores.log, registry).rules(asked.entailment) if not rules.isdisjoint(asked.entailment) else {}
    check_together(asked.entailment, texts)
    check_maintained(asked.entailment, texts, settings.maintenance)
    return asked, [
        *(derived.still_readable(*streams[stream]) for stream in streams_of(asked)),
        *(IsSet("background", graph) for graph in graphs_of(asked)),
        *(IsSet("rules", name) for name in asked.entailment if name in rules),
    ]


def own(backend: Backend, name: str, asked: ContinuousQuery) -> list[AnyGuard]:
    """The stream that a stream query fills is there from now on; the guard that it still is when the query comes."""
    if asked.kind != "stream":
        derived.drop_orphans(backend.stores, name)
        return [Unfilled(name)]
    derived.drop_orphans(backend.stores, name, but=backend.stores.names.stream_iri(name))
    stream = derived.own_stream(backend.settings, backend.stores, name)
    return [Same("streams", stream.id), Unfilled(name, but=stream.id)]


def found(stores: Stores, name: str) -> QueryRecord:
    query = stores.registry.query(name)
    if query is None:
        url = stores.names.query_url(name)
        raise Problem("unknown-query", f"There is no query {name}: register it with PUT {url}.", query=name)
    return query


def whole(query: QueryRecord) -> ContinuousQuery:
    """What a registered query asks for. Raises `Problem` if its registration is damaged."""
    if query.damaged:
        raise Problem(
            "damaged",
            f"The registration of the query {query.name} is damaged on the disk: delete the query "
            "and register it again.",
            query=query.name,
        )
    return read(query.text, query.base, query.compiled)


def asks_the_same(query: QueryRecord, base: str) -> bool:
    """Whether the query's text asks for the same with another base: whether there is no relative IRI in it, that is."""
    if query.base == base:
        return True
    try:
        return asked_of(query) == read(query.text, base)
    except LanguageError:
        return False


def same_name(name: str, asked: ContinuousQuery) -> None:
    """A query's name is the one in its URL; a word in its text may not say otherwise."""
    if asked.name is not None and is_plain(asked.name) and asked.name != name:
        written = name if is_plain(name) else f"<{name}>"
        raise Problem(
            "name-mismatch",
            f"The text registers {asked.name} and the URL names {name}: PUT it to "
            f"/queries/{asked.name}, or write REGISTER {asked.kind.upper()} {written} AS.",
            text=asked.name,
            url=name,
        )
