"""Members of a family find together what each would find alone."""

from __future__ import annotations

import gc
import weakref
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import shared_templates as module
from csparql_spark.answers.patterns import Pattern
from csparql_spark.answers.shared_templates import generalized
from tests.answers.test_matches import Differing, Followed, Tagged
from tests.examples import examples

THINGS = tuple(f"<urn:{n}>" for n in range(7))
SHAPES = (
    (("?s", "<urn:in>", "{0}"), ("?s", "<urn:value>", "?v")),
    (("?s", "<urn:in>", "{0}"), ("?s", "<urn:near>", "?t"), ("?t", "<urn:in>", "{1}")),
    (("{0}", "<urn:near>", "?s"), ("?s", "<urn:near>", "{0}")),
    (("?s", "?p", "{0}"), ("?s", "<urn:near>", "?s")),
    (("?a", "<urn:near>", "?b"), ("?b", "<urn:near>", "{0}"), ("{0}", "<urn:in>", "?c")),
    (("?s", "<urn:in>", "{0}"),),
)


def asked(shape: int, first: str, second: str) -> tuple[Pattern, ...]:
    return tuple(tuple(node.format(first, second) for node in pattern) for pattern in SHAPES[shape])


def some(random: Random, count: int, now: int) -> Tagged:
    return {
        (random.choice(THINGS), random.choice(("<urn:in>", "<urn:near>", "<urn:value>")), random.choice(THINGS)): now
        + random.randint(1, 6)
        for _ in range(count)
    }


def renumber(graph: Followed) -> None:
    """Forget the ids of terms that nobody holds."""
    wanted = np.unique(np.concatenate([graph.moving.graph.terms(), graph.tables.terms()]))
    table = graph.content.dictionary.compact(wanted)
    for holder in (graph.moving.graph, graph.moving, graph.tables):
        holder.renumber(table)


@pytest.mark.parametrize("many, least", ((1, 10**6), (3, 10**6), (3, 4)))  # 4 rows: it is often too much
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 10**9), shapes=st.lists(st.integers(0, len(SHAPES) - 1), min_size=1, max_size=2))
def test_members_that_come_and_go_have_what_trying_finds(many: int, least: int, seed: int, shapes: list[int]) -> None:
    """Some follow each move, some now and then; ids are renumbered on the way."""
    random, graph = Random(seed), Followed()
    members: list[tuple[tuple[Pattern, ...], tuple[Differing, ...], object]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MANY", many)
        patch.setattr(module, "LEAST_ROWS", least)
        patch.setattr(module, "PASSED_OVER", 1)
        patch.setattr(module, "FEW", random.choice((0, 1000)))
        patch.setattr("csparql_spark.answers.matches.FEW", module.FEW)
        for now in range(1, 9):
            if random.random() < 0.4 and members:
                members.pop(random.randrange(len(members)))
            for _ in range(random.randint(0, 4)):
                patterns = asked(random.choice(shapes), random.choice(THINGS), random.choice(THINGS))
                keep = (Differing(("?s", random.choice(("?v", "?t"))), True),) if random.random() < 0.3 else ()
                members.append((patterns, keep, graph.tables.table(patterns, keep)))
            if random.random() < 0.3:
                renumber(graph)
            graph.content.dictionary.encode([f"<urn:forgotten{now}>"])
            graph.take_some_back(random)
            graph.move(now, some(random, random.randint(0, 12), now))
            for patterns, keep, table in members:
                if random.random() < 0.8 or now == 8:
                    table.move()
                    wanted = graph.naive(patterns, table.variables, now)
                    assert graph.rows(table, now) == [
                        row for row in wanted if all(one.differ(dict(zip(table.variables, row))) for one in keep)
                    ]


def test_whom_nobody_holds_is_forgotten() -> None:
    """A family holds no member: who asks no more is not followed, and neither are their ids."""
    graph = Followed()
    tables = [graph.tables.table(asked(1, f"<urn:a{n}>", f"<urn:b{n}>")) for n in range(49)]
    for now in range(1, 4):
        graph.move(now, some(Random(now), 12, now))
        for table in tables:
            table.move()
    seen = [weakref.ref(table) for table in tables]
    del table, tables[10:]
    gc.collect()
    assert sum(one() is not None for one in seen) == 10


def test_what_differs_in_constants_only_is_of_one_family() -> None:
    first, second = asked(1, "<urn:1>", "<urn:2>"), asked(1, "<urn:3>", "<urn:4>")
    renamed = tuple(tuple({"?s": "?x", "?t": "?y"}.get(node, node) for node in pattern) for pattern in second)
    assert generalized(first).template == generalized(second).template == generalized(renamed).template
    assert generalized(second).constants == ("<urn:3>", "<urn:4>")
    assert generalized(asked(1, "<urn:1>", "<urn:1>")).template != generalized(first).template
    assert generalized((("?a", "<urn:p>", "?b"),)) == ((("?0", "<urn:p>", "?1"),), {"?a": "?0", "?b": "?1"}, ())
    many = tuple(("?s", "<urn:p>", f"<urn:{n}>") for n in range(3))
    assert generalized(many) == (tuple(("?0", *rest) for _, *rest in many), {"?s": "?0"}, ())
    alone = (("<urn:a>", "<urn:p>", "<urn:b>"),)
    assert generalized(alone) == (alone, {}, ())


class Watched(module.TemplateFamily):
    """A family that counts how often it has looked for its members."""

    looked = 0

    def _joined(self, *given: object) -> object:
        Watched.looked += 1
        return super()._joined(*given)


def test_a_crowd_looks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.answers.matches.TemplateFamily", Watched)
    monkeypatch.setattr(Watched, "looked", 0)
    graph = Followed()
    tables = [graph.tables.table(asked(0, thing, "")) for thing in THINGS for _ in "ab"]
    assert len(set(map(id, tables))) == 7  # the same question is one table
    more = [graph.tables.table(asked(0, f"<urn:other{n}>", "")) for n in range(5)]
    for now in (1, 2, 3):
        graph.move(now, some(Random(now), 10, now))
        for table in (*tables[::2], *more):
            table.move()
    assert Watched.looked == 2 * 2  # two patterns, at each of the two moves after the first


def test_a_crowd_looks_once_for_what_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.answers.matches.TemplateFamily", Watched)
    monkeypatch.setattr(module, "FEW", 0)
    graph = Followed()
    crowd = {thing: graph.tables.table(asked(0, thing, "")) for thing in (*THINGS, "<urn:other1>", "<urn:other2>")}
    graph.move(1, {(one, verb, other): 9 for one in THINGS for verb in ("<urn:in>", "<urn:value>") for other in THINGS})
    for table in crowd.values():
        table.move()
    monkeypatch.setattr(Watched, "looked", 0)
    graph.take_back([(THINGS[0], "<urn:in>", THINGS[1]), (THINGS[2], "<urn:value>", THINGS[3])])
    for table in crowd.values():
        table.move()
    assert Watched.looked == 2
    for thing, table in crowd.items():
        assert graph.rows(table, 1) == graph.naive(asked(0, thing, ""), table.variables, 1)
