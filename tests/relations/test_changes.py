"""Changes add up, whatever a graph has gone through; beside a dict that knows the rule and nothing else."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.relations.changes import Changes, difference
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.moving import Mark, Moving
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples

Triple = tuple[int, int, int]
Tagged = dict[Triple, int]


def facts(tagged: Tagged) -> Facts:
    table = np.array([(*triple, tag) for triple, tag in tagged.items()], dtype=np.int64).reshape(-1, 4)
    return Facts(*(np.ascontiguousarray(column) for column in table.T))


def tagged(found: Facts) -> Tagged:
    rows = list(zip(*(column.tolist() for column in found), strict=True))
    assert len({row[:3] for row in rows}) == len(rows)
    return {row[:3]: row[3] for row in rows}


def added_up(before: Tagged, changes: Changes) -> Tagged:
    """What somebody has who had `before` and does what is said."""
    now = dict(before)
    for gone in (changes.removed, changes.expired):
        for triple in zip(*(column.tolist() for column in gone[:3]), strict=True):
            now.pop(triple, None)
    for *triple, tag in zip(*(column.tolist() for column in changes.added), strict=True):
        now[tuple(triple)] = max(tag, now.get(tuple(triple), tag))
    return now


def holding(there: Tagged, now: int) -> Tagged:
    return {triple: tag for triple, tag in there.items() if tag > now}


class Owner:
    """A moving graph as its owner moves it, and what should be in it."""

    def __init__(self) -> None:
        self.moving, self.there, self.now = Moving(TaggedGraph(0)), Tagged(), 0

    def insert(self, came: Tagged) -> None:
        for triple, tag in came.items():
            if tag > self.now:
                self.there[triple] = max(tag, self.there.get(triple, tag))
        self.moving.tell(self.moving.graph.add([facts(came)]))

    def remove(self, triples: list[Triple]) -> None:
        gone = {triple: self.there.pop(triple) for triple in triples if triple in self.there}
        self.moving.graph.remove(*facts(gone)[:3])
        self.moving.tell(removed=facts(gone))

    def expire(self, now: int) -> None:
        self.now = now
        self.moving.expire(now)
        self.there = holding(self.there, now)

    def become(self, there: Tagged) -> None:
        graph = TaggedGraph(self.now)
        graph.add([facts(there)])
        self.moving.become(graph)
        self.there = dict(there)


def some(random: Random, now: int) -> Tagged:
    return {
        (random.randrange(4), random.randrange(3), random.randrange(3)): random.choice(
            (now + random.randint(0, 6), ALWAYS)
        )
        for _ in range(random.randint(0, 5))
    }


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 10**9))
def test_changes_add_up_at_any_look(seed: int) -> None:
    """Two follow a graph and look now and then: one hears of what expires, the other sees by its tags what holds."""
    random, owner = Random(seed), Owner()
    owner.insert(some(random, 0))
    followers: list[tuple[Mark, Tagged]] = [
        (owner.moving.mark(expiry=expiry), dict(owner.there)) for expiry in (False, True)
    ]
    for _ in range(random.randint(1, 12)):
        match random.choice(["insert", "insert", "remove", "expire", "become", "back"]):
            case "insert":
                owner.insert(some(random, owner.now))
            case "remove":
                owner.remove(random.sample(sorted(owner.there), min(len(owner.there), random.randint(0, 3))))
            case "back":  # taken away and put back as it was
                gone = {triple: owner.there[triple] for triple in sorted(owner.there)[:2]}
                owner.remove(list(gone))
                owner.insert(gone)
            case "expire":
                owner.expire(owner.now + random.randint(0, 3))
            case "become":
                owner.become(
                    holding(
                        some(random, owner.now)
                        | dict(random.sample(sorted(owner.there.items()), len(owner.there) // 2)),
                        owner.now,
                    )
                )
        assert tagged(owner.moving.graph.facts()) == owner.there
        for number, (mark, known) in enumerate(followers):
            if random.random() < 0.5:
                changes = owner.moving.since(mark)
                assert changes is not None
                known = added_up(known, changes)
                assert (known if mark.expiry else holding(known, owner.now)) == owner.there
                assert mark.expiry or not changes.expired.size
                followers[number] = mark, known


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 10**9))
def test_the_difference_of_two_graphs_is_what_is_different(seed: int) -> None:
    random = Random(seed)
    old, new = Owner(), Owner()
    old.insert(some(random, 0) | some(random, 0))
    new.expire(random.randint(0, 5))
    new.insert(dict(random.sample(sorted(old.there.items()), len(old.there) // 2)) | some(random, 0))
    changes = difference(old.moving.graph, new.moving.graph)
    assert added_up(old.there, changes) == new.there
    assert tagged(changes.added) == {triple: tag for triple, tag in new.there.items() if old.there.get(triple) != tag}
    assert tagged(changes.removed) == {
        triple: tag for triple, tag in old.there.items() if tag > new.now and new.there.get(triple, -1) < tag
    }
    assert tagged(changes.expired) == {
        triple: tag for triple, tag in old.there.items() if tag <= new.now and triple not in new.there
    }


def test_what_is_put_back_as_it_was_is_no_change() -> None:
    owner = Owner()
    owner.insert({(1, 0, 2): 9, (1, 0, 3): 9})
    mark = owner.moving.mark()
    owner.remove([(1, 0, 2), (1, 0, 3)])
    owner.insert({(1, 0, 2): 9, (1, 0, 3): 7})
    changes = owner.moving.since(mark)
    assert changes is not None
    assert tagged(changes.added) == {(1, 0, 3): 7} and tagged(changes.removed) == {(1, 0, 3): 9}


def test_expiry_is_told_once_and_nothing_is_written_down_for_nobody() -> None:
    owner = Owner()
    owner.insert({(1, 0, 2): 5, (1, 0, 3): 5, (1, 0, 4): 5, (1, 0, 5): ALWAYS})
    mark, other = owner.moving.mark(expiry=True), owner.moving.mark()
    owner.remove([(1, 0, 3)])
    owner.insert({(1, 0, 4): 8})
    owner.expire(5)
    owner.expire(6)
    changes = owner.moving.since(mark)
    assert changes is not None and tagged(changes.expired) == {(1, 0, 2): 5}
    unheard = owner.moving.since(other)
    assert unheard is not None and not unheard.expired.size
    del mark
    owner.expire(9)
    assert owner.moving._calendar is None
    after = owner.moving.since(other)
    assert after is not None and not after.size


@pytest.mark.parametrize("expiry", (False, True))
def test_ids_that_are_forgotten_are_not_told(expiry: bool) -> None:
    owner = Owner()
    mark = owner.moving.mark(expiry=expiry)
    owner.insert({(1, 0, 2): 5, (3, 0, 4): 9, (3, 0, 3): 9})
    owner.remove([(3, 0, 3)])
    owner.expire(5)
    table = np.array([0, -1, -1, 1, 2])
    owner.moving.graph.renumber(table)
    owner.moving.renumber(table)
    changes = owner.moving.since(mark)
    assert changes is not None and tagged(changes.added) == {(1, 0, 2): 9}
    assert set(tagged(changes.removed)) == {(1, 0, 1)} and not changes.expired.size
