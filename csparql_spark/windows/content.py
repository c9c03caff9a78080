"""Content: the elements that some window can still see, by their streams, and the dictionary of their terms.

An element is a triple (three term ids) with its stamp `t`, its stream, and the place `seq` of its entry in the log.
Which of them a window holds says `rule`; a query sees only what was logged after its registration (`since`), so first
windows are partial. Content is a bag: a triple that occurs twice is here twice, and counts once in the window's graph.
What came on each stream lies in `slides`, so that a question costs what it asks for, however much else there is.

    content.add(stream=0, seq=7, chunk=chunk)
    content.extent(stream=0, low=0, high=10_000).elements
    content.window(stream=0, low=0, high=10_000, since=3).s
    content.forget({0: 10_000})          # elements stamped 10_000 or earlier go
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.windows.rule import END_OF_TIME
from csparql_spark.windows.slides import NOTHING, Elements, Extent, Slides


class Content:
    def __init__(self) -> None:
        self.dictionary = TermDictionary()
        self._slides: dict[int, Slides] = defaultdict(Slides)
        self._departures = 0  # elements that have gone since it was seen what terms they leave behind
        self._gone: dict[int, int] = {}  # the newest stamp of each stream that was forgotten

    def __len__(self) -> int:
        return sum(map(len, self._slides.values()))

    def add(self, stream: int, seq: int, chunk: Chunk) -> None:
        """Add a stamped chunk."""
        self._add(stream, seq, chunk, chunk.t)

    def _add(self, stream: int, seq: int, chunk: Chunk, t: np.ndarray) -> None:
        if len(chunk):
            ids = self.dictionary.encode(chunk.terms)
            self._slides[stream].add(t, seq, ids[chunk.s], ids[chunk.p], ids[chunk.o])

    def replace(self, stream: int, chunk: Chunk) -> None:
        """Make `chunk` all there is of `stream`, at every instant: for background, whose stamps say nothing and which
        never expires."""
        self._slides.pop(stream, None)
        self._add(stream, 0, chunk, np.full(len(chunk), END_OF_TIME))
        self.dictionary.forget_unheld(self)

    def extent(self, stream: int, low: int, high: int) -> Extent:
        """How much there is of `stream` with low < t <= high, and from where in the log on."""
        return self._slides[stream].extent(low, high)

    def window(self, stream: int, low: int, high: int, since: int = -1) -> Elements:
        """The elements of `stream` with low < t <= high that were logged after `since`."""
        return self._slides[stream].window(low, high, since)

    def new(self, stream: int, low: int, high: int, since: int, moment: tuple[int, int]) -> Elements:
        """Of these what a look at a moment, an instant and a place of the log, did not see."""
        return self._slides[stream].new(low, high, since, moment)

    def counted(self, stream: int, since: int, begin: int, end: int, *, graphs: bool = False) -> Elements:
        """Of the elements of `stream` that were logged after `since`: those after which at least `begin` and less than
        `end` others came. With `graphs`, the triples of one entry with one stamp are one element."""
        return self._slides[stream].counted(since, begin, end, graphs=graphs)

    def counted_extent(self, stream: int, since: int, begin: int, end: int, *, graphs: bool = False) -> Extent:
        """How many elements these are, and from where in the log on."""
        return self._slides[stream].counted_extent(since, begin, end, graphs=graphs)

    def oldest(self, stream: int, since: int, newest: int, *, graphs: bool = False) -> int:
        """The place in the log of the first of the so many newest elements that were logged after `since`."""
        return self._slides[stream].oldest(since, newest, graphs=graphs)

    def late(self, stream: int, seq: int, passed: int) -> int:
        """How many elements of the entry `seq` are stamped `passed` or earlier."""
        return self._slides[stream].late(seq, passed)

    def forget(self, horizons: dict[int, int], places: dict[int, int] | None = None) -> None:
        """Drop the elements that no window will see again: those of each stream up to its horizon that were logged
        before its place, if it has one. Memory is given back."""
        for stream, horizon in horizons.items():
            slides = self._slides.get(stream)
            place = (places or {}).get(stream, END_OF_TIME)
            gone = NOTHING if slides is None else slides.forget(horizon, place)
            if gone.elements:
                self._departures += gone.elements
                if horizon < END_OF_TIME:
                    self._gone[stream] = max(gone.newest, self._gone.get(stream, gone.newest))
        # To see what terms are left takes a look at all that is there: it is taken when as much has gone.
        if self._departures and self._departures >= len(self):
            self._departures = 0
            self.dictionary.forget_unheld(self)

    def whole(self, stream: int, low: int) -> bool:
        """Whether nothing of `stream` that is stamped later than `low` was forgotten while somebody looked at it. What
        was may still be in what others have made of it."""
        return self._gone.get(stream, low) <= low

    def terms(self) -> np.ndarray:
        """The ids that the elements have, each once."""
        wanted = np.zeros(len(self.dictionary), dtype=bool)
        for slides in self._slides.values():
            for ids in slides.triples():
                wanted[ids] = True
        return np.flatnonzero(wanted)

    def renumber(self, table: np.ndarray) -> None:
        for slides in self._slides.values():
            for ids in slides.triples():
                ids[:] = table[ids]
