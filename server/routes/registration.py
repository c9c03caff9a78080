"""Registering: how a query's text becomes an entry of the log, and how the query is deleted again.

A registration is checked whole before it is logged, and once more inside the log: what it was checked against (streams,
graphs, rule sets, the name) may have changed meanwhile, and then it is checked again. Its text is read in a guarded
child (see `asking.guarded.texts`); what it reads is looked up here.

A query that is there is *replaced* by whoever says which version of it that is to be: by one entry, which goes into the
log only where that version is the newest, and is paused or not as it is. The same request sent again makes nothing new.

    query, made = register(backend, "HotRooms", RegistrationDraft(text))       # raises Problem, LanguageError, Refusal
    unregister(backend, "HotRooms")
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from flask import request

from csparql_spark.asking.admission import Refusal, refuse_missing
from csparql_spark.asking.guarded.texts import QuerySummary, Texts
from csparql_spark.asking.log_view import Current
from csparql_spark.entailment.maintain.strategies import AUTO
from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.language.queries.query_cache import compiled_of, read
from csparql_spark.log import Refused
from csparql_spark.log.contents import QueryRegistered, QueryUnregistered, draft_of
from csparql_spark.log.guards import Absent, AnyGuard, Every, IsPaused, IsSet, Same, Unfilled, Unread
from csparql_spark.server.backend import Backend
from csparql_spark.server.dependents import asked_of, graphs_of, readers, reads_beside, streams_of
from csparql_spark.server.http.conditions import Condition, version_tag
from csparql_spark.server.http.names import is_plain
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.quotas import room, tell_if_full
from csparql_spark.server.routes.description import MOST_SHOWN
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources import derived
from csparql_spark.server.stores import Stores
from csparql_spark.store import QueryRecord


@dataclass(frozen=True)
class RegistrationDraft:
    """What somebody wants to be registered: `paused` from the beginning (None: as the version before is, if there is
    one), and on which condition."""

    text: str
    paused: bool | None = None
    condition: Condition = Condition()


class Made(Enum):
    """What a registration has made."""

    NOTHING = "it was there"
    QUERY = "a query"
    VERSION = "the next version of one"


def register(backend: Backend, name: str, draft: RegistrationDraft) -> tuple[QueryRecord, Made]:
    """The query of that name and text, and what of it was made now."""
    text, base = draft.text, f"{backend.stores.names.base}/"
    admission = Admission(backend.settings, backend.stores, backend.texts)
    try:
        while True:
            live = backend.stores.registry.query(name)
            same = live is not None and live.text == text and asks_the_same(backend.texts, live, base)
            if live is not None and same and draft.condition.is_of(live.replaces):
                return live, Made.NOTHING  # the same request has come before
            draft.condition.refuse(live, name)
            if live is not None and same and not (draft.condition.replaces and _has_failed(backend.stores, live)):
                return live, Made.NOTHING
            if live is not None and not draft.condition.replaces:
                backend.texts.read(text, base)  # what is wrong with it is told before what is in its way
                raise _in_its_way(backend.stores, live)
            reading = backend.texts.read(text, base)
            asked, guards = reading.query, admission.let_in(name, reading)
            compiled = compiled_of(asked)
            paused = draft.paused if draft.paused is not None else live is not None and live.paused
            content = QueryRegistered(
                text,
                base,
                paused,
                compiled,
                reads_beside(asked) if compiled is None else None,
                None if live is None else live.id,
                None if live is None else live.origin,
            )
            try:
                guards += own(backend, name, asked, live)
                if live is None:
                    guards = [Absent("queries", name), *guards, room(backend.settings, "queries")]
                else:
                    guards = [Same("queries", live.id), IsPaused(live.id, live.paused), *guards]
                entry = backend.stores.writer.append(draft_of(content, name), Every(tuple(guards)))
            except Refused as refused:
                tell_if_full(refused)
                tell_if_read(refused, name)
                continue  # what it was checked against has just changed: check again
            if live is not None:
                derived.drop_orphans(backend.stores, name)  # the stream that it fills no more
            backend.threads.queries_changed()
            record = QueryRecord(entry.seq, name, entry.at, text, base, paused, compiled)
            if live is None:
                return record, Made.QUERY
            return replace(record, replaces=live.id, origin=live.origin), Made.VERSION
    except (Problem, LanguageError, Refusal):
        derived.drop_orphans(backend.stores, name)
        raise


def _has_failed(stores: Stores, live: QueryRecord) -> bool:
    """Whether a query would run again if it were replaced by itself."""
    return stores.answers.failure(live.id) is not None


def _in_its_way(stores: Stores, live: QueryRecord) -> Problem:
    tag = version_tag(live)
    return Problem(
        "query-exists",
        f"The query {live.name} is registered and asks for something else: to replace it, send the request with "
        f"If-Match: {tag}, which is its version now; or delete it first, or use another name.",
        headers={"ETag": tag},
        query=live.name,
        version=live.id,
        url=stores.names.query_url(live.name),
    )


def unregister(backend: Backend, name: str, condition: Condition = Condition()) -> None:  # noqa: B008  it cannot change
    while True:
        query = found(backend.stores, name)
        condition.refuse(query, name)
        try:
            backend.stores.writer.append(
                draft_of(QueryUnregistered(), name), Every((Same("queries", query.id), *unread(backend.stores, name)))
            )
            break
        except Refused as refused:
            tell_if_read(refused, name)
            continue  # it has just been deleted, or replaced: perhaps there is another one by now
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


def own(backend: Backend, name: str, asked: ContinuousQuery, live: QueryRecord | None) -> list[AnyGuard]:
    """The stream that a stream query fills is there from now on; the guard that it still is when the query comes. One
    that fills none any more leaves its stream only where nobody reads that."""
    if asked.kind != "stream":
        if live is not None and derived.fills(live):
            return unread(backend.stores, name)
        derived.drop_orphans(backend.stores, name)
        return [Unfilled(name)]
    derived.drop_orphans(backend.stores, name, but=backend.stores.names.stream_iri(name))
    stream = derived.own_stream(backend.settings, backend.stores, name, live)
    return [Same("streams", stream.id), Unfilled(name, but=stream.id)]


def unread(stores: Stores, name: str) -> list[AnyGuard]:
    """The guards that nobody reads what the query of that name makes. What is not read by anybody need not be looked
    for among all queries."""
    streams = {stream.iri for stream in derived.made_by(stores.registry, name)}
    return [Unread("streams", tuple(sorted(streams)), but=name)] if streams else []


def tell_if_read(refused: Refused, name: str) -> None:
    """Raises `Problem` if it is that somebody reads what the query makes."""
    if isinstance(refused.guard, Unread):
        iri = min(refused.guard.names)
        raise Problem(
            "stream-in-use",
            f"The query {name} makes the stream <{iri}>, which is read by {readers(refused)}.",
            stream=iri,
            queries=list(refused.readers),
        ) from None


def found(stores: Stores, name: str) -> QueryRecord:
    query = stores.registry.query(name)
    if query is None:
        url = stores.names.query_url(name)
        raise Problem("unknown-query", f"There is no query {name}: register it with PUT {url}.", query=name)
    return query


def found_version(stores: Stores, name: str) -> QueryRecord:
    """The query of that name, as it was in the version that the request at work asks for, if it asks for one."""
    live, given = found(stores, name), request.args.get("version")
    if given is None:
        return live
    number = given.strip('"')
    query = stores.registry.version(int(number)) if number.isascii() and number.isdigit() and len(number) < 19 else None
    if query is None or query.name != name:
        kept = ", ".join(str(version) for version, _ in stores.registry.registrations(name, MOST_SHOWN))
        raise Problem(
            "unknown-version",
            f"The query {name} has no version {given[:100]}, or none that is kept. Kept are: {kept}.",
            query=name,
            version=live.id,
        )
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
