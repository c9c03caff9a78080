"""A sorted map from integers to tags, kept as a few sorted runs of which the small ones are merged into the greater.

A row holds while its tag is greater than `now`: later, where tags say until when (`tags.UNTIL`). Rows that do not hold
are never returned; they stay in memory until half of their run is dead, so that expiring costs a comparison per run,
and rewriting is paid by the rows that it drops.
Invariants: a key is in at most one row that holds; the rows that were added last are a run of their own, the *fresh*
one, until `settle`, so that one can also look at what there was before them.

    runs = Runs()
    grown, known = runs.add(keys, tags)     # which of the keys are new or hold longer; which were there before
    index, keys, tags = runs.slices(np.array([10, 20]), 5)     # the rows with keys in 10…14 or in 20…24
    runs.expire(12)                         # tags up to 12 no longer hold
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from csparql_spark.relations.keys import order_of
from csparql_spark.relations.sieve import Sieve
from csparql_spark.relations.tags import UNTIL, Algebra

UNBOUNDED = int(np.iinfo(np.int64).max)  # as many rows as there are
SMALL = 4096  # rows that are merged without a thought
RATIO = 3  # a run is merged into one that is less than so many times as long
SIEVED = 20_000  # rows from which it pays not to look up what cannot be there
SAMPLE = 1000  # so many rows tell when about half of a run is dead
DENSE = 8  # cells of a table for each value that is looked for in it
TINY = 64  # rows that are put in order by a sort of their places
MANY = 256  # so many look-ups are quicker when their keys are sorted first

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


class TooMuchAtOnce(Exception):
    """A search comes across more rows than whoever asked has room for."""


class Run:
    __slots__ = ("dropped", "half", "keys", "least", "tags")

    def __init__(self, keys: np.ndarray, tags: np.ndarray) -> None:
        self.keys, self.tags = keys, tags
        self.least = int(tags.min())  # no row expires before
        self.half: int | None = None  # about half of the rows have expired then
        self.dropped = 0  # rows whose tag became zero since the run was written

    def all_hold(self, now: int) -> bool:
        return not self.dropped and self.least > now

    def drop(self, rows: np.ndarray, zero: int) -> None:
        self.dropped += int(np.count_nonzero(self.tags[rows] != zero))
        self.tags[rows] = zero

    def decayed(self, now: int) -> bool:
        """Whether half of the rows, or nearly, are dead."""
        if 2 * self.dropped > len(self.keys):
            return True
        if self.least > now:
            return False
        if len(self.tags) <= TINY:
            return 2 * int(np.count_nonzero(self.tags <= now)) > len(self.tags)
        if self.half is None:
            sample = np.sort(self.tags[:: 1 + len(self.tags) // SAMPLE])
            self.half = int(sample[len(sample) // 2])
        return self.half <= now

    def holding(self, now: int) -> tuple[np.ndarray, np.ndarray]:
        if self.all_hold(now):
            return self.keys, self.tags
        hold = self.tags > now
        return self.keys[hold], self.tags[hold]


class Runs:
    def __init__(self, now: int | None = None, algebra: Algebra = UNTIL) -> None:
        self.now = algebra.zero if now is None else now
        self.algebra = algebra
        self.runs: list[Run] = []
        self.fresh = False  # whether the last run is the fresh one
        self._sieve: Sieve | None = None  # all keys are in it, if there is one

    @property
    def rows(self) -> int:
        """The number of rows in memory, dead ones included."""
        return sum(len(run.keys) for run in self.runs)

    def add(self, keys: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sorted distinct keys with tags greater than now become the fresh run, each with the union of its tags, where
        that is not what it was before. Returns which ones these are, and which ones had a row before (it may have been
        dead)."""
        self.settle()
        grown, known = np.ones(len(keys), dtype=bool), np.zeros(len(keys), dtype=bool)
        sought = self._sought(keys)
        for run in self.runs:
            places, rows = found(run.keys, keys if sought is None else keys[sought])
            if len(places):
                places = places if sought is None else sought[places]
                known[places] = True
                before = run.tags[rows]
                after = self.algebra.union(before, tags[places])
                grows = after != before
                grown[places[~grows]] = False
                run.drop(rows[grows], self.algebra.zero)
                if not self.algebra.idempotent:  # otherwise, what has grown is the new tag
                    tags = tags.copy()
                    tags[places] = after
        self._append(keys, tags, grown)
        return grown, known

    def follow(self, keys: np.ndarray, tags: np.ndarray, known: np.ndarray) -> None:
        """Take over rows that another map has found to be new or to have grown; only those `known` can have one
        here."""
        self.settle()
        again = keys[known]
        for run in self.runs if len(again) else ():
            run.drop(found(run.keys, again)[1], self.algebra.zero)
        self._append(keys, tags, np.ones(len(keys), dtype=bool))

    def _sought(self, keys: np.ndarray) -> np.ndarray | None:
        """The places of the keys that may be here; None: any may."""
        rows = self.rows
        if rows < SIEVED:
            self._sieve = None
        if rows < SIEVED or len(keys) < MANY:
            return None
        if self._sieve is None or self._sieve.full or self._sieve.too_large(rows):
            self._sieve = Sieve(rows)
            for run in self.runs:
                self._sieve.add(run.keys)
        return self._sieve.passing(keys)

    def _append(self, keys: np.ndarray, tags: np.ndarray, wanted: np.ndarray) -> None:
        if not wanted.all():
            keys, tags = keys[wanted], tags[wanted]
        if len(keys):
            self.runs.append(Run(keys, tags.copy()))
            self.fresh = True
            if self._sieve is not None:
                self._sieve.add(keys)

    def refresh(self, keys: np.ndarray) -> None:
        """Make the rows of these sorted keys the fresh run."""
        self.settle()
        tags = self.tags_of(keys)
        self.remove(keys)
        self._append(keys, tags, tags > self.now)

    def discard_fresh(self) -> None:
        if self.fresh:
            self.runs.pop()
            self.fresh = False

    def settle(self) -> None:
        """What was fresh is now like the rest."""
        self.fresh = False
        runs = self.runs
        for run in runs:
            if 2 * run.dropped > len(run.keys):
                self._tidy()
                runs = self.runs
                break
        while len(runs) > 1 and len(runs[-2].keys) <= max(SMALL, RATIO * len(runs[-1].keys)):
            keys, tags = merged(runs[-2].holding(self.now), runs[-1].holding(self.now))
            runs[-2:] = [Run(keys, tags)] if len(keys) else []

    def remove(self, keys: np.ndarray) -> None:
        for run in self.runs:
            _, rows = found(run.keys, keys)
            if len(rows):
                run.drop(rows, self.algebra.zero)
        self._tidy()

    def expire(self, now: int) -> None:
        """Tags up to `now` no longer hold."""
        self.now = max(self.now, now)
        if any(run.least <= self.now for run in self.runs):
            self._tidy()

    def compact(self) -> None:
        """One run, and no dead row."""
        self.fresh = False
        while len(self.runs) > 1:
            keys, tags = merged(self.runs[-2].holding(self.now), self.runs[-1].holding(self.now))
            self.runs[-2:] = [Run(keys, tags)] if len(keys) else []
        self._tidy(wholly=True)

    def _tidy(self, wholly: bool = False) -> None:
        """Rewrite the runs of which half is dead, or, wholly, those with any dead row."""
        runs, last = [], len(self.runs) - 1
        for place, run in enumerate(self.runs):
            if not run.all_hold(self.now) and (wholly or run.decayed(self.now)):
                keys, tags = run.holding(self.now)
                if not len(keys):
                    self.fresh = self.fresh and place != last
                    continue
                run = Run(keys, tags)
            runs.append(run)
        self.runs = runs

    def rewrite(self, keys: Callable[[np.ndarray], np.ndarray]) -> None:
        """Replace the keys by others that are in the same order."""
        self._sieve = None
        for run in self.runs:
            run.keys = keys(run.keys)

    def holding(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows that hold, sorted, as (keys, tags). They may be the runs' own arrays: do not write into them."""
        parts = [run.holding(self.now) for run in self.runs]
        if not parts:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        while len(parts) > 1:
            parts[-2:] = [merged(parts[-2], parts[-1])]
        return parts[0]

    def tags_of(self, keys: np.ndarray) -> np.ndarray:
        """The tags of these keys, zero where there is no row that holds."""
        result = np.full(len(keys), self.algebra.zero, dtype=np.int64)
        for run in self.runs:
            places, rows = found(run.keys, keys)
            if len(places):
                result[places] = self.algebra.union(result[places], run.tags[rows])
        result[result <= self.now] = self.algebra.zero
        return result

    def slices(self, low: np.ndarray | int, span: int, fresh: bool = True, most: int = UNBOUNDED) -> Rows:
        """The rows with low ≤ key < low + span, for each `low`, as (place in `low`, keys, tags), in no order.
        `fresh`: whether the fresh rows are looked at too. `TooMuchAtOnce`, before room is made for them, if it comes
        across more than `most` rows, dead ones included."""
        runs = self.runs if fresh or not self.fresh else self.runs[:-1]
        if not isinstance(low, np.ndarray) or len(low) == 1:
            return self._slice(runs, int(low[0]) if isinstance(low, np.ndarray) else low, span, most)
        sought, inverse = (low, None) if len(low) < MANY else grouped(low)
        parts = []
        for run in runs:
            part = self._matches(run, sought, inverse, span, most)
            if part is not None:
                parts.append(part)
                most -= len(part[0])
        return _joined(parts)

    def _slice(self, runs: list[Run], low: int, span: int, most: int) -> Rows:
        parts = []
        for run in runs:
            first, last = run.keys.searchsorted(np.array([low, low + span]))
            if last - first > most:
                raise TooMuchAtOnce
            most -= int(last - first)
            if first < last:
                # A copy, because rows are dropped in place.
                keys, tags = run.keys[first:last], run.tags[first:last].copy()
                if not run.all_hold(self.now):
                    hold = tags > self.now
                    keys, tags = keys[hold], tags[hold]
                parts.append((np.zeros(len(keys), dtype=np.int64), keys, tags))
        return _joined(parts)

    def _matches(self, run: Run, low: np.ndarray, inverse: np.ndarray | None, span: int, most: int) -> Rows | None:
        first = run.keys.searchsorted(low)
        hit = run.keys.take(first, mode="clip") < low + span
        hit &= first < len(run.keys)
        hits = np.flatnonzero(hit)
        if not len(hits):
            return None
        first = first[hits]
        counts = run.keys.searchsorted(low[hits] + span) - first
        if inverse is not None:  # from the distinct look-ups to all of them
            place = np.full(len(low), -1, dtype=np.int64)
            place[hits] = np.arange(len(hits))
            which = place[inverse]
            hits = np.flatnonzero(which >= 0)
            which = which[hits]
            first, counts = first[which], counts[which]
        total = int(counts.sum())
        if total > most:
            raise TooMuchAtOnce
        if total == len(hits):
            index, rows = hits, first
        else:
            index = np.repeat(hits, counts)
            rows = np.arange(total) + np.repeat(first - np.cumsum(counts) + counts, counts)
        tags = run.tags[rows]
        if not run.all_hold(self.now):
            hold = tags > self.now
            if not hold.all():
                index, rows, tags = index[hold], rows[hold], tags[hold]
        return index, run.keys[rows], tags


def merged(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The rows of both, sorted; they have no key in common."""
    (keys, tags), (less, fewer) = (one, other) if len(one[0]) >= len(other[0]) else (other, one)
    if not len(less):
        return keys, tags
    if len(keys) <= TINY:  # what is quick for many takes more calls
        both = np.concatenate((keys, less))
        order = both.argsort(kind="stable")
        return both[order], np.concatenate((tags, fewer))[order]
    # Sorting two sorted runs is merging them, for a merge sort. The lowest bit says where a key comes from: the tags
    # follow in the order that they have already.
    both = np.empty(len(keys) + len(less), dtype=np.uint64)
    np.left_shift(keys.view(np.uint64), 1, out=both[: len(keys)])
    np.left_shift(less.view(np.uint64), 1, out=both[len(keys) :])
    both[len(keys) :] |= 1
    both.sort(kind="stable")
    from_less = (both & 1).astype(np.bool_)
    all_tags = np.empty(len(both), dtype=np.int64)
    all_tags[from_less] = fewer
    all_tags[~from_less] = tags
    both >>= 1
    return both.view(np.int64), all_tags


def found(sorted_keys: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the keys are among the sorted ones, and where: (places in `keys`, rows)."""
    rows = sorted_keys.searchsorted(keys)
    places = (sorted_keys.take(rows, mode="clip") == keys).nonzero()[0]
    return places, rows[places]


def grouped(low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, sorted, and for each value its place among them."""
    if not len(low):
        return low, low
    steps = low[1:] != low[:-1]
    if (low[1:] >= low[:-1]).all():
        inverse = np.zeros(len(low), dtype=np.int64)
        np.cumsum(steps, out=inverse[1:])
        return low[np.concatenate([[True], steps])], inverse
    least = low.min()
    cell = low - least
    differing = int(np.bitwise_or.reduce(cell))
    shift = (differing & -differing).bit_length() - 1  # all differ by multiples of two to this power
    if 0 <= differing >> shift < DENSE * len(low):  # a table of all that are possible takes no sorting
        cell >>= shift
        there = np.zeros((differing >> shift) + 1, dtype=bool)
        there[cell] = True
        return (np.flatnonzero(there) << shift) + least, (np.cumsum(there) - 1)[cell]
    order = order_of(low)
    low = low[order]
    new = np.concatenate([[True], low[1:] != low[:-1]])
    inverse = np.empty(len(low), dtype=np.int64)
    inverse[order] = np.cumsum(new) - 1
    return low[new], inverse


def _joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing
    index, keys, tags = (np.concatenate(columns) for columns in zip(*parts))
    return index, keys, tags
