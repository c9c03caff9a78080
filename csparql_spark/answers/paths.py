"""Paths that repeat their steps: which node leads to which, and until when, from the steps that there are.

A way along several steps holds until the first of them ceases; of several ways between two nodes, the one counts that
holds longest. So what is reached has a tag like any other fact: the minimum over the steps of a way, the maximum over
the ways. Nodes are told once for each pair, however many ways there are, as SPARQL has it for `+` and `*`.

    a ──9── b ──5── c        a reaches b until 9, c until 7:
    a ──7── d ──8── c        the way by d holds longer

    paths = Paths()
    paths.move(start, end, tag, after, deadline)        # columns of steps, with tags later than `after`
    paths.pairs()                                       # what leads to what, with one step or more
    reached(start, end, tag, node, deadline)            # what is reached from a node, without looking at all the rest

`Paths` is kept from one answer to the next: what is closed stays so while tags expire, and new steps are put in front
of, between and behind what was there. Where steps are taken back before their time, or hold shorter, the pairs go that
may hold so long thanks to them: those whose tag a way through the step gives. Those of them that another way leads to
come back, with the tag that it has.

    a ──9── b ──5── c        b to d is taken back: a to d has a way through it that holds as long as it does, and goes;
    b ──9── d ──5── c        a to c may hold until 5 thanks to it, goes too, and comes back by b to c

Nothing is joined that would have more rows than a table may have: `TooManyMatches`.
"""

from __future__ import annotations

import numpy as np

from csparql_spark.answers import tables
from csparql_spark.answers.deadline import Deadline
from csparql_spark.answers.matches import TooManyMatches
from csparql_spark.answers.tables import latest_of
from csparql_spark.kernel.join import pairs
from csparql_spark.kernel.limits import UNBOUNDED, TooMuchAtOnce
from csparql_spark.kernel.sort import dense_ranks, order_of
from csparql_spark.relations.graph import Facts, Selection, TaggedGraph
from csparql_spark.relations.tags import ALWAYS, NEVER, UNTIL

LINK = 0  # the only predicate of the graphs here
FOR_EACH = 48  # bytes of a pair, in the orders in which it is looked up


class Paths:
    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin with no step: ids mean other terms, say, or what was seen is later than what will be."""
        self._after = NEVER
        self._closed = TaggedGraph()
        self._steps = TaggedGraph()

    @property
    def nbytes(self) -> int:
        return FOR_EACH * (self._closed.rows + self._steps.rows)

    def move(self, start: np.ndarray, end: np.ndarray, tag: np.ndarray, after: int, deadline: Deadline) -> None:
        """See these steps, all of them with tags later than `after`."""
        if after < self._after:
            self.restart()
        self._after = after
        for graph in (self._closed, self._steps):
            graph.expire(after)
        known = self._steps.tags_of(start, LINK, end) if self._steps.rows else np.full(len(tag), NEVER)
        try:
            if np.count_nonzero(known > after) < self._steps.facts(after).size or (known > tag).any():
                self._take_back(start, end, tag, deadline)
                known = self._steps.tags_of(start, LINK, end)
            new = known < tag
            steps = Facts(start[new], np.full(int(np.count_nonzero(new)), LINK), end[new], tag[new])
            self._extend(self._closed.add([steps]), deadline)
            self._steps.add([steps])
            self._steps.settle()
        except Exception:
            self.restart()  # not closed: nobody must go on from there
            raise

    def _take_back(self, start: np.ndarray, end: np.ndarray, tag: np.ndarray, deadline: Deadline) -> None:
        """Close the steps but for those that are not among these any more, or hold shorter."""
        seen = TaggedGraph(self._after)
        seen.add([(start, LINK, end, tag)])
        had = self._steps.facts(self._after)
        gone = had.where(seen.tags_of(*had[:3]) < had.tag)
        self._steps.remove(*gone[:3])
        doomed = self._resting_on(gone, deadline)
        self._closed.remove(*doomed[:3])
        # What one step leads to, and one step and a way that has stayed; then, one step before what has come back.
        steps = self._steps.tags_of(*doomed[:3])
        back = [doomed._replace(tag=steps).where(steps > NEVER)]
        first = _searched(self._steps, doomed.s, "s")
        s, o = doomed.s[first.index], doomed.o[first.index]
        rest = self._closed.tags_of(first.column("o"), LINK, o)
        way = Facts(s, np.full(len(s), LINK), o, UNTIL.join(first.tag, rest))
        back.append(way.where(rest > NEVER))
        last = self._closed.add(back)
        while last.size:
            deadline.check()
            last = self._closed.add([_left(last, _searched(self._steps, last.s, "o"))])
        self._closed.settle()

    def _resting_on(self, gone: Facts, deadline: Deadline) -> Facts:
        """The pairs that may be as they are thanks to these steps: a way through one of them has their tag."""
        doomed = TaggedGraph(self._after)
        deadline.check()
        ways = [gone, _left(gone, _searched(self._closed, gone.s, "o"))]
        for way in list(ways):
            ways.append(_right(way, _searched(self._closed, way.o, "s")))
            _check(sum(one.size for one in ways))
        for way in ways:
            doomed.add([way.where(self._closed.tags_of(*way[:3]) == way.tag)])
        return doomed.facts()

    def _extend(self, added: Facts, deadline: Deadline) -> None:
        """Close the graph, of which all but these fresh facts is closed: [old] new [old] new … [old] new [old]."""
        graph = self._closed
        old = graph.rows > added.size
        hops, ways = TaggedGraph(), TaggedGraph()
        hops.add([added, _left(added, _searched(graph, added.s, "o"))] if old else [added])
        last = hops.facts()
        ways.add([last])
        while last.size:
            deadline.check()
            last = ways.add([_right(last, _searched(hops, last.o, "s", fresh=True))])
            _check(ways.rows)
        last = ways.facts()
        behind = [_right(last, _searched(graph, last.o, "s"))] if old else []
        graph.settle()
        graph.add([last, *behind])
        graph.settle()
        _check(graph.rows)

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What leads where, and the tags."""
        facts = self._closed.facts(self._after)
        return facts.s, facts.o, facts.tag


def reached(
    start: np.ndarray, end: np.ndarray, tag: np.ndarray, node: int, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes to which steps lead from one node, and until when."""
    nodes, places = dense_ranks(np.concatenate([start, end, [node]]))
    order = order_of(places[: len(start)])
    start, end, tag = places[: len(start)][order], places[len(start) : -1][order], tag[order]
    until = np.full(len(nodes), NEVER)
    last, latest = places[-1:], np.full(1, ALWAYS)
    while len(last):
        deadline.check()
        index, rows = pairs(start, last, UNBOUNDED)
        found = latest_of(end[rows], UNTIL.join(latest[index], tag[rows]), len(nodes))
        last = np.flatnonzero(found > until)
        latest = until[last] = found[last]
    there = until > NEVER
    return nodes[there], until[there]


def _searched(graph: TaggedGraph, nodes: np.ndarray, place: str, fresh: bool = False) -> Selection:
    try:
        return graph.search(p=LINK, fresh=fresh, most=tables.MOST_ROWS, **{place: nodes})
    except TooMuchAtOnce:
        raise _too_many() from None


def _left(facts: Facts, found: Selection) -> Facts:
    return Facts(
        found.column("s"),
        np.full(len(found), LINK),
        facts.o[found.index],
        UNTIL.join(facts.tag[found.index], found.tag),
    )


def _right(facts: Facts, found: Selection) -> Facts:
    return Facts(
        facts.s[found.index],
        np.full(len(found), LINK),
        found.column("o"),
        UNTIL.join(facts.tag[found.index], found.tag),
    )


def _check(rows: int) -> None:
    if rows > tables.MOST_ROWS:
        raise _too_many()


def _too_many() -> TooManyMatches:
    return TooManyMatches(f"a path leads along more than {tables.MOST_ROWS:,} ways")
