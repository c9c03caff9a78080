from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from csparql_spark.relations import graph as module
from csparql_spark.relations import keys, runs
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.tags import ALWAYS, COUNT, UNTIL
from tests.examples import examples

ids = st.sampled_from([0, 1, 2, 5, 300])
triples = st.tuples(ids, ids, ids)
tags = st.integers(1, 12) | st.just(ALWAYS)


@pytest.fixture(params=["tiny", "as it is"])
def bounds(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "tiny":
            for owner, name, value in (
                (runs, "SMALL", 0),
                (runs, "RATIO", 1),
                (module, "IDLE", 3),
                (keys, "RANK_BITS", 1),
            ):
                patch.setattr(owner, name, value)
        yield


def columns(rows: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = list(rows)
    return tuple(np.array([row[place] for row in rows], dtype=np.int64) for place in range(3))


def rows_of(facts: Facts) -> dict[tuple[int, int, int], int]:
    rows = list(zip(facts.s.tolist(), facts.p.tolist(), facts.o.tolist()))
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, facts.tag.tolist()))


class Twin(RuleBasedStateMachine):
    """A graph and what is fresh in it, in a dict and a set."""

    algebra = UNTIL

    @staticmethod
    def union(one: int, other: int) -> int:
        return max(one, other)

    def tag(self, tag: int) -> int:
        return tag if tag == ALWAYS else tag + self.now - 1

    @initialize()
    def begin(self) -> None:
        self.graph, self.facts, self.fresh, self.now = TaggedGraph(0, self.algebra), {}, set(), 0

    def hold(self) -> dict[tuple[int, int, int], int]:
        return {triple: tag for triple, tag in self.facts.items() if tag > self.now}

    @rule(blocks=st.lists(st.lists(st.tuples(triples, tags), max_size=8), max_size=3), constant=st.booleans())
    def add(self, blocks: list[list[tuple[tuple, int]]], constant: bool) -> None:
        if constant:  # one predicate for a whole block
            blocks = [[((s, block[0][0][1], o), tag) for (s, _, o), tag in block] for block in blocks]
        before, new, given = self.hold(), {}, []
        for block in blocks:
            block = [(triple, self.tag(tag)) for triple, tag in block]
            for triple, tag in block:
                if tag > self.now:
                    new[triple] = self.union(new.get(triple, before.get(triple, self.algebra.zero)), tag)
            s, p, o = columns(triple for triple, _ in block)
            tags = np.array([tag for _, tag in block], np.int64)
            given.append((s, block[0][0][1] if constant and block else p, o, tags))
        new = {triple: tag for triple, tag in new.items() if tag != before.get(triple)}
        delta = self.graph.add(given)
        assert rows_of(delta) == new
        assert len(list(itertools.groupby(delta.p.tolist()))) == len({triple[1] for triple in new})
        self.facts.update(new)
        self.fresh = set(new)

    @rule(gone=st.sets(triples, max_size=8))
    def remove(self, gone: set[tuple]) -> None:
        self.graph.remove(*columns(gone))
        self.fresh -= gone
        for triple in gone:
            self.facts.pop(triple, None)

    @rule(data=st.data())
    def refresh(self, data: st.DataObject) -> None:
        hold = sorted(self.hold())
        self.fresh = data.draw(st.sets(st.sampled_from(hold))) if hold else set()
        self.graph.refresh(*columns(self.fresh))

    @rule()
    def discard_fresh(self) -> None:
        self.graph.discard_fresh()
        for triple in self.fresh:
            self.facts.pop(triple, None)
        self.fresh = set()

    @rule()
    def settle(self) -> None:
        self.graph.settle()
        self.fresh = set()

    @rule(by=st.integers(1, 4))
    def expire(self, by: int) -> None:
        self.now += by
        self.graph.expire(self.now)

    @rule(by=st.integers(0, 5))
    def renumber(self, by: int) -> None:
        """Only what is in use gets a new id; afterwards everything is as it was, but for what was fresh."""
        used = self.graph.terms()
        assert used.tolist() == sorted({id for triple in self.hold() for id in triple})
        table, back = np.full(301, -1), np.full(400, -1)
        table[used] = np.arange(by, by + len(used))
        back[table[used]] = used
        self.graph.renumber(table)
        assert rows_of(self.graph.facts()) == {
            tuple(table[list(triple)].tolist()): tag for triple, tag in self.hold().items()
        }
        self.graph.renumber(back)
        self.fresh = set()

    @rule(pattern=st.tuples(*[st.none() | ids | st.lists(ids, max_size=6)] * 3), fresh=st.booleans())
    def search(self, pattern: tuple, fresh: bool) -> None:
        """Any places may be free, the same for all searches, or different for each."""
        count = min((len(node) for node in pattern if isinstance(node, list)), default=1)
        searches = [[node[i] if isinstance(node, list) else node for node in pattern] for i in range(count)]
        expected = sorted(
            (place, *triple, tag)
            for place, search in enumerate(searches)
            for triple, tag in self.hold().items()
            if (fresh or triple not in self.fresh) and all(node in (None, term) for node, term in zip(search, triple))
        )
        s, p, o = (np.array(node[:count], np.int64) if isinstance(node, list) else node for node in pattern)
        found = self.graph.search(s, p, o, fresh)
        columns_ = (found.index, *map(found.column, "spo"), found.tag)
        assert sorted(zip(*(column.tolist() for column in columns_))) == expected
        rows = found.tag > self.now + 2
        assert found.where(rows).column("s").tolist() == found.column("s")[rows].tolist()

    @rule(sought=st.lists(triples, max_size=6))
    def tags_of(self, sought: list[tuple]) -> None:
        assert self.graph.tags_of(*columns(sought)).tolist() == [
            self.hold().get(triple, self.algebra.zero) for triple in sought
        ]

    @rule(later=st.integers(0, 5))
    def facts_after(self, later: int) -> None:
        assert rows_of(self.graph.facts(self.now + later)) == {
            triple: tag for triple, tag in self.hold().items() if tag > self.now + later
        }

    @invariant()
    def same(self) -> None:
        assert rows_of(self.graph.facts()) == self.hold()


class CountsTwin(Twin):
    """As often as a triple was added; counts do not expire."""

    algebra = COUNT
    union = staticmethod(operator.add)

    def tag(self, tag: int) -> int:
        return tag % 7

    @rule()
    def expire(self) -> None:
        self.graph.expire(self.now)


@pytest.mark.parametrize("twin", [Twin, CountsTwin])
def test_like_a_dict(bounds: None, twin: type[Twin]) -> None:
    run_state_machine_as_test(twin, settings=settings(max_examples=examples(50), stateful_step_count=20, deadline=None))


def test_an_order_that_nobody_asks_for_is_given_up() -> None:
    graph = TaggedGraph()
    some = np.arange(100)
    graph.add([(some, 1, some, np.full(100, ALWAYS))])
    assert len(graph.search(o=3)) == 1 and len(graph._others) == 1
    for tag in range(1, 5):
        graph.add([(some + 200, 1, some, np.full(100, tag))])
    assert not graph._others
    assert len(graph.search(o=3)) == 2


def test_rows_of_a_predicate_are_counted() -> None:
    graph = TaggedGraph()
    graph.add([(np.arange(10), 5, np.arange(10), np.full(10, 1)), (np.arange(3), 6, np.arange(3), np.full(3, 1))])
    assert (graph.count(5), graph.count(6), graph.count(7), graph.rows) == (10, 3, 0, 13)


def test_an_order_that_is_built_late_knows_what_is_fresh() -> None:
    graph = TaggedGraph()
    graph.add([columns([(1, 5, 2), (3, 5, 2)]) + (np.array([7, 7]),)])
    graph.add([columns([(4, 5, 2), (3, 5, 2)]) + (np.array([8, 8]),)])
    for pattern in ({"p": 5, "o": 2}, {"o": 2}, {"s": np.array([1, 3, 4])}):
        assert graph.search(**pattern, fresh=False).column("s").tolist() == [1]
        assert sorted(graph.search(**pattern).column("s").tolist()) == [1, 3, 4]
