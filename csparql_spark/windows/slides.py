"""Slides: what came on one stream, in the order of the log, in runs that are known by their summaries.

A slide has at most `LONGEST` elements: small pushes share one, a large push makes several. Of each it is known which
stamps and places it has, from the least to the greatest, and how many elements. A question about a window is asked of
these summaries, all at once; into a slide itself looks only who has a bound that cuts it:

    slides      ├──────────┼──────────┼─────────┼──────────┼────┤
    window            (────────────────────────────────]
                  cut        whole       whole      cut     outside

Stamps may come in any order: slides may overlap in time, and more of them are cut. Elements that are forgotten are
taken out of the slides that they are in, and slides of which little is left become one, so that there are never many
more slides than the elements need.

Invariants: elements are in the order in which they were added; summaries are exact; no slide is empty; of two that
follow each other at most one is less than a quarter full, when something was forgotten.

    slides = Slides()
    slides.add(t, 7, s, p, o)                               # of the entry at place 7
    slides.extent(0, 10_000).elements                       # how many there are in a window; nothing is gathered
    slides.new(0, 10_000, since=3, moment=(9_000, 6))       # of these what is stamped or logged after a moment
    slides.forget(10_000)                                   # those stamped 10_000 or earlier go
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from csparql_spark.windows.rule import END_OF_TIME, inside, lasting, logged_after
from csparql_spark.windows.slide_graphs import SlideGraphs, SlideSpan

LONGEST = 4096  # elements of a slide
SHORTEST = 64  # for so many there is room from the beginning
FEW = LONGEST // 2  # what two neighbours have together who become one
ELEMENT_BYTES = 40


class Elements(NamedTuple):
    """Elements of a window: their triples, where each was logged, and its stamp."""

    s: np.ndarray
    p: np.ndarray
    o: np.ndarray
    seq: np.ndarray
    t: np.ndarray


class Extent(NamedTuple):
    """How many elements there are, and the least place of one in the log."""

    elements: int
    oldest: int

    @property
    def nbytes(self) -> int:
        """That they would take if they were gathered."""
        return ELEMENT_BYTES * self.elements


class Forgotten(NamedTuple):
    """How many elements have gone, and the greatest of their stamps."""

    elements: int
    newest: int


NOTHING = Forgotten(0, np.iinfo(np.int64).min)
_SEQ, _T = Elements._fields.index("seq"), Elements._fields.index("t")


class SlideBounds(NamedTuple):
    """Where slides end and lie, as lists: a look at few of them takes no column. Up to each one's end so many elements
    came; the least and the greatest place of each."""

    ends: list[int]
    lowest: list[int]
    highest: list[int]


class _Slide:
    """Elements that lie one after the other: rows of one table, with room behind the last."""

    __slots__ = ("_begin", "_end", "_table")

    def __init__(self, columns: np.ndarray) -> None:
        self._table, self._begin, self._end = columns, 0, columns.shape[1]

    @classmethod
    def empty(cls) -> _Slide:
        slide = cls(np.empty((len(Elements._fields), SHORTEST), dtype=np.int64))
        slide._end = 0
        return slide

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def room(self) -> int:
        return LONGEST - self._end

    @property
    def columns(self) -> np.ndarray:
        """Its elements, where they lie."""
        return self._table[:, self._begin : self._end]

    def append(self, values: tuple[np.ndarray | int, ...], count: int) -> None:
        end, size = self._end + count, self._table.shape[1]
        if end > size:
            grown = np.empty((len(self._table), min(LONGEST, max(2 * size, end))), dtype=np.int64)
            grown[:, self._begin : self._end] = self.columns
            self._table = grown
        for column, value in zip(self._table, values, strict=True):
            column[self._end : end] = value
        self._end = end

    def leave(self, last: np.ndarray) -> None:
        """Only these rows stay. Where the first ones go, as mostly, nothing is moved."""
        rows = np.flatnonzero(last)
        if len(rows) == len(self) - rows[0]:
            self._begin += int(rows[0])
        else:
            self._table, self._begin, self._end = self.columns[:, rows], 0, len(rows)

    @property
    def summary(self) -> tuple[int, int, int, int, int]:
        seq, t = self.columns[_SEQ], self.columns[_T]
        return int(t.min()), int(t.max()), int(seq.min()), int(seq.max()), len(t)


class Slides:
    def __init__(self) -> None:
        self._slides: list[_Slide] = []
        self._room = np.empty((5, 8), dtype=np.int64)  # summaries, a column for each slide, and room for more
        self._count = 0
        self._known_bounds: SlideBounds | None = None  # None: something was added, or has gone since
        self._graph_counts = SlideGraphs()

    def __len__(self) -> int:
        """The number of elements."""
        return self._count

    @property
    def number(self) -> int:
        """The number of slides."""
        return len(self._slides)

    @property
    def size(self) -> int:
        """For how many elements there is memory."""
        return sum(slide._table.shape[1] for slide in self._slides)

    @property
    def _summaries(self) -> np.ndarray:
        """The least and the greatest stamp, the least and the greatest place, and the number of elements of each."""
        return self._room[:, : len(self._slides)]

    def add(self, t: np.ndarray, seq: int, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        """Add elements of the entry at the place `seq`."""
        begin = 0
        while begin < len(t):
            if not self._slides or self._slides[-1].room <= 0:
                self._begin()
            if begin == 0:
                self._graph_counts.add(t)
            slide = self._slides[-1]
            end = min(len(t), begin + slide.room)
            stamps = t[begin:end]
            slide.append((s[begin:end], p[begin:end], o[begin:end], seq, stamps), end - begin)
            self._widen(int(stamps.min()), int(stamps.max()), seq, end - begin)
            begin = end
        self._count += len(t)

    def _begin(self) -> None:
        number = len(self._slides)
        if number == self._room.shape[1]:
            self._room = np.concatenate([self._room, np.empty_like(self._room)], axis=1)
        self._room[:, number] = END_OF_TIME, -END_OF_TIME, END_OF_TIME, -END_OF_TIME, 0
        self._slides.append(_Slide.empty())
        self._graph_counts.begin()

    def _widen(self, first: int, last: int, seq: int, count: int) -> None:
        """The last slide has so many elements more."""
        self._known_bounds = None
        summary = self._room[:, len(self._slides) - 1]
        least, greatest, lowest, highest, before = summary.tolist()
        summary[:] = min(least, first), max(greatest, last), min(lowest, seq), max(highest, seq), before + count

    # --- what a window holds

    def extent(self, low: int, high: int, since: int = -1) -> Extent:
        """Of the elements with low < t <= high that were logged after `since`: how many, and the least place."""
        _, _, lowest, _, counts = self._summaries
        whole, cut = self._inside(low, high, since)
        count = int(counts[whole].sum())
        oldest = int(lowest[whole].min(initial=END_OF_TIME))
        for place in np.flatnonzero(cut).tolist():
            columns = self._slides[place].columns
            seq = columns[_SEQ][_within(columns, low, high, since)]
            count += len(seq)
            oldest = min(oldest, int(seq.min(initial=END_OF_TIME)))
        return Extent(count, oldest)

    def window(self, low: int, high: int, since: int = -1) -> Elements:
        """The elements with low < t <= high that were logged after `since`."""
        whole, cut = self._inside(low, high, since)
        return self._gathered(whole, cut, lambda columns: _within(columns, low, high, since))

    def new(self, low: int, high: int, since: int, moment: tuple[int, int]) -> Elements:
        """Of these: what is stamped after an instant, or logged after a place."""
        instant, seq = moment
        first, last, lowest, highest, _ = self._summaries
        whole, cut = self._inside(low, high, since)
        touched = (last > instant) | logged_after(highest, seq)
        wholly = (first > instant) | logged_after(lowest, seq)
        cut = (cut | whole & ~wholly) & touched

        def rows(columns: np.ndarray) -> np.ndarray:
            later = (columns[_T] > instant) | logged_after(columns[_SEQ], seq)
            return later & _within(columns, low, high, since)

        return self._gathered(whole & wholly, cut, rows)

    def _inside(self, low: int, high: int, since: int) -> tuple[np.ndarray, np.ndarray]:
        """Which slides are wholly in a window, and which ones may be in part."""
        first, last, lowest, highest, _ = self._summaries
        whole = (first > low) & (last <= high) & logged_after(lowest, since)
        touched = (last > low) & (first <= high) & logged_after(highest, since)
        return whole, touched & ~whole

    def _gathered(self, whole: np.ndarray, cut: np.ndarray, rows: Callable[[np.ndarray], np.ndarray]) -> Elements:
        parts = []
        for place in np.flatnonzero(whole | cut).tolist():
            columns = self._slides[place].columns
            parts.append(columns if whole[place] else columns[:, np.flatnonzero(rows(columns))])
        return _joined(parts)

    def late(self, seq: int, passed: int) -> int:
        """How many elements of the entry `seq` are stamped `passed` or earlier."""
        first, _, lowest, highest, _ = self._summaries
        return sum(
            int(np.count_nonzero((columns[_T] <= passed) & (columns[_SEQ] == seq)))
            for place in np.flatnonzero((lowest <= seq) & (highest >= seq) & (first <= passed)).tolist()
            for columns in [self._slides[place].columns]
        )

    # --- what is counted

    def counted(self, since: int, begin: int, end: int, *, graphs: bool = False) -> Elements:
        """Of the elements that were logged after `since`: those after which at least `begin` and less than `end` others
        came. With `graphs`, the triples of one entry with one stamp are one element."""
        return _joined(self._parts_of(self._graphs(since, begin, end)) if graphs else self._newest(since, begin, end))

    def counted_extent(self, since: int, begin: int, end: int, *, graphs: bool = False) -> Extent:
        """How many elements these are, and the least place of one."""
        if graphs:
            return self._extent_of(self._graphs(since, begin, end))
        near = self._near(since, begin, end)
        if near is not None:
            return self._extent_near(*near)
        _, _, lowest, highest, counts = self._summaries
        after = self._count - np.cumsum(counts)  # elements after each slide
        whole = logged_after(lowest, since) & (after >= begin) & (after + counts <= end)
        cut = logged_after(highest, since) & (after < end) & (after + counts > begin) & ~whole
        count, oldest = int(counts[whole].sum()), int(lowest[whole].min(initial=END_OF_TIME))
        for place in np.flatnonzero(cut).tolist():
            length, behind = int(counts[place]), int(after[place])
            seq = self._slides[place].columns[_SEQ][max(0, length + behind - end) : length - max(0, begin - behind)]
            seq = seq[logged_after(seq, since)]
            count += len(seq)
            oldest = min(oldest, int(seq.min(initial=END_OF_TIME)))
        return Extent(count, oldest)

    def oldest(self, since: int, newest: int, *, graphs: bool = False) -> int:
        """The least place of the so many newest elements that were logged after `since`."""
        return self.counted_extent(since, 0, newest, graphs=graphs).oldest

    def _newest(self, since: int, begin: int, end: int) -> list[np.ndarray]:
        """The parts of slides that are counted so."""
        near = self._near(since, begin, end)
        if near is not None:
            return self._parts_near(*near)
        parts, after = [], 0
        _, _, lowest, _, _ = self._summaries
        for slide, least in zip(reversed(self._slides), lowest[::-1].tolist(), strict=True):
            if after >= end:
                break
            columns = slide.columns
            if not logged_after(least, since):
                columns = columns[:, np.flatnonzero(logged_after(columns[_SEQ], since))]
            count = columns.shape[1]
            part = columns[:, max(0, count - (end - after)) : max(0, count - max(0, begin - after))]
            if part.shape[1]:
                parts.append(part)
            after += count
        return parts[::-1]

    @property
    def _bounds(self) -> SlideBounds:
        if self._known_bounds is None:
            _, _, lowest, highest, counts = self._summaries.tolist()
            self._known_bounds = SlideBounds(list(accumulate(counts)), lowest, highest)
        return self._known_bounds

    def _near(self, since: int, begin: int, end: int) -> tuple[range, int, int] | None:
        """The slides in which the elements lie that are counted so, how many of all come before the first of them,
        and how many up to the last. None where something was not logged after `since`: so not all are seen."""
        ends, lowest, _ = self._bounds
        first, last = max(0, self._count - end), self._count - begin
        if first >= last:
            return range(0), 0, 0
        places = range(bisect_right(ends, first), bisect_left(ends, last) + 1)
        seen = logged_after(min(lowest[places.start :]), since)  # what came later counts, too
        return (places, first, last) if seen else None

    def _extent_near(self, places: range, first: int, last: int) -> Extent:
        ends, lowest, highest = self._bounds
        oldest = END_OF_TIME
        for place in places:
            if lowest[place] < oldest:
                length = len(self._slides[place])
                begin = max(0, first - (ends[place] - length))
                end = length - max(0, ends[place] - last)
                if end - begin < length and lowest[place] < highest[place]:
                    oldest = min(oldest, int(self._columns(place)[_SEQ, begin:end].min()))
                else:
                    oldest = lowest[place]
        return Extent(last - first, oldest)

    def _parts_near(self, places: range, first: int, last: int) -> list[np.ndarray]:
        ends, parts = self._bounds.ends, []
        for place in places:
            columns = self._columns(place)
            start = ends[place] - columns.shape[1]
            parts.append(columns[:, max(0, first - start) : last - start])
        return parts

    def _graphs(self, since: int, begin: int, end: int) -> SlideSpan:
        """The graphs that are counted so."""
        _, _, lowest, highest, _ = self._summaries
        return self._graph_counts.between(self._columns, lowest, highest, since, begin, end)

    def _columns(self, place: int) -> np.ndarray:
        return self._slides[place].columns

    def _parts_of(self, span: SlideSpan) -> list[np.ndarray]:
        whole = [self._columns(place) for place in span.whole]
        if whole:
            whole[0] = whole[0][:, span.offset :]
        return [*span.before, *whole, *span.rest, *span.after]

    def _extent_of(self, span: SlideSpan) -> Extent:
        counts = self._summaries[-1]
        parts = [part[_SEQ] for part in (*span.before, *span.rest, *span.after)]
        count = sum(map(len, parts))
        oldest = min((int(part.min(initial=END_OF_TIME)) for part in parts), default=END_OF_TIME)
        if span.whole:
            count += int(counts[span.whole.start : span.whole.stop].sum()) - span.offset
            oldest = min(oldest, int(self._columns(span.whole.start)[_SEQ][span.offset]))
        return Extent(count, oldest)

    # --- what goes

    def forget(self, horizon: int, place: int = END_OF_TIME) -> Forgotten:
        """Drop the elements that are stamped `horizon` or earlier, but not those that were logged at `place` or
        after it."""
        first, last, lowest, highest, counts = self._summaries
        touched = np.flatnonzero(~np.asarray(lasting(first, horizon, lowest, place)))
        if not len(touched):
            return NOTHING
        gone, newest = 0, NOTHING.newest
        remains = np.ones(len(self._slides), dtype=bool)
        partly = np.asarray(lasting(last, horizon, highest, place))
        for number in touched.tolist():
            slide = self._slides[number]
            rows = np.zeros(0, dtype=bool)
            if partly[number]:
                rows = np.asarray(lasting(slide.columns[_T], horizon, slide.columns[_SEQ], place))
                if rows.all():
                    continue
            self._graph_counts.forget(number, lowest, highest)
            if rows.any():
                newest = max(newest, int(slide.columns[_T][~rows].max()))
                slide.leave(rows)
                gone += len(rows) - len(slide)
                self._room[:, number] = slide.summary
            else:
                newest = max(newest, int(last[number]))
                gone += int(counts[number])
                remains[number] = False
        if not remains.all():
            self._graph_counts.put_together([[number] for number in np.flatnonzero(remains).tolist()])
            self._slides = [self._slides[number] for number in np.flatnonzero(remains).tolist()]
            self._room = self._room[:, : len(remains)][:, remains] if self._slides else np.empty((5, 8), dtype=np.int64)
        if gone:
            self._known_bounds = None
            self._count -= gone
            self._merge()
            self._known_bounds = None
        return Forgotten(gone, newest)

    def _merge(self) -> None:
        """Make one of neighbours of whom little is left."""
        counts = self._summaries[-1]
        if not (counts[1:] + counts[:-1] <= FEW).any():
            return
        groups: list[list[int]] = []
        total = FEW
        for place, slide in enumerate(self._slides):
            if total + len(slide) > FEW:
                groups.append([])
                total = 0
            groups[-1].append(place)
            total += len(slide)
        self._graph_counts.put_together(groups)
        self._slides = [
            self._slides[few[0]]
            if len(few) == 1
            else _Slide(np.concatenate([self._columns(place) for place in few], axis=1))
            for few in groups
        ]
        self._room = np.array([slide.summary for slide in self._slides], dtype=np.int64).T.copy()

    # --- ids

    def triples(self) -> Iterable[np.ndarray]:
        """The ids of subjects, predicates and objects, where they lie: they may be written."""
        self._graph_counts.rewrite()
        return (slide.columns[:_SEQ] for slide in self._slides)


def _within(columns: np.ndarray, low: int, high: int, since: int) -> np.ndarray:
    return inside(columns[_T], low, high) & logged_after(columns[_SEQ], since)


def _joined(parts: list[np.ndarray]) -> Elements:
    """A copy of all of them."""
    if not parts:
        return Elements(*np.empty((len(Elements._fields), 0), dtype=np.int64))
    return Elements(*(np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0].copy()))
