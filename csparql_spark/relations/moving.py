"""A moving graph: tagged triples, with a journal of their changes, for those who follow it.

Who keeps something that follows from the graph (the matches of a pattern, say) need not look at all of it again when it
has moved: what has come and what was taken back since the last look is remembered until everybody has seen it. What
expires need not be told, because tags tell it; it is told to those who ask for it with their mark, and costs nothing
where nobody does.

    moving = Moving(graph)
    mark = moving.mark()                    # "I have seen the graph as it is now"
    moving.tell(graph.add([(s, p, o, tag)]))
    moving.since(mark).added                # what has changed since (see `changes`); the mark stands at now
    graph.remove(s, p, o)
    moving.tell(removed=facts)              # with the tags that they had
    moving.become(another)                  # the graph is that one now: followers hear what is different
    moving.forget()
    moving.since(mark)                      # None: start anew, from moving.graph

Invariants: whoever had the graph as it was at the mark, and applies what `since` gives, has it as it is now. The
journal is bounded by the size of the graph, since more is no shorter way than the graph itself: the oldest changes are
given up, and a mark that stands before them is answered with None. So it is only for a mark that is further behind than
the graph is large, or where the owner does not know what has changed (`forget`), that one starts anew: not because
something was taken back.
"""

from __future__ import annotations

import weakref

import numpy as np

from csparql_spark.relations.calendar import Calendar
from csparql_spark.relations.changes import ADDED, EXPIRED, REMOVED, Changes, Signed, difference
from csparql_spark.relations.graph import Facts, TaggedGraph

LEAST = 65_536  # facts that are remembered, however small the graph is
NOTHING = Facts.none()


class Mark:
    """How far somebody has seen a moving graph. It counts as long as somebody holds it. `expiry`: what expires is told
    too."""

    __slots__ = ("__weakref__", "expiry", "place")

    def __init__(self, place: int, expiry: bool = False) -> None:
        self.place, self.expiry = place, expiry


class Moving:
    def __init__(self, graph: TaggedGraph | None = None) -> None:
        self.graph = TaggedGraph() if graph is None else graph
        self._journal: list[Signed] = []
        self._first = 0  # the number of the first that is remembered
        self._count = 0
        self._marks: weakref.WeakSet[Mark] = weakref.WeakSet()
        self._hearing: weakref.WeakSet[Mark] = weakref.WeakSet()  # those that are told what expires
        self._calendar: Calendar | None = None  # while there are any
        self._latest: tuple[tuple[int, int, int, bool], Changes] | None = None  # what the last who looked was told
        self._looks = 0  # how often somebody has looked since it was found out what all have seen

    @property
    def remembered(self) -> int:
        """How many facts are kept for those who have not seen them."""
        return self._count

    def mark(self, *, expiry: bool = False) -> Mark:
        """With `expiry` whoever holds the mark is told what expires, too."""
        mark = Mark(self.place, expiry)
        self._marks.add(mark)
        if expiry:
            self._hearing.add(mark)
            self._write_calendar()
        return mark

    def beside(self, mark: Mark) -> Mark:
        """Another mark, where this one stands."""
        other = Mark(mark.place)
        self._marks.add(other)
        return other

    @property
    def place(self) -> int:
        """Where a mark would stand now."""
        return self._first + len(self._journal)

    def tell(self, *added: Facts, removed: Facts = NOTHING) -> None:
        """These facts are not in the graph any more, or hold shorter, and had these tags; then, these were added to it,
        or have another tag now. Of what holds shorter both is told."""
        self._note([Signed(REMOVED, removed), *(Signed(ADDED, facts) for facts in added)])
        if self._calendar is not None:
            for facts in added:
                self._calendar.add(facts)

    def _note(self, signed: list[Signed]) -> None:
        if not self._marks:
            self._first += len(self._journal) + len(signed)
            self._journal, self._count = [], 0
            return
        self._journal += [one for one in signed if one.facts.size]
        self._count += sum(one.facts.size for one in signed)
        if self._count > max(LEAST, self.graph.rows):
            self._free()
            while self._count > max(LEAST, self.graph.rows):
                self._drop(1)

    def expire(self, upto: int) -> None:
        """Tags up to this hold no more in the graph."""
        self.announce(upto)
        self.graph.expire(upto)

    def announce(self, upto: int) -> None:
        """Tell who wants to hear of it what holds until now, and will not when the graph has expired up to this."""
        if self._calendar is None:
            return
        if not self._hearing:
            self._calendar = None
            return
        ending = self._calendar.take(upto)
        if ending.size:
            # Neither taken back since, nor has it another tag; written down twice, it is told once.
            ending = ending.where(self.graph.tags_of(*ending[:3]) == ending.tag)
            self._note([Signed(EXPIRED, TaggedGraph(self.graph.now).add([ending]))])

    def become(self, graph: TaggedGraph) -> None:
        """The graph is another one now."""
        before, self.graph = self.graph, graph
        self._compare(before, graph)
        if self._calendar is not None:
            self._calendar = None
            self._write_calendar()

    def _compare(self, before: TaggedGraph, now: TaggedGraph) -> None:
        if self._marks:
            changes = difference(before, now)
            self._note([Signed(EXPIRED, changes.expired)] if self._hearing else [])
            self._note([Signed(REMOVED, changes.removed), Signed(ADDED, changes.added)])

    def _write_calendar(self) -> None:
        if self._calendar is None and self._hearing:
            self._calendar = Calendar(self.graph.facts())

    def forget(self) -> None:
        """It is not known what has changed: whoever follows the graph starts anew."""
        self._drop(len(self._journal))
        self._first += 1  # nobody is there yet, not even who has seen everything

    def since(self, mark: Mark) -> Changes | None:
        """What has changed since a mark, which then stands at now; None: it was too much to be remembered, or it is not
        known."""
        place, mark.place = mark.place, self.place
        if place < self._first:
            return None
        key = place, mark.place, self.graph.now, mark.expiry
        if self._latest is None or self._latest[0] != key:
            self._latest = key, Changes.between(self._journal[place - self._first :], self.graph, expiry=mark.expiry)
        changes = self._latest[1]
        self._looks += 1
        # To find out who has seen what takes a look at all marks: it is done once for as many as there are.
        if self._journal and self._looks >= len(self._marks):
            self._looks = 0
            self._free()
        return changes

    def renumber(self, table: np.ndarray) -> None:
        """The graph was renumbered: the id `i` has become `table[i]`, or -1 where nothing that holds has it. What names
        such an id is told to nobody: who had seen it would hold the id."""
        self._latest = None
        self._journal = [signed.renumbered(table) for signed in self._journal]
        self._count = sum(signed.facts.size for signed in self._journal)
        if self._calendar is not None:
            self._calendar.renumber(table)

    def _free(self) -> None:
        """Forget what everybody has seen."""
        passed = min(
            (mark.place for mark in self._marks if mark.place >= self._first), default=self._first + len(self._journal)
        )
        self._drop(passed - self._first)

    def _drop(self, count: int) -> None:
        self._count -= sum(signed.facts.size for signed in self._journal[:count])
        del self._journal[:count]
        self._first += count
