"""Withdrawals: what leaves windows that count, where other windows are in the same query.

The tag of what a window that counts holds would be a number, and that of what the others hold a time: both cannot be in
one graph. So there it is held until it is taken out. A triple is taken out when the last of the windows that count has
let go of its latest element; if a window of time still holds it, it stays as long as that says:

    TRIPLES 2     a b a c             after the third a b a, of which b is the elder; after the fourth a c
    taken out             b           for a has come again

    counted = CountedFacts()
    left = counted.move(entered, last=4, size=2)         # `entered` are tagged with their ordinals
    counted.holds(left)                                  # nothing of it

Invariant: what is held are the triples with an ordinal later than `last` − `size`, each once.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.rows import Triples

UNTOLD = 1 << 62  # the tag of what is held until it is taken out: later than any time


class CountedFacts:
    def __init__(self) -> None:
        self.last = 0  # up to which element it has been moved
        self._latest = TaggedGraph()  # each triple with its latest ordinal
        self._entered: deque[Facts] = deque()  # in the order of their ordinals

    def move(self, entered: Facts, last: int, size: int) -> Facts:
        """Elements have entered, up to the `last`-th; returns what the window does not hold any more."""
        self.last, upto = last, last - size
        if entered.size:
            self._latest.add([entered])
            self._entered.append(entered.where(np.argsort(entered.tag, kind="stable")))
        left = []
        while self._entered and self._entered[0].tag[0] <= upto:
            block = self._entered.popleft()
            count = int(np.searchsorted(block.tag, upto, side="right"))
            left.append(block.where(slice(count)))
            if count < block.size:
                self._entered.appendleft(block.where(slice(count, None)))
        self._latest.expire(upto)
        if not left:
            return Facts.none()
        once = Triples.of(*(np.concatenate(columns) for columns in list(zip(*left, strict=True))[:3]))
        facts = Facts(once.s, once.p, once.o, np.full(len(once), UNTOLD))
        return facts.where(~self.holds(facts))

    def holds(self, facts: Facts) -> np.ndarray:
        """Which of these the window holds."""
        return self._latest.tags_of(*facts[:3]) > self._latest.now

    def terms(self) -> list[np.ndarray]:
        return [self._latest.terms(), *(column for block in self._entered for column in block[:3])]

    def renumber(self, table: np.ndarray) -> None:
        self._latest.renumber(table)
        self._entered = deque(Facts(table[s], table[p], table[o], tag) for s, p, o, tag in self._entered)


class Withdrawals:
    """What is to be taken out of a graph of such windows, and what else holds it."""

    def __init__(self, known: Facts) -> None:
        """`known`: the background, which goes with no window."""
        self._known = TaggedGraph()
        self._known.add([known])
        self._timed = TaggedGraph()  # what windows of time hold

    def keep(self, facts: Facts) -> None:
        """Windows of time hold this, as long as the tags say."""
        self._timed.add([facts])

    def expire(self, horizon: int) -> None:
        self._timed.expire(horizon)

    def still_held(self, left: Facts) -> Facts:
        """Of what windows that count have let go, what windows of time hold, with its tags."""
        tags = self._timed.tags_of(*left[:3])
        return left._replace(tag=tags).where(tags > self._timed.now)

    def unknown(self, left: Facts) -> Facts:
        """What of it the background does not say."""
        return left.where(self._known.tags_of(*left[:3]) <= self._known.now)

    def terms(self) -> list[np.ndarray]:
        return [self._known.terms(), self._timed.terms()]

    def renumber(self, table: np.ndarray) -> None:
        self._known.renumber(table)
        self._timed.renumber(table)
