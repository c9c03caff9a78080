"""Why: the derivation of a triple in each graph of a query's dataset that holds it at an instant.

A tag is the instant at which a triple stops to hold: for an element of a window its stamp + RANGE, for what follows the
earliest of its premises' tags, for what rests on background alone `ALWAYS`. Elements of windows that count have no such
instant: they are said to hold until the next one (instant + 1).

    found = reasons(query, rules, instant, ("<urn:a>", "<urn:isIn>", "<urn:c>"), windows, background)
    found[0].graph                    # None: the default graph; or the IRI of a named window or graph
    str(found[0].derivation)          # one line for each step, premises below what they prove

The graphs are those that the query sees (see `engine.dataset`). Only the facts that can have a part in it are looked
at, and these one by one: it is asked seldom. Reading ends as soon as there is more than is looked at (`held` reads for
who sends what windows hold to another process), and a derivation is told only if it is small enough to be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from csparql_spark.asking.admission import Refusal
from csparql_spark.engine.dataset import Graph, graphs_of
from csparql_spark.entailment.evaluate.derivations import Derivation
from csparql_spark.entailment.evaluate.derivations import why as derived
from csparql_spark.entailment.evaluate.lookup import Triple
from csparql_spark.entailment.rules.pruning import prune
from csparql_spark.language import ContinuousQuery
from csparql_spark.language.queries.prologue import WELL_KNOWN, base_of, declared
from csparql_spark.language.rules.rule import Atom, Rule, is_variable
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import TermError
from csparql_spark.rdf.terms import from_oxigraph
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.windows.rule import looks_of, until_of

MOST_FACTS = 50_000  # that can have a part in a derivation
MOST_ELEMENTS = 2_000_000  # of windows, that are read to find them
MOST_STEPS = 10_000  # of a derivation as a tree, in which what is shared stands as often as it is used
MOST_DEPTH = 250  # of premises below each other
AT_ONCE = 10_000
LONGEST_TRIPLE = 32 << 10  # characters of a text that is asked about
MOST_SHOWN = 500  # of them, in a sentence

_PLACE = re.compile(r"^Parser error (?:at|between) line .*?: ")  # columns of what is parsed, not of what was sent

Windows = Callable[[int], Iterable[Chunk]]  # what each window of a query holds, by its place in the text


class Tree(TypedDict, total=False):
    """A derivation as JSON."""

    triple: list[str]
    until: int
    given: bool
    rule: str
    text: str
    premises: list[Tree]


class GraphReason(TypedDict):
    """A graph that holds a triple, and why, as JSON."""

    graph: str | None
    why: Tree | None
    text: str | None


class Explanation(GraphReason):
    """Why a triple holds, as JSON: the first graph that holds it, and all of them."""

    holds: bool
    graphs: list[GraphReason]


class Reason(NamedTuple):
    """A graph that holds a triple, and why it does."""

    graph: str | None
    derivation: Derivation


def triple_of(text: str, query: ContinuousQuery | None = None, base: str | None = None) -> Triple:
    """The triple of a text: three terms as in Turtle, with the prefixes and the BASE of a query, whose text was read
    with that base. No more than two are read of whatever it is, and of no longer text. Raises `Refusal`."""
    shown = repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…")
    if len(text) > LONGEST_TRIPLE:
        raise Refusal(
            "bad-triple",
            f"{shown} is longer than the {LONGEST_TRIPLE:,} characters that are read of a triple: ask why another one "
            "holds",
        )
    written = text.strip().removesuffix(".").strip()
    prefixes = {} if query is None else WELL_KNOWN | declared(query.body)
    head = "".join(f"@prefix {prefix}: <{iri}> . " for prefix, iri in prefixes.items())
    try:
        start = base if query is None else base_of(query.text, base)
        quads = islice(ox.parse(f"{head}{written} .", format=ox.RdfFormat.TURTLE, base_iri=start), 2)
        triples = [
            (from_oxigraph(quad.subject), from_oxigraph(quad.predicate), from_oxigraph(quad.object)) for quad in quads
        ]
    except (SyntaxError, TermError) as error:
        reason = _PLACE.sub("", error.msg if isinstance(error, SyntaxError) else str(error))
        reason = reason if len(reason) <= MOST_SHOWN else f"{reason[:MOST_SHOWN]}…"
        raise Refusal(
            "bad-triple",
            f'{shown} is not a triple: write its subject, predicate and object as in <urn:a> <urn:p> "1" ({reason})',
        ) from error
    if len(triples) != 1:
        raise Refusal("bad-triple", f"{shown} holds {'several triples' if triples else 'no triple'}: ask for one")
    return triples[0]


def reasons(
    query: ContinuousQuery,
    rules: Sequence[Rule],
    instant: int,
    triple: Triple,
    windows: Windows,
    background: Mapping[str, Chunk],
) -> list[Reason]:
    """Why the graphs of a query hold a triple at an instant, for each that does, in the order of `graphs_of`.
    `windows` gives what a window holds, stamped, in the order of the log. Raises `Refusal` if there is too much to look
    at."""
    needed = prune(rules, [Atom(*triple)])
    found, looks = [], looks_of(query, query.windows)
    for graph in graphs_of(query):
        facts = GraphFacts(triple, needed if graph.entails else (), graph)
        for place in graph.places:
            for piece in windows(place):
                facts.read(piece, until_of(looks[place], piece.t, instant))
        derivation = _derivation(graph, facts, background)
        if derivation is not None:
            found.append(Reason(graph.name, derivation))
    return found


def held(query: ContinuousQuery, windows: Windows) -> list[list[Chunk]]:
    """What the windows of a query hold, by their places: what `reasons` reads. Raises `Refusal` if that is more than it
    would look at."""
    found: list[list[Chunk]] = [[] for _ in query.windows]
    for graph in graphs_of(query):
        elements = 0
        for place in graph.places:
            for piece in windows(place):
                elements += len(piece)
                if elements > MOST_ELEMENTS:
                    raise _too_many_elements(_where(graph))
                found[place].append(piece)
    return found


def _where(graph: Graph) -> str:
    return "the default graph" if graph.name is None else f"<{graph.name}>"


def _too_many_elements(where: str) -> Refusal:
    return Refusal(
        "not-supported",
        f"the windows of {where} see more than {MOST_ELEMENTS:,} elements, "
        "and at most so many are read to explain one: ask about a query with a narrower window",
    )


def _derivation(graph: Graph, facts: GraphFacts, background: Mapping[str, Chunk]) -> Derivation | None:
    triple, own = facts.triple, facts.tags.get(facts.triple)
    for name in (*graph.background, *graph.help):
        facts.add(background[name], ALWAYS)
    derivation = derived(facts.rules, facts.tags, triple)
    if derivation is None or derivation.tag != ALWAYS or not graph.is_window:
        return derivation
    # What only helps a named window is not in it, nor is what follows from that alone.
    return None if own is None else Derivation(triple, own)


class GraphFacts:
    """The facts of one graph that can have a part in a derivation of a triple under these rules, with their tags."""

    def __init__(self, triple: Triple, rules: Sequence[Rule], graph: Graph) -> None:
        self.triple, self.rules = triple, rules
        self.tags: dict[Triple, int] = {}
        self._wanted = list(dict.fromkeys([Atom(*triple), *(atom for rule in rules for atom in rule.body)]))
        self._constants = list(
            dict.fromkeys(node for atom in self._wanted for node in atom.nodes if not is_variable(node))
        )
        self._where = _where(graph)
        self._read = 0

    def read(self, chunk: Chunk, tags: np.ndarray | int) -> None:
        """Add elements of a window."""
        self._read += len(chunk)
        if self._read > MOST_ELEMENTS:
            raise _too_many_elements(self._where)
        self.add(chunk, tags)

    def add(self, chunk: Chunk, tags: np.ndarray | int) -> None:
        """Add those of a chunk that can have a part."""
        places = np.flatnonzero(self._fitting(chunk))
        tags = np.broadcast_to(tags, len(chunk))
        for first in range(0, len(places), AT_ONCE):
            taken = places[first : first + AT_ONCE]
            columns = (chunk.terms.take(pa.array(ids[taken])).to_pylist() for ids in (chunk.s, chunk.p, chunk.o))
            for fact, tag in zip(zip(*columns), tags[taken].tolist(), strict=True):
                self.tags[fact] = max(tag, self.tags.get(fact, tag))
            if len(self.tags) > MOST_FACTS:
                raise Refusal(
                    "not-supported",
                    f"more than {MOST_FACTS:,} triples of {self._where} can have a part in "
                    "this, and at most so many are looked at to explain one: ask about a query with a "
                    "narrower window, or over a smaller background",
                )

    def _fitting(self, chunk: Chunk) -> np.ndarray:
        """Which triples of a chunk fit one of the wanted patterns."""
        found = pc.fill_null(pc.index_in(pa.array(self._constants, pa.string()), value_set=chunk.terms), -1)
        ids = dict(zip(self._constants, found.to_pylist()))
        mask = np.zeros(len(chunk), dtype=bool)
        for atom in self._wanted:
            fits = np.ones(len(chunk), dtype=bool)
            columns: dict[str, np.ndarray] = {}
            for node, column in zip(atom.nodes, (chunk.s, chunk.p, chunk.o)):
                fits &= column == (columns.setdefault(node, column) if is_variable(node) else ids[node])
            mask |= fits
        return mask


def as_tree(derivation: Derivation) -> Tree:
    """The derivation as JSON: `until` is missing where the triple holds for ever. Raises `Refusal` if it is too large
    to be read."""
    tree: Tree = {}
    waiting, steps = [(derivation, tree, 0)], 0
    while waiting:
        step, node, depth = waiting.pop()
        steps += 1
        if steps > MOST_STEPS or depth > MOST_DEPTH:
            raise Refusal(
                "not-supported",
                f"its derivation has more than {MOST_STEPS:,} steps, or more than {MOST_DEPTH} below each other, and "
                "at most so many are told: ask why one of the triples holds that it may rest on",
            )
        node["triple"] = list(step.triple)
        if step.tag != ALWAYS:
            node["until"] = step.tag
        rule = step.rule
        if rule is None:
            node["given"] = True
            continue
        node["rule"], node["text"] = rule.name or str(rule), str(rule)
        node["premises"] = [{} for _ in step.premises]
        waiting.extend((premise, below, depth + 1) for premise, below in zip(step.premises, node["premises"]))
    return tree


def as_json(found: Sequence[Reason]) -> Explanation:
    """What was found as JSON: the first graph that holds the triple (null: the default graph) and why, and all of
    them."""
    graphs: list[GraphReason] = [
        {"why": as_tree(reason.derivation), "text": str(reason.derivation), "graph": reason.graph} for reason in found
    ]
    first: GraphReason = graphs[0] if graphs else {"why": None, "text": None, "graph": None}
    return {"holds": bool(graphs), **first, "graphs": graphs}
