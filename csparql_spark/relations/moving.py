"""A moving graph: tagged triples, with a memory of what was added, for those who follow it.

Who keeps something that follows from the graph (the matches of a pattern, say) need not look at all of it again when it
has moved: what was added since the last look is remembered until everybody has seen it. What expires need not be told,
because tags tell it. What is taken back before its time is not told one by one: then everybody starts anew.

    moving = Moving(graph)
    mark = moving.mark()                    # "I have seen the graph as it is now"
    moving.tell(graph.add([(s, p, o, tag)]))
    moving.since(mark)                      # the facts that came or hold longer since; the mark stands at now
    moving.forget()
    moving.since(mark)                      # None: start anew, from moving.graph

Invariants: facts that `since` gives were in the graph at some time since the mark; one that was told twice (it holds
longer) is given twice. The memory is bounded: a mark that is further behind than the graph is large is given up.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable

import numpy as np

from csparql_spark.relations.graph import Facts, TaggedGraph

LEAST = 65_536  # facts that are remembered, however small the graph is


class Mark:
    """How far somebody has seen a moving graph. It counts as long as somebody holds it."""

    __slots__ = ("__weakref__", "place")

    def __init__(self, place: int) -> None:
        self.place = place


class Moving:
    def __init__(self, graph: TaggedGraph | None = None) -> None:
        self.graph = TaggedGraph() if graph is None else graph
        self._additions: list[Facts] = []
        self._first = 0  # the number of the first that is remembered
        self._count = 0
        self._marks: weakref.WeakSet[Mark] = weakref.WeakSet()
        self._looks = 0  # how often somebody has looked since it was found out what all have seen

    @property
    def remembered(self) -> int:
        """How many facts are kept for those who have not seen them."""
        return self._count

    def mark(self) -> Mark:
        mark = Mark(self._first + len(self._additions))
        self._marks.add(mark)
        return mark

    def tell(self, *added: Facts) -> None:
        """These facts were added to the graph, or hold longer now."""
        if not self._marks:
            self._first += len(self._additions) + len(added)
            self._additions, self._count = [], 0
            return
        self._additions += [facts for facts in added if facts.size]
        self._count += sum(facts.size for facts in added)
        if self._count > max(LEAST, self.graph.rows):
            self._free()
            while self._count > max(LEAST, self.graph.rows):
                self._drop(1)

    def forget(self) -> None:
        """The graph was changed in another way: whoever follows it starts anew."""
        self._drop(len(self._additions))
        self._first += 1  # nobody is there yet, not even who has seen everything

    def since(self, mark: Mark) -> Facts | None:
        """The facts that were told since a mark, which then stands at now; None: too much was told, or it is not known
        what has changed."""
        place, mark.place = mark.place, self._first + len(self._additions)
        if place < self._first:
            return None
        facts = _together(self._additions[place - self._first :])
        self._looks += 1
        # To find out who has seen what takes a look at all marks: it is done once for as many as there are.
        if self._additions and self._looks >= len(self._marks):
            self._looks = 0
            self._free()
        return facts

    def renumber(self, table: np.ndarray) -> None:
        """The graph was renumbered: the id `i` has become `table[i]`, or -1 where nothing that holds has it."""
        self._additions = [_renumbered(facts, table) for facts in self._additions]
        self._count = sum(facts.size for facts in self._additions)

    def _free(self) -> None:
        """Forget what everybody has seen."""
        passed = min(
            (mark.place for mark in self._marks if mark.place >= self._first),
            default=self._first + len(self._additions),
        )
        self._drop(passed - self._first)

    def _drop(self, count: int) -> None:
        self._count -= sum(facts.size for facts in self._additions[:count])
        del self._additions[:count]
        self._first += count


def _together(parts: Iterable[Facts]) -> Facts:
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    return Facts(*map(np.concatenate, zip(*parts))) if parts else Facts.none()


def _renumbered(facts: Facts, table: np.ndarray) -> Facts:
    s, p, o = (table[column] for column in facts[:3])
    return Facts(s, p, o, facts.tag).where((s >= 0) & (p >= 0) & (o >= 0))
