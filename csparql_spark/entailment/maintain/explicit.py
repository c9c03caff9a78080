"""Explicit facts: what was stated, apart from what follows from it.

A materialization has to know them to take one back, and to begin anew; not for each slide. So what is added only waits
in a list until somebody asks, or until so much waits that putting it in order costs little for each fact. What has
expired meanwhile leaves the list from its front: in a window that only moves on, hardly anything is ever put in order.

    explicit.add(s, p, o, tag)
    explicit.tags_of(s, p, o)               # NEVER for what was not stated
"""

from __future__ import annotations

from collections import deque

import numpy as np

from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.keys import Column

WAITING = 4096  # facts that may wait, however few are there
SPARE = 4  # or so many times as many as there were when facts were put in order last


class ExplicitFacts:
    def __init__(self) -> None:
        self._graph = TaggedGraph()
        self._waiting: deque[tuple[Facts, int]] = deque()  # with the last of their tags
        self._count, self._most = 0, WAITING

    def add(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        """A fact that is stated again keeps the later tag."""
        if not len(tag):
            return
        self._waiting.append((Facts(s, p, o, tag), int(tag.max())))
        self._count += len(tag)
        if self._count > self._most:
            self._most = max(WAITING, SPARE * self._ordered().rows)

    def _ordered(self) -> TaggedGraph:
        if self._waiting:
            self._graph.add(facts for facts, _ in self._waiting)
            self._waiting.clear()
            self._count = 0
        return self._graph

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        self._ordered().remove(s, p, o)

    def tags_of(self, s: np.ndarray, p: Column, o: np.ndarray) -> np.ndarray:
        return self._ordered().tags_of(s, p, o)

    def expire(self, upto: int) -> None:
        self._graph.expire(upto)
        while self._waiting and self._waiting[0][1] <= upto:
            self._count -= self._waiting.popleft()[0].size

    def facts(self) -> Facts:
        return self._ordered().facts()

    def terms(self) -> np.ndarray:
        return self._ordered().terms()

    def renumber(self, table: np.ndarray) -> None:
        self._ordered().renumber(table)
