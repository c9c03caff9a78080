"""A tally of derivations: how many there are of each triple with each tag.

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

from csparql_spark.relations.graph import Block, Facts
from csparql_spark.relations.keys import Packing, distinct, ordered
from csparql_spark.relations.runs import NEVER

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]            # keys, tags, counts


class Tally:
    def __init__(self) -> None:
        self._packing = Packing()
        self._entries: Entries = (np.empty(0, dtype=np.int64),) * 3        # sorted by key and tag

    def __len__(self) -> int:
        return len(self._entries[0])

    def add(self, more: Sequence[Block], fewer: Sequence[Block]) -> Facts:
        """Count derivations, and take others back."""
        for _, p, _, _ in (*more, *fewer):
            previous = self._packing.learn(p)
            if previous is not None:
                keys, *rest = self._entries
                self._entries = (self._packing.widened(keys, previous), *rest)
        parts = [(self._packing.pack(s, p, o), tag, np.full(len(tag), sign))
                 for sign, blocks in ((1, more), (-1, fewer)) for s, p, o, tag in blocks]
        if not parts:
            return Facts.none()
        new = tuple(np.concatenate(columns) for columns in zip(*parts))
        concerned = distinct(ordered(new[0]))
        old = self._taken(concerned)
        entries = _summed(tuple(np.concatenate(pair) for pair in zip(old, new)))
        self._put(entries)
        return Facts(*self._packing.unpack(concerned), _last_tags(concerned, entries))

    def _taken(self, concerned: np.ndarray) -> Entries:
        """Take out the entries of these keys."""
        keys = self._entries[0]
        first, last = keys.searchsorted(concerned), keys.searchsorted(concerned, side="right")
        counts = last - first
        rows = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        rest = np.ones(len(keys), dtype=bool)
        rest[rows] = False
        taken = tuple(column[rows] for column in self._entries)
        self._entries = tuple(column[rest] for column in self._entries)
        return taken

    def _put(self, entries: Entries) -> None:
        places = self._entries[0].searchsorted(entries[0]) + np.arange(len(entries[0]))
        rest = np.ones(len(self._entries[0]) + len(places), dtype=bool)
        rest[places] = False
        result = []
        for old, new in zip(self._entries, entries):
            column = np.empty(len(rest), dtype=np.int64)
            column[rest], column[places] = old, new
            result.append(column)
        self._entries = tuple(result)

    def expire(self, now: int) -> None:
        """Derivations with tags up to `now` are there no more."""
        later = self._entries[1] > now
        if not later.all():
            self._entries = tuple(column[later] for column in self._entries)

    def renumber(self, table: np.ndarray) -> None:
        """See `TaggedGraph.renumber`."""
        keys, *rest = self._entries
        self._entries = (self._packing.renumbered(table, keys), *rest)


def _summed(entries: Entries) -> Entries:
    """Sorted; one entry for each key and tag, none with a count of nothing."""
    order = np.lexsort((entries[1], entries[0]))
    keys, tags, counts = (column[order] for column in entries)
    if not len(keys):
        return keys, tags, counts
    starts = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]) | (tags[1:] != tags[:-1])]))
    counts = np.add.reduceat(counts, starts)
    some = counts != 0
    return keys[starts][some], tags[starts][some], counts[some]


def _last_tags(keys: np.ndarray, entries: Entries) -> np.ndarray:
    last = entries[0].searchsorted(keys, side="right") - 1
    result = np.full(len(keys), NEVER)
    there = np.flatnonzero((last >= 0) & (entries[0].take(last, mode="clip") == keys)) if len(entries[0]) else []
    result[there] = entries[1][last[there]]
    return result
