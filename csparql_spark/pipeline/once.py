"""A question, answered once: over background graphs, and over what windows see at one instant.

    ask("SELECT ?s WHERE { ?s a <urn:C> }", {"urn:g": chunk}, base=None)
    ask("SELECT ?s FROM STREAM <urn:s> [RANGE 10s] WHERE { ?s ?p ?o }", {}, base=None, instant=17_000,
        streams={"urn:s": elements})
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

import numpy as np

from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.limits import Limits
from csparql_spark.answers.plan import Unsupported, plan
from csparql_spark.answers.snapshot import Dataset, Snapshot, merged
from csparql_spark.answers.stamps import stamps_of
from csparql_spark.entailment.preparing import Columns, closed
from csparql_spark.entailment.program import UnsafeRules
from csparql_spark.entailment.regimes import rules_of
from csparql_spark.entailment.sets import RuleSetError
from csparql_spark.language import Window
from csparql_spark.pipeline.admission import Refusal, read
from csparql_spark.pipeline.instants import seen_by
from csparql_spark.pipeline.views import LIMITS
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.relations.rows import Triples
from csparql_spark.windows.content import Content, Elements


def ask(text: str, graphs: Mapping[str, Chunk], *, base: str | None, default_graphs: Collection[str] | None = None,
        named_graphs: Collection[str] | None = None, streams: Mapping[str, Chunk] | None = None,
        entailment: Collection[str] = (), rules: Mapping[str, str] | None = None, instant: int = 0,
        limits: Limits | None = None) -> Answer:
    """The answer of a query at an instant. Raises `LanguageError`, `Refusal`, and `TooMuch` (see `limits`).

    The graphs are those that are given; if none are, those of the query's FROM and FROM NAMED; if it has neither, and
    reads no stream, all of them, merged into the default graph and by their names. `streams` are stamped elements in
    the order of the log; a window sees those up to the instant, RANGE back from it. Under the regimes that are given,
    or that the query names, the default graph and named windows are closed; `rules` are the texts of users' rule sets.
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
    for graph in (*(default_graphs or ()), *(named_graphs or ())):
        if graph not in graphs:
            raise Refusal("unknown-graph", f"there is no background graph <{graph}>")
    content = Content()
    seen = {graph: _encoded(content, graphs[graph])
            for graph in dict.fromkeys([*(default_graphs or ()), *(named_graphs or ())])}
    background = merged(seen[graph] for graph in default_graphs or ())
    named = {graph: seen[graph] for graph in named_graphs or ()}
    windows = [_looked(content, window, streams or {}, instant) for window in query.windows]
    unnamed = [window[:3] for asked_for, window in zip(query.windows, windows) if asked_for.name is None]
    by_name = {asked_for.name: window[:3] for asked_for, window in zip(query.windows, windows) if asked_for.name}
    if regimes := tuple(dict.fromkeys((*query.entailment, *entailment))):
        try:
            made = rules_of(regimes, rules or {})
            alone = closed(made, content.dictionary, background)
            default = closed(made, content.dictionary, merged([*unnamed, background])) if unnamed else alone
            for name, window in by_name.items():
                follows = closed(made, content.dictionary, merged([window, background]))
                by_name[name] = merged([window, without(follows, alone)])
        except (RuleSetError, UnsafeRules) as error:
            raise Refusal("unknown-rules", str(error)) from error
    else:
        default = merged([*unnamed, background])
    snapshot = Snapshot(asked, content, LIMITS if limits is None else limits)
    stamps = stamps_of(windows) if asked.stamps and windows else None
    snapshot.move(Dataset(default, named | by_name, stamps), instant=instant)
    return snapshot.answer()


def _encoded(content: Content, chunk: Chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ids = content.dictionary.encode(chunk.terms)
    return ids[chunk.s], ids[chunk.p], ids[chunk.o]


def _looked(content: Content, window: Window, streams: Mapping[str, Chunk], instant: int) -> Elements:
    """What a window sees; it is looked at once, so its STEP does not matter."""
    if window.stream not in streams:
        raise Refusal("unknown-stream", f"there is no stream <{window.stream}>")
    chunk = streams[window.stream]
    chunk = chunk.take(seen_by(dataclasses.replace(window, step=window.step and 1), chunk.t, instant))
    return Elements(*_encoded(content, chunk), np.zeros(len(chunk), dtype=np.int64), chunk.t)


def without(columns: Columns, others: Columns) -> Columns:
    left = Triples.of(*columns).minus(Triples.of(*others))
    return left.s, left.p, left.o
