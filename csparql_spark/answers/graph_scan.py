"""Graph scan: the matches of a pattern that the graph itself is a table of: `?s p ?o`, or `?s ?p ?o`.

scan = GraphScan(moving, dictionary, ("?s", "<urn:p>", "?o"))
scan.move()                                     # as a table of matches, but nothing is kept (see `matches`)
scan.visible(after, ["?s", "?o"])
scan.listen(journal)                            # while anybody listens they are kept, with the tags that they had
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from csparql_spark.answers.computing import Columns
from csparql_spark.answers.match_rows import MatchRows
from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.answers.row_journal import RowJournal
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.changes import Changes
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.joins import PLACES
from csparql_spark.relations.moving import Mark, Moving


class GraphScan:
    def __init__(self, moving: Moving, dictionary: TermDictionary, pattern: Pattern) -> None:
        self.variables = tuple(filter(is_variable, pattern))
        self.version = 0
        self._moving, self._dictionary, self._pattern = moving, dictionary, pattern
        self._mark: Mark | None = None
        self._kept: MatchRows | None = None  # while anybody listens
        self._listening: weakref.WeakSet[RowJournal] = weakref.WeakSet()
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
        self._forget()

    def _forget(self) -> None:
        """Whoever listens has to look anew."""
        self._kept = None
        for journal in self._listening:
            journal.lose()

    def move(self) -> None:
        mark, self._mark = self._mark, None  # unknown, should one of the next steps fail
        changes = None if mark is None else self._moving.since(mark)
        if mark is None or changes is None:
            mark = self._moving.mark()
            self.version += 1
            self._forget()
        elif changes.size:
            self.version += self._predicate is None or any(
                bool((facts.p == self._predicate).any()) for facts in (changes.added, changes.removed)
            )
        if self._listening:
            self._follow(changes)
        elif self._kept is not None:
            self._kept = None
        self._mark = mark

    # --- those who are told

    def listen(self, journal: RowJournal) -> None:
        """Tell it from now on what becomes of the rows: a column for each of the `variables`."""
        self._listening.add(journal)
        if self._kept is None:
            self._keep()
        else:
            self._kept.listen(0, journal)

    def _keep(self) -> None:
        self._kept = MatchRows(len(self.variables), self._dictionary)
        self._kept.open()
        self._kept.expire(self._moving.graph.now)
        found = self._moving.graph.search(p=self._predicate)
        self._kept.add(0, [found.column(self._places[name]) for name in self.variables], found.tag)
        for journal in self._listening:
            self._kept.listen(0, journal)

    def _follow(self, changes: Changes | None) -> None:
        if self._kept is None or changes is None:
            self._keep()
            return
        self._kept.expire(self._moving.graph.now)
        predicate = "" if self._predicate is None else self._predicate
        gone, came = changes.went.of(predicate), changes.came.of(predicate)
        if gone.size:
            self._kept.drop(0, self._kept.keys(0, self._columns(gone), gone.size))
        self._kept.add(0, self._columns(came), came.tag)

    def _columns(self, facts: Facts) -> list[np.ndarray]:
        return [getattr(facts, self._places[name]) for name in self.variables]

    # --- looking

    @property
    def now(self) -> int:
        """What has tags up to this is not visible."""
        return self._moving.graph.now

    def visible(self, after: int, names: Sequence[str]) -> tuple[Columns, np.ndarray]:
        found = self._moving.graph.search(p=self._predicate)
        later = found.tag > after
        if not later.all():
            found = found.where(later)
        return {name: found.column(self._places[name]) for name in names}, found.tag

    def count(self, after: int) -> int:
        return self._moving.graph.holding(after, self._predicate)

    rows = 0  # they are the graph's

    @property
    def nbytes(self) -> int:
        """What is kept for those who listen; where nobody does any more it goes with the next move."""
        return 0 if self._kept is None or not self._listening else self._kept.nbytes(0)

    @staticmethod
    def orders() -> list[list[int]]:
        return [[0]]

    def terms(self) -> np.ndarray:
        return self._constants

    def renumber(self, table: np.ndarray) -> None:
        self._begin()
