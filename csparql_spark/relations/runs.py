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

from csparql_spark.kernel.join import slices
from csparql_spark.kernel.limits import UNBOUNDED
from csparql_spark.kernel.merge import held, merge
from csparql_spark.kernel.probe import absorb, drop, tags_of
from csparql_spark.relations.tags import UNTIL, Algebra

SMALL = 4096  # rows that are merged without a thought
RATIO = 3  # a run is merged into one that is less than so many times as long
SAMPLE = 1000  # so many rows tell when about half of a run is dead
FEW = 4096  # rows that are counted rather than guessed at: a run of so few is soon written again

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


class Run:
    __slots__ = ("dropped", "half", "keys", "least", "tags")

    def __init__(self, keys: np.ndarray, tags: np.ndarray) -> None:
        self.keys, self.tags = keys, tags
        self.least = int(tags.min())  # no row expires before
        self.half: int | None = None  # about half of the rows have expired then
        self.dropped = 0  # rows whose tag became zero since the run was written

    def all_hold(self, now: int) -> bool:
        return not self.dropped and self.least > now

    def decayed(self, now: int) -> bool:
        """Whether half of the rows, or nearly, are dead."""
        if 2 * self.dropped > len(self.keys):
            return True
        if self.least > now:
            return False
        if len(self.tags) <= FEW:
            return 2 * int(np.count_nonzero(self.tags <= now)) > len(self.tags)
        if self.half is None:
            sample = np.sort(self.tags[:: 1 + len(self.tags) // SAMPLE])
            self.half = int(sample[len(sample) // 2])
        return self.half <= now

    def holding(self, now: int) -> tuple[np.ndarray, np.ndarray]:
        if self.all_hold(now):
            return self.keys, self.tags
        return held(self.keys, self.tags, now)


class Runs:
    def __init__(self, now: int | None = None, algebra: Algebra = UNTIL) -> None:
        self.now = algebra.zero if now is None else now
        self.algebra = algebra
        self.runs: list[Run] = []
        self.fresh = False  # whether the last run is the fresh one

    @property
    def rows(self) -> int:
        """The number of rows in memory, dead ones included."""
        return sum(len(run.keys) for run in self.runs)

    def add(self, keys: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sorted distinct keys with tags greater than now become the fresh run, each with the union of its tags, where
        that is not what it was before. Returns which ones these are, and which ones had a row before (it may have been
        dead)."""
        self.settle()
        tags, grown, known, dropped = absorb(self.columns(), keys, tags, self.algebra.union, self.algebra.zero)
        self._note(dropped)
        self._append(keys, tags, grown)
        return grown, known

    def follow(self, keys: np.ndarray, tags: np.ndarray, known: np.ndarray) -> None:
        """Take over rows that another map has found to be new or to have grown; only those `known` can have one
        here."""
        self.settle()
        again = keys[known]
        if len(again):
            self._note(drop(self.columns(), again, self.algebra.zero))
        self._append(keys, tags, np.ones(len(keys), dtype=bool))

    def columns(self, fresh: bool = True) -> list[np.ndarray]:
        """The runs as the kernel wants them: keys and tags by turns. `fresh`: with the fresh rows."""
        runs = self.runs if fresh or not self.fresh else self.runs[:-1]
        return [column for run in runs for column in (run.keys, run.tags)]

    def _note(self, dropped: np.ndarray) -> None:
        for run, count in zip(self.runs, dropped.tolist()):
            run.dropped += count

    def _append(self, keys: np.ndarray, tags: np.ndarray, wanted: np.ndarray) -> None:
        if not wanted.all():
            keys, tags = keys[wanted], tags[wanted]
        if len(keys):
            self.runs.append(Run(keys, tags.copy()))
            self.fresh = True

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
            self._merge_last()

    def _merge_last(self) -> None:
        one, other = self.runs[-2:]
        keys, tags = merge(one.keys, one.tags, other.keys, other.tags, self.now)
        self.runs[-2:] = [Run(keys, tags)] if len(keys) else []

    def remove(self, keys: np.ndarray) -> None:
        self._note(drop(self.columns(), keys, self.algebra.zero))
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
            self._merge_last()
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
        for run in self.runs:
            run.keys = keys(run.keys)

    def holding(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows that hold, sorted, as (keys, tags). They may be the runs' own arrays: do not write into them."""
        parts = [run.holding(self.now) for run in self.runs]
        if not parts:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        while len(parts) > 1:
            parts[-2:] = [merge(*parts[-2], *parts[-1], self.now)]
        return parts[0]

    def tags_of(self, keys: np.ndarray) -> np.ndarray:
        """The tags of these keys, zero where there is no row that holds."""
        none = np.full(len(keys), self.algebra.zero, dtype=np.int64)
        result = tags_of(self.columns(), keys, none, self.algebra.union)
        result[result <= self.now] = self.algebra.zero
        return result

    def slices(self, low: np.ndarray | int, span: int, fresh: bool = True, most: int = UNBOUNDED) -> Rows:
        """The rows with low ≤ key < low + span, for each `low`, as (place in `low`, keys, tags), in no order.
        `fresh`: whether the fresh rows are looked at too. `TooMuchAtOnce`, before room is made for them, if it comes
        across more than `most` rows, dead ones included."""
        if not isinstance(low, np.ndarray):
            low = np.array([low], dtype=np.int64)
        return slices(self.columns(fresh), low, span, self.now, most)
