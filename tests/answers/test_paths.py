from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import tables
from csparql_spark.answers.deadline import Deadline
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.answers.matches import TooManyMatches
from csparql_spark.answers.paths import Paths, reached
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples

Steps = dict[tuple[int, int], int]


def columns(steps: Steps) -> tuple[np.ndarray, ...]:
    table = np.array([(*pair, tag) for pair, tag in steps.items()], dtype=np.int64).reshape(-1, 3)
    return tuple(np.ascontiguousarray(column) for column in table.T)


def naive(steps: Steps) -> Steps:
    """Floyd and Warshall: over each node, the way that holds longest."""
    found = dict(steps)
    nodes = {node for pair in steps for node in pair}
    for middle in nodes:
        for start in nodes:
            for end in nodes:
                tag = min(found.get((start, middle), -1), found.get((middle, end), -1))
                if tag > found.get((start, end), -1):
                    found[start, end] = tag
    return found


def pairs(paths: Paths) -> Steps:
    return {(s, o): tag for s, o, tag in zip(*(column.tolist() for column in paths.pairs()), strict=True)}


def soon() -> Deadline:
    return Deadline(Limits(milliseconds=60_000))


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 10**9))
def test_it_follows_steps_that_come_expire_and_are_taken_back(seed: int) -> None:
    random = Random(seed)
    size = random.randint(2, 7)
    paths, steps, now = Paths(), {}, 0
    for _ in range(random.randint(1, 7)):
        now = max(0, now + random.choice((0, 1, 2, 2, -3)))
        for _ in range(random.randint(0, size)):
            pair = random.randrange(size), random.randrange(size)
            steps[pair] = max(steps.get(pair, 0), random.choice((now + random.randint(1, 6), ALWAYS)))
        for pair in random.sample(list(steps), len(steps) // 2) if random.random() < 0.6 else ():
            if random.random() < 0.5:
                del steps[pair]
            elif steps[pair] != ALWAYS or random.random() < 0.5:
                steps[pair] = now + random.randint(0, 6)
        seen = {pair: tag for pair, tag in steps.items() if tag > now}
        paths.move(*columns(seen), now, soon())
        wanted = naive(seen)
        assert pairs(paths) == wanted
        for node in range(size):
            ends, until = reached(*columns(seen), node, soon())
            assert dict(zip(ends.tolist(), until.tolist())) == {
                end: tag for (start, end), tag in wanted.items() if start == node
            }


def test_new_steps_are_joined_with_what_is_there_and_not_all_again(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[int] = []
    extend = Paths._extend
    monkeypatch.setattr(
        Paths, "_extend", lambda self, facts, deadline: added.append(facts.size) or extend(self, facts, deadline)
    )
    paths = Paths()
    chain = {(place, place + 1): 100 for place in range(50)}
    paths.move(*columns(chain), 0, soon())
    paths.move(*columns(chain | {(50, 51): 90, (3, 4): 200}), 10, soon())
    assert added == [50, 2] and len(pairs(paths)) == 51 * 52 // 2
    assert pairs(paths)[0, 51] == 90 and pairs(paths)[3, 4] == 200
    assert paths.nbytes > 0


def test_steps_that_are_taken_back_do_not_let_it_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    restarts: list[Paths] = []
    paths = Paths()
    chain = {(place, place + 1): 100 for place in range(50)} | {(place, place + 2): 90 for place in range(40)}
    paths.move(*columns(chain), 0, soon())
    monkeypatch.setattr(Paths, "restart", restarts.append)
    del chain[7, 8], chain[44, 45]
    chain[20, 21] = 80
    paths.move(*columns(chain), 10, soon())
    assert pairs(paths) == naive(chain) and not restarts


def test_too_much_is_not_begun_and_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = {(place, place + 1): 100 for place in range(50)}
    paths = Paths()
    with pytest.raises(TooMuch, match="longer than 0 s"):
        paths.move(*columns(chain), 0, Deadline(Limits(milliseconds=0)))
    with pytest.raises(TooMuch, match="longer than 0 s"):
        reached(*columns(chain), 3, Deadline(Limits(milliseconds=0)))
    monkeypatch.setattr(tables, "MOST_ROWS", 500)
    with pytest.raises(TooManyMatches, match="^a path leads along more than 500 ways$"):
        paths.move(*columns(chain), 0, soon())
    monkeypatch.undo()
    paths.move(*columns(chain), 0, soon())
    assert pairs(paths) == naive(chain)
