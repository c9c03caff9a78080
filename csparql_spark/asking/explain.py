"""Explaining: how a query is read, what it sees, which evaluator answers it and which strategy maintains what
follows, each with its reason, and the rules it is run under.

    description = explained(query, background={"http://…/kb": chunk}, rules={})
    description["evaluator"], description["because"]      # "snapshot", "f:timestamp asks when a triple came, …"
    written(description)                                  # the same, as lines to be read
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NotRequired, TypedDict

import numpy as np

from csparql_spark.answers.incremental import Incremental, NamedGraph, Shared
from csparql_spark.answers.nodes import DENIED, PlanNode, join_orders
from csparql_spark.answers.nodes import lines as written_plan
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.plan import plan
from csparql_spark.engine.closure_strategy import Closure, closures_of
from csparql_spark.engine.dataset import graphs_of
from csparql_spark.engine.evaluator_choice import asked_for, why_snapshot
from csparql_spark.entailment.maintain.strategies import AUTO
from csparql_spark.entailment.rules.preparing import closed, prepare
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.language import ContinuousQuery, describe, show
from csparql_spark.language.queries.describe import describe_instants, describe_output, describe_window
from csparql_spark.language.queries.prologue import WELL_KNOWN, declared
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import RDF
from csparql_spark.relations.moving import Moving
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.schedule.routing import group_key
from csparql_spark.windows.content import Content
from csparql_spark.windows.rule import is_timed, widest_of

MOST_BACKGROUND = 200_000  # triples that are closed to show which rules are run; a larger one is not looked at
SNAPSHOT = "snapshot (an Oxigraph store kept in step with the window: what an instant costs grows with it)"
TYPE = f"<{RDF}type>"
_IRI = re.compile(r"<([^<>\s\"]*[#/:])([^<>\s\"#/:]*)>")
_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_NUMBER = re.compile(r'"([+-]?[0-9]+)"\^\^xsd:integer|"([+-]?[0-9]*\.[0-9]+)"\^\^xsd:decimal')
# What makes that one cannot tell by the triples that are there how long a row holds.
OPEN_ENDED = {"leftjoin": "OPTIONAL", "minus": "MINUS", "group": "aggregates", "slice": "LIMIT or OFFSET"}


class GroupDescription(TypedDict):
    """Who shares the windows of a query, and how far back they reach."""

    key: str
    streams: list[str]
    graphs: list[str]
    entailment: list[str]
    widest: int | None
    shared_with: NotRequired[list[str]]


class ShardsDescription(TypedDict):
    """Into how many shards a group is cut."""

    count: int
    because: str


class ClosureDescription(TypedDict):
    """A graph of a query that is closed, by which strategy its closure is maintained, and who else looks at it."""

    window: str | None
    strategy: str
    because: str
    shared_by: str


class RulesDescription(TypedDict):
    """How many rules are written, and which are run; if it is not known which, why."""

    written: int
    run: list[str] | None
    because: NotRequired[str]
    background: NotRequired[dict[str, int]]
    presumed: NotRequired[list[str]]


class QueryDescription(TypedDict):
    """How a query is read and answered, as JSON."""

    text: str
    summary: str
    windows: list[str]
    instants: str
    tells: str
    sparql: str
    evaluator: str
    because: str | None
    reads: list[list[str]] | None
    group: GroupDescription
    shards: ShardsDescription
    closures: list[ClosureDescription]
    plan: PlanNode | None
    join_order: list[list[list[str]]] | None
    rules: NotRequired[RulesDescription]


def explained(
    query: ContinuousQuery, *, background: Mapping[str, Chunk] | None, rules: Mapping[str, str], maintenance: str = AUTO
) -> QueryDescription:
    """What there is to say of a query that can be registered. Graphs that are not in `background` count as empty;
    None: they have more than `MOST_BACKGROUND` triples. `maintenance` names the strategy that is asked for."""
    made = plan(query)
    because = why_snapshot(query)
    tree = _plan(query, made, background) if because is None else None
    description: QueryDescription = {
        "text": show(query).rstrip(),
        "summary": describe(query).rstrip(),
        "windows": [describe_window(window) for window in query.windows],
        "instants": describe_instants(query),
        "tells": describe_output(query),
        "sparql": query.body.rstrip(),
        "evaluator": "maintained" if because is None else "snapshot",
        "because": because,
        "reads": None if made.reads is None else [[" ".join(one) for one in patterns] for patterns in made.reads],
        "group": {
            "key": group_key(query),
            "streams": sorted({window.stream for window in query.windows}),
            "graphs": list(query.graphs),
            "entailment": list(query.entailment),
            "widest": widest_of(query.windows) if all(map(is_timed, query.windows)) else None,
        },
        "shards": {"count": 1, "because": "a group has one shard: its windows are in one place"},
        "closures": [
            {
                "window": closure.window,
                "strategy": closure.strategy,
                "because": closure.because,
                "shared_by": closure.shared_by,
            }
            for closure in _closures(query, background, rules, maintenance)
        ],
        "plan": tree,
        "join_order": None if tree is None else list(join_orders(tree)),
    }
    if query.entailment:
        description["rules"] = _rules(query, background, rules)
    return description


def _closures(
    query: ContinuousQuery, background: Mapping[str, Chunk] | None, rules: Mapping[str, str], maintenance: str
) -> list[Closure]:
    """The closures that are made for a query: none where it asks for no entailment, since nothing follows there."""
    if not query.entailment:
        return []
    return closures_of(query, rules_of(query.entailment, rules), maintenance, _stated(query, background))


def _stated(query: ContinuousQuery, background: Mapping[str, Chunk] | None) -> int:
    """How many triples its background states; where it is not looked at, so many at least."""
    if background is None:
        return MOST_BACKGROUND
    return sum(len(background[graph]) for graph in query.graphs if graph in background)


def _plan(query: ContinuousQuery, made: Plan, background: Mapping[str, Chunk] | None) -> PlanNode:
    """The plan as a tree, with the join orders as they are over the background and windows that are empty."""
    content, known = Content(), background or {}

    def shared(graphs: Sequence[str]) -> Shared:
        moving, chunk = Moving(), Chunk.concat([known[graph] for graph in graphs if graph in known])
        if len(chunk) <= MOST_BACKGROUND:
            ids = content.dictionary.encode(chunk.terms)
            moving.tell(moving.graph.add([(ids[chunk.s], ids[chunk.p], ids[chunk.o], np.full(len(chunk), ALWAYS))]))
        return Shared(moving, content)

    default, *others = graphs_of(query)
    named = {graph.name: NamedGraph(shared(graph.background)) for graph in reversed(others) if graph.name is not None}
    return Incremental(made, query.body, shared(default.background), named=dict(reversed(named.items()))).nodes()


def _looked_at(query: ContinuousQuery, background: Mapping[str, Chunk] | None) -> list[Chunk] | None:
    """The background of a query; None if that is more than is looked at."""
    if background is None:
        return None
    chunks = [background[graph] for graph in query.graphs if graph in background]
    return chunks if sum(map(len, chunks)) <= MOST_BACKGROUND else None


def _rules(
    query: ContinuousQuery, background: Mapping[str, Chunk] | None, texts: Mapping[str, str]
) -> RulesDescription:
    """The rules of the regimes, and those that are run once the background's schema is worked into them."""
    general = rules_of(query.entailment, texts)
    chunks = _looked_at(query, background)
    if chunks is None:
        return {
            "written": len(general),
            "run": None,
            "because": f"the background has more than {MOST_BACKGROUND:,} triples",
        }
    chunk, dictionary = Chunk.concat(chunks), TermDictionary()
    ids = dictionary.encode(chunk.terms)
    facts = closed(general, dictionary, (ids[chunk.s], ids[chunk.p], ids[chunk.o]))
    prepared = prepare(general, dictionary, facts, asked_for(plan(query)))
    return {
        "written": len(general),
        "background": {"stated": len(chunk), "closed": len(facts[0])},
        "presumed": sorted(prepared.predicates),
        "run": [str(rule) for rule in prepared.rules],
    }


def open_ended(tree: PlanNode) -> Iterator[str]:
    """What of a maintained plan keeps its rows from saying until when they hold."""
    node = tree["node"]
    if node in OPEN_ENDED:
        yield OPEN_ENDED[node]
    if node == "exists" and tree["does"] == DENIED:
        yield "NOT EXISTS"
    for part in tree.get("parts", []):
        yield from open_ended(part)


def _evaluation(description: QueryDescription) -> str:
    tree = description["plan"]
    if tree is None:
        return f"{SNAPSHOT}: {description['because']}"
    counting = ["windows that count"] if description["group"]["widest"] is None else []
    reasons = " and ".join(dict.fromkeys((*counting, *open_ended(tree))))
    until = f"with {reasons}, until when rows hold is not known" if reasons else "rows say until when they hold"
    return f"maintained (matches move with the window; {until})"


class Shortened:
    """IRIs as a body's prefixes write them, and numbers as SPARQL has them."""

    def __init__(self, body: str) -> None:
        self._prefixes = {iri: prefix for prefix, iri in (*WELL_KNOWN.items(), *declared(body).items())}

    def pattern(self, text: str) -> str:
        """A triple; its predicate may be `a`."""
        subject, predicate, object = text.split(" ", 2)
        return self.line(f"{subject} {'a' if predicate == TYPE else predicate} {object}")

    def line(self, text: str) -> str:
        return _NUMBER.sub(lambda found: found[1] or found[2], _IRI.sub(self._name, text.replace(f" {TYPE} ", " a ")))

    def _name(self, found: re.Match[str]) -> str:
        start, local = found[1], found[2]
        prefix = self._prefixes.get(start)
        return found[0] if prefix is None or not _LOCAL.fullmatch(local) else f"{prefix}:{local}"


def written(description: QueryDescription) -> str:
    """The explanation as text, with IRIs as the query's prefixes shorten them."""
    short = Shortened(description["sparql"])
    lines = [
        description["text"],
        "",
        description["summary"],
        "",
        "SPARQL body:",
        description["sparql"],
        "",
        f"evaluation: {_evaluation(description)}",
        f"group:      {description['group']['key']}, which all queries that read the same streams, graphs and "
        "rules share",
    ]
    for closure in description["closures"]:
        window = closure["window"]
        of = f" of {short.line(f'<{window}>')}" if window else ""
        lines.append(f"closure:    {closure['strategy']}{of}: {closure['because']}")
        lines.append(f"            shared by {short.line(closure['shared_by'])}")
    if not description["group"]["entailment"]:
        lines.append("closure:    none: the query asks for no entailment, so nothing is derived")
    for patterns in description["reads"] or ():
        lines.append(f"reads:      {' . '.join(map(short.pattern, patterns))}")
    if description["reads"] is None:
        lines.append("reads:      all triples")
    orders = [order for scan in description["join_order"] or () for order in scan]
    if orders:
        lines += [
            "join order: what is new for the first of a line is looked up in the others, one after the other",
            *(f"  {'  then  '.join(map(short.pattern, order))}" for order in orders),
        ]
    tree, rules = description["plan"], description.get("rules")
    if tree is not None:
        lines += ["plan:", *(f"  {short.line(line)}" for line in written_plan(tree))]
    if rules is not None:
        run = rules["run"]
        lines.append(
            f"rules:      {rules['written']} written, "
            + (
                f"not worked out: {rules['because']}"
                if run is None
                else f"{len(run)} run for this query and background{':' if run else ''}"
            )
        )
        lines += [f"  {short.line(rule)}" for rule in run or ()]
    return "\n".join(lines)
