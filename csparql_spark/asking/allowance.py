"""An allowance: how many bytes of graphs and windows may be read for one question into the process that serves.

    allowance = Allowance(768 << 20, "the question asks", "name fewer of them with FROM")
    reader = current.within(allowance)
    reader.graph(iri)                    # raises AllowanceSpent, before what would be too much is made to triples
    allowance.foresee(1_000_000)         # so many triples are about to be read

What a question reads is sent to a child, which has so much memory: more would be refused there, but only after this
process had held all of it. Graphs and windows count together, pieces as soon as they are read.
"""

from __future__ import annotations

from collections.abc import Callable

from csparql_spark.answers.limits import size

TRIPLE_BYTES = 20  # at least: three ids and a stamp. Its terms go besides


class AllowanceSpent(Exception):
    """More is to be read than may be; the text says of what, and what to do."""


class Allowance:
    def __init__(self, most: int, read: str, advice: str, expect: Callable[[int], object] = lambda size: None) -> None:
        """`read`: by whom and how graphs are; `advice`: what to do if these are too large; `expect`: told how much
        there will be at least."""
        self._most, self._read, self._advice, self._expect = most, read, advice, expect
        self.taken = 0

    def foresee(self, triples: int) -> None:
        """So many are about to be read."""
        self._expect(self.taken + TRIPLE_BYTES * triples)

    def graph(self, count: int) -> None:
        """A graph of so many bytes is read. Raises `AllowanceSpent`."""
        self._take(count, f"the graphs that {self._read}", self._advice)

    def window(self, count: int) -> None:
        """A piece of a window."""
        self._take(count, "the windows, with the graphs beside them,", "choose a narrower RANGE")

    def _take(self, count: int, what: str, advice: str) -> None:
        self.taken += count
        if self.taken > self._most:
            raise AllowanceSpent(f"{what} hold more than the {size(self._most)} that a question may have: {advice}")
        self._expect(self.taken)
