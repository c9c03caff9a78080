"""Content: the elements that some window can still see, as columns.

An element is a triple (three term ids) with its stamp `t`, its stream, and the place `seq` of its entry in the log.
Which of them a window holds says `rule`; a query sees only what was logged after its registration (`since`), so first
windows are partial. Content is a bag: a triple that occurs twice is here twice, and counts once in the window's graph.

    content.add(stream=0, seq=7, chunk=chunk)
    content.window(stream=0, low=0, high=10_000, since=3).s
    content.forget({0: 10_000})          # elements stamped 10_000 or earlier go
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.windows.rule import END_OF_TIME, inside, lasting, logged_after

TERMS = ("s", "p", "o")
COLUMNS = ("t", "seq", "stream", *TERMS)
SMALLEST = 1024
EARLIEST = np.iinfo(np.int64).min


class Elements(NamedTuple):
    """Elements of a window: their triples, where each was logged, and its stamp."""

    s: np.ndarray
    p: np.ndarray
    o: np.ndarray
    seq: np.ndarray
    t: np.ndarray


class Content:
    def __init__(self) -> None:
        self.dictionary = TermDictionary()
        self._columns = {name: np.empty(SMALLEST, dtype=np.int64) for name in COLUMNS}
        self._count = 0
        self._gone: dict[int, int] = {}  # the newest stamp of each stream that was forgotten

    def __len__(self) -> int:
        return self._count

    def add(self, stream: int, seq: int, chunk: Chunk) -> None:
        """Add a stamped chunk."""
        count = len(chunk)
        if not count:
            return
        ids = self.dictionary.encode(chunk.terms)
        self._reserve(count)
        place = slice(self._count, self._count + count)
        values = {"t": chunk.t, "seq": seq, "stream": stream, "s": ids[chunk.s], "p": ids[chunk.p], "o": ids[chunk.o]}
        for name, column in self._columns.items():
            column[place] = values[name]
        self._count += count

    def replace(self, stream: int, chunk: Chunk) -> None:
        """Make `chunk` all there is of `stream`, at every instant: for background, whose stamps say nothing and which
        never expires."""
        self._keep(np.flatnonzero(self._live("stream") != stream))
        self.add(stream, 0, dataclasses.replace(chunk, t=np.full(len(chunk), END_OF_TIME)))
        self.dictionary.forget_unheld(self)

    def window(self, stream: int, low: int, high: int, since: int = -1) -> Elements:
        """The elements of `stream` with low < t <= high that were logged after `since`."""
        return self._elements(
            np.flatnonzero(
                inside(self._live("t"), low, high)
                & (self._live("stream") == stream)
                & logged_after(self._live("seq"), since)
            )
        )

    def counted(self, stream: int, since: int, begin: int, end: int, *, graphs: bool = False) -> Elements:
        """Of the elements of `stream` that were logged after `since`: those after which at least `begin` and less than
        `end` others came. With `graphs`, the triples of one entry with one stamp are one element."""
        of = np.flatnonzero((self._live("stream") == stream) & logged_after(self._live("seq"), since))
        if not graphs:
            return self._elements(of[max(0, len(of) - end) : max(0, len(of) - begin)])
        seq, t = self._live("seq")[of], self._live("t")[of]
        order = np.lexsort((t, seq))
        seq, t = seq[order], t[order]
        first = np.ones(len(of), dtype=bool)
        first[1:] = (seq[1:] != seq[:-1]) | (t[1:] != t[:-1])
        after = np.count_nonzero(first) - np.cumsum(first)
        return self._elements(of[np.sort(order[(after >= begin) & (after < end)])])

    def _elements(self, rows: np.ndarray) -> Elements:
        return Elements(*(self._columns[name][rows] for name in Elements._fields))

    def late(self, stream: int, seq: int, passed: int) -> int:
        """How many elements of the entry `seq` are stamped `passed` or earlier."""
        return int(
            np.count_nonzero(
                (self._live("t") <= passed) & (self._live("stream") == stream) & (self._live("seq") == seq)
            )
        )

    def forget(self, horizons: dict[int, int], places: dict[int, int] | None = None) -> None:
        """Drop the elements that no window will see again: those of each stream up to its horizon that were logged
        before its place, if it has one. Memory is given back."""
        if not self._count:
            return
        t, of = self._live("t"), self._live("stream")
        horizon = np.full(max(int(of.max()), *horizons, *(places or {}), 0) + 1, EARLIEST)
        for stream, until in horizons.items():
            horizon[stream] = until
        place = np.full(len(horizon), END_OF_TIME)
        for stream, since in (places or {}).items():
            place[stream] = since
        lasts = np.flatnonzero(lasting(t, horizon[of], self._live("seq"), place[of]))
        # While the expired are few, skipping them is cheaper than moving the rest.
        if 2 * len(lasts) <= self._count:
            gone = np.ones(self._count, dtype=bool)
            gone[lasts] = False
            for stream, until in horizons.items():
                if until < END_OF_TIME and (of_it := gone & (of == stream)).any():
                    self._gone[stream] = max(int(t[of_it].max()), self._gone.get(stream, EARLIEST))
            self._keep(lasts)
            self.dictionary.forget_unheld(self)

    def whole(self, stream: int, low: int) -> bool:
        """Whether nothing of `stream` that is stamped later than `low` was forgotten while somebody looked at it. What
        was may still be in what others have made of it."""
        return self._gone.get(stream, EARLIEST) <= low

    def _live(self, name: str) -> np.ndarray:
        return self._columns[name][: self._count]

    def _keep(self, rows: np.ndarray) -> None:
        for name, column in self._columns.items():
            self._columns[name] = np.concatenate([column[rows], np.empty(max(SMALLEST, len(rows) // 2), np.int64)])
        self._count = len(rows)

    def terms(self) -> np.ndarray:
        """The ids that the elements have, each once."""
        wanted = np.zeros(len(self.dictionary), dtype=bool)
        for name in TERMS:
            wanted[self._live(name)] = True
        return np.flatnonzero(wanted)

    def renumber(self, table: np.ndarray) -> None:
        for name in TERMS:
            self._live(name)[:] = table[self._live(name)]

    def _reserve(self, count: int) -> None:
        size = len(self._columns["t"])
        if self._count + count > size:
            grown = max(2 * size, self._count + count)
            for name, column in self._columns.items():
                self._columns[name] = np.concatenate([column[: self._count], np.empty(grown - self._count, np.int64)])
