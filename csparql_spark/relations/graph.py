"""Tagged triples, found by any of their places.

A graph keeps each triple once, with the union of its tags (the latest, where tags say until when; see `tags`), in the
order (p, s, o) and in those of three more orders that were asked for: they are built when they are first needed, and
given up when nobody has needed them for long. Triples that were added last are *fresh* until more are added or the
graph is settled: a search may leave them out, and sees the graph as it was before.

    graph = TaggedGraph()
    delta = graph.add([(s, p, o, tag)])             # the triples that are new, or hold longer now
    graph.search(s=np.array([3, 5]), p=7)           # the rows (3, 7, ?) and (5, 7, ?)
    graph.expire(12)                                # tags up to 12 no longer hold
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from csparql_spark.kernel.limits import UNBOUNDED
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.relations.keys import BY_BOUND, PSO, Column, Packing, Permutation
from csparql_spark.relations.runs import Runs
from csparql_spark.relations.tags import NEVER, UNTIL, Algebra

IDLE = 1  # an order is given up when so many times its rows were added since it was asked for


class Facts(NamedTuple):
    """Triples and their tags, as columns of the same length."""

    s: np.ndarray
    p: np.ndarray
    o: np.ndarray
    tag: np.ndarray

    @property
    def size(self) -> int:
        return len(self.tag)

    def where(self, rows: np.ndarray | slice) -> Facts:
        return Facts(self.s[rows], self.p[rows], self.o[rows], self.tag[rows])

    @classmethod
    def none(cls) -> Facts:
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, nothing)


class Keyed(NamedTuple):
    """Triples that are packed already, by the packing of the graph that they are for when a term had this width."""

    keys: np.ndarray
    tag: np.ndarray
    width: int

    @property
    def size(self) -> int:
        return len(self.tag)


Block = tuple[np.ndarray, Column, np.ndarray, np.ndarray]  # facts; the predicate may be one for all of them


class Selection:
    """Rows that were found: `index` says for which of the searches, `tag` until when they hold."""

    __slots__ = ("_keys", "_order", "_packing", "index", "tag")

    def __init__(
        self, index: np.ndarray, keys: np.ndarray, tag: np.ndarray, order: Permutation, packing: Packing
    ) -> None:
        self.index, self.tag, self._keys, self._order, self._packing = index, tag, keys, order, packing

    def __len__(self) -> int:
        return len(self.tag)

    def column(self, place: str) -> np.ndarray:
        """The terms in a place: "s", "p" or "o"."""
        return self._packing.place(self._keys, self._order, place)

    def where(self, rows: np.ndarray) -> Selection:
        return Selection(self.index[rows], self._keys[rows], self.tag[rows], self._order, self._packing)


class TaggedGraph:
    def __init__(self, now: int | None = None, algebra: Algebra = UNTIL, packing: Packing | None = None) -> None:
        self.algebra = algebra
        self.packing = Packing() if packing is None else packing
        self._main = Runs(now, algebra)  # in the order PSO
        self._others: dict[Permutation, Runs] = {}
        self._idle: dict[Permutation, int] = {}  # rows added since an order was asked for

    @property
    def now(self) -> int:
        return self._main.now

    @property
    def rows(self) -> int:
        """The number of rows in memory, dead ones included."""
        return self._main.rows

    def add(self, blocks: Iterable[Block | Keyed]) -> Facts:
        """Returns those that are new or hold longer than before (whose tags have grown): each once, with its tag now,
        ordered by predicate, subject and object. They are the fresh ones now. Facts that do not hold any more are
        ignored."""
        keys, tags, _ = self.add_keyed(blocks)
        return Facts(*self.packing.unpack(keys), tags)

    def add_keyed(self, blocks: Iterable[Block | Keyed]) -> Keyed:
        """As `add`, but packed."""
        keys, tags = self.algebra.united(*self._keys(blocks), self.now)
        grown, known = self._main.add(keys, tags)
        if not grown.all():
            keys, tags, known = keys[grown], tags[grown], known[grown]
        if not self.algebra.idempotent:
            tags = self._main.tags_of(keys)
        self._follow(keys, tags, known)
        return Keyed(keys, tags, self.packing.width)

    def _keys(self, blocks: Iterable[Block | Keyed]) -> tuple[np.ndarray, np.ndarray]:
        blocks = [block for block in blocks if (block.size if isinstance(block, Keyed) else len(block[3]))]
        for block in blocks:  # first, because it may change how keys are packed
            previous = None if isinstance(block, Keyed) else self.packing.learn(block[1])
            if previous is not None:
                self._widen(previous)
        parts = [self._packed(block) for block in blocks]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        keys, tags = (np.concatenate(columns) for columns in zip(*parts))
        return keys, tags

    def _packed(self, block: Block | Keyed) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(block, Keyed):
            s, p, o, tag = block
            return self.packing.pack(s, p, o), tag
        same = block.width == self.packing.width
        return block.keys if same else self.packing.widened(block.keys, block.width), block.tag

    def keyed(self, facts: Facts) -> Keyed:
        """Facts of the graph, packed."""
        return Keyed(self.packing.pack(facts.s, facts.p, facts.o), facts.tag, self.packing.width)

    def _follow(self, keys: np.ndarray, tags: np.ndarray, known: np.ndarray) -> None:
        """Bring the other orders up to date with what was added."""
        for order in list(self._others):
            self._idle[order] += len(keys)
            if self._idle[order] > IDLE * self._main.rows:
                del self._others[order], self._idle[order]
                continue
            self._others[order].follow(*self.packing.turned(order, keys, tags, known))

    def _widen(self, previous: int) -> None:
        self._main.rewrite(lambda keys: self.packing.widened(keys, previous))
        self._forget_orders()

    def _forget_orders(self) -> None:
        self._others.clear()
        self._idle.clear()

    def ordered_by(self, order: Permutation) -> Runs:
        """The triples in one of their orders."""
        if order == PSO:
            return self._main
        self._idle[order] = 0
        if order not in self._others:
            runs = self._others[order] = Runs(self.now, self.algebra)
            parts = [run.holding(self.now) for run in self._main.runs]
            fresh = parts.pop() if self._main.fresh else None
            if parts:
                self._load(runs, order, *(np.concatenate(columns) for columns in zip(*parts)))
            runs.settle()
            if fresh is not None:
                self._load(runs, order, *fresh)
        return self._others[order]

    def _load(self, runs: Runs, order: Permutation, keys: np.ndarray, tags: np.ndarray) -> None:
        keys, tags, _ = self.packing.turned(order, keys, tags, np.zeros(len(keys), dtype=bool), in_order=False)
        runs.add(keys, tags)

    def _all(self) -> list[Runs]:
        return [self._main, *self._others.values()]

    def settle(self) -> None:
        """What was fresh is now like the rest."""
        for runs in self._all():
            runs.settle()

    def refresh(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        """Make these triples of the graph the fresh ones."""
        self._others_too(Runs.refresh, s, p, o)

    def discard_fresh(self) -> None:
        """Remove the fresh triples."""
        for runs in self._all():
            runs.discard_fresh()

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        """Triples that are not there do not matter."""
        self._others_too(Runs.remove, s, p, o)

    def _others_too(
        self, change: Callable[[Runs, np.ndarray], None], s: np.ndarray, p: np.ndarray, o: np.ndarray
    ) -> None:
        keys = self.packing.pack(s, p, o)
        keys = distinct(ordered(keys[keys >= 0]))
        change(self._main, keys)
        for order, runs in self._others.items():
            change(runs, ordered(self.packing.reordered(keys, order)))

    def expire(self, now: int) -> None:
        for runs in self._all():
            runs.expire(now)

    def tags_of(self, s: np.ndarray, p: Column, o: np.ndarray) -> np.ndarray:
        """The tags of these triples, zero for those that are not there."""
        return self._main.tags_of(self.packing.pack(s, p, o))

    def search(
        self,
        s: Column | None = None,
        p: Column | None = None,
        o: Column | None = None,
        fresh: bool = True,
        most: int = UNBOUNDED,
    ) -> Selection:
        """All rows that have the given terms in their places. Columns are searched row by row; without any, there is
        one search. `fresh`: whether the fresh triples are looked at too; `most`: see `Runs.slices`."""
        bound = {place: column for place, column in (("o", o), ("p", p), ("s", s)) if column is not None}
        order = BY_BOUND["".join(bound)] if bound else PSO
        return self.look(order, bound, fresh, most)

    def look(self, order: Permutation, bound: dict[str, Column], fresh: bool, most: int) -> Selection:
        """As `search`, in an order that begins with the places that are bound."""
        if not bound:
            return Selection(*self._main.slices(0, ALL, fresh, most), order, self.packing)
        low, span = self.packing.prefix(order, bound)
        return Selection(*self.ordered_by(order).slices(low, span, fresh, most), order, self.packing)

    def count(self, p: int) -> int:
        """About how many rows have this predicate."""
        low, span = self.packing.prefix(PSO, {"p": p})
        bounds = np.array([low, low + span])
        return int(sum(np.diff(run.keys.searchsorted(bounds))[0] for run in self._main.runs))

    def holding(self, after: int, p: int | None = None) -> int:
        """How many facts (with this predicate) have tags later than `after`."""
        low, span = (0, ALL) if p is None else self.packing.prefix(PSO, {"p": p})
        after, total = max(after, self.now), 0
        for run in self._main.runs:
            first, last = run.keys.searchsorted(np.array([low, low + span]))
            tags = run.tags[first:last]
            total += len(tags) if run.all_hold(after) else int(np.count_nonzero(tags > after))
        return total

    def facts(self, after: int = NEVER) -> Facts:
        """All facts whose tags are later than `after`."""
        keys, tags = self._main.holding()
        if after > self.now:
            later = tags > after
            keys, tags = keys[later], tags[later]
        return Facts(*self.packing.unpack(keys), tags.copy())

    def all_keyed(self) -> Keyed:
        """All facts, packed. The columns may be the graph's own: do not write into them."""
        return Keyed(*self._main.holding(), self.packing.width)

    def terms(self) -> np.ndarray:
        """The ids that occur in what holds, sorted, each once."""
        facts = self.facts()
        return distinct(ordered(np.concatenate([facts.s, facts.o, distinct(facts.p)])))

    def renumber(self, table: np.ndarray) -> None:
        """Each id `i` becomes `table[i]`. The new ids of all that are in use must be in the order of the old ones."""
        self._main.compact()
        keys, tags = self._main.holding()
        keys = self.packing.renumbered(table, keys)
        now = self.now
        self._main = Runs(now, self.algebra)
        self._main.add(keys, tags)
        self.settle()
        self._forget_orders()


ALL = (1 << 63) - 1
