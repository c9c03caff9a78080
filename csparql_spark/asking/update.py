"""An update, worked out: what becomes of background graphs when a text of SPARQL Update is done.

    worked_out(Update("INSERT { ?s <urn:q> ?o } WHERE { ?s <urn:p> ?o }", {"urn:g": chunk}, default="urn:g"), Limits())
    # {"urn:g": GraphChange(chunk of the graph as it is then, added=1, removed=0)}

Graphs are sets of triples of ids, and patterns are matched over ids (see `answers.snapshot`): what is a term of its own
stays one. `1` and `01` are two literals, each comes back as it was written, and DELETE DATA takes away the one that it
writes. Blank nodes keep their labels; each that a template or data make is a new one, whose label begins with
`blank_prefix`. Invariant: operations see what those before them have left.

`default` names the graph that an operation is about which names none; it has its own name, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from csparql_spark.answers.limits import Limits
from csparql_spark.answers.plan import Unsupported, plan
from csparql_spark.answers.snapshot import Dataset, Snapshot, merged
from csparql_spark.asking.admission import Refusal
from csparql_spark.language import LanguageError, parse
from csparql_spark.language.tokens import tokenize
from csparql_spark.language.updates import (
    DataChange,
    Management,
    Modification,
    Operation,
    Template,
    moved,
    parse_update,
)
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.relations.rows import Triples
from csparql_spark.windows.content import Content

NO_DEFAULT = (
    "the update says something of no graph, and this server has no default graph: write GRAPH <…> { … } or WITH <…>, "
    "or send the graph's IRI as iri"
)


@dataclass(frozen=True)
class Update:
    """A text, the graphs that it may look at, and the one that it means where it names none."""

    text: str
    graphs: Mapping[str, Chunk]
    default: str | None = None
    base: str | None = None
    blank_prefix: str = "u."
    instant: int = 0


@dataclass(frozen=True)
class GraphChange:
    """A graph that is another one now; `now` is None if it was dropped."""

    now: Chunk | None
    added: int
    removed: int


@dataclass
class SolutionIds:
    """Solutions: how many, and the ids of each variable (-1: unbound)."""

    count: int
    columns: dict[str, np.ndarray] = field(default_factory=dict)


def worked_out(update: Update, limits: Limits) -> dict[str, GraphChange]:
    """What an update changes, graph by graph. Raises `LanguageError`, `Refusal`, `TooMuch`."""
    workings = Workings(update, limits)
    for operation in parse_update(update.text, update.base):
        workings.do(operation)
    return workings.changes()


class Workings:
    """The graphs of an update while it is done."""

    def __init__(self, update: Update, limits: Limits) -> None:
        self._update, self._limits = update, limits
        self._content = Content()
        self._dictionary = self._content.dictionary
        self._before = {name: self._encoded(chunk) for name, chunk in update.graphs.items()}
        self._graphs = dict(self._before)
        self._labels = itertools.count()
        self._kinds = np.array([b""])

    def do(self, operation: Operation) -> None:
        match operation:
            case DataChange():
                for template in operation.templates:
                    self._put(template, operation.adds)
            case Modification():
                self._modify(operation)
            case Management():
                self._manage(operation)

    def changes(self) -> dict[str, GraphChange]:
        found: dict[str, GraphChange] = {}
        for name in sorted(self._before.keys() | self._graphs.keys()):
            before, now = self._before.get(name), self._graphs.get(name)
            added = (now or Triples.none()).minus(before or Triples.none())
            removed = (before or Triples.none()).minus(now or Triples.none())
            if len(added) or len(removed) or (before is None) != (now is None):
                found[name] = GraphChange(None if now is None else self._chunk(now), len(added), len(removed))
        return found

    # --- graphs

    def _encoded(self, chunk: Chunk) -> Triples:
        ids = self._dictionary.encode(chunk.terms)
        return Triples.of(ids[chunk.s], ids[chunk.p], ids[chunk.o])

    def _chunk(self, triples: Triples) -> Chunk:
        terms = self._dictionary.decode(np.arange(len(self._dictionary)))
        return Chunk.from_columns(pa.array(terms, pa.string()), triples.s, triples.p, triples.o)

    def _name(self, graph: str | None, about: str | None = None) -> str:
        """The graph that is meant."""
        name = graph if graph not in (None, "DEFAULT") else about or self._update.default
        if name is None:
            raise Refusal("bad-update", NO_DEFAULT)
        return name

    def _add(self, graph: str, triples: Triples) -> None:
        if len(triples):
            there = self._graphs.get(graph, Triples.none())
            self._graphs[graph] = Triples.of(*merged((one.s, one.p, one.o) for one in (there, triples)))

    def _remove(self, graph: str, triples: Triples) -> None:
        if graph in self._graphs:
            self._graphs[graph] = self._graphs[graph].minus(triples)

    # --- operations

    def _put(self, template: Template, adds: bool) -> None:
        """INSERT DATA, or DELETE DATA."""
        name = self._name(template.graph)
        if name[0] == "?":
            raise Refusal("bad-update", f"data has no variables, and {name} stands in the place of a graph: name it")
        body, base = template.text.encode(), self._update.base
        try:
            chunk = parse_push(body, RdfFormat.TRIG, base=base, blank_prefix=self._prefix())
        except RdfError as error:
            line = max(1, (error.line or 2) - 1)
            raise LanguageError(
                "bad-update", f"{error.message}.", line=line, column=error.column or 1, offending=error.offending or ""
            ) from None
        if not adds and any(term.startswith("_:") for term in chunk.terms.to_pylist()):
            raise Refusal("bad-update", "DELETE DATA names a blank node, which would be a new one: use DELETE WHERE")
        (self._add if adds else self._remove)(name, self._encoded(chunk))

    def _prefix(self) -> str:
        return f"{self._update.blank_prefix}{next(self._labels)}."

    def _modify(self, operation: Modification) -> None:
        deletes = list(self._patterns(operation.deletes, operation.graph))
        inserts = list(self._patterns(operation.inserts, operation.graph))
        if any(node.startswith("_:") for _, triples in deletes for triple in triples for node in triple):
            raise Refusal("bad-update", "a template of DELETE has a blank node, which fits nothing: write a variable")
        rows = self._solutions(operation)
        gone = [found for graph, triples in deletes for found in self._filled(graph, triples, rows, {})]
        fresh: dict[str, np.ndarray] = {}  # a label is one node in all templates of the operation, for each solution
        come: list[tuple[str, Triples]] = []
        for graph, triples in inserts:
            come += self._filled(graph, triples, rows, fresh)
        for name, found in gone:
            self._remove(name, found)
        for name, found in come:
            self._add(name, found)

    def _patterns(
        self, templates: Iterable[Template], about: str | None
    ) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """The triples of templates, and the graph of each. Blank nodes that have no label in the text are given one by
        the plan of each template: here one with a space, so that it is no other template's, and none of the text."""
        for place, template in enumerate(templates):
            try:
                query = parse(template.text, base=self._update.base)
            except LanguageError as error:
                raise moved(error) from None
            labels = {token.text for token in tokenize(template.text) if token.key == "BLANK"}
            triples = [
                tuple(f"{node} {place}" if node.startswith("_:") and node not in labels else node for node in triple)
                for triple in plan(query).template
            ]
            yield self._name(template.graph, about), triples

    def _solutions(self, operation: Modification) -> SolutionIds:
        """What the pattern of an operation finds."""
        try:
            made = plan(parse(operation.pattern, base=self._update.base))
        except LanguageError as error:
            raise moved(error) from None
        except Unsupported as error:
            raise Refusal("not-supported", str(error)) from error
        columns = {name: (one.s, one.p, one.o) for name, one in self._graphs.items()}
        if operation.using is not None:
            default = [columns[name] for name in operation.using if name in columns]
            columns = {name: columns[name] for name in operation.using_named or () if name in columns}
        else:
            about = operation.graph or self._update.default
            default = [columns[about]] if about in columns else []
        snapshot = Snapshot(made, self._content, self._limits)
        snapshot.move(Dataset(merged(default), columns), instant=self._update.instant)
        table = snapshot.answer().table
        assert table is not None  # of a SELECT
        terms, places = table.encoded()
        ids = np.append(self._dictionary.encode(self._renamed(terms.to_pylist())), -1)
        return SolutionIds(len(table), {name: ids[place] for name, place in zip(table.variables, places, strict=True)})

    def _renamed(self, terms: list[str]) -> list[str]:
        """Terms in which blank nodes that were made meanwhile have labels that nobody else has."""
        known, prefix = self._dictionary, self._prefix()
        return [
            f"_:{prefix}{place}" if term.startswith("_:") and known.find(term) is None else term
            for place, term in enumerate(terms)
        ]

    def _filled(
        self, graph: str, triples: list[tuple[str, ...]], rows: SolutionIds, fresh: dict[str, np.ndarray]
    ) -> Iterator[tuple[str, Triples]]:
        """What a template says of the solutions, graph by graph. A triple that cannot be one is left out."""
        place = graph if graph[0] == "?" else f"<{graph}>"
        found = [tuple(self._column(node, rows, fresh) for node in (place, *triple)) for triple in triples]
        if not found or not rows.count:
            return
        g, s, p, o = (np.concatenate(column) for column in zip(*found, strict=True))
        kinds = self._kinds_of_terms()
        fits = (kinds[g] == b"<") & (kinds[p] == b"<") & (kinds[s] != b'"') & (s >= 0) & (o >= 0)
        g, s, p, o = (column[fits] for column in (g, s, p, o))
        order = np.argsort(g, kind="stable")
        ids, starts = np.unique(g[order], return_index=True)
        ends = np.append(starts, len(g))[1:]
        for name, start, end in zip(self._dictionary.decode(ids), starts, ends, strict=True):
            its = order[start:end]
            yield name[1:-1], Triples.of(s[its], p[its], o[its])

    def _kinds_of_terms(self) -> np.ndarray:
        """The first letter of each term, by its id; none of -1. Only terms that are new since this was asked last are
        looked at."""
        known = len(self._kinds) - 1
        if known < len(self._dictionary):
            new = self._dictionary.decode(np.arange(known, len(self._dictionary)))
            letters = "".join(term[0] for term in new).encode()
            self._kinds = np.concatenate([self._kinds[:-1], np.frombuffer(letters, "S1"), [b""]])
        return self._kinds

    def _column(self, node: str, rows: SolutionIds, fresh: dict[str, np.ndarray]) -> np.ndarray:
        """The ids of a node of a template, one for each solution."""
        if node[0] == "?":
            return rows.columns.get(node[1:], np.full(rows.count, -1, np.int64))
        if node.startswith("_:"):
            if node not in fresh:
                prefix = self._prefix()
                fresh[node] = self._dictionary.encode([f"_:{prefix}{row}" for row in range(rows.count)])
            return fresh[node]
        return np.full(rows.count, self._dictionary.encode([node])[0], np.int64)

    def _manage(self, operation: Management) -> None:
        verb, source = operation.verb, operation.source
        if verb in ("CLEAR", "DROP") and source in ("NAMED", "ALL"):
            names = [name for name in self._graphs if source == "ALL" or name != self._update.default]
        else:
            names = [self._name(source)]
        missing = [name for name in names if name not in self._graphs]
        if verb == "CREATE":
            if not missing and not operation.silent:
                raise Refusal("bad-update", f"the graph <{names[0]}> is there already: write CREATE SILENT")
            self._graphs.setdefault(names[0], Triples.none())
        elif missing and source != "DEFAULT":
            if not operation.silent:
                raise Refusal("bad-update", f"there is no graph <{missing[0]}>: write {verb} SILENT")
        elif verb == "CLEAR":
            self._graphs.update((name, Triples.none()) for name in names)
        elif verb == "DROP":
            for name in names:
                self._graphs.pop(name, None)
        else:
            self._carry(verb, names[0], self._name(operation.target))

    def _carry(self, verb: str, source: str, target: str) -> None:
        """ADD, MOVE and COPY."""
        if source == target:
            return
        triples = self._graphs.get(source, Triples.none())
        if verb == "ADD":
            self._graphs.setdefault(target, Triples.none())
            self._add(target, triples)
            return
        self._graphs[target] = triples
        if verb == "MOVE":
            self._graphs.pop(source, None)
