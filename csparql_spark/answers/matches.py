"""Matches: the ways to match a basic graph pattern in a moving graph, kept as a table that moves along.

A match is one more derived fact: its tag is the earliest tag of the triples that it was made from, and where it can be
made in several ways, the latest of these. So what expires is known by its tag, and a move costs what was added and
taken back: each triple pattern is matched in that, and joined with the rest of the graph. Since a match has a column
for each variable, the triples that it was made from are known by it: with one of them it goes, before its time.

    tables    = MatchTables(moving, dictionary)
    table     = tables.table((("?s", "<urn:p>", "?o"), ("?o", "<urn:q>", "_:b")))      # one for all who ask the same
    table.move()                                 # after the graph has moved
    table.visible(after, ["?s", "?o"])           # columns of ids, and tags later than `after`

Blank nodes are variables here. A match has a column for each variable, also for those that nobody wants to see: rows
that are equal but for these are several rows. Patterns without a variable match once or not at all. A table may be told
to keep only some of the matches (`keep`): whoever wants to see no others looks at fewer. What a move adds is looked for
together with others whose patterns differ in their constants only (see `shared_templates`).

Whoever has the content's ids renumbered has to tell it (`terms`, `renumber`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.answers.shared_templates import Generalized, TemplateFamily, TemplateSpan, generalized
from csparql_spark.kernel.limits import TooMuchAtOnce
from csparql_spark.kernel.sort import distinct, order_of, ordered
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.changes import ADDED, REMOVED, Signed
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.joins import PLACES, Plan, Relation, Shape, in_order, matched, plan, run
from csparql_spark.relations.moving import Mark, Moving
from csparql_spark.relations.records import KeysTooWide, Records
from csparql_spark.relations.runs import Runs
from csparql_spark.relations.tags import NEVER, UNTIL
from csparql_spark.relations.union import GraphUnion

MOST = 5_000_000  # matches that are kept of one pattern
AT_ONCE = 10_000_000  # rows that a step of a join may come across at once
FEW = 1_000  # so many matches are looked at, rather than to join what was taken back with the graph
SPARE = 2  # bits: terms may become four times as many before keys are packed again

Columns = dict[str, np.ndarray]


class TooManyMatches(Exception):
    """What is asked for has more matches than can be kept."""


class Keep(Protocol):
    """Which matches to keep. Equal ones keep the same."""

    @property
    def names(self) -> tuple[str, ...]: ...  # the variables that are looked at

    @property
    def early(self) -> bool: ...  # whether rows may be asked that are not whole yet, and many

    def mask(self, columns: Columns, length: int) -> np.ndarray: ...


class Matches:
    def __init__(
        self,
        moving: Moving,
        dictionary: TermDictionary,
        patterns: tuple[Pattern, ...],
        keep: tuple[Keep, ...] = (),
        families: Callable[[tuple[Pattern, ...]], TemplateFamily] | None = None,
    ) -> None:
        self.variables = tuple(dict.fromkeys(node for triple in patterns for node in triple if is_variable(node)))
        self.version = 0  # grows when there is more to be seen
        self._moving, self._dictionary, self._patterns, self._keep = moving, dictionary, patterns, keep
        self._constants = np.empty(0, dtype=np.int64)
        self._mark: Mark | None = None
        self._shared: tuple[Generalized, TemplateFamily] | None = None  # with whom matches are looked for
        if families is not None and (general := generalized(patterns)) is not None:
            self._shared = general, families(general.template)
        self.constants_apart: tuple[int, ...] = ()
        self._begin()
        if self._shared is not None:
            self._shared[1].join(self)

    def _begin(self) -> None:
        """Look up the constants: ids have a meaning, or another one than before."""
        terms = list(dict.fromkeys(node for triple in self._patterns for node in triple if not is_variable(node)))
        self._constants = self._dictionary.encode(terms)
        ids = dict(zip(terms, self._constants.tolist(), strict=True))
        self._shape = Shape(
            tuple((ids.get(s, s), ids.get(p, p), ids.get(o, o)) for s, p, o in self._patterns), self.variables
        )
        if self._shared is not None:
            self.constants_apart = tuple(ids[term] for term in self._shared[0].constants)
        self._plans: dict[int, Plan] = {}
        self._scale = -1

    # --- moving

    def move(self) -> None:
        """Follow the graph. It costs what was added to it since."""
        graph = self._moving.graph
        mark, self._mark = self._mark, None  # unknown, should one of the next steps fail
        before = -1 if mark is None else mark.place
        changes = None if mark is None else self._moving.since(mark)
        if mark is None or changes is None:
            mark = self._moving.mark()
            self._records, self._runs = self._made(), Runs(graph.now)
            self.version += 1
            place = self._smallest()
            self._extend(place, matched(self._shape.body[place], graph.facts()))
        else:
            self._runs.expire(graph.now)
            span = TemplateSpan(before, mark.place, graph.now)
            if changes.removed.size:
                self._shrink(changes.removed, span)
            if changes.added.size:
                self._grow(changes.added.where(changes.added.tag > graph.now), span)
        self._mark = mark

    def _grow(self, added: Facts, span: TemplateSpan) -> None:
        """Add the matches that there are since these were added."""
        share = self._share(Signed(ADDED, added), span)
        if share is None:
            for place, pattern in enumerate(self._shape.body):
                self._extend(place, matched(pattern, _with(pattern, added)))
            return
        self._add(self._sifted(share, self._keep)[0])
        if self._runs.rows > MOST:
            raise self._too_many(MOST)

    def _shrink(self, removed: Facts, span: TemplateSpan) -> None:
        """Drop the matches that were made from facts that were taken back: what these facts are joined with is what the
        graph has, and they themselves. That may find matches that never were, or come again with what was added
        since."""
        if self._runs.rows > max(FEW, removed.size):
            share = self._share(Signed(REMOVED, removed), span)
            if share is not None:
                self._drop(self._keys(self._sifted(share, self._keep)[0]))
                return
        gone = TaggedGraph()
        gone.add([removed])
        if self._runs.rows > max(FEW, removed.size):
            graph = GraphUnion(self._moving.graph, gone)
            try:
                for place, pattern in enumerate(self._shape.body):
                    start = matched(pattern, _with(pattern, removed))
                    for found in self._found(self._plan(place), start, self._keep, graph):
                        self._drop(self._keys(found))
                return
            except TooManyMatches:
                pass  # more than are kept: these can be looked at
        self._drop(self._made_of(gone))

    def _made_of(self, facts: TaggedGraph) -> np.ndarray:
        """The keys of the matches that any of these facts is in. It costs as much as matches are kept."""
        keys, tags = self._runs.holding()
        columns = {name: self._records.column(keys, place) for place, name in enumerate(self.variables)}
        made = np.zeros(len(tags), dtype=bool)
        for pattern in self._shape.body:
            s, p, o = (columns[node] if isinstance(node, str) else np.full(len(tags), node) for node in pattern)
            made |= facts.tags_of(s, p, o) > NEVER
        return keys[made]

    def _share(self, changed: Signed, span: TemplateSpan) -> Relation | None:
        """The matches with what has changed, found together with others; None if that is not done."""
        if self._shared is None:
            return None
        general, family = self._shared
        return family.shares(self, general.names, span, changed)

    def _extend(self, place: int, start: Relation) -> None:
        """Add the matches that begin with these."""
        for found in self._found(self._plan(place), start, self._keep, self._moving.graph):
            self._add(found)
            if self._runs.rows > MOST:
                raise self._too_many(MOST)

    def _found(
        self, steps: Plan, rows: Relation, keep: Sequence[Keep], graph: TaggedGraph | GraphUnion
    ) -> Iterator[Relation]:
        """The matches that rows lead to in a graph, of which they `keep` some; in parts, where they are many more than
        there are triples. What can be left out already is not joined."""
        for number, step in enumerate(steps):
            rows, keep = self._sifted(rows, keep)
            try:
                rows = run((step,), graph, rows, AT_ONCE)
            except TooMuchAtOnce:
                if len(rows.tag) == 1:
                    raise self._too_many(AT_ONCE) from None
                half = len(rows.tag) // 2
                for part in (slice(None, half), slice(half, None)):
                    yield from self._found(
                        steps[number:],
                        Relation({name: column[part] for name, column in rows.columns.items()}, rows.tag[part]),
                        keep,
                        graph,
                    )
                return
        yield self._sifted(rows, keep)[0]

    def _sifted(self, rows: Relation, keep: Sequence[Keep]) -> tuple[Relation, Sequence[Keep]]:
        """The rows that are to be kept, by what can be told of them, and what cannot be told yet."""
        columns, tag = rows
        later = []
        whole = len(columns) == len(self.variables)
        for one in keep:
            if not whole and not (one.early and all(name in columns for name in one.names if name in self.variables)):
                later.append(one)
            elif len(tag):
                mask = one.mask(columns, len(tag))
                if not mask.all():
                    columns = {name: column[mask] for name, column in columns.items()}
                    tag = tag[mask]
        return Relation(columns, tag), later

    def _too_many(self, most: int) -> TooManyMatches:
        return TooManyMatches(f"the pattern {_text(self._patterns)} has more than {most:,} matches")

    def _smallest(self) -> int:
        """The triple pattern that is expected to have the fewest matches."""
        graph = self._moving.graph
        return min(
            range(len(self._shape.body)),
            key=lambda place: (
                graph.count(predicate) if isinstance(predicate := self._shape.body[place][1], int) else graph.rows
            ),
        )

    def _plan(self, place: int) -> Plan:
        graph = self._moving.graph
        scale = graph.rows.bit_length() // 2
        if scale != self._scale:  # the graph has become another one: four times as large, or a quarter
            self._plans.clear()
            self._scale = scale
        if place not in self._plans:
            known = [node for node in self._shape.body[place] if isinstance(node, str)]
            self._plans[place] = plan(self._shape, graph, known, place, all_fresh=True)
        return self._plans[place]

    def _add(self, found: Relation) -> None:
        if not len(found.tag):
            return
        keys = self._keys(found)  # before the runs are looked at: they may be written again for it
        grown, _ = self._runs.add(*UNTIL.united(keys, found.tag))
        self._runs.settle()
        self.version += bool(grown.any())
        if self._records.given > 65_536 + 4 * self._runs.rows:
            self._repack()

    def _keys(self, found: Relation) -> np.ndarray:
        columns = [found.columns[name] for name in self.variables] if len(found.tag) else []
        if not columns:
            return np.zeros(len(found.tag), dtype=np.int64)
        try:
            return self._records.pack(columns)
        except KeysTooWide:
            self._repack()
            return self._records.pack(columns)

    def _drop(self, keys: np.ndarray) -> None:
        """Matches that are not there do not matter."""
        keys = distinct(ordered(keys))
        keys = keys[self._runs.tags_of(keys) > NEVER]
        if len(keys):
            self._runs.remove(keys)
            self.version += 1

    def _made(self) -> Records:
        return Records(len(self.variables), len(self._dictionary).bit_length() + SPARE)

    def _repack(self, table: np.ndarray | None = None) -> None:
        """Write what is kept again: for wider ids, or for others."""
        keys, tags = self._runs.holding()
        columns = [self._records.column(keys, place) for place in range(len(self.variables))]
        if table is not None:
            columns = [table[column] for column in columns]
        self._records, self._runs = self._made(), Runs(self._runs.now)
        if len(tags):
            keys = self._records.pack(columns) if columns else np.zeros(len(tags), dtype=np.int64)
            order = order_of(keys)
            self._runs.add(keys[order], tags[order])
            self._runs.settle()

    # --- looking

    def visible(self, after: int, names: Sequence[str]) -> tuple[Columns, np.ndarray]:
        """Columns of the matches with tags later than `after`, in no order, and these tags."""
        keys, tags = [], []
        for run_ in self._runs.runs:
            after_ = max(after, self._runs.now)
            later = slice(None) if run_.all_hold(after_) else run_.tags > after_
            keys.append(run_.keys[later])
            tags.append(run_.tags[later])
        if len(keys) != 1:
            keys = [np.concatenate(keys) if keys else np.empty(0, dtype=np.int64)]
            tags = [np.concatenate(tags) if tags else np.empty(0, dtype=np.int64)]
        places = {name: place for place, name in enumerate(self.variables)}
        return {name: self._records.column(keys[0], places[name]) for name in names}, tags[0]

    def count(self, after: int) -> int:
        """How many matches have tags later than `after`."""
        after = max(after, self._runs.now)
        return sum(
            len(run_.tags) if run_.all_hold(after) else int(np.count_nonzero(run_.tags > after))
            for run_ in self._runs.runs
        )

    @property
    def rows(self) -> int:
        """How many are kept, also those that hold no more."""
        return self._runs.rows if self._mark is not None else 0

    def orders(self) -> list[list[int]]:
        """For a change in each triple pattern: its place, and those of the others in the order in which they would be
        joined to it now."""
        body, graph = self._shape.body, self._moving.graph
        bound = [[node for node in pattern if isinstance(node, str)] for pattern in body]
        return [
            [place, *(other for other, _ in in_order(body, graph, bound[place], place))] for place in range(len(body))
        ]

    @property
    def nbytes(self) -> int:
        if self._mark is None:
            return 0
        return self._records.nbytes + sum(run_.keys.nbytes + run_.tags.nbytes for run_ in self._runs.runs)

    # --- ids

    def terms(self) -> np.ndarray:
        """The ids that are kept."""
        if self._mark is None:
            return self._constants
        keys, _ = self._runs.holding()
        return np.concatenate(
            [self._constants, *(self._records.column(keys, place) for place in range(len(self.variables)))]
        )

    def renumber(self, table: np.ndarray) -> None:
        self._begin()
        if self._mark is not None:
            self._repack(table)


class GraphScan:
    """The matches of a single pattern that the graph itself is a table of: `?s p ?o`, or `?s ?p ?o`."""

    def __init__(self, moving: Moving, dictionary: TermDictionary, pattern: Pattern) -> None:
        self.variables = tuple(filter(is_variable, pattern))
        self.version = 0
        self._moving, self._dictionary, self._pattern = moving, dictionary, pattern
        self._mark: Mark | None = None
        self._places = {node: place for node, place in zip(pattern, PLACES) if is_variable(node)}
        self._begin()

    @staticmethod
    def fits(patterns: tuple[Pattern, ...]) -> bool:
        if len(patterns) != 1:
            return False
        s, _, o = map(is_variable, patterns[0])
        return s and o and len(set(patterns[0])) == 3

    def _begin(self) -> None:
        self._constants = self._dictionary.encode([node for node in self._pattern if not is_variable(node)])
        self._predicate = int(self._constants[0]) if len(self._constants) else None

    def move(self) -> None:
        changes = None if self._mark is None else self._moving.since(self._mark)
        if changes is None:
            self._mark = self._moving.mark()
            self.version += 1
        elif changes.size:
            self.version += self._predicate is None or any(
                bool((facts.p == self._predicate).any()) for facts in (changes.added, changes.removed)
            )

    def visible(self, after: int, names: Sequence[str]) -> tuple[Columns, np.ndarray]:
        found = self._moving.graph.search(p=self._predicate)
        later = found.tag > after
        if not later.all():
            found = found.where(later)
        return {name: found.column(self._places[name]) for name in names}, found.tag

    def count(self, after: int) -> int:
        return self._moving.graph.holding(after, self._predicate)

    rows = nbytes = 0  # they are the graph's

    @staticmethod
    def orders() -> list[list[int]]:
        return [[0]]

    def terms(self) -> np.ndarray:
        return self._constants

    def renumber(self, table: np.ndarray) -> None:
        self._begin()


class MatchTables:
    """The tables of one moving graph. A table is there as long as somebody holds it."""

    def __init__(self, moving: Moving, dictionary: TermDictionary) -> None:
        self.moving, self.dictionary = moving, dictionary
        self._tables: weakref.WeakValueDictionary[object, Matches | GraphScan] = weakref.WeakValueDictionary()
        self._families: weakref.WeakValueDictionary[tuple[Pattern, ...], TemplateFamily] = weakref.WeakValueDictionary()

    def table(self, patterns: tuple[Pattern, ...], keep: tuple[Keep, ...] = ()) -> Matches | GraphScan:
        """The matches of a pattern. It is the same table for the same pattern."""
        key = patterns, keep
        found = self._tables.get(key)
        if found is None:
            if GraphScan.fits(patterns) and not keep:
                found = GraphScan(self.moving, self.dictionary, patterns[0])
            else:
                found = Matches(self.moving, self.dictionary, patterns, keep, self._family)
            self._tables[key] = found
        return found

    def _family(self, template: tuple[Pattern, ...]) -> TemplateFamily:
        family = self._families.get(template)
        if family is None:
            family = self._families[template] = TemplateFamily(self.moving, self.dictionary, template)
        return family

    def terms(self) -> np.ndarray:
        parts = [table.terms() for table in list(self._tables.values())]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def renumber(self, table: np.ndarray) -> None:
        for matches in list(self._tables.values()):
            matches.renumber(table)
        for family in list(self._families.values()):
            family.restart()


def parted(patterns: Sequence[Pattern]) -> list[tuple[Pattern, ...]]:
    """The patterns, by which share a variable with which, through others too: what shares none need not be joined to be
    kept."""
    parts: list[tuple[set[str], list[Pattern]]] = []
    for pattern in dict.fromkeys(patterns):
        mine = {node for node in pattern if is_variable(node)}
        near = [part for part in parts if part[0] & mine]
        parts = [part for part in parts if not part[0] & mine]
        names = mine.union(*(names for names, _ in near))
        parts.append((names, [*(one for _, before in near for one in before), pattern]))
    return [tuple(found) for _, found in parts]


def renamed(patterns: Sequence[Pattern]) -> tuple[tuple[Pattern, ...], dict[str, str]]:
    """The patterns with variables of other names, the same for all that differ in these only; and the names."""
    names: dict[str, str] = {}

    def name(node: str) -> str:
        return names.setdefault(node, f"?{len(names)}") if is_variable(node) else node

    return tuple((name(s), name(p), name(o)) for s, p, o in patterns), names


def _with(pattern: tuple[int | str, ...], facts: Facts) -> Facts:
    """Facts, less some that cannot match."""
    if isinstance(pattern[1], int) and facts.size:
        return facts.where(facts.p == pattern[1])
    return facts


def _text(patterns: tuple[Pattern, ...]) -> str:
    return " . ".join(" ".join(pattern) for pattern in patterns)
