"""The naive twin: what each workload means, in plain Python sets and loops. For tests, on tiny data."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from bench.peers.job import Job
from bench.peers.workloads import ROOMS

Triple = tuple[int, int, int]


class Naive:
    version = "this tree"

    def prepare(self, job: Job) -> None:
        self._job = job
        self._window = {tuple(row) for row in job.full.tolist()}
        self._background = {tuple(row) for row in job.background.tolist()}

    def ready(self, added: np.ndarray, removed: np.ndarray) -> tuple[set[Triple], set[Triple]]:
        return {tuple(row) for row in added.tolist()}, {tuple(row) for row in removed.tolist()}

    def slide(self, given: tuple[set[Triple], set[Triple]]) -> list[tuple[int, ...]]:
        added, removed = given
        self._window = self._window - removed | added
        triples = self._window | self._background
        names = self._job.names
        if self._job.kind == "single":
            return [(s, o) for s, _, o in triples]
        if self._job.kind == "self":
            return [(s, far) for s, _, o in triples for other, _, far in triples if o == other]
        if self._job.kind == "closure":
            return _pairs(triples, names["isIn"])
        if self._job.kind == "rdfs":
            return self._typed(triples)
        room = {s: o for s, p, o in self._background if p == names["in"]}
        sensor = {s: o for s, p, o in triples if p == names["of"]}
        read = [(obs, sensor[obs], int(self._job.tenths[value])) for obs, p, value in triples if p == names["value"]]
        if self._job.kind == "many":
            return [
                (number, obs, of, value)
                for number in range(len(self._job.queries))
                for obs, of, value in read
                if room[of] == names["room"] + number % ROOMS and value > 10 * (number // ROOMS)
            ]
        rooms: dict[int, list[int]] = defaultdict(list)
        for _, of, value in read:
            if value > 200:
                rooms[room[of]].append(value)
        return [(where, sum(values), max(values), len(values)) for where, values in rooms.items()]

    def _typed(self, triples: set[Triple]) -> list[Triple]:
        names = self._job.names
        super_classes = _above(triples, names["subClassOf"])
        super_properties = _above(triples, names["subPropertyOf"])
        found = set()
        for s, p, o in self._window:
            for q in {p} | super_properties[p]:
                found.add((s, q, o))
                for end, of in ((s, "domain"), (o, "range")):
                    for said, about, class_ in self._background:
                        if said == q and about == names[of]:
                            found |= {(end, names["type"], above) for above in {class_} | super_classes[class_]}
        return list(found)

    def rows(self, answer: list[tuple[int, ...]]) -> np.ndarray:
        return np.array(answer, dtype=np.int64).reshape(-1, self._job.arity)

    def close(self) -> None:
        self._window = set()


def _pairs(triples: set[Triple], predicate: int) -> list[tuple[int, int]]:
    """The transitive closure of what is said with a predicate."""
    found = {(s, o) for s, p, o in triples if p == predicate}
    while new := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= new
    return list(found)


def _above(triples: set[Triple], predicate: int) -> dict[int, set[int]]:
    above: dict[int, set[int]] = defaultdict(set)
    for low, high in _pairs(triples, predicate):
        above[low].add(high)
    return above
