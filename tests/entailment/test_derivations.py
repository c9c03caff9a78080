"""Why a triple holds: each step follows, and gives the tag that the twin gives."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.evaluate.derivations import Derivation, why
from tests.entailment.twin import Triple, closure
from tests.entailment.worked import rule, tagged, triple
from tests.examples import examples

TRANSITIVE = rule("?a isIn ?b; ?b isIn ?c -> ?a isIn ?c", name="transitive")


def test_why_names_what_a_triple_rests_on() -> None:
    facts = tagged("a isIn b 11; b isIn c 12; c isIn d 13; a isIn e 14; e isIn d 14")
    found = why([TRANSITIVE], facts, triple("a isIn d"))
    assert found == Derivation(
        triple("a isIn d"), 14, TRANSITIVE, (Derivation(triple("a isIn e"), 14), Derivation(triple("e isIn d"), 14))
    )
    assert str(found) == (
        "<urn:a> <urn:isIn> <urn:d>  until 14, by transitive\n"
        "  <urn:a> <urn:isIn> <urn:e>  until 14, given\n"
        "  <urn:e> <urn:isIn> <urn:d>  until 14, given"
    )
    assert why([TRANSITIVE], facts, triple("d isIn a")) is None


@contextmanager
def shallow_stack() -> Iterator[None]:
    """Room for few more calls than are open now."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 60)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def test_why_of_a_long_chain_needs_no_deep_stack() -> None:
    steps = [rule(f"n{n} on ?x -> n{n + 1} on ?x") for n in reversed(range(300))]
    with shallow_stack():
        lines = str(why(steps, tagged("n0 on x 5"), triple("n300 on x"))).splitlines()
    assert len(lines) == 301 and lines[-1].lstrip() == "<urn:n0> <urn:on> <urn:x>  until 5, given"


def test_what_was_shown_is_not_shown_again() -> None:
    rules = [rule("?a p ?b -> ?a q ?b", name="one"), rule("?a q ?b; ?b q ?a -> ?a r ?b", name="two")]
    assert [line.split("  ")[-1] for line in str(why(rules, tagged("x p x 1"), triple("x r x"))).splitlines()] == [
        "until 1, by two",
        "until 1, by one",
        "until 1, given",
        "until 1, by one, as above",
    ]


words = st.sampled_from("wxyz")
facts = st.dictionaries(
    st.builds(lambda s, p, o: triple(f"{s} {p} {o}"), words, st.sampled_from("pq"), words),
    st.integers(1, 9),
    max_size=12,
)
RULES = [
    TRANSITIVE,
    rule("?a p ?b; ?b p ?c -> ?a p ?c"),
    rule("?a p ?b -> ?b q ?a"),
    rule("?a q ?b; ?b q ?c -> ?c p ?a"),
]


@settings(max_examples=examples(80), deadline=None)
@given(facts)
def test_every_step_of_why_follows_and_gives_the_tag(facts: dict[Triple, int]) -> None:
    closed = closure(RULES, facts)
    for fact in sorted(closed)[:3]:
        waiting = [(why(RULES, facts, fact), frozenset())]
        while waiting:
            step, above = waiting.pop()
            assert step.tag == closed[step.triple] and step.triple not in above
            if step.rule is None:
                assert facts[step.triple] == step.tag
            else:
                assert step.tag == min(premise.tag for premise in step.premises)
                assert step.triple in closure([step.rule], {premise.triple: 1 for premise in step.premises})
            waiting.extend((premise, above | {step.triple}) for premise in step.premises)
