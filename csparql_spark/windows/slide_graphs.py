"""Slide graphs: how many graphs begin in each slide of a stream, so that the last n are found without a look at them.

A graph is what one entry of the log says with one stamp: an element of a window that counts ELEMENTS. It lies where its
entry begins, also where that goes on in the slides that follow:

    entries    a a b b b b b b b b c d
    slides     ├───────┼───────┼───────┤        begin here: a and b, none, c and d
    graphs         3       0       2            where b has two stamps, and the others one

What is counted is kept; of a slide that something was taken out of it is counted again when somebody asks. Nobody who
does not count graphs pays more than a comparison of stamps.

Invariants: elements lie in the order of the log; of two graphs the later one is that of the later entry, and of one
entry that with the later stamp.

    graphs.counts(columns, lowest, highest)               # of each slide
    graphs.between(columns, lowest, highest, since, begin, end)     # the slides that are wholly counted so, and parts
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.windows.rule import logged_after

SEQ, T = 3, 4  # of the rows of a slide's columns
UNKNOWN = -1
FEW = 4  # slides whose graphs are kept numbered: at an instant those at both ends of a window are looked at


class SlideSpan(NamedTuple):
    """Graphs that are counted: parts of slides before and after a run of slides that are whole, the first of which
    begins with the place `offset`, and the last of which goes on with `rest`."""

    before: list[np.ndarray]
    whole: range
    offset: int
    rest: list[np.ndarray]
    after: list[np.ndarray]


class NumberedGraphs(NamedTuple):
    """Elements of the entries that begin in a slide, and the number of each one's graph, from the earliest on."""

    columns: np.ndarray
    ranks: np.ndarray
    last: int
    in_order: bool

    @classmethod
    def of(cls, columns: np.ndarray) -> NumberedGraphs:
        ranks = ranks_of(columns[SEQ], columns[T])
        return cls(columns, ranks, int(ranks.max(initial=0)), not (ranks[1:] < ranks[:-1]).any())

    def counted(self, begin: int, end: int, after: int) -> np.ndarray:
        """What is counted so, where so many graphs come behind these."""
        first, last = after + self.last - end, after + self.last - begin  # ranks later than, and up to
        if self.in_order:
            low, high = self.ranks.searchsorted((first, last), side="right").tolist()
            return self.columns[:, low:high]
        return self.columns[:, np.flatnonzero((self.ranks > first) & (self.ranks <= last))]


class SlideGraphs:
    def __init__(self) -> None:
        self._counts: list[int] = []
        self._ranked: dict[
            tuple[int, int], NumberedGraphs
        ] = {}  # by slide, and since when: few that were looked at last

    def begin(self) -> None:
        """Another slide begins."""
        self._ranked.clear()
        self._counts.append(0)

    def add(self, stamps: np.ndarray) -> None:
        """An entry begins in the last slide."""
        self._ranked.clear()
        if self._counts[-1] != UNKNOWN:
            self._counts[-1] += 1 if stamps.min() == stamps.max() else len(distinct(ordered(stamps)))

    def forget(self, place: int, lowest: np.ndarray, highest: np.ndarray) -> None:
        """Something goes out of a slide: it has another number of graphs, as have those that it shares entries with."""
        self._ranked.clear()
        self._counts[place] = UNKNOWN
        if place + 1 < len(self._counts) and lowest[place + 1] == highest[place]:
            self._counts[place + 1] = UNKNOWN
        while place and highest[place - 1] == lowest[place]:
            place -= 1
            self._counts[place] = UNKNOWN

    def rewrite(self) -> None:
        """Ids become others, where they lie."""
        self._ranked.clear()

    def put_together(self, groups: list[list[int]]) -> None:
        """Each of these groups of neighbours is one slide from now on."""
        self._ranked.clear()
        self._counts = [self._counts[group[0]] if len(group) == 1 else UNKNOWN for group in groups]

    def counts(self, columns: Callable[[int], np.ndarray], lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
        for place, count in enumerate(self._counts):
            if count == UNKNOWN:
                _, _, _, seq, t = _beginning(columns, place, lowest, highest)
                ranks = ranks_of(seq, t)
                self._counts[place] = int(ranks.max(initial=-1)) + 1
        return np.array(self._counts, dtype=np.int64)

    def between(
        self,
        columns: Callable[[int], np.ndarray],
        lowest: np.ndarray,
        highest: np.ndarray,
        since: int,
        begin: int,
        end: int,
    ) -> SlideSpan:
        """Of what was logged after `since`: the graphs after which at least `begin` and less than `end` others came."""
        counts = self.counts(columns, lowest, highest)
        after = counts.sum() - np.cumsum(counts)
        seen = (counts > 0) & logged_after(highest, since)
        whole = seen & logged_after(lowest, since) & (after >= begin) & (after + counts <= end)
        cut = np.flatnonzero(seen & (after < end) & (after + counts > begin) & ~whole).tolist()
        parts = []
        for place in cut:
            ranked = self._ranked.get((place, since))
            if ranked is None:
                if len(self._ranked) >= FEW:
                    self._ranked.clear()
                here = _beginning(columns, place, lowest, highest)
                ranked = NumberedGraphs.of(here[:, np.flatnonzero(logged_after(here[SEQ], since))])
                self._ranked[place, since] = ranked
            parts.append((place, ranked.counted(begin, end, int(after[place]))))
        places = np.flatnonzero(whole)
        if not len(places):
            return SlideSpan([part for _, part in parts], range(0), 0, [], [])
        first, last = int(places[0]), int(places[-1])
        return SlideSpan(
            [part for place, part in parts if place < first],
            range(first, last + 1),
            _continued(columns, first, lowest, highest),
            _rest(columns, last, lowest, highest),
            [part for place, part in parts if place > last],
        )


def _continued(columns: Callable[[int], np.ndarray], place: int, lowest: np.ndarray, highest: np.ndarray) -> int:
    """How many elements at the begin of a slide are of an entry that has begun in one before."""
    if not place or highest[place - 1] != lowest[place]:
        return 0
    return int(np.searchsorted(columns(place)[SEQ], lowest[place], side="right"))


def _rest(
    columns: Callable[[int], np.ndarray], place: int, lowest: np.ndarray, highest: np.ndarray
) -> list[np.ndarray]:
    """What the last entry of a slide has in those that follow."""
    parts, last = [], highest[place]
    while place + 1 < len(lowest) and lowest[place + 1] == last:
        place += 1
        parts.append(columns(place)[:, : int(np.searchsorted(columns(place)[SEQ], last, side="right"))])
    return parts


def _beginning(columns: Callable[[int], np.ndarray], place: int, lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """The elements of the entries that begin in a slide."""
    here = columns(place)[:, _continued(columns, place, lowest, highest) :]
    rest = _rest(columns, place, lowest, highest) if here.shape[1] else []
    return np.concatenate([here, *rest], axis=1) if rest else here


def ranks_of(seq: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The number of each element's graph, from the earliest on."""
    same = seq[1:] == seq[:-1]
    if not (same & (t[1:] < t[:-1])).any():  # they are in order, as mostly
        return np.concatenate([np.zeros(min(1, len(t)), np.int64), np.cumsum(~same | (t[1:] != t[:-1]))])
    order = np.lexsort((t, seq))
    seq, t = seq[order], t[order]
    first = np.zeros(len(t), dtype=np.int64)
    first[1:] = (seq[1:] != seq[:-1]) | (t[1:] != t[:-1])
    ranks = np.empty_like(first)
    ranks[order] = np.cumsum(first)
    return ranks
