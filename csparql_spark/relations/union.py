"""Two graphs that are searched as one: a graph as it is, say, and what was taken from it.

    both = GraphUnion(graph, gone)
    both.search(p=7)                        # the rows of both; a triple that is in each of them is found twice

It is for what is looked at seldom, or little: what is found is written out as columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from csparql_spark.kernel.limits import UNBOUNDED
from csparql_spark.relations.graph import Selection, TaggedGraph
from csparql_spark.relations.keys import Column, Permutation


class UnionSelection:
    """Rows that were found, as `Selection` has them."""

    __slots__ = ("_columns", "index", "tag")

    def __init__(self, index: np.ndarray, tag: np.ndarray, columns: dict[str, np.ndarray]) -> None:
        self.index, self.tag, self._columns = index, tag, columns

    def __len__(self) -> int:
        return len(self.tag)

    def column(self, place: str) -> np.ndarray:
        return self._columns[place]

    def where(self, rows: np.ndarray) -> UnionSelection:
        return UnionSelection(
            self.index[rows], self.tag[rows], {place: column[rows] for place, column in self._columns.items()}
        )


class GraphUnion:
    def __init__(self, one: TaggedGraph, other: TaggedGraph) -> None:
        self._graphs = one, other
        self.algebra = one.algebra

    def search(
        self,
        s: Column | None = None,
        p: Column | None = None,
        o: Column | None = None,
        fresh: bool = True,
        most: int = UNBOUNDED,
    ) -> UnionSelection:
        """See `TaggedGraph.search`."""
        return self._both(lambda graph, most: graph.search(s, p, o, fresh, most), most)

    def look(self, order: Permutation, bound: dict[str, Column], fresh: bool, most: int) -> UnionSelection:
        """See `TaggedGraph.look`."""
        return self._both(lambda graph, most: graph.look(order, bound, fresh, most), most)

    def _both(self, look: Callable[[TaggedGraph, int], Selection], most: int) -> UnionSelection:
        found = []
        for graph in self._graphs:
            found.append(look(graph, most))
            most -= len(found[-1])
        return UnionSelection(
            np.concatenate([part.index for part in found]),
            np.concatenate([part.tag for part in found]),
            {place: np.concatenate([part.column(place) for part in found]) for place in "spo"},
        )
