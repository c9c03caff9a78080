"""Sets of triples of ids, as sorted columns: the union, difference and membership that keep a copy in step with a
window.

A `Triples` is sorted by (s, p, o) and has no duplicates. When ids are small enough, a triple is packed into one
integer, and sorting costs a third; the order is the same either way.

    new = Triples.of(s, p, o)
    new.minus(old), old.minus(new)       # what to add, what to remove
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csparql_spark.kernel.probe import found
from csparql_spark.kernel.sort import distinct, ordered

BITS = 21  # three ids of 21 bits fit into a positive int64
MASK = (1 << BITS) - 1


@dataclass(frozen=True, eq=False, slots=True)
class Triples:
    s: np.ndarray
    p: np.ndarray
    o: np.ndarray

    @classmethod
    def of(cls, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> Triples:
        """The set of the triples in these columns."""
        if _packable(s, p, o):
            return cls._unpack(distinct(ordered(_pack(s, p, o))))
        order = np.lexsort((o, p, s))
        s, p, o = s[order], p[order], o[order]
        new = np.ones(len(s), dtype=bool)
        new[1:] = (s[1:] != s[:-1]) | (p[1:] != p[:-1]) | (o[1:] != o[:-1])
        return cls(s[new], p[new], o[new])

    @classmethod
    def none(cls) -> Triples:
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing)

    @classmethod
    def _unpack(cls, packed: np.ndarray) -> Triples:
        return cls(packed >> 2 * BITS, packed >> BITS & MASK, packed & MASK)

    def __len__(self) -> int:
        return len(self.s)

    def minus(self, other: Triples) -> Triples:
        """The triples that are here and not in `other`."""
        if not len(self) or not len(other):
            return self
        if _packable(self.s, self.p, self.o, other.s, other.p, other.o):
            mine, theirs = _pack(self.s, self.p, self.o), _pack(other.s, other.p, other.o)
            there, _ = found(theirs, mine)
            return self._unpack(np.delete(mine, there))
        columns = [np.concatenate(pair) for pair in ((self.s, other.s), (self.p, other.p), (self.o, other.o))]
        theirs = np.arange(len(columns[0])) >= len(self)
        order = np.lexsort((~theirs, *reversed(columns)))  # of equal triples, theirs come first
        s, p, o = (column[order] for column in columns)
        twin = np.zeros(len(s), dtype=bool)
        twin[1:] = (s[1:] == s[:-1]) & (p[1:] == p[:-1]) & (o[1:] == o[:-1])
        mine = ~theirs[order] & ~twin
        return Triples(s[mine], p[mine], o[mine])


def _packable(*columns: np.ndarray) -> bool:
    return all(not len(column) or column.max() <= MASK for column in columns)


def _pack(s: np.ndarray, p: np.ndarray, o: np.ndarray) -> np.ndarray:
    return s << 2 * BITS | p << BITS | o
