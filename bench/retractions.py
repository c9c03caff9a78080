"""Retractions: what it costs those who follow a graph to hear that facts were taken back before their time.

A graph of edges loses 200 of them, and gets 200 others, at each turn; matches of a join are kept over it: the alarms,
each with where its end leads. One triple in a thousand is an alarm, or twenty of all, whatever the size. Once they hear
the changes, and once they are told to start anew, as whoever is too far behind is; in turns, so that both see the same
machine. Time is that of the processor, for the graph and the matches together.

    measure((20_000,))     # {"few_20000_ms": …, "few_20000_anew_ms": …, "many_20000_ms": …, …}
"""

from __future__ import annotations

import time

import numpy as np

from csparql_spark.answers.matches import MatchTables
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.moving import Moving
from csparql_spark.windows.content import Content

NODES, CHANGED = 20_000, 200
TURNS, WARM = 60, 6
LATER = 10**12  # a tag that does not come
BODY = (("?a", "<urn:alarm>", "?b"), ("?b", "<urn:next>", "?c"))


class Edges:
    """A graph of random edges, some of which are alarms, and the matches over it."""

    def __init__(self, size: int, alarms: float) -> None:
        self._dice, self._alarms = np.random.default_rng(3), alarms
        content = Content()
        terms = content.dictionary.encode(["<urn:next>", "<urn:alarm>", *(f"<urn:{n}>" for n in range(NODES))])
        self._verbs, self._nodes = terms[:2], terms[2:]
        self._moving = Moving()
        self._moving.graph.add([self._some(size)])
        self._moving.graph.settle()
        self.table = MatchTables(self._moving, content.dictionary).table(BODY)
        self.table.move()

    def _some(self, count: int) -> Facts:
        s, o = (self._nodes[self._dice.integers(0, NODES, count)] for _ in "so")
        p = self._verbs[(self._dice.random(count) < self._alarms).astype(np.int64)]
        return Facts(s, p, o, np.full(count, LATER))

    def turn(self, anew: bool) -> float:
        """Seconds that a turn takes."""
        there, came = self._moving.graph.facts(), self._some(CHANGED)
        gone = there.where(self._dice.choice(there.size, CHANGED, replace=False))
        begun = time.process_time()
        self._moving.graph.remove(*gone[:3])
        self._moving.tell(removed=gone)
        self._moving.tell(self._moving.graph.add([came]))
        if anew:
            self._moving.forget()
        self.table.move()
        return time.process_time() - begun


def measure(sizes: tuple[int, ...] = (20_000, 200_000, 1_000_000), turns: int = TURNS) -> dict[str, float]:
    """Medians: ms of a turn, by changes and anew, and how many matches there were."""
    numbers: dict[str, float] = {}
    for size in sizes:
        for kind, alarms in (("few", 20 / size), ("many", 0.001)):
            edges = Edges(size, alarms)
            took = [(edges.turn(anew=False), edges.turn(anew=True)) for _ in range(turns)][WARM:]
            changes, anew = (1000 * float(np.median(one)) for one in zip(*took, strict=True))
            place = f"{kind}_{size}"
            numbers |= {f"{place}_ms": changes, f"{place}_anew_ms": anew, f"{place}_matches": edges.table.rows}
    return numbers
