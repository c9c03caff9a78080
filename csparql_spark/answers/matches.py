"""Matches: the ways to match a basic graph pattern in a moving graph, kept as a table that moves along.

A match is one more derived fact: its tag is the earliest tag of the triples that it was made from, and where it can be
made in several ways, the latest of these. So what expires is known by its tag, and a move costs what was added and
taken back: each triple pattern is matched in that, and joined with the rest of the graph. Since a match has a column
for each variable, the triples that it was made from are known by it: with one of them it goes, before its time.

    tables    = MatchTables(moving, dictionary)
    table     = tables.table((("?s", "<urn:p>", "?o"), ("?o", "<urn:q>", "_:b")))      # one for all who ask the same
    table.move()                                 # after the graph has moved
    table.visible(after, ["?s", "?o"])           # columns of ids, and tags later than `after`
    table.listen(journal)                        # what becomes of them from now on is noted there (see `row_journal`)

Blank nodes are variables here. A match has a column for each variable, also for those that nobody wants to see: rows
that are equal but for these are several rows. Patterns without a variable match once or not at all. A table may be told
to keep only some of the matches (`keep`): whoever wants to see no others looks at fewer. The rows of tables whose
patterns differ in their constants only are kept together, and what a move adds is looked for together, once they are
many (see `shared_templates`); else each of them looks for itself.

Whoever has the content's ids renumbered has to tell it (`terms`, `renumber`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.computing import Columns
from csparql_spark.answers.graph_scan import GraphScan
from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.answers.row_filters import RowFilter
from csparql_spark.answers.row_journal import RowJournal
from csparql_spark.answers.shared_templates import MOST, TemplateFamily, generalized, made_of, together
from csparql_spark.kernel.limits import TooMuchAtOnce
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.changes import Changes
from csparql_spark.relations.graph import TaggedGraph
from csparql_spark.relations.joins import Plan, Relation, Shape, in_order, matched, plan, run
from csparql_spark.relations.moving import Mark, Moving
from csparql_spark.relations.predicates import ByPredicate
from csparql_spark.relations.union import GraphUnion

AT_ONCE = 10_000_000  # rows that a step of a join may come across at once
TOGETHER = 1_000_000  # rows that are added at once
FEW_ROWS = 256  # so many are not put to a test before they are whole
FEW = 1_000  # so many matches are looked at, rather than to join what was taken back with the graph


class TooManyMatches(Exception):
    """What is asked for has more matches than can be kept."""


class Sifted(NamedTuple):
    """Rows, and the tests that they have not been put to yet."""

    rows: Relation
    later: Sequence[RowFilter]


class Matches:
    def __init__(self, tables: MatchTables, patterns: tuple[Pattern, ...], keep: tuple[RowFilter, ...] = ()) -> None:
        self.variables = tuple(dict.fromkeys(node for triple in patterns for node in triple if is_variable(node)))
        self.keep, self._patterns = keep, patterns
        self._moving, self._dictionary = tables.moving, tables.dictionary
        template, self.names, self._apart = generalized(patterns)
        self._places = {name: place for place, name in enumerate(self.variables)}
        self.mark: Mark | None = None  # how far it has followed the graph by itself
        self._known = False  # whether its rows are there
        self._family = tables.family(template)
        self.restart()
        self.slot = self._family.join(self)

    def restart(self) -> None:
        """Look up the constants: ids have a meaning, or another one than before."""
        terms = list(dict.fromkeys(node for triple in self._patterns for node in triple if not is_variable(node)))
        self.constants = self._dictionary.encode(terms)
        ids = dict(zip(terms, self.constants.tolist(), strict=True))
        self._shape = Shape(
            tuple((ids.get(s, s), ids.get(p, p), ids.get(o, o)) for s, p, o in self._patterns), self.variables
        )
        self.constants_apart = tuple(ids[term] for term in self._apart)
        self._plans: dict[int, Plan] = {}
        self._scale = -1

    # --- moving

    def move(self) -> None:
        """Follow the graph. It costs what was added to it since."""
        family = self._family
        family.move()
        if not family.is_together(self):
            self._move_alone()
            family.take(self)

    def _move_alone(self) -> None:
        mark, self.mark = self.mark, None  # unknown, should one of the next steps fail
        scale = self._moving.graph.rows.bit_length() // 2
        if scale != self._scale:  # the graph has become another one: four times as large, or a quarter
            self._plans.clear()
            self._scale = scale
        changes = None if mark is None else self._moving.since(mark)
        if mark is None or changes is None:
            mark = self._moving.mark()
            if self._known:
                self._family.rows.clear([self.slot])
            self._known = True
            place = self._smallest()
            self._extend([(place, matched(self._shape.body[place], self._moving.graph.facts()))])
        else:
            if changes.removed.size:
                self._shrink(changes)
            if changes.added.size:
                self._extend(self._starts(changes.came))
        self.mark = mark

    def _starts(self, facts: ByPredicate) -> Iterator[tuple[int, Relation]]:
        """The matches of each of the patterns in some facts."""
        for place, pattern in enumerate(self._shape.body):
            some = facts.of(pattern[1])
            if some.size:
                yield place, matched(pattern, some, known=True)

    def _shrink(self, changes: Changes) -> None:
        """Drop the matches that were made from facts that were taken back: what these facts are joined with is what the
        graph has, and they themselves. That may find matches that never were, or come again with what was added
        since."""
        rows, removed = self._family.rows, changes.removed
        if self.rows > max(FEW, removed.size):
            gone = TaggedGraph()
            gone.add([removed])
            graph = GraphUnion(self._moving.graph, gone)
            try:
                for place, start in self._starts(changes.went):
                    for found in self._found(self._plan(place), Sifted(start, self.keep), graph):
                        rows.drop(self.slot, rows.keys(self.slot, *self._columns(self._sifted(found).rows)))
                return
            except TooManyMatches:
                pass  # more than are kept: these can be looked at
        keys, _ = rows.seen(self.slot, rows.now)
        columns = dict(zip(self.variables, rows.columns(keys)))
        rows.drop(self.slot, keys[made_of(self._shape.body, columns, len(keys), removed)])

    def _extend(self, starts: Iterable[tuple[int, Relation]]) -> None:
        """Add the matches that begin with these."""
        waiting: list[Sifted] = []
        count = 0
        for place, start in starts:
            for found in self._found(self._plan(place), Sifted(start, self.keep), self._moving.graph):
                if len(found.rows.tag):
                    waiting.append(found)
                    count += len(found.rows.tag)
                if count > TOGETHER:
                    self._add(waiting)
                    waiting, count = [], 0
        if waiting:
            self._add(waiting)

    def _add(self, found: list[Sifted]) -> None:
        rows = self._family.rows
        whole = together([one.rows for one in found], self.variables)
        if any(one.later for one in found):
            whole = self._sifted(Sifted(whole, self.keep)).rows
        rows.add(self.slot, self._columns(whole)[0], whole.tag)
        if rows.total > MOST and rows.rows(self.slot) > MOST:
            raise self._too_many(MOST)

    def _columns(self, found: Relation) -> tuple[list[np.ndarray], int]:
        if not len(found.tag):  # what was found before may not have all columns
            return [found.tag for _ in self.variables], 0
        return [found.columns[name] for name in self.variables], len(found.tag)

    def _found(self, steps: Plan, found: Sifted, graph: TaggedGraph | GraphUnion) -> Iterator[Sifted]:
        """The matches that rows lead to in a graph; in parts, where they are many more than there are triples. What can
        be left out already is not joined, unless it is so little that to find out takes longer."""
        for number, step in enumerate(steps):
            if len(found.rows.tag) > FEW_ROWS:
                found = self._sifted(found)
            rows, later = found
            try:
                found = Sifted(run((step,), graph, rows, AT_ONCE), later)
            except TooMuchAtOnce:
                if len(rows.tag) == 1:
                    raise self._too_many(AT_ONCE) from None
                half = len(rows.tag) // 2
                for part in (slice(None, half), slice(half, None)):
                    some = Relation({name: column[part] for name, column in rows.columns.items()}, rows.tag[part])
                    yield from self._found(steps[number:], Sifted(some, later), graph)
                return
        yield self._sifted(found) if len(found.rows.tag) > FEW_ROWS else found

    def _sifted(self, found: Sifted) -> Sifted:
        """The rows that are to be kept, by what can be told of them."""
        (columns, tag), tests = found
        if not tests:
            return found
        later = []
        whole = len(columns) == len(self.variables)
        for one in tests:
            if not whole and not (one.early and all(name in columns for name in one.names if name in self.variables)):
                later.append(one)
            elif len(tag):
                mask = one.mask(columns, len(tag))
                if not mask.all():
                    columns = {name: column[mask] for name, column in columns.items()}
                    tag = tag[mask]
        return Sifted(Relation(columns, tag), later)

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
        found = self._plans.get(place)
        if found is None:
            known = [node for node in self._shape.body[place] if isinstance(node, str)]
            found = self._plans[place] = plan(self._shape, self._moving.graph, known, place, all_fresh=True)
        return found

    # --- looking

    @property
    def version(self) -> int:
        """Grows when there is more to be seen."""
        return self._family.rows.version(self.slot)

    def visible(self, after: int, names: Sequence[str]) -> tuple[Columns, np.ndarray]:
        """Columns of the matches with tags later than `after`, in no order, and these tags."""
        rows = self._family.rows
        keys, tags = rows.seen(self.slot, after)
        return {name: rows.column(keys, self._places[name]) for name in names}, tags

    def listen(self, journal: RowJournal) -> None:
        """Tell it from now on what becomes of the matches: a column for each of the `variables`."""
        self._family.rows.listen(self.slot, journal)

    @property
    def now(self) -> int:
        """What has tags up to this is not visible."""
        return self._family.rows.now

    def count(self, after: int) -> int:
        """How many matches have tags later than `after`."""
        return self._family.rows.count(self.slot, after)

    @property
    def rows(self) -> int:
        """How many are kept, also those that hold no more."""
        return self._family.rows.rows(self.slot)

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
        return self._family.rows.nbytes(self.slot)


class MatchTables:
    """The tables of one moving graph. A table is there as long as somebody holds it."""

    def __init__(self, moving: Moving, dictionary: TermDictionary) -> None:
        self.moving, self.dictionary = moving, dictionary
        self._tables: weakref.WeakValueDictionary[object, Matches | GraphScan] = weakref.WeakValueDictionary()
        self._families: weakref.WeakValueDictionary[tuple[Pattern, ...], TemplateFamily] = weakref.WeakValueDictionary()

    def table(self, patterns: tuple[Pattern, ...], keep: tuple[RowFilter, ...] = ()) -> Matches | GraphScan:
        """The matches of a pattern. It is the same table for the same pattern."""
        key = patterns, keep
        found = self._tables.get(key)
        if found is None:
            if GraphScan.fits(patterns) and not keep:
                found = GraphScan(self.moving, self.dictionary, patterns[0])
            else:
                found = Matches(self, patterns, keep)
            self._tables[key] = found
        return found

    def family(self, template: tuple[Pattern, ...]) -> TemplateFamily:
        """All whose patterns differ in constants only."""
        family = self._families.get(template)
        if family is None:
            family = self._families[template] = TemplateFamily(self.moving, self.dictionary, template)
        return family

    def _parts(self) -> list[GraphScan | TemplateFamily]:
        scans = [table for table in list(self._tables.values()) if isinstance(table, GraphScan)]
        return [*scans, *list(self._families.values())]

    def terms(self) -> np.ndarray:
        return np.concatenate([np.empty(0, dtype=np.int64), *(part.terms() for part in self._parts())])

    def renumber(self, table: np.ndarray) -> None:
        for part in self._parts():
            part.renumber(table)


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


def _text(patterns: tuple[Pattern, ...]) -> str:
    return " . ".join(" ".join(pattern) for pattern in patterns)
