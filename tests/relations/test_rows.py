from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.relations.rows import MASK, Triples
from tests.examples import examples

# Ids up to MASK are packed into one integer, larger ones are sorted as columns.
small = st.integers(0, 3)
border = st.sampled_from([0, 1, MASK - 1, MASK, MASK + 1, 2 * MASK, 1 << 40])
ids = st.sampled_from([small, border])
Triple = tuple[int, int, int]


@st.composite
def bags(draw: st.DrawFn) -> list[Triple]:
    id = draw(ids)
    return draw(st.lists(st.tuples(id, id, id), max_size=20))


def of(bag: list[Triple]) -> Triples:
    return Triples.of(*(np.array([triple[i] for triple in bag], dtype=np.int64) for i in range(3)))


def rows(triples: Triples) -> list[Triple]:
    return list(zip(triples.s.tolist(), triples.p.tolist(), triples.o.tolist(), strict=True))


@given(bags())
@settings(max_examples=examples(200), deadline=None)
def test_it_is_the_sorted_set_of_its_triples(bag: list[Triple]) -> None:
    triples = of(bag)
    assert rows(triples) == sorted(set(bag)) and len(triples) == len(set(bag))
    assert triples.s.dtype == triples.p.dtype == triples.o.dtype == np.int64


@given(bags(), bags())
@settings(max_examples=examples(300), deadline=None)
def test_minus_is_the_difference(left: list[Triple], right: list[Triple]) -> None:
    assert rows(of(left).minus(of(right))) == sorted(set(left) - set(right))
    both = left + right
    assert rows(of(both).minus(of(right))) == sorted(set(left) - set(right))
    assert rows(of(both).minus(of(both))) == []


@given(bags())
@settings(max_examples=examples(50), deadline=None)
def test_nothing(bag: list[Triple]) -> None:
    triples = of(bag)
    assert rows(Triples.none()) == [] and len(Triples.none()) == 0
    assert rows(triples.minus(Triples.none())) == rows(triples)
    assert rows(Triples.none().minus(triples)) == []


@pytest.mark.parametrize("large", [MASK, MASK + 1, 1 << 40])
def test_the_order_is_the_same_either_way(large: int) -> None:
    generator = np.random.default_rng(7)
    columns = generator.integers(0, 30, size=(3, 2000))
    many = Triples.of(*columns)
    with_large = Triples.of(*(np.append(column, large) for column in columns))
    assert rows(with_large)[:-1] == rows(many) == sorted(set(map(tuple, columns.T.tolist())))
    assert rows(with_large)[-1] == (large, large, large)
    assert rows(with_large.minus(many)) == [(large, large, large)]
    assert rows(many.minus(with_large)) == []


def test_the_columns_it_was_made_of_are_left_alone() -> None:
    s, p, o = (np.array([3, 1, 3]) for _ in range(3))
    Triples.of(s, p, o).minus(Triples.of(s, p, o))
    assert s.tolist() == p.tolist() == o.tolist() == [3, 1, 3]
