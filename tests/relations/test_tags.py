from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.relations.tags import ALWAYS, COUNT, COUNTED, NEVER, UNTIL, Algebra, Counted
from tests.examples import examples

TAGS = {UNTIL: st.integers(1, 12) | st.sampled_from([NEVER, ALWAYS]), COUNT: st.integers(0, 12)}
algebras = pytest.mark.parametrize("algebra", [UNTIL, COUNT], ids=["until", "count"])

# A fact of COUNTED: how many of its derivations stop to hold at each instant.
Fact = dict[int, int]
facts = st.dictionaries(st.integers(1, 9) | st.just(ALWAYS), st.integers(1, 4), max_size=4)
changes = st.dictionaries(st.integers(1, 9), st.integers(-4, 4).filter(bool), max_size=4)


def column(values: Iterable[int]) -> np.ndarray:
    return np.array(list(values), np.int64)


def drawn(data: st.DataObject, algebra: Algebra, columns: int) -> list[np.ndarray]:
    rows = data.draw(st.lists(st.tuples(*[TAGS[algebra]] * columns), max_size=20))
    return [column(row[place] for row in rows) for place in range(columns)]


@algebras
@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_the_laws(algebra: Algebra, data: st.DataObject) -> None:
    a, b, c = drawn(data, algebra, 3)
    zero, one = np.full(len(a), algebra.zero), np.full(len(a), algebra.one)
    for operation, neutral in ((algebra.union, zero), (algebra.join, one)):
        assert operation(a, b).tolist() == operation(b, a).tolist()
        assert operation(operation(a, b), c).tolist() == operation(a, operation(b, c)).tolist()
        assert operation(a, neutral).tolist() == a.tolist()
    assert algebra.join(a, zero).tolist() == zero.tolist()
    joined, apart = algebra.join(a, algebra.union(b, c)), algebra.union(algebra.join(a, b), algebra.join(a, c))
    assert joined.tolist() == apart.tolist()


@given(st.data(), st.integers(0, 13))
@settings(max_examples=examples(100), deadline=None)
def test_what_has_expired_may_be_left_out_before_or_after(data: st.DataObject, now: int) -> None:
    def holding(tags: np.ndarray) -> np.ndarray:
        return np.where(tags > now, tags, NEVER)

    a, b = drawn(data, UNTIL, 2)
    for operation in (UNTIL.union, UNTIL.join):
        assert holding(operation(a, b)).tolist() == operation(holding(a), holding(b)).tolist()


@algebras
def test_what_is_called_idempotent_is(algebra: Algebra) -> None:
    some = column([2, 3])
    assert (algebra.union(some, some).tolist() == [2, 3]) == algebra.idempotent
    assert (algebra.join(some, some).tolist() == [2, 3]) == algebra.idempotent


@algebras
@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_united(algebra: Algebra, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(st.integers(0, 9), TAGS[algebra]), max_size=30))
    union: Callable[[int, int], int] = {UNTIL: max, COUNT: int.__add__}[algebra]
    expected: dict[int, int] = {}
    for key, tag in rows:
        expected[key] = union(expected.get(key, algebra.zero), tag)
    keys, tags = algebra.united(column(key for key, _ in rows), column(tag for _, tag in rows))
    there = sorted((key, tag) for key, tag in expected.items() if tag != NEVER)  # what never holds is no fact
    assert list(zip(keys.tolist(), tags.tolist())) == there


def test_the_same_tag_more_than_once_counts_more_than_once() -> None:
    keys, tags = COUNT.united(column([7, 7, 3]), column([2, 2, 2]))
    assert (keys.tolist(), tags.tolist()) == ([3, 7], [2, 4])


def columns(rows: Iterable[tuple[int, int, int]]) -> tuple[np.ndarray, Counted]:
    rows = list(rows)
    return column(row[0] for row in rows), Counted(column(row[1] for row in rows), column(row[2] for row in rows))


def rows_of(keys: np.ndarray, tags: Counted) -> list[tuple[int, int, int]]:
    return list(zip(keys.tolist(), tags.until.tolist(), tags.number.tolist()))


def united(*facts: Fact) -> Fact:
    """The union of facts, by COUNTED."""
    rows = rows_of(*COUNTED.united(*columns((0, until, count) for fact in facts for until, count in fact.items())))
    return {until: count for _, until, count in rows}


def joined(one: Fact, other: Fact) -> Fact:
    """What is derived of two facts, each derivation of the one with each of the other, by COUNTED."""
    pairs = [(*mine, *theirs) for mine in one.items() for theirs in other.items()]
    until, count, other_until, other_count = (column(pair[place] for pair in pairs) for place in range(4))
    tags = COUNTED.join(Counted(until, count), Counted(other_until, other_count))
    return united(*({until: count} for until, count in zip(tags.until.tolist(), tags.number.tolist())))


def until(fact: Fact) -> int:
    keys, tags = COUNTED.united(*columns((7, until, count) for until, count in fact.items()))
    return COUNTED.until(column([7]), keys, tags).tolist()[0]


def holding(fact: Fact, now: int) -> Fact:
    return {until: count for until, count in fact.items() if until > now}


def derivations(fact: Fact) -> list[int]:
    """The naive twin of a fact: each derivation, written out."""
    return list(Counter(fact).elements())


@given(facts, facts, facts, st.integers(0, 9))
@settings(max_examples=examples(200), deadline=None)
def test_counts_for_each_instant(a: Fact, b: Fact, c: Fact, now: int) -> None:
    assert united(a, b) == Counter(derivations(a) + derivations(b))
    assert joined(a, b) == Counter(min(one, other) for one in derivations(a) for other in derivations(b))
    assert joined(a, b) == joined(b, a) and joined(joined(a, b), c) == joined(a, joined(b, c))
    assert joined(a, united(b, c)) == united(joined(a, b), joined(a, c))
    assert united(a, {}) == joined(a, {ALWAYS: 1}) == a and joined(a, {}) == {}
    assert holding(united(a, b), now) == united(holding(a, now), holding(b, now))
    assert holding(joined(a, b), now) == joined(holding(a, now), holding(b, now))


@given(facts, facts)
@settings(max_examples=examples(100), deadline=None)
def test_until_when_they_hold_is_the_same_before_or_after(a: Fact, b: Fact) -> None:
    assert until(a) == max(a, default=NEVER)
    assert until(united(a, b)) == max(until(a), until(b)) and until(joined(a, b)) == min(until(a), until(b))


@given(changes, changes)
@settings(max_examples=examples(100), deadline=None)
def test_derivations_are_taken_back(a: Fact, b: Fact) -> None:
    back = {until: -count for until, count in b.items()}
    assert united(a, b, back) == a and united(a, {until: -count for until, count in a.items()}) == {}


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(1, 3)), max_size=20),
    st.lists(st.integers(0, 5), max_size=5),
)
@settings(max_examples=examples(100), deadline=None)
def test_rows_of_many_facts(rows: list[tuple[int, int, int]], wanted: list[int]) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    for key, instant, count in rows:
        expected[key, instant] += count
    keys, tags = COUNTED.united(*columns(rows))
    assert rows_of(keys, tags) == [(*pair, count) for pair, count in sorted(expected.items())]
    assert COUNTED.until(column(wanted), keys, tags).tolist() == [
        max((instant for key, instant in expected if key == one), default=NEVER) for one in wanted
    ]
