"""Registering: how a query's text becomes an entry of the log, and how the query is deleted again.

A registration is checked whole before it is logged, and once more inside the log: what it was checked against (streams,
graphs, rule sets, the name) may have changed meanwhile, and then it is checked again. Its text is read in a guarded
child (see `asking.guarded.texts`); what it reads is looked up here.

    query, made = register(backend, "HotRooms", text)       # raises Problem, LanguageError, Refusal
    unregister(backend, "HotRooms")
"""

from __future__ import annotations

from csparql_spark.asking.admission import Refusal, refuse_missing
from csparql_spark.asking.guarded.texts import QuerySummary, Texts
from csparql_spark.asking.log_view import Current
from csparql_spark.entailment.maintain.strategies import AUTO
from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.language.queries.query_cache import compiled_of, read
from csparql_spark.log import Refused
from csparql_spark.log.contents import QueryRegistered, QueryUnregistered, draft_of
from csparql_spark.log.guards import Absent, AnyGuard, Every, IsSet, Same, Unfilled, Unread
from csparql_spark.server.backend import Backend
from csparql_spark.server.dependents import asked_of, graphs_of, readers, reads_beside, streams_of
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
    admission = Admission(backend.settings, backend.stores, backend.texts)
    try:
        while True:
            live = backend.stores.registry.query(name)
            if live is not None:
                if live.text == text and asks_the_same(backend.texts, live, base):
                    return live, False
                backend.texts.read(text, base)  # what is wrong with it is told before what is in its way
                raise Problem(
                    "query-exists",
                    f"The query {name} is registered and asks for something else: delete it "
                    "first, or use another name.",
                    query=name,
                    url=backend.stores.names.query_url(name),
                )
            reading = backend.texts.read(text, base)
            asked, guards = reading.query, admission.let_in(name, reading)
            compiled = compiled_of(asked)
            reads = reads_beside(asked) if compiled is None else None
            try:
                guards += own(backend, name, asked)
                entry = backend.stores.writer.append(
                    draft_of(QueryRegistered(text, base, paused, compiled, reads), name),
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


class Admission:
    """Lets queries in, or refuses them, by what there is now."""

    def __init__(self, settings: Settings, stores: Stores, texts: Texts) -> None:
        self._settings, self._stores, self._texts = settings, stores, texts

    def let_in(self, name: str, reading: QuerySummary) -> list[AnyGuard]:
        """The guards of what a text was checked against. Raises `Problem` and `Refusal`."""
        registry, asked = self._stores.registry, reading.query
        if asked.kind == "stream":
            derived.refuse_cycle(name, self._stores.names.stream_iri(name), asked, registry)
        if reading.refusal is not None:
            raise reading.refusal
        streams = derived.readable(registry)
        graphs = {graph.name for graph in registry.settings("background")}
        rules = {rules.name for rules in registry.settings("rules")}
        refuse_missing(asked, streams=streams.keys(), graphs=graphs, rules=rules)
        same_name(name, asked)
        self._check_rules(asked.entailment, not rules.isdisjoint(asked.entailment))
        return [
            *(derived.still_readable(*streams[stream]) for stream in streams_of(asked)),
            *(IsSet("background", graph) for graph in graphs_of(asked)),
            *(IsSet("rules", name) for name in asked.entailment if name in rules),
        ]

    def _check_rules(self, entailment: tuple[str, ...], of_users: bool) -> None:
        """The rules of the server can be used together, and be maintained as the server likes it."""
        maintenance = self._settings.maintenance
        if entailment and (maintenance != AUTO or of_users and len(entailment) > 1):
            texts = Current(self._stores.log, self._stores.registry).rules(entailment) if of_users else {}
            self._texts.check_rules(entailment, texts, maintenance)


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


def asks_the_same(texts: Texts, query: QueryRecord, base: str) -> bool:
    """Whether the query's text asks for the same with another base: whether there is no relative IRI in it, that is."""
    if query.base == base:
        return True
    try:
        return asked_of(query) == texts.read(query.text, base).query
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
