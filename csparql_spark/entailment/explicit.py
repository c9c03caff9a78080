"""Explicit facts: what was stated, apart from what follows from it.

A materialization has to know them to take one back, and to begin anew; not for each slide. So what is added only waits
in a list until somebody asks, or until so much waits that putting it in order costs little for each fact.

    explicit.add(s, p, o, tag)
    explicit.tags_of(s, p, o)               # NEVER for what was not stated
"""

from __future__ import annotations

import numpy as np

from csparql_spark.relations.graph import Facts, TaggedGraph

WAITING = 4096          # facts that may wait, however few are there


class ExplicitFacts:
    def __init__(self) -> None:
        self._graph = TaggedGraph()
        self._waiting: list[Facts] = []
        self._count = 0

    def add(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        """A fact that is stated again keeps the later tag."""
        self._waiting.append(Facts(s, p, o, tag))
        self._count += len(tag)
        if self._count > max(WAITING, self._graph.rows):
            self._ordered()

    def _ordered(self) -> TaggedGraph:
        if self._waiting:
            self._graph.add(self._waiting)
            self._waiting, self._count = [], 0
        return self._graph

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        self._ordered().remove(s, p, o)

    def tags_of(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> np.ndarray:
        return self._ordered().tags_of(s, p, o)

    def expire(self, upto: int) -> None:
        self._graph.expire(upto)

    def facts(self) -> Facts:
        return self._ordered().facts()

    def terms(self) -> np.ndarray:
        return self._ordered().terms()

    def renumber(self, table: np.ndarray) -> None:
        self._ordered().renumber(table)
