"""Graph scan: the matches of a pattern that the graph itself is a table of: `?s p ?o`, or `?s ?p ?o`.

scan = GraphScan(moving, dictionary, ("?s", "<urn:p>", "?o"))
scan.move()                                     # as a table of matches, but nothing is kept (see `matches`)
scan.visible(after, ["?s", "?o"])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.answers.computing import Columns
from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.joins import PLACES
from csparql_spark.relations.moving import Mark, Moving


class GraphScan:
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
