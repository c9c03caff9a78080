"""Changes: what makes another graph of a graph. They are signed, tagged facts, and flow from the content of windows to
closures, and from there to all that follows a graph.

    added      facts that are there now and were not, or have another tag: with the tag that they have now
    removed    facts that were taken back before their time, or hold shorter than they did: with the tag that they had
    expired    facts whose time is over, as their tags had told. Only who asks for them is told

    old  (1, p, 2) until 9   (1, p, 3) until 9   (1, p, 4) until 5
    new  (1, p, 2) until 9   (1, p, 3) until 7   (1, p, 5) until 9                       at the instant 5

    changes = difference(old, new)
    changes.added                           # (1, p, 3) until 7, (1, p, 5) until 9
    changes.removed                         # (1, p, 3) until 9
    changes.expired                         # (1, p, 4) until 5

Invariants: changes add up. Who takes what was removed and what has expired out of the old graph, and then puts in what
was added, has the new one; so a fact that holds shorter is in `removed` and in `added`. Who does not hear of expiry has
the new one but for facts whose tags say that they hold no more. What was told bit by bit may name a fact to be removed
that the listener never saw, or one that was added more than once: neither matters where one does as above.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.predicates import ByPredicate
from csparql_spark.relations.tags import NEVER

ADDED, REMOVED, EXPIRED = 1, -1, 0  # signs


class Signed(NamedTuple):
    """Facts that have come, or gone, at once."""

    sign: int
    facts: Facts

    def renumbered(self, table: np.ndarray) -> Signed:
        """With other ids; without those that nothing holds any more (see `Moving.renumber`)."""
        s, p, o = (table[column] for column in self.facts[:3])
        return Signed(self.sign, Facts(s, p, o, self.facts.tag).where((s >= 0) & (p >= 0) & (o >= 0)))


@dataclass(frozen=True, eq=False)
class Changes:
    added: Facts
    removed: Facts
    expired: Facts

    @cached_property
    def came(self) -> ByPredicate:
        """What was added."""
        return ByPredicate(self.added)

    @cached_property
    def went(self) -> ByPredicate:
        """What was removed."""
        return ByPredicate(self.removed)

    @property
    def size(self) -> int:
        return self.added.size + self.removed.size + self.expired.size

    @classmethod
    def none(cls) -> Changes:
        nothing = Facts.none()
        return cls(nothing, nothing, nothing)

    @classmethod
    def between(cls, signed: Sequence[Signed], graph: TaggedGraph, *, expiry: bool = False) -> Changes:
        """What all of these come to, told one after the other of a graph that is this one now. With `expiry`, what has
        expired is wanted too."""
        if not signed:
            return cls.none()
        expired = together(facts for sign, facts in signed if sign == EXPIRED) if expiry else Facts.none()
        if all(sign != REMOVED for sign, _ in signed):
            added = together(facts for sign, facts in signed if sign == ADDED)
            if added.size and added.tag.min() <= graph.now:
                added = added.where(added.tag > graph.now)
            return cls(added, Facts.none(), expired)
        parts = [one for one in signed if one.sign != EXPIRED]
        facts = together(one.facts for one in parts)
        signs = np.repeat([one.sign for one in parts], [one.facts.size for one in parts])
        order = np.lexsort((facts.o, facts.s, facts.p))  # of one triple, what was told first comes first
        facts, signs = facts.where(order), signs[order]
        new = np.ones(facts.size, dtype=bool)
        new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in facts[:3]])
        starts = np.flatnonzero(new)
        if not len(starts):
            return cls(Facts.none(), Facts.none(), expired)
        first = facts.where(starts)
        tag = graph.tags_of(*first[:3])
        # What is told first of a triple is that it goes, with the tag that it had until then: so one sees that it is
        # what it was. Of the others that is not known.
        as_before = (signs[starts] == REMOVED) & (tag == first.tag)
        had = np.where(signs[starts] == REMOVED, first.tag, np.maximum.reduceat(facts.tag, starts))
        taken = np.logical_or.reduceat(signs == REMOVED, starts)
        return cls(
            first._replace(tag=tag).where((tag > NEVER) & ~as_before),
            # Who does not hear of expiry knows by its tag that what was taken back would hold no more anyway.
            first._replace(tag=had).where(taken & ~as_before & (expiry | (had > graph.now))),
            expired,
        )


def difference(old: TaggedGraph, new: TaggedGraph) -> Changes:
    """What makes one graph of the other, whatever they have been told."""
    before, after = old.facts(), new.facts()
    known = new.tags_of(*before[:3])
    lasting = before.tag > new.now
    return Changes(
        after.where(old.tags_of(*after[:3]) != after.tag),
        before.where(lasting & (known < before.tag)),
        before.where(~lasting & (known == NEVER)),
    )


def together(parts: Iterable[Facts]) -> Facts:
    """All of these facts."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    return Facts(*map(np.concatenate, zip(*parts))) if parts else Facts.none()
