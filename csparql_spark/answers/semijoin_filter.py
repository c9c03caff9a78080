"""Semijoin filter: the triples of a stream that nothing can be made of yet, kept apart from a graph that is searched.

What is read are basic graph patterns. A triple that fits none of them can be forgotten. One that shares a variable with
other patterns is of no use until each of those has met a triple with the same term; until then it waits, in no order,
which costs next to nothing. When the last of these terms comes, all that waited for it are let in:

    read       ?r :level :high . ?r :value ?v
    r1 :value 7         waits: no r1 is high
    r1 :level :high     comes, and r1 :value 7 goes with it
    r2 :level :low      is forgotten

So of all triples that make up a solution, none is let in later than the last of them. What was let in may still be too
much: terms that were met once count as met for ever, also when their triples have expired. Where most is let in
anyway, nobody waits any more.

    waiting = SemijoinFilter(reads, dictionary)
    waiting.let_in(facts)           # those of them, and of those that waited, that are to be searched from now on
    waiting.expire(12)              # tags up to 12 no longer hold

Whoever has the dictionary's ids renumbered has to tell it (`terms`, `renumber`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from csparql_spark.answers.patterns import Pattern
from csparql_spark.answers.relevant import fitting, shared_places
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Facts

Groups = frozenset[tuple[Pattern, ...]]

MOST_PATTERNS = 32  # so many are looked at for each triple
LOOKED = 50_000  # so many triples tell whether it pays
WORTH = 0.9  # it does not, where a greater part is let in


def narrow(groups: Iterable[tuple[Pattern, ...]]) -> Groups | None:
    """What is read, if it is few enough patterns that it can pay to look at them; None: anything may be read."""
    found = frozenset(groups)
    return found if sum(map(len, found)) <= MOST_PATTERNS else None


class SemijoinFilter:
    def __init__(self, reads: Groups | None, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self._groups = None if reads is None else [Meeting(patterns) for patterns in sorted(reads)]
        self._alone = not any(group.shares for group in self._groups or ())
        self._blocks: deque[tuple[Facts, int]] = deque()  # with the last of their tags
        self._arrivals = self._departures = 0

    def __len__(self) -> int:
        return sum(facts.size for facts, _ in self._blocks)

    def introduce(self, facts: Facts) -> None:
        """These are in the graph already."""
        for group in self._groups or ():
            group.meet(len(self._dictionary), facts, group.fits(self._dictionary, facts))

    def let_in(self, facts: Facts) -> Facts:
        groups = self._groups
        if groups is None or not facts.size:
            return facts
        fits = [group.fits(self._dictionary, facts) for group in groups]
        some = any(len(rows) for group in fits for rows in group)
        found = self._fitting(groups, facts, fits) if some else [facts.where(slice(0))]
        if self._count(facts.size, sum(part.size for part in found)):
            self._groups = None
            found += [facts for facts, _ in self._blocks]
            self._blocks.clear()
        return found[0] if len(found) == 1 else Facts(*map(np.concatenate, zip(*found)))

    def _fitting(self, groups: list[Meeting], facts: Facts, fits: list[list[np.ndarray]]) -> list[Facts]:
        """What is let in of facts some of which fit."""
        if self._alone:  # nobody waits for anything
            parts = [rows for group in fits for rows in group if len(rows)]
            if len(parts[0]) == facts.size:
                return [facts]
            return [facts.where(parts[0] if len(parts) == 1 else distinct(ordered(np.concatenate(parts))))]
        wakes = [group.meet(len(self._dictionary), facts, rows) for group, rows in zip(groups, fits, strict=True)]
        let_in, waits = _sorted_out(groups, facts, fits)
        found = [facts.where(let_in)]
        if any(wakes):
            found += self._woken(groups)
        if len(waits):
            self._wait(facts.where(waits))
        return found

    def _count(self, arrivals: int, departures: int) -> bool:
        """Take note of so many that have come, and were let in; whether most are."""
        self._arrivals += arrivals
        self._departures += departures
        if self._arrivals <= LOOKED:
            return False
        most = self._departures > WORTH * self._arrivals
        self._arrivals, self._departures = self._arrivals // 2, self._departures // 2
        return most

    def _woken(self, groups: list[Meeting]) -> list[Facts]:
        """Those that waited, and need not any more."""
        woken, blocks = [], list(self._blocks)
        self._blocks.clear()
        for facts, last in blocks:
            ready, waits = _sorted_out(groups, facts, [group.fits(self._dictionary, facts) for group in groups])
            if not len(ready):
                self._blocks.append((facts, last))
                continue
            woken.append(facts.where(ready))
            if len(waits):
                self._wait(facts.where(waits))
        return woken

    def _wait(self, facts: Facts) -> None:
        self._blocks.append((facts, int(facts.tag.max())))

    def expire(self, upto: int) -> None:
        # Those that have come first are seldom the last to go; if so, what is behind them stays a little longer.
        while self._blocks and self._blocks[0][1] <= upto:
            self._blocks.popleft()

    def terms(self) -> np.ndarray:
        parts = [column for facts, _ in self._blocks for column in facts[:3]]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def renumber(self, table: np.ndarray) -> None:
        self._blocks = deque(
            (Facts(table[facts.s], table[facts.p], table[facts.o], facts.tag), last) for facts, last in self._blocks
        )
        for group in self._groups or ():
            group.renumber(table)


def _sorted_out(groups: list[Meeting], facts: Facts, fits: list[list[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are let in, and those that wait."""
    ready, waits = np.zeros(facts.size, dtype=bool), np.zeros(facts.size, dtype=bool)
    for group, rows in zip(groups, fits, strict=True):
        group.sort_out(facts, rows, ready, waits)
    waits &= ~ready
    return np.flatnonzero(ready), np.flatnonzero(waits)


class Meeting:
    """The patterns of one basic graph pattern, and which of them have met which terms in the variables that they
    share."""

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        self._patterns = patterns
        self._shared = shared_places(patterns)  # for each variable: (pattern, position), …
        self._all = [np.uint32((1 << len(places)) - 1) for places in self._shared]
        self._met = [np.zeros(0, dtype=np.uint32) for _ in self._shared]  # by id: a bit for each of these

    @property
    def shares(self) -> bool:
        """Whether there are variables that patterns have in common."""
        return bool(self._shared)

    def fits(self, dictionary: TermDictionary, facts: Facts) -> list[np.ndarray]:
        """For each pattern the rows that fit it by themselves."""
        return [fitting(pattern, dictionary, facts[:3]) for pattern in self._patterns]

    def meet(self, ids: int, facts: Facts, fits: list[np.ndarray]) -> bool:
        """Take note of the terms of these rows; whether somebody may have waited for one of them."""
        waited = False
        for number, places in enumerate(self._shared):
            met = self._met[number]
            if len(met) < ids:
                met = self._met[number] = np.concatenate([met, np.zeros(max(ids, 2 * len(met)) - len(met), np.uint32)])
            terms = [
                (bit, facts[position][fits[pattern]])
                for bit, (pattern, position) in enumerate(places)
                if len(fits[pattern])
            ]
            before = [met[column] for _, column in terms]
            for bit, column in terms:
                met[column] |= np.uint32(1 << bit)
            all_ = self._all[number]
            waited = waited or any(
                ((then != 0) & (then != all_) & (met[column] == all_)).any()
                for then, (_, column) in zip(before, terms, strict=True)
            )
        return waited

    def sort_out(self, facts: Facts, fits: list[np.ndarray], ready: np.ndarray, waits: np.ndarray) -> None:
        """Mark the rows that all other patterns have met with the terms that they share, and the others that fit."""
        candidates = list(fits)
        for number, places in enumerate(self._shared):
            for pattern, position in places:
                rows = candidates[pattern]
                if len(rows):
                    candidates[pattern] = rows[self._met[number][facts[position][rows]] == self._all[number]]
        for rows, good in zip(fits, candidates, strict=True):
            if len(rows):
                waits[rows] = True
                ready[good] = True

    def renumber(self, table: np.ndarray) -> None:
        for number, met in enumerate(self._met):
            met = met[: len(table)]
            old = np.flatnonzero(table[: len(met)] >= 0)
            new = np.zeros(int(table.max(initial=-1)) + 1, dtype=np.uint32)
            new[table[old]] = met[old]
            self._met[number] = new
