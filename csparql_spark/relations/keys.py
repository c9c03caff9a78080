"""Triples of ids packed into one integer, in any of four orders: the orders in which a triple can be looked up.

A predicate is replaced by its rank, the order in which predicates were first seen: there are few of them, so that more
bits are left for the terms. Integers compare as the packed triples do, so a sorted array is an index, and all triples
that share the first one or two places are one slice of it. Whoever knows more predicates than fit gets new widths: the
keys that were packed before then have to be packed again (`widened`).

    packing = Packing()
    packing.learn(p)                        # before the first triples with these predicates are packed
    keys = packing.pack(s, p, o)            # sorted, they are ordered by the predicate's rank, then s, then o
    packing.unpack(keys)                    # (s, p, o)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csparql_spark.kernel.sort import distinct, ordered, turn

BITS = 63
RANK_BITS = 11  # at first; there are 26 for each term then
Column = np.ndarray | int


@dataclass(frozen=True, slots=True, eq=False)  # there is one of each: it is looked up as itself
class Permutation:
    """Places of a triple ("p", "s", "o") from the most significant one."""

    places: str

    def shifts(self, width: int) -> dict[str, int]:
        """By how many bits each place is shifted, a term being `width` bits wide."""
        found, shift = {}, BITS
        for place in self.places:
            shift -= BITS - 2 * width if place == "p" else width
            found[place] = shift
        return found


PSO, POS, SPO, OSP = map(Permutation, ("pso", "pos", "spo", "osp"))

# The order in which the triples that have these places in common are neighbours.
BY_BOUND = {"p": PSO, "ps": PSO, "ops": PSO, "op": POS, "s": SPO, "o": OSP, "os": OSP}

# The places at the end of an order that are sorted as soon as those before them are, by a sort that leaves equal keys
# in the order PSO, which they had.
ALREADY = {PSO: "pso", POS: "s", SPO: "po", OSP: "p"}


class Packing:
    def __init__(self) -> None:
        self._ranks = np.full(256, -1, dtype=np.int64)  # by id; -1 for what is no predicate
        self.predicates = np.empty(0, dtype=np.int64)  # by rank
        self._set_rank_bits(RANK_BITS)

    def _set_rank_bits(self, rank_bits: int) -> None:
        self.rank_bits = rank_bits
        self.width = (BITS - rank_bits) // 2
        self.shifts = {order: order.shifts(self.width) for order in (PSO, POS, SPO, OSP)}
        self.masks = {"p": (1 << BITS - 2 * self.width) - 1, "s": (1 << self.width) - 1, "o": (1 << self.width) - 1}
        self._masks = _by_place(self.masks)
        self._turns = {order: (_by_place(shifts), self._in_order(order)) for order, shifts in self.shifts.items()}

    def _in_order(self, order: Permutation) -> int:
        """How many of the lowest bits of keys are in order as soon as the others are, where they come sorted in PSO."""
        least = ALREADY[order]
        return min((shift for place, shift in self.shifts[order].items() if place not in least), default=BITS)

    def learn(self, p: Column) -> int | None:
        """Give ranks to predicates that have none. Where that changes the widths, the result is the previous width."""
        if not isinstance(p, int) and len(p) == 1:
            p = int(p[0])
        if isinstance(p, int):
            if p < len(self._ranks) and self._ranks[p] >= 0:
                return None
            p = np.array([p], dtype=np.int64)
        elif not len(p):
            return None
        self._grow(int(p.max()))
        new = p[self._ranks[p] < 0]
        if not len(new):
            return None
        new = distinct(ordered(new))
        self._ranks[new] = np.arange(len(self.predicates), len(self.predicates) + len(new))
        self.predicates = np.concatenate([self.predicates, new])
        needed = len(self.predicates).bit_length()  # the last rank of all is never used: it is a bound
        if needed <= self.rank_bits:
            return None
        previous = self.width
        self._set_rank_bits(needed + 1)
        return previous if previous != self.width else None

    def ranks(self, p: Column) -> Column:
        """-1 where an id is not known as a predicate."""
        if isinstance(p, int):
            return int(self._ranks[p]) if p < len(self._ranks) else -1
        if len(p):
            self._grow(int(p.max()))
        return self._ranks[p]

    def pack(self, s: np.ndarray, p: Column, o: np.ndarray) -> np.ndarray:
        """Keys in the order PSO. A triple whose predicate was never learned gets a negative key, which nothing has."""
        if len(s) == 1:
            subject, predicate, object_ = int(s[0]), p if isinstance(p, int) else int(p[0]), int(o[0])
            self._check(max(subject, object_))
            return np.array([(self.ranks(predicate) << 2 * self.width) | (subject << self.width) | object_])
        for terms in (s, o):
            if len(terms):
                self._check(int(terms.max()))
        return (self.ranks(p) << 2 * self.width) | (s << self.width) | o

    def unpack(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.place(keys, PSO, "s"), self.place(keys, PSO, "p"), self.place(keys, PSO, "o")

    def place(self, keys: np.ndarray, order: Permutation, place: str) -> np.ndarray:
        """One column of the triples that have these keys in `order`."""
        column = (keys >> self.shifts[order][place]) & self.masks[place]
        return self.predicates[column] if place == "p" else column

    def reordered(self, keys: np.ndarray, order: Permutation) -> np.ndarray:
        """The keys in `order` of triples that have these keys in PSO."""
        shifts, here = self.shifts[order], self.shifts[PSO]
        result = np.zeros(len(keys), dtype=np.int64)
        for place in "pso":
            result |= ((keys >> here[place]) & self.masks[place]) << shifts[place]
        return result

    def turned(
        self, order: Permutation, keys: np.ndarray, tags: np.ndarray, known: np.ndarray, in_order: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The keys in `order` of triples that have these keys in PSO, sorted, and what goes with them. `in_order`:
        whether they are sorted, so that the places at the end of the other order need not be looked at."""
        new, skip = self._turns[order]
        return turn(keys, tags, known, self._turns[PSO][0], self._masks, new, skip if in_order else 0)

    def prefix(self, order: Permutation, bound: dict[str, Column]) -> tuple[Column, int]:
        """The least key that has these terms in its first places, and the distance to the first key beyond them."""
        low: Column = 0
        for place in order.places[: len(bound)]:
            column = bound[place]
            if place == "p":
                column = self.ranks(column)
            elif isinstance(column, int):
                self._check(column)
            low = low + (column << self.shifts[order][place])
        return low, 1 << self.shifts[order][order.places[len(bound) - 1]]

    def widened(self, keys: np.ndarray, previous: int) -> np.ndarray:
        """Keys in PSO, packed when a term had another width, as they are packed now. They stay sorted."""
        mask = (1 << previous) - 1
        return ((keys >> 2 * previous) << 2 * self.width) | ((keys >> previous & mask) << self.width) | (keys & mask)

    def renumbered(self, table: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Take over new ids (see `TaggedGraph.renumber`) and the ranks of the predicates that `keys` use; these keys,
        in PSO, as they are packed now. They stay sorted."""
        s, o = self.place(keys, PSO, "s"), self.place(keys, PSO, "o")
        ranks = keys >> 2 * self.width
        used = distinct(ordered(ranks))
        self.predicates = table[self.predicates[used]]
        self._ranks = np.full(max(256, int(self.predicates.max(initial=0)) + 1), -1, dtype=np.int64)
        self._ranks[self.predicates] = np.arange(len(used))
        return (np.searchsorted(used, ranks) << 2 * self.width) | (table[s] << self.width) | table[o]

    def _check(self, id: int) -> None:
        if id >= self.masks["s"]:
            raise OverflowError(
                f"The id {id} is too great: with {len(self.predicates)} predicates, ids go up to "
                f"{self.masks['s'] - 1}. Compact the term dictionary."
            )

    def _grow(self, id: int) -> None:
        if id >= len(self._ranks):
            more = np.full(max(id + 1, 2 * len(self._ranks)) - len(self._ranks), -1, dtype=np.int64)
            self._ranks = np.concatenate([self._ranks, more])


def _by_place(numbers: dict[str, int]) -> np.ndarray:
    return np.array([numbers[place] for place in "pso"], dtype=np.int64)
