"""Calendar: facts by the instant at which they cease, so that what ends is found without a look at what stays.

It is written for a graph of whose expiry somebody wants to hear. What it has written down may be no more: a fact that
was taken back, or holds longer now, is still there with its old tag. Who takes from it compares with the graph.

    calendar = Calendar(graph.facts())
    calendar.add(facts)                     # which were added to the graph
    calendar.take(12)                       # all with tags up to 12, the facts that were written twice twice

Invariants: what `take` has given is not given again; facts that never expire are not written down. Taking costs what is
taken, and a look at each of the blocks, of which each is less than half as large as the one before.
"""

from __future__ import annotations

import numpy as np

from csparql_spark.kernel.sort import order_of
from csparql_spark.relations.changes import EXPIRED, Signed, together
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.tags import ALWAYS


class Calendar:
    def __init__(self, facts: Facts) -> None:
        self._blocks: list[Facts] = []  # each in the order of its tags, the largest block first
        self.add(facts)

    def __len__(self) -> int:
        return sum(block.size for block in self._blocks)

    def add(self, facts: Facts) -> None:
        facts = facts.where(facts.tag != ALWAYS)
        if not facts.size:
            return
        self._blocks.append(_in_order(facts))
        while len(self._blocks) > 1 and self._blocks[-2].size <= 2 * self._blocks[-1].size:
            self._blocks[-2:] = [_in_order(together(self._blocks[-2:]))]

    def take(self, upto: int) -> Facts:
        """The facts with tags up to this, which go."""
        taken, rest = [], []
        for block in self._blocks:
            count = int(block.tag.searchsorted(upto, side="right"))
            if count:
                taken.append(block.where(slice(None, count)))
                # A copy, so that the memory of what was taken is given back.
                block = (
                    Facts(*(column[count:].copy() for column in block))
                    if 2 * count > block.size
                    else block.where(slice(count, None))
                )
            if block.size:
                rest.append(block)
        self._blocks = rest
        return together(taken)

    def renumber(self, table: np.ndarray) -> None:
        """The id `i` has become `table[i]`, or -1 where nothing that holds has it."""
        self._blocks = [Signed(EXPIRED, block).renumbered(table).facts for block in self._blocks]


def _in_order(facts: Facts) -> Facts:
    return facts.where(order_of(facts.tag - facts.tag.min()))
