"""What closures are made with becomes something else: they are brought up to date, and say what they would say if they
had been made anew; and whoever follows them goes on."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given

from csparql_spark.engine.closures import Closures
from csparql_spark.engine.group import Group
from csparql_spark.engine.member import Member
from csparql_spark.engine.messages import Message
from csparql_spark.engine.window_graphs import Sliding
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.maintain.strategies import STRATEGIES
from csparql_spark.entailment.rules.preparing import Columns, Prepared
from csparql_spark.relations.changes import Changes
from csparql_spark.relations.moving import Mark, Moving
from tests.engine.logs import law
from tests.engine.running import in_one_go, routed
from tests.engine.test_closures import STREAM, SUB, TYPE, Asked, World, shown, steps, wanted
from tests.examples import examples

A, B, C = "<urn:a>", "<urn:b>", "<urn:c>"
PREPARE = Closures._prepare
RULE = "[(?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)]"


@pytest.mark.parametrize("name", STRATEGIES)
@given(made=steps)
@law(max_examples=examples(40))
def test_it_says_what_it_would_if_all_were_made_anew(name: str, made: list[tuple]) -> None:
    """Queries come and ask for more, background and rules are replaced, streams speak of the schema: byte for byte."""
    log = World().write(made).log
    with mock.patch.object(Closures, "_prepare", _prepare_anew):
        anew = in_one_go(log, name)
    assert in_one_go(log, name) == anew


def _prepare_anew(closures: Closures, member: Member, background: Columns) -> Prepared:
    for known in (closures._sliding, closures._still):
        known.clear()
    return PREPARE(closures, member, background)


class Watch:
    """What happens to those who follow graphs."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.looks, self.anew, self.extended, self.became, self.rules = 0, 0, 0, 0, 0
        since, extend, become, add = Moving.since, Sliding.extend, Sliding.become, Expiration.add_rules

        def watched_since(moving: Moving, mark: Mark) -> Changes | None:
            changes = since(moving, mark)
            self.looks += 1
            self.anew += changes is None
            return changes

        def watched_extend(sliding: Sliding, *given: object) -> bool:
            extended = extend(sliding, *given)
            self.extended += extended
            return extended

        def watched_become(sliding: Sliding, *given: object) -> bool:
            self.became += 1
            return become(sliding, *given)

        def watched_add(facts: Expiration, rules: object) -> None:
            self.rules += 1
            add(facts, rules)

        patch.setattr(Moving, "since", watched_since)
        patch.setattr(Sliding, "extend", watched_extend)
        patch.setattr(Sliding, "become", watched_become)
        patch.setattr(Expiration, "add_rules", watched_add)


def fed(made: list[tuple]) -> tuple[list[Message], list[set[int]], World]:
    """What one group says, and after each row which evaluators there are."""
    world = World().write(made)
    rows = routed(world.log)
    group, told, evaluators, kept = Group(rows[0].group), [], [], []
    for row in rows:
        told += group.feed([row])
        now = [state.maintained.evaluator for state in group._views._states.values() if state.maintained]
        kept.append(now)  # so that no other object gets the id of one of them
        evaluators.append(set(map(id, now)))
    return told, evaluators, world


def asked(pattern: tuple[str, str, str], *regimes: str, graph: bool = False) -> Asked:
    return Asked(((STREAM, 6, 2, None),), regimes or ("mine",), pattern, graph)


def ticks(*triples: tuple[str, str, str]) -> list[tuple]:
    return [step for triple in triples for step in ((STREAM, 1, [triple]), ("tick", 1, None))]


CHAIN = ticks((A, "<urn:p>", B), (B, "<urn:p>", C), (A, "<urn:q>", C), (C, "<urn:p>", A))


@pytest.mark.parametrize(
    "change, extended, became",
    [
        pytest.param(("register", 0, asked(("?x", "?y", "?z"), graph=True)), 1, 0, id="a query that asks for more"),
        pytest.param(("background", 0, [(C, "<urn:p>", A)]), 0, 1, id="another background"),
        pytest.param(("rules", 0, f"{RULE} [(?a <urn:q> ?b) -> (?b <urn:p> ?a)]"), 0, 1, id="other rules"),
    ],
)
def test_who_follows_a_closure_goes_on(
    change: tuple, extended: int, became: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(monkeypatch)
    before = [("rules", 0, RULE), ("register", 0, asked(("?x", "<urn:p>", "?z"), graph=True)), *CHAIN, *CHAIN]
    told, evaluators, world = fed([*before, change, *CHAIN])
    assert shown(told) == wanted(world)
    assert (watch.extended, watch.became) == (extended, became)
    assert watch.looks and not watch.anew
    first = next(some for some in reversed(evaluators[: len(before)]) if some)
    assert all(first <= some for some in evaluators[len(before) :])


def test_who_follows_a_closure_goes_on_when_a_stream_speaks_of_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    query = asked(("?x", TYPE, A), "rho-df", graph=True)
    before = [
        ("background", 0, [(B, SUB, A)]),
        ("register", 0, query),
        *ticks(("<urn:x>", TYPE, B), ("<urn:y>", TYPE, C), ("<urn:z>", TYPE, B)),
    ]
    told, evaluators, world = fed([*before, *ticks((C, SUB, B), ("<urn:y>", TYPE, C), ("<urn:x>", TYPE, C))])
    assert shown(told) == wanted(world)
    assert watch.became == 1 and watch.looks and not watch.anew
    first = next(some for some in reversed(evaluators[: len(before)]) if some)
    assert all(first <= some for some in evaluators[len(before) :])
    assert any("<urn:y>" in str(rows) for said in shown(told).values() for _, rows in said)  # by what the stream says


def test_rules_that_a_query_needs_besides_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    rules = f"{RULE} [(?a <urn:q> ?b) -> (?a <urn:r> ?b)]"
    told, _, world = fed(
        [
            ("rules", 0, rules),
            ("register", 0, asked(("?x", "<urn:p>", "?z"))),
            *CHAIN,
            *CHAIN,
            ("register", 0, asked((A, "<urn:r>", "?z"))),
            *CHAIN,
        ]
    )
    assert shown(told) == wanted(world)
    assert watch.extended == 1 and watch.rules == 1 and not watch.became and not watch.anew
