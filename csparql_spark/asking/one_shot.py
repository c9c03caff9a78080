"""A question, answered once: over background graphs, over what windows see at one instant, and over what a registered
query sees at one of its instants.

    ask(Question("SELECT ?s WHERE { ?s a <urn:C> }", {"urn:g": chunk}))
    ask(Question("SELECT ?s FROM STREAM <urn:s> [RANGE 10s] WHERE { ?s ?p ?o }", instant=17_000,
                 streams={"urn:s": elements}))
    ask(Question("SELECT ?s FROM <urn:q/window> WHERE { ?s ?p ?o }",
                 watched={"urn:q/window": Watched(query, 17_000, [elements], {})}))

What a query sees is its default graph, with what follows from it under its rules: asked over that, its own body says
what it has answered. Its named windows and graphs are there by their names (see `engine.dataset`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.answers.plan import Unsupported, plan
from csparql_spark.answers.snapshot import Dataset, Snapshot, merged
from csparql_spark.answers.stamps import stamps_of
from csparql_spark.asking.admission import Refusal
from csparql_spark.engine.dataset import Graph, dataset_of, entailed, graphs_of
from csparql_spark.engine.views import LIMITS
from csparql_spark.entailment.evaluate.bounds import TooMuchDerived, bounded
from csparql_spark.entailment.rules.preparing import Columns, closed
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.entailment.rules.safety import UnsafeRules
from csparql_spark.entailment.rules.sets import RuleSetError
from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.language.queries.query_cache import read
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.relations.rows import Triples
from csparql_spark.windows.content import Content, Elements
from csparql_spark.windows.rule import at_once, visible


class Watched(NamedTuple):
    """A registered query, an instant of it, what its windows hold then (in the order of its text), and its
    background."""

    query: ContinuousQuery
    instant: int
    windows: Sequence[Chunk]
    graphs: Mapping[str, Chunk]


@dataclass(frozen=True)
class Question:
    """A query as a text, and what there is to ask.

    The graphs that it asks are those of the request (`default_graphs`, `named_graphs`); if it has none, those of the
    query's FROM and FROM NAMED; if it has neither, and reads no stream, all of `graphs`, merged into the default graph
    and by their names. `watched` are graphs, too: what a registered query sees, by IRI. `streams` are stamped elements
    in the order of the log; a window sees those up to the instant, RANGE back from it. Under the regimes of
    `entailment`, and those that the query names, the default graph and named windows are closed; `rules` are the texts
    of users' rule sets."""

    text: str
    graphs: Mapping[str, Chunk] = field(default_factory=dict)
    base: str | None = None
    default_graphs: Collection[str] | None = None
    named_graphs: Collection[str] | None = None
    streams: Mapping[str, Chunk] = field(default_factory=dict)
    watched: Mapping[str, Watched] = field(default_factory=dict)
    entailment: Collection[str] = ()
    rules: Mapping[str, str] = field(default_factory=dict)
    instant: int = 0


def ask(question: Question, limits: Limits | None = None) -> Result:
    """The answer to a question. Raises `LanguageError`, `Refusal`, and `TooMuch` (see `limits`)."""
    limits = LIMITS if limits is None else limits
    try:
        with bounded(limits.seconds):
            snapshot = _prepared(question, limits)
    except TooMuchDerived as error:
        raise TooMuch(str(error)) from error
    return snapshot.answer()


def _prepared(question: Question, limits: Limits) -> Snapshot:
    """What a question looks at, with what follows."""
    query = _asked_graphs(question)
    try:
        made = plan(query)
    except Unsupported as error:
        raise Refusal("not-supported", str(error)) from error
    wanted = dict.fromkeys((*query.graphs, *query.named_graphs))
    for graph in wanted:
        if graph not in question.graphs and graph not in question.watched:
            raise Refusal("unknown-graph", f"there is no background graph <{graph}>")
    content = Content()
    others = {
        graph: _watched(content, question.watched[graph], question.rules)
        for graph in wanted
        if graph in question.watched
    }
    background = {
        graph: others[graph].dataset.default if graph in others else _encoded(content, question.graphs[graph])
        for graph in wanted
    }
    windows = [_elements(content, _chunk_of(window, question)) for window in query.windows]
    own = _sees(content, query, windows, background.__getitem__, question.rules)
    named: dict[str, Columns] = {}
    for name, columns in (
        *(graph for other in others.values() for graph in other.dataset.named.items()),
        *((graph, own.named[graph]) for graph in query.named_graphs),
    ):
        named[name] = merged([named[name], columns]) if name in named else columns
    stamped = [*windows, *(window for other in others.values() for window in other.windows)]
    snapshot = Snapshot(made, content, limits)
    snapshot.move(
        Dataset(own.default, {**own.named, **named}, stamps_of(stamped) if made.stamps and stamped else None),
        instant=question.instant,
    )
    return snapshot


def _asked_graphs(question: Question) -> ContinuousQuery:
    """The query of a question, with the graphs and regimes that it is asked under."""
    query = read(question.text, question.base)
    default, named = question.default_graphs, question.named_graphs
    if default is None and named is None:
        if query.graphs or query.named_graphs or query.windows:
            default, named = query.graphs, query.named_graphs
        else:
            default, named = question.graphs.keys(), question.graphs.keys()
    return dataclasses.replace(
        query,
        graphs=tuple(default or ()),
        named_graphs=tuple(named or ()),
        entailment=tuple(dict.fromkeys((*query.entailment, *question.entailment))),
    )


class Watching(NamedTuple):
    """The dataset of a registered query, and what its windows hold."""

    dataset: Dataset
    windows: list[Elements]


def _watched(content: Content, watched: Watched, rules: Mapping[str, str]) -> Watching:
    """What a registered query sees."""
    windows = [_elements(content, chunk) for chunk in watched.windows]
    return Watching(
        _sees(content, watched.query, windows, lambda graph: _encoded(content, watched.graphs[graph]), rules), windows
    )


def default_graph(watched: Watched, rules: Mapping[str, str]) -> Chunk:
    """The default graph of a registered query, with what follows. Raises `Refusal`."""
    content = Content()
    columns = _watched(content, watched, rules).dataset.default
    terms = content.dictionary.decode(np.arange(len(content.dictionary)))
    return Chunk.from_columns(pa.array(terms, pa.string()), *columns)


def _sees(
    content: Content,
    query: ContinuousQuery,
    windows: list[Elements],
    background: Callable[[str], Columns],
    texts: Mapping[str, str],
) -> Dataset:
    """The dataset of a query whose windows hold this, closed anew."""
    graphs: dict[str | None, Columns] = {}
    if query.entailment:
        try:
            rules = rules_of(query.entailment, texts)
            graphs = {
                graph.name: _closure(content, rules, graph, windows, background)
                for graph in graphs_of(query)
                if graph.entails
            }
        except (RuleSetError, UnsafeRules) as error:
            raise Refusal("unknown-rules", str(error)) from error
    return dataset_of(query, windows, background, graphs)


def _closure(
    content: Content, rules: Sequence[Rule], graph: Graph, windows: list[Elements], background: Callable[[str], Columns]
) -> Columns:
    """A graph that entails."""
    stated = merged(windows[place][:3] for place in graph.places)
    known = merged(background(name) for name in (*graph.background, *graph.help))
    closure = closed(rules, content.dictionary, merged([stated, known]))
    return entailed(graph, stated, closure, lambda: without(closure, closed(rules, content.dictionary, known)))


def _encoded(content: Content, chunk: Chunk) -> Columns:
    ids = content.dictionary.encode(chunk.terms)
    return ids[chunk.s], ids[chunk.p], ids[chunk.o]


def _elements(content: Content, chunk: Chunk) -> Elements:
    return Elements(*_encoded(content, chunk), np.zeros(len(chunk), dtype=np.int64), chunk.t)


def _chunk_of(window: Window, question: Question) -> Chunk:
    """What a window of a question sees: it is looked at once, so its STEP does not matter."""
    if window.stream not in question.streams:
        raise Refusal("unknown-stream", f"there is no stream <{window.stream}>")
    chunk = question.streams[window.stream]
    return chunk.take(visible(at_once(window), chunk.t, question.instant))


def without(columns: Columns, others: Columns) -> Columns:
    rest = Triples.of(*columns).minus(Triples.of(*others))
    return rest.s, rest.p, rest.o
