"""Rules that feed one another, found through what their atoms have in common: the same as by comparing each with each,
in work that grows with the rules and not with their pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.asking.admission import Refusal, check_rules
from csparql_spark.entailment.rules import safety
from csparql_spark.entailment.rules.meetings import junctions, kind, on_cycles
from csparql_spark.entailment.rules.pruning import may_match, prune
from csparql_spark.entailment.rules.safety import UnsafeRules, check, recursive
from csparql_spark.language import parse_rules
from csparql_spark.language.rules.rule import Atom, Guard, Rule, is_variable
from tests.entailment import generated
from tests.examples import examples

NODES = st.sampled_from(["<urn:a>", "<urn:b>", "?x", "?y"])
PREDICATES = st.sampled_from(["<urn:p>", "<urn:q>", "<urn:r>", "<urn:s>", "?x", "?z"])
atoms = st.builds(Atom, NODES, PREDICATES, NODES)
wild = st.builds(
    Rule, st.lists(atoms, min_size=1, max_size=3).map(tuple), st.lists(atoms, max_size=3).map(tuple), st.just(())
)
makers = st.builds(
    lambda before, after: Rule(
        (Atom("?x", after, "?m"),), (Atom("?x", before, "?n"),), (Guard("addOne", ("?n", "?m")),)
    ),
    st.sampled_from([f"<urn:{name}>" for name in "pqrst"]),
    st.sampled_from([f"<urn:{name}>" for name in "pqrst"]),
)


def meet(one: Atom, other: Atom) -> bool:
    return all(is_variable(a) or is_variable(b) or a == b for a, b in zip(one.nodes, other.nodes))


def recursive_by_pairs(rules: Sequence[Rule], among: Sequence[Rule]) -> list[Rule]:
    """The naive twin: what each rule feeds is looked for among all."""
    found = []
    for rule in among:
        reached: set[Rule] = set()
        waiting = [rule]
        while waiting and rule not in reached:
            fed = waiting.pop()
            for other in rules:
                if other not in reached and any(meet(head, atom) for head in fed.head for atom in other.body):
                    reached.add(other)
                    waiting.append(other)
        if rule in reached:
            found.append(rule)
    return found


def pruned_by_pairs(rules: Sequence[Rule], asked: Sequence[Atom]) -> tuple[Rule, ...]:
    """The naive twin: rules are gone through until none is needed any more."""
    wanted, needed = set(asked), [set[int]() for _ in rules]
    before = -1
    while before != sum(map(len, needed)):
        before = sum(map(len, needed))
        for rule, places in zip(rules, needed):
            places |= {
                place for place, atom in enumerate(rule.head) if any(may_match(atom, pattern) for pattern in wanted)
            }
            wanted |= set(rule.body) if places else set()
    return tuple(
        replace(rule, head=tuple(rule.head[place] for place in sorted(places)))
        for rule, places in zip(rules, needed)
        if places
    )


@given(atoms, atoms)
def test_atoms_meet_where_they_have_a_junction_in_common(one: Atom, other: Atom) -> None:
    common = set(junctions(one, [kind(other)])) & set(junctions(other, [kind(one)], turned=True))
    assert bool(common) == meet(one, other)


@given(st.lists(generated.rules() | wild, max_size=8), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_recursive_rules_are_those_of_the_naive_twin(rules: list[Rule], data: st.DataObject) -> None:
    among = data.draw(st.lists(st.sampled_from(rules) | wild, max_size=4) if rules else st.just([]))
    assert list(recursive(rules, rules)) == recursive_by_pairs(rules, rules)
    assert list(recursive(rules, among)) == recursive_by_pairs(rules, among)


@given(st.lists(makers | generated.rules(), max_size=6))
@settings(max_examples=examples(300), deadline=None)
def test_what_is_refused_is_what_the_naive_twin_refuses(rules: list[Rule]) -> None:
    endless = recursive_by_pairs(rules, [rule for rule in rules if rule.guards and rule.guards[0].name == "addOne"])
    if not endless:
        check(rules)
        return
    with pytest.raises(UnsafeRules) as refused:
        check(rules)
    assert str(refused.value).startswith(f"The rule {endless[0]} makes new terms with addOne,")


@given(st.lists(wild, max_size=7), st.lists(atoms, max_size=3))
@settings(max_examples=examples(200), deadline=None)
def test_what_is_needed_is_what_the_naive_twin_needs(rules: list[Rule], asked: list[Atom]) -> None:
    assert prune(rules, asked) == pruned_by_pairs(rules, asked)


@given(st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=12, max_size=12))
@settings(max_examples=examples(400), deadline=None)
def test_cycles(drawn: list[list[int]]) -> None:
    edges = [[way for way in ways if way != node] for node, ways in enumerate(drawn)]
    reached = [set(ways) for ways in edges]
    for _ in edges:
        for node in range(len(edges)):
            reached[node] |= {far for near in tuple(reached[node]) for far in reached[near]}
    assert on_cycles(edges) == {node for node, far in enumerate(reached) if node in far}


def chain(count: int) -> str:
    """Each rule makes terms of what the one before has made."""
    return "".join(f"[r{n}: (?x <urn:p{n}> ?n) sum(?n, 1, ?m) -> (?x <urn:p{n + 1}> ?m)]\n" for n in range(count))


@pytest.mark.parametrize(
    "rule",
    [
        "(?x <urn:p{n}> ?n) sum(?n, 1, ?m) -> (?x <urn:p{m}> ?m)",
        "(<urn:p{n}> <urn:p> ?n) sum(?n, 1, ?m) -> (<urn:p{m}> <urn:p> ?m)",
        "(?x ?p <urn:p{n}>) sum(?p, 1, ?m) -> (?p <urn:q> ?m)",
        "(?x ?p ?o) (?x <urn:p{n}> ?n) sum(?n, 1, ?m) -> (?x ?p ?m)",
    ],
)
def test_the_ways_between_rules_grow_with_the_rules(rule: str) -> None:
    def ways(count: int) -> int:
        text = "".join(f"[r{n}: {rule.format(n=n, m=n + 1)}]" for n in range(count))
        return sum(map(len, safety._feeding(parse_rules(text).rules)))

    assert 0 < ways(400) <= 2 * ways(200) + 10


def test_the_longest_chain_of_makers_is_let_in() -> None:
    assert len(check_rules("long", chain(2_000), {}).rules) == 2_000


def test_the_longest_circle_of_makers_is_refused_by_its_first_rule() -> None:
    text = chain(1_999) + "[last: (?x <urn:p1999> ?n) -> (?x <urn:p0> ?n)]"
    with pytest.raises(Refusal, match=r"The rule \[r0: .* makes new terms with sum, and what it derives can match"):
        check_rules("long", text, {})
