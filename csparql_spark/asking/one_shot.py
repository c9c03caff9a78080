"""A question, answered once: over background graphs, over what windows see at one instant, and over what a registered
query sees at one of its instants.

    ask("SELECT ?s WHERE { ?s a <urn:C> }", {"urn:g": chunk}, base=None)
    ask("SELECT ?s FROM STREAM <urn:s> [RANGE 10s] WHERE { ?s ?p ?o }", {}, base=None, instant=17_000,
        streams={"urn:s": elements})
    ask("SELECT ?s FROM <urn:q/window> WHERE { ?s ?p ?o }", {}, base=None,
        watched={"urn:q/window": Watched(query, 17_000, {"urn:s": elements}, {})})

What a query sees is its default graph, with what follows from it under its rules: asked over that, its own body says
what it has answered. Its named windows and graphs are there by their names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.limits import Limits
from csparql_spark.answers.plan import Unsupported, plan
from csparql_spark.answers.snapshot import Dataset, Snapshot, merged
from csparql_spark.answers.stamps import stamps_of
from csparql_spark.asking.admission import Refusal
from csparql_spark.engine.views import LIMITS
from csparql_spark.entailment.rules.preparing import Columns, closed
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.entailment.rules.safety import UnsafeRules
from csparql_spark.entailment.rules.sets import RuleSetError
from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.relations.rows import Triples
from csparql_spark.windows.content import Content, Elements
from csparql_spark.windows.rule import at_once, visible


class Watched(NamedTuple):
    """A registered query, an instant of it, and what it needs to see then: the stamped elements of its streams that
    came after its registration, in the order of the log, and its background."""

    query: ContinuousQuery
    instant: int
    streams: Mapping[str, Chunk]
    graphs: Mapping[str, Chunk]


class Seen(NamedTuple):
    """The default graph of a query, its named windows, and what its windows hold."""

    default: Columns
    named: dict[str, Columns]
    elements: list[Elements]


def ask(text: str, graphs: Mapping[str, Chunk], *, base: str | None, default_graphs: Collection[str] | None = None,
        named_graphs: Collection[str] | None = None, streams: Mapping[str, Chunk] | None = None,
        watched: Mapping[str, Watched] | None = None, entailment: Collection[str] = (),
        rules: Mapping[str, str] | None = None, instant: int = 0, limits: Limits | None = None) -> Answer:
    """The answer of a query at an instant. Raises `LanguageError`, `Refusal`, and `TooMuch` (see `limits`).

    The graphs are those that are given; if none are, those of the query's FROM and FROM NAMED; if it has neither, and
    reads no stream, all of them, merged into the default graph and by their names. `watched` are graphs, too: what a
    registered query sees, by IRI. `streams` are stamped elements in the order of the log; a window sees those up to the
    instant, RANGE back from it. Under the regimes that are given, or that the query names, the default graph and named
    windows are closed; `rules` are the texts of users' rule sets.
    """
    query = read(text, base)
    try:
        asked = plan(query)
    except Unsupported as error:
        raise Refusal("not-supported", str(error)) from error
    if default_graphs is None and named_graphs is None:
        if query.graphs or query.named_graphs or query.windows:
            default_graphs, named_graphs = query.graphs, query.named_graphs
        else:
            default_graphs, named_graphs = graphs.keys(), graphs.keys()
    wanted = dict.fromkeys([*(default_graphs or ()), *(named_graphs or ())])
    for graph in wanted:
        if graph not in graphs and graph not in (watched or {}):
            raise Refusal("unknown-graph", f"there is no background graph <{graph}>")
    content = Content()
    others = {graph: _watched(content, watched[graph], rules or {}) for graph in wanted if graph in (watched or {})}
    seen = {graph: others[graph].default if graph in others else _encoded(content, graphs[graph]) for graph in wanted}
    background = merged(seen[graph] for graph in default_graphs or ())
    named: dict[str, Columns] = {}
    for name, columns in (*(pair for other in others.values() for pair in other.named.items()),
                          *((graph, seen[graph]) for graph in named_graphs or ())):
        named[name] = merged([named[name], columns]) if name in named else columns
    looked = [_looked(content, at_once(window), streams or {}, instant)
              for window in query.windows]            # they are looked at once, so their STEP does not matter
    regimes = tuple(dict.fromkeys((*query.entailment, *entailment)))
    found = _seen(content, query, looked, background, regimes, rules or {})
    snapshot = Snapshot(asked, content, LIMITS if limits is None else limits)
    elements = [*found.elements, *(window for other in others.values() for window in other.elements)]
    stamps = stamps_of(elements) if asked.stamps and elements else None
    snapshot.move(Dataset(found.default, named | found.named, stamps), instant=instant)
    return snapshot.answer()


def _watched(content: Content, watched: Watched, rules: Mapping[str, str]) -> Seen:
    """What a registered query sees."""
    query, graphs = watched.query, watched.graphs
    windows = [_looked(content, window, watched.streams, watched.instant) for window in query.windows]
    background = merged(_encoded(content, graphs[graph]) for graph in query.graphs)
    seen = _seen(content, query, windows, background, query.entailment, rules)
    return seen._replace(named={graph: _encoded(content, graphs[graph]) for graph in query.named_graphs} | seen.named)


def _seen(content: Content, query: ContinuousQuery, windows: list[Elements], background: Columns,
          regimes: tuple[str, ...], rules: Mapping[str, str]) -> Seen:
    """What a query sees through windows that see this."""
    unnamed = [window[:3] for asked_for, window in zip(query.windows, windows) if asked_for.name is None]
    by_name = {asked_for.name: window[:3] for asked_for, window in zip(query.windows, windows) if asked_for.name}
    if not regimes:
        return Seen(merged([*unnamed, background]), by_name, windows)
    try:
        made = rules_of(regimes, rules)
        alone = closed(made, content.dictionary, background)
        default = closed(made, content.dictionary, merged([*unnamed, background])) if unnamed else alone
        for name, window in by_name.items():
            follows = closed(made, content.dictionary, merged([window, background]))
            by_name[name] = merged([window, without(follows, alone)])
    except (RuleSetError, UnsafeRules) as error:
        raise Refusal("unknown-rules", str(error)) from error
    return Seen(default, by_name, windows)


def _encoded(content: Content, chunk: Chunk) -> Columns:
    ids = content.dictionary.encode(chunk.terms)
    return ids[chunk.s], ids[chunk.p], ids[chunk.o]


def _looked(content: Content, window: Window, streams: Mapping[str, Chunk], instant: int) -> Elements:
    """What a window sees at an instant."""
    if window.stream not in streams:
        raise Refusal("unknown-stream", f"there is no stream <{window.stream}>")
    chunk = streams[window.stream]
    chunk = chunk.take(visible(window, chunk.t, instant))
    return Elements(*_encoded(content, chunk), np.zeros(len(chunk), dtype=np.int64), chunk.t)


def without(columns: Columns, others: Columns) -> Columns:
    left = Triples.of(*columns).minus(Triples.of(*others))
    return left.s, left.p, left.o
