"""Facts by their predicates, for many who look at those of one or two.

    came = ByPredicate(facts)
    came.of(7)                              # the facts with this predicate: where they lie together, a view of them
    came.of("?p")                           # all of them

Invariant: the facts come in the order in which they are.
"""

from __future__ import annotations

import numpy as np

from csparql_spark.relations.graph import Facts

MOST = 64  # stretches of one predicate that are looked up; where there are more, one looks at all facts
NONE = Facts.none()


class ByPredicate:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known: dict[int, Facts] = {}
        ends = [*(np.flatnonzero(facts.p[1:] != facts.p[:-1]) + 1).tolist(), facts.size] if facts.size else []
        self._scattered = len(ends) > MOST
        if not self._scattered:
            parts: dict[int, list[slice]] = {}
            for begin, end in zip([0, *ends], ends):
                parts.setdefault(int(facts.p[begin]), []).append(slice(begin, end))
            for predicate, slices in parts.items():
                found = [facts.where(part) for part in slices]
                self._known[predicate] = found[0] if len(found) == 1 else Facts(*map(np.concatenate, zip(*found)))

    def of(self, predicate: int | str) -> Facts:
        if isinstance(predicate, str):
            return self._facts
        found = self._known.get(predicate)
        if found is None:
            found = NONE
            if self._scattered:
                found = self._known[predicate] = self._facts.where(self._facts.p == predicate)
        return found
