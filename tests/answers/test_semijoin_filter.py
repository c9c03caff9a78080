"""What waits is not missed: with all that was let in so far, patterns have the solutions that they have with all that
came."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import semijoin_filter
from csparql_spark.answers.patterns import Pattern
from csparql_spark.answers.semijoin_filter import SemijoinFilter, narrow
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Facts
from tests.engine.asked import Asked, Triple
from tests.engine.naive import solutions
from tests.examples import examples

LEVEL = (("?r", "<urn:level>", "<urn:high>"), ("?r", "<urn:value>", "?v"))
ALWAYS = 1000


class World:
    """A dictionary, and what waits beside it."""

    def __init__(self, *reads: tuple[Pattern, ...]) -> None:
        self.dictionary = TermDictionary()
        self.waiting = SemijoinFilter(narrow(reads), self.dictionary)

    def facts(self, triples: list[Triple], tag: int = ALWAYS) -> Facts:
        columns = [self.dictionary.encode([triple[position] for triple in triples]) for position in range(3)]
        return Facts(*columns, np.full(len(triples), tag))

    def come(self, *triples: Triple, tag: int = ALWAYS) -> list[Triple]:
        return self.shown(self.waiting.let_in(self.facts(list(triples), tag)))

    def shown(self, facts: Facts) -> list[Triple]:
        return list(zip(*(self.dictionary.decode(column) for column in facts[:3]), strict=True))

    def compact(self, *kept: Facts) -> list[Facts]:
        """Forget the terms that nobody needs; the facts with their new ids."""
        ids = [column for facts in kept for column in facts[:3]]
        table = self.dictionary.compact(np.unique(np.concatenate([self.waiting.terms(), *ids])))
        self.waiting.renumber(table)
        return [Facts(table[facts.s], table[facts.p], table[facts.o], facts.tag) for facts in kept]


def level(reading: str, value: str) -> Triple:
    return f"<urn:{reading}>", "<urn:level>", f"<urn:{value}>"


def value(reading: str) -> Triple:
    return f"<urn:{reading}>", "<urn:value>", '"7"'


def test_the_picture() -> None:
    world = World(LEVEL)
    assert world.come(value("r1")) == []
    assert world.come(level("r2", "low"), ("<urn:r1>", "<urn:colour>", "<urn:red>")) == []
    assert len(world.waiting) == 1
    assert world.come(level("r1", "high")) == [level("r1", "high"), value("r1")]
    assert len(world.waiting) == 0
    assert world.come(value("r1")) == [value("r1")]
    assert world.come(value("r3"), level("r3", "high")) == [value("r3"), level("r3", "high")]


def test_patterns_that_share_nothing_wait_for_nothing() -> None:
    world = World((("?a", "<urn:value>", "?b"), ("?c", "<urn:level>", "?d")), (("?x", "<urn:colour>", "?x"),))
    assert world.come(value("r1")) == [value("r1")]
    assert world.come(("<urn:a>", "<urn:colour>", "<urn:b>"), ("<urn:a>", "<urn:colour>", "<urn:a>")) == [
        ("<urn:a>", "<urn:colour>", "<urn:a>")
    ]


def test_what_is_in_the_graph_is_not_waited_for() -> None:
    world = World(LEVEL)
    world.waiting.introduce(world.facts([level("r1", "high")]))
    assert world.come(value("r1")) == [value("r1")]


def test_what_expires_waits_no_more() -> None:
    world = World(LEVEL)
    world.come(value("r1"), tag=3)
    world.come(value("r2"), tag=5)
    world.waiting.expire(3)
    assert len(world.waiting) == 1
    assert world.come(level("r1", "high"), level("r2", "high")) == [
        level("r1", "high"),
        level("r2", "high"),
        value("r2"),
    ]


def test_ids_may_become_others() -> None:
    world = World(LEVEL)
    world.come(("<urn:x>", "<urn:y>", "<urn:z>"), value("r1"), level("r2", "high"))
    world.compact()
    assert len(world.dictionary) < 8
    assert world.come(level("r1", "high"), ("<urn:x>", "<urn:y>", "<urn:z>")) == [level("r1", "high"), value("r1")]
    assert world.come(value("r2")) == [value("r2"), level("r2", "high")]


def test_too_many_patterns_let_everything_in() -> None:
    assert narrow([((f"<urn:{n}>", "?p", "?o"),) for n in range(32)]) is not None
    assert narrow([((f"<urn:{n}>", "?p", "?o"),) for n in range(33)]) is None
    world = World(*[((f"<urn:{n}>", "?p", "?o"),) for n in range(33)])
    assert world.come(value("r1")) == [value("r1")]


def test_where_most_is_let_in_anyway_nobody_waits_any_more() -> None:
    world = World(LEVEL)
    with mock.patch.object(semijoin_filter, "LOOKED", 10):
        world.come(value("r1"))
        for n in range(9):
            world.come(level(f"s{n}", "high"), value(f"s{n}"))
        assert len(world.waiting) == 0
        assert world.come(value("r9")) == [value("r9")]


nodes, verbs = st.sampled_from(["<urn:a>", "<urn:b>", "<urn:c>"]), st.sampled_from(["<urn:p>", "<urn:q>"])
few = st.lists(st.tuples(nodes, verbs, nodes), max_size=3)
joins = st.lists(
    st.tuples(st.sampled_from(["?x", "?y", "_:z", "<urn:a>"]), verbs, st.sampled_from(["?x", "?y", "_:z", "<urn:b>"])),
    min_size=1,
    max_size=3,
).map(tuple)


@given(st.lists(joins, min_size=1, max_size=3), st.lists(few, max_size=8), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_solutions_are_not_missed(
    reads: list[tuple[Pattern, ...]], chunks: list[list[Triple]], data: st.DataObject
) -> None:
    world = World(*reads)
    came: set[Triple] = set()
    graph = [Facts.none()]
    with mock.patch.object(semijoin_filter, "LOOKED", data.draw(st.sampled_from([3, 1000]))):
        for chunk in chunks:
            came |= set(chunk)
            facts = world.facts(chunk)
            if chunk is chunks[0] and data.draw(st.booleans()):
                world.waiting.introduce(facts)
                graph.append(facts)
            else:
                graph.append(world.waiting.let_in(facts))
            if data.draw(st.booleans()):
                graph = world.compact(*graph)
            held = {triple for facts in graph for triple in world.shown(facts)}
            assert held <= came
            for read in reads:
                names = tuple(sorted({node[1:] for pattern in read for node in pattern if node[0] == "?"}))
                asked = Asked.over("", 1, 1, names, read, False)
                assert solutions(asked, {"": held}) == solutions(asked, {"": came})
