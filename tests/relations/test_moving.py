from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.maintain.strategies import STRATEGIES, refusal
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations import moving as module
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.moving import Mark, Moving
from tests.examples import examples
from tests.relations.test_changes import Tagged, added_up, holding

CHAIN = Rule((Atom("?a", "<urn:p>", "?c"),), (Atom("?a", "<urn:p>", "?b"), Atom("?b", "<urn:p>", "?c")))
COPY = Rule((Atom("?a", "<urn:q>", "?b"),), (Atom("?a", "<urn:p>", "?b"),))


def facts(*rows: tuple[int, int, int, int]) -> Facts:
    return Facts(*(np.array([row[place] for row in rows], dtype=np.int64) for place in range(4)))


def rows(found: Facts) -> set[tuple[int, ...]]:
    return set(zip(*(column.tolist() for column in found), strict=True))


def added(moving: Moving, mark: Mark) -> set[tuple[int, ...]]:
    """What has come since the mark; nothing has gone."""
    changes = moving.since(mark)
    assert changes is not None and not changes.removed.size and not changes.expired.size
    return rows(changes.added)


def test_who_follows_is_told_what_came_since_the_last_look() -> None:
    moving = Moving()
    moving.tell(moving.graph.add([facts((1, 0, 2, 5))]))
    mark = moving.mark()
    assert added(moving, mark) == set()
    moving.tell(moving.graph.add([facts((1, 0, 2, 4), (3, 0, 4, 6))]))  # the first is there for longer already
    moving.tell(moving.graph.add([facts((1, 0, 2, 7))]))
    other = moving.mark()
    assert added(moving, mark) == {(3, 0, 4, 6), (1, 0, 2, 7)}
    assert added(moving, mark) == added(moving, other) == set()


def test_a_mark_beside_another_is_told_the_same_by_itself() -> None:
    moving = Moving()
    mark = moving.mark()
    moving.tell(moving.graph.add([facts((1, 0, 2, 5))]))
    other = moving.beside(mark)
    assert mark.place == other.place < moving.place
    assert added(moving, mark) == {(1, 0, 2, 5)} and mark.place == moving.place
    assert moving.remembered == 1  # the other has not seen it
    moving.graph.expire(5)
    moving.tell(moving.graph.add([facts((1, 0, 3, 6))]))
    assert added(moving, other) == {(1, 0, 3, 6)}  # what is no more is not told


def test_nothing_is_remembered_for_nobody() -> None:
    moving = Moving()
    moving.tell(moving.graph.add([facts((1, 0, 2, 5))]))
    assert moving.remembered == 0
    marks = [moving.mark(), moving.mark()]
    moving.tell(moving.graph.add([facts((1, 0, 3, 5), (1, 0, 4, 5))]))
    assert moving.remembered == 2
    moving.since(marks[0])
    assert moving.remembered == 2
    moving.since(marks[1])
    assert moving.remembered == 0
    moving.tell(moving.graph.add([facts((1, 0, 5, 5))]))
    moving.since(marks.pop())
    marks.clear()  # who goes needs nothing any more
    moving.tell(moving.graph.add([facts((1, 0, 6, 5))]))
    assert moving.remembered == 0


def test_who_is_far_behind_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST", 4)
    moving = Moving(TaggedGraph())
    late, prompt = moving.mark(), moving.mark()
    for number in range(1, 20):
        moving.graph.expire(number - 1)
        moving.tell(moving.graph.add([facts((1, 0, number, number))]))
        assert added(moving, prompt) == {(1, 0, number, number)}
        assert moving.remembered <= max(4, moving.graph.rows)
    assert moving.since(late) is None
    assert added(moving, late) == set()  # it has looked at the whole graph, and goes on


def test_who_has_seen_everything_starts_anew_too_when_it_is_not_known_what_has_changed() -> None:
    moving = Moving()
    mark = moving.mark()
    moving.forget()
    assert moving.since(mark) is None
    moving.forget()
    moving.tell(moving.graph.add([facts((1, 0, 2, 5))]))
    assert moving.since(mark) is None


@pytest.mark.parametrize(
    "name, rule",
    [
        pytest.param(name, rule, id=f"{name} {said}")
        for name in STRATEGIES
        for rule, said in ((CHAIN, "recursive"), (COPY, "not recursive"))
        if refusal(name, [rule]) is None
    ],
)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 10**9))
def test_what_a_closed_graph_tells_is_what_changes_in_it(name: str, rule: Rule, seed: int) -> None:
    random, dictionary = Random(seed), TermDictionary()
    ids = dictionary.encode(["<urn:p>", *(f"<urn:{n}>" for n in range(6))]).tolist()
    closed = STRATEGIES[name].make(dictionary, [rule])
    mark, known = closed.moving.mark(), Tagged()
    expiry, heard = closed.moving.mark(expiry=True), Tagged()
    for now in range(1, 8):
        closed.expire(now - 4)
        match random.choice(["insert", "insert", "load", "remove"]):
            case "remove":
                gone = np.array([random.choice(ids[1:])])
                closed.remove(gone, np.array([ids[0]]), np.array([random.choice(ids[1:])]))
            case kind:
                came = facts(
                    *(
                        (random.choice(ids[1:]), ids[0], random.choice(ids[1:]), now)
                        for _ in range(random.randint(1, 3))
                    )
                )
                if kind == "load" and not closed.visible(0).size:
                    alone = Expiration(dictionary, [rule])
                    alone.insert(*came)
                    closed.load_closed(*alone.visible(0))
                else:
                    closed.insert(*came)
        there = {row[:3]: row[3] for row in rows(closed.visible(now - 4))}
        if random.random() < 0.7:  # not everybody looks each time
            changes = closed.moving.since(mark)
            assert changes is not None
            known = added_up(known, changes)
            assert holding(known, now - 4) == there
            hearing = closed.moving.since(expiry)
            assert hearing is not None
            heard = added_up(heard, hearing)
            assert heard == there
