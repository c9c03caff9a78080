from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.kernel.limits import TooMuchAtOnce
from csparql_spark.relations.graph import TaggedGraph
from csparql_spark.relations.joins import Pattern, Relation, Shape, matched, plan, run
from csparql_spark.relations.tags import COUNT, UNTIL, Algebra
from tests.examples import examples

ids = st.integers(0, 3)
nodes = ids | st.sampled_from(["?a", "?b", "?c"])
bodies = st.lists(st.tuples(nodes, nodes, nodes), min_size=1, max_size=3).map(tuple)
triples = st.tuples(ids, ids, ids)
parts = st.dictionaries(triples, st.integers(1, 9), max_size=10)
algebras = pytest.mark.parametrize("algebra, joined", [(UNTIL, min), (COUNT, math.prod)], ids=["until", "count"])

Triple = tuple[int, int, int]
Facts = dict[Triple, int]


def add(graph: TaggedGraph, facts: Facts) -> object:
    columns = [np.array([triple[place] for triple in facts], np.int64) for place in range(3)]
    return graph.add([(*columns, np.array(list(facts.values()), np.int64))])


def ways(body: tuple[Pattern, ...], facts: Facts) -> Iterator[tuple[dict[str, int], list[Triple]]]:
    """The naive twin: each way to match the patterns, with the facts that they are matched with."""
    if not body:
        yield {}, []
        return
    for binding, used in ways(body[:-1], facts):
        for fact in facts:
            new = dict(binding)
            if all(
                new.setdefault(node, term) == term if isinstance(node, str) else node == term
                for node, term in zip(body[-1], fact)
            ):
                yield new, [*used, fact]


def shape_of(body: tuple[Pattern, ...]) -> Shape:
    names = sorted({node for pattern in body for node in pattern if isinstance(node, str)})
    return Shape(body, tuple(names[:2]))


def rows_of(relation: Relation, names: tuple[str, ...]) -> list[tuple[int, ...]]:
    return list(zip(*(relation.columns[name].tolist() for name in names), relation.tag.tolist()))


@algebras
@given(bodies, parts)
@settings(max_examples=examples(150), deadline=None)
def test_each_way_to_match_has_the_join_of_its_tags(
    algebra: Algebra, joined: object, body: tuple[Pattern, ...], facts: Facts
) -> None:
    graph, shape = TaggedGraph(algebra=algebra), shape_of(body)
    add(graph, facts)
    graph.settle()
    start = Relation({}, np.array([algebra.one], np.int64))
    found = run(plan(shape, graph, (), None), graph, start)
    assert sorted(rows_of(found, shape.used) if len(found.tag) else []) == sorted(
        (*(binding[name] for name in shape.used), joined([facts[fact] for fact in used]))
        for binding, used in ways(body, facts)
    )


@algebras
@given(bodies, parts, parts)
@settings(max_examples=examples(150), deadline=None)
def test_what_is_new_is_found_once(
    algebra: Algebra, joined: object, body: tuple[Pattern, ...], old: Facts, new: Facts
) -> None:
    """From each pattern in turn, matched in what is fresh; those before it then leave that out."""
    graph, shape = TaggedGraph(algebra=algebra), shape_of(body)
    add(graph, old)
    graph.settle()
    delta = add(graph, new)
    facts = {tuple(row): tag for *row, tag in zip(*(column.tolist() for column in graph.facts()))}
    fresh = set(zip(*(column.tolist() for column in delta[:3])))
    found = []
    for place, pattern in enumerate(body):
        start = matched(pattern, delta)
        known = [node for node in pattern if isinstance(node, str)]
        relation = run(plan(shape, graph, known, place), graph, start)
        found += rows_of(relation, shape.used) if len(relation.tag) else []
    assert sorted(found) == sorted(
        (*(binding[name] for name in shape.used), joined([facts[fact] for fact in used]))
        for binding, used in ways(body, facts)
        if fresh & set(used)
    )


def test_a_search_is_bounded() -> None:
    graph = TaggedGraph()
    add(graph, {(s, 1, o): 5 for s in range(10) for o in range(10)})
    body = (("?a", 1, "?b"), ("?b", 1, "?c"))
    steps, start = plan(Shape(body, ("?a", "?c")), graph, (), None), Relation({}, np.array([UNTIL.one], np.int64))
    assert len(run(steps, graph, start, most=1000).tag) == 1000
    with pytest.raises(TooMuchAtOnce):
        run(steps, graph, start, most=999)


def test_what_nothing_connects_is_bounded() -> None:
    graph = TaggedGraph()
    add(graph, {(s, p, s): 5 for s in range(10) for p in (1, 2)})
    start = Relation({}, np.array([UNTIL.one], np.int64))
    steps = plan(Shape((("?a", 1, "?a"), ("?b", 2, "?b")), ("?a", "?b")), graph, (), None)
    assert len(run(steps, graph, start, most=100, pairs=100).tag) == 100
    for bounds in ({"pairs": 99}, {"most": 99}):
        with pytest.raises(TooMuchAtOnce):
            run(steps, graph, start, **bounds)
    one = plan(Shape((("?a", 1, "?a"), (3, 2, "?b")), ("?a", "?b")), graph, (), None)
    assert len(run(one, graph, start, pairs=1).tag) == 10  # nothing is multiplied
