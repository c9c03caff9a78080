"""A tally of derivations: how many there are of each triple with each tag (`tags.COUNTED`).

A triple that is derived twice until 12 and once until 15 holds until 15; when the one derivation is taken back, it
holds until 12. The number of derivations of a triple with a tag never becomes negative, if what is taken back was
there.

    tally = Tally()
    tally.add([(s, p, o, tag)], [])         # Facts: the triples that are concerned, until when each holds now
    tally.add([], [(s, p, o, tag)])         # the tag is NEVER for what has no derivation left
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel.join import pairs
from csparql_spark.kernel.limits import UNBOUNDED
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.relations.graph import Block, Facts
from csparql_spark.relations.keys import Packing
from csparql_spark.relations.tags import COUNTED, Counted


class Tally:
    def __init__(self) -> None:
        nothing = np.empty(0, dtype=np.int64)
        self._packing = Packing()
        self._keys, self._tags = nothing, Counted(nothing, nothing)  # united

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, more: Sequence[Block], fewer: Sequence[Block]) -> Facts:
        """Count derivations, and take others back."""
        for _, p, _, _ in (*more, *fewer):
            previous = self._packing.learn(p)
            if previous is not None:
                self._keys = self._packing.widened(self._keys, previous)
        parts = [
            (self._packing.pack(s, p, o), tag, np.full(len(tag), sign))
            for sign, blocks in ((1, more), (-1, fewer))
            for s, p, o, tag in blocks
        ]
        if not parts:
            return Facts.none()
        keys, until, number = (np.concatenate(columns) for columns in zip(*parts))
        concerned = distinct(ordered(keys))
        old, tags = self._take(concerned)
        keys, tags = COUNTED.united(
            np.concatenate([old, keys]),
            Counted(np.concatenate([tags.until, until]), np.concatenate([tags.number, number])),
        )
        self._put(keys, tags)
        return Facts(*self._packing.unpack(concerned), COUNTED.until(concerned, keys, tags))

    def _take(self, concerned: np.ndarray) -> tuple[np.ndarray, Counted]:
        """Take out the rows of these keys."""
        _, rows = pairs(self._keys, concerned, UNBOUNDED)
        keys, tags = self._keys[rows], Counted(self._tags.until[rows], self._tags.number[rows])
        rest = np.ones(len(self._keys), dtype=bool)
        rest[rows] = False
        self._keep(rest)
        return keys, tags

    def _keep(self, rows: np.ndarray) -> None:
        self._keys, self._tags = self._keys[rows], Counted(self._tags.until[rows], self._tags.number[rows])

    def _put(self, keys: np.ndarray, tags: Counted) -> None:
        places = self._keys.searchsorted(keys) + np.arange(len(keys))
        rest = np.ones(len(self._keys) + len(places), dtype=bool)
        rest[places] = False

        def woven(old: np.ndarray, new: np.ndarray) -> np.ndarray:
            column = np.empty(len(rest), dtype=np.int64)
            column[rest], column[places] = old, new
            return column

        self._tags = Counted(woven(self._tags.until, tags.until), woven(self._tags.number, tags.number))
        self._keys = woven(self._keys, keys)

    def expire(self, now: int) -> None:
        """Derivations with tags up to `now` are there no more."""
        later = self._tags.until > now
        if not later.all():
            self._keep(later)

    def renumber(self, table: np.ndarray) -> None:
        """See `TaggedGraph.renumber`."""
        self._keys = self._packing.renumbered(table, self._keys)
