from __future__ import annotations

import operator
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from csparql_spark.kernel.limits import TooMuchAtOnce
from csparql_spark.kernel.twin import join as twin_join
from csparql_spark.kernel.twin import merge as twin_merge
from csparql_spark.kernel.twin import probe as twin_probe
from csparql_spark.relations import runs as module
from csparql_spark.relations.runs import Runs
from csparql_spark.relations.tags import ALWAYS, COUNT, UNTIL
from tests.examples import examples

keys = st.integers(0, 40)
tags = st.integers(1, 12) | st.just(ALWAYS)
SPAN = 5


@pytest.fixture(params=[(0, 1), (8, 2), None], ids=["tiny", "small", "as it is"])
def bounds(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("SMALL", "RATIO"), request.param or ()):
            patch.setattr(module, name, value)
        yield


@pytest.fixture(params=["as it is", "numpy"])
def functions(request: pytest.FixtureRequest) -> Iterator[None]:
    """The kernel's functions as they are here, and those that run where nothing is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            for twin in (twin_merge, twin_probe, twin_join):
                for name in set(vars(twin)) & {"merge", "held", "absorb", "drop", "slices", "tags_of"}:
                    patch.setattr(module, name, getattr(twin, name))
        yield


class Twin(RuleBasedStateMachine):
    """A map and what was fresh in it, in a dict and a set."""

    algebra = UNTIL

    @staticmethod
    def union(one: int, other: int) -> int:
        return max(one, other)

    @initialize()
    def begin(self) -> None:
        self.runs, self.rows, self.fresh, self.now = Runs(0, self.algebra), {}, set(), 0

    def hold(self) -> dict[int, int]:
        return {key: tag for key, tag in self.rows.items() if tag > self.now}

    @rule(new=st.dictionaries(keys, tags, max_size=12))
    def add(self, new: dict[int, int]) -> None:
        new = {key: self.tag(tag) for key, tag in sorted(new.items())}
        before = self.hold()
        after = {key: self.union(before.get(key, self.algebra.zero), tag) for key, tag in new.items()}
        expected = [tag != before.get(key) for key, tag in after.items()]
        grown, known = self.runs.add(np.array(list(new), np.int64), np.array(list(new.values()), np.int64))
        assert grown.tolist() == expected
        assert all(there for key, there in zip(new, known.tolist()) if key in before)
        self.fresh = {key for key, grew in zip(new, expected) if grew}
        self.rows.update((key, after[key]) for key in self.fresh)

    def tag(self, tag: int) -> int:
        return tag if tag == ALWAYS else tag + self.now

    @rule(gone=st.sets(keys, max_size=8))
    def remove(self, gone: set[int]) -> None:
        self.runs.remove(np.array(sorted(gone), np.int64))
        self.fresh -= gone
        for key in gone:
            self.rows.pop(key, None)

    @rule(chosen=st.sets(keys, max_size=8))
    def refresh(self, chosen: set[int]) -> None:
        self.runs.refresh(np.array(sorted(chosen), np.int64))
        self.fresh = chosen & set(self.hold())

    @rule()
    def discard(self) -> None:
        self.runs.discard_fresh()
        for key in self.fresh:
            self.rows.pop(key, None)
        self.fresh = set()

    @rule(by=st.integers(1, 4))
    def expire(self, by: int) -> None:
        self.now += by
        self.runs.expire(self.now)

    @rule(compact=st.booleans())
    def settle(self, compact: bool) -> None:
        self.runs.compact() if compact else self.runs.settle()
        self.fresh = set()
        assert not compact or self.runs.rows == len(self.hold())

    @rule(low=st.lists(st.integers(-3, 40), max_size=8), fresh=st.booleans())
    def slices(self, low: list[int], fresh: bool) -> None:
        expected = sorted(
            (place, key, tag)
            for place, first in enumerate(low)
            for key, tag in self.hold().items()
            if first <= key < first + SPAN and (fresh or key not in self.fresh)
        )
        found = self.runs.slices(np.array(low, np.int64), SPAN, fresh)
        assert sorted(zip(*(column.tolist() for column in found))) == expected
        if len(low) == 1:
            assert sorted(zip(*(column.tolist() for column in self.runs.slices(low[0], SPAN, fresh)))) == expected

    @rule(sought=st.lists(keys, max_size=8))
    def look_up(self, sought: list[int]) -> None:
        assert self.runs.tags_of(np.array(sought, np.int64)).tolist() == [
            self.hold().get(key, self.algebra.zero) for key in sought
        ]

    @invariant()
    def same(self) -> None:
        held, until = self.runs.holding()
        assert dict(zip(held.tolist(), until.tolist())) == self.hold()
        assert held.tolist() == sorted(self.hold())


class CountsTwin(Twin):
    """As often as a key was added; counts do not expire."""

    algebra = COUNT
    union = staticmethod(operator.add)

    def tag(self, tag: int) -> int:
        return tag % 7 + 1

    @rule()
    def expire(self) -> None:
        self.runs.expire(self.now)


@pytest.mark.parametrize("twin", [Twin, CountsTwin])
def test_like_a_dict(bounds: None, functions: None, twin: type[Twin]) -> None:
    run_state_machine_as_test(twin, settings=settings(max_examples=examples(40), stateful_step_count=20, deadline=None))


def test_memory_is_given_back() -> None:
    runs = Runs()
    for slide in range(60):
        runs.expire(slide)
        runs.add(np.arange(slide * 1000, (slide + 1) * 1000), np.full(1000, slide + 10))
        assert runs.rows <= 2 * 10_000 + module.SMALL
    runs.expire(100)
    assert runs.rows == 0
    runs.add(np.arange(100), np.full(100, ALWAYS))
    runs.remove(np.arange(99))
    assert runs.rows == 1


def test_what_was_found_does_not_change_when_rows_are_dropped() -> None:
    runs = Runs()
    runs.add(np.arange(10), np.full(10, 5))
    _, _, one = runs.slices(3, 4)
    _, _, many = runs.slices(np.array([3, 7]), 2)
    runs.add(np.arange(10), np.full(10, 6))
    assert one.tolist() == many.tolist() == [5] * 4


@given(st.lists(st.integers(-3, 40), min_size=1, max_size=30), st.integers(0, 60))
@settings(max_examples=examples(100), deadline=None)
def test_a_search_that_comes_across_too_much_ends_before_it_has_it(low: list[int], most: int) -> None:
    runs = Runs()
    for start in (0, 1, 2):
        runs.add(np.arange(start, 30, 3), np.full(10, ALWAYS))
    found = runs.slices(np.array(low), SPAN)
    if len(found[0]) > most:
        with pytest.raises(TooMuchAtOnce):
            runs.slices(np.array(low), SPAN, most=most)
    else:
        again = runs.slices(np.array(low), SPAN, most=most)
        assert sorted(zip(*map(np.ndarray.tolist, again))) == sorted(zip(*map(np.ndarray.tolist, found)))


def test_the_lower_tag_of_a_followed_map_is_forgotten() -> None:
    runs = Runs()
    runs.follow(np.arange(6), np.full(6, 5), np.zeros(6, bool))
    runs.follow(np.array([2, 7]), np.full(2, 9), np.array([True, False]))
    assert [column.tolist() for column in runs.slices(2, 1)] == [[0], [2], [9]]
    assert [column.tolist() for column in runs.slices(0, 9, fresh=False)][1:] == [[0, 1, 3, 4, 5], [5] * 5]


def test_keys_that_were_rewritten_are_found() -> None:
    runs, many = Runs(), np.arange(1000)
    for tag in (5, 6):
        runs.add(many, np.full(1000, tag))
    runs.rewrite(lambda keys: keys + 10_000_000)
    grown, known = runs.add(many + 10_000_000, np.full(1000, 6))
    assert not grown.any() and known.all()
