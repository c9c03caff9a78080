"""The safety of rules: what is let in comes to an end, and what might not is refused with a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.rules.safety import UnsafeRules, check
from csparql_spark.entailment.rules.sets import NAMES, rule_set
from csparql_spark.language import parse_rules
from csparql_spark.language.rules.rule import Atom, Guard, Rule
from tests.entailment.twin import Lookup, Triple, is_triple, matches
from tests.examples import examples

INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
P, Q = "<urn:p>", "<urn:q>"


@pytest.mark.parametrize(
    "text",
    [
        # What is computed is only looked at.
        "(?x <urn:p> ?n) strConcat(?n, ?t) regex(?t, 'a.*') -> (?n <urn:p> ?x)",
        "(?x <urn:p> ?n) sum(?n, 1, 5) -> (?x <urn:p> ?n)",
        "(?x <urn:p> ?n) (?x <urn:p> ?m) sum(?n, 1, ?m) -> (?m <urn:p> ?x)",
        "(?x ?p ?n) addOne(?n, ?m) addOne(?m, ?k) lessThan(?k, 9) -> (?x ?p 9)",
        # What is chosen was there before.
        "(?x <urn:p> ?n) (?x <urn:p> ?m) max(?n, ?m, ?k) -> (?x <urn:p> ?k)",
        # What is made does not come back.
        "(?x <urn:p> ?n) addOne(?n, ?m) -> (?x <urn:q> ?m)",
        "(?x <urn:p> ?n) strConcat(?n, ?t) uriConcat('urn:', ?t, ?u) -> (?u <urn:q> ?n)",
    ],
)
def test_rules_that_come_to_an_end(text: str) -> None:
    check(parse_rules(f"[r: {text}]").rules)


@pytest.mark.parametrize(
    "text, maker",
    [
        ("(?x <urn:p> ?n) addOne(?n, ?m) -> (?x <urn:p> ?m)", "addOne"),
        ("(?x <urn:p> ?n) addOne(?n, ?m) -> (?x <urn:q> ?n) (?x <urn:p> ?m)", "addOne"),
        ("(?x ?p ?n) uriConcat(?x, '/', ?u) -> (?u ?p ?n)", "uriConcat"),
        # It is handed on by one that chooses, or computed from.
        ("(?x <urn:p> ?n) addOne(?n, ?m) max(?m, 5, ?k) -> (?x <urn:p> ?k)", "addOne"),
        ("(?x <urn:p> ?n) addOne(?n, ?m) min(5, ?m, ?k) max(?k, 1, ?l) -> (?x <urn:p> ?l)", "addOne"),
        ("(?x <urn:p> ?n) addOne(?n, ?m) product(?m, 2, ?k) -> (?x <urn:p> ?k)", "product"),
    ],
)
def test_rules_that_might_never_end(text: str, maker: str) -> None:
    (rule,) = parse_rules(f"[r: {text}]").rules
    with pytest.raises(UnsafeRules) as refused:
        check((rule,))
    assert str(refused.value) == (
        f"The rule {rule} makes new terms with {maker}, and what it derives can match its own body again, so that it "
        "might never end: give what it derives a predicate of its own."
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_sets_of_the_house_are_safe(name: str) -> None:
    check(rule_set(name))


@pytest.mark.parametrize("name", ["rdfs", "rdfs-full", "owl-horst"])
def test_what_is_made_may_come_back_through_a_set_of_the_house(name: str) -> None:
    """A sub-property may lead from <urn:q> back to <urn:p>."""
    made = parse_rules("[r: (?x <urn:p> ?n) addOne(?n, ?m) -> (?x <urn:q> ?m)]").rules
    with pytest.raises(UnsafeRules, match="addOne"):
        check((*rule_set(name), *made))


VARIABLES = ["?x", "?n", "?m", "?k"]


@st.composite
def making(draw: st.DrawFn) -> Rule:
    """A rule with makers, and what they make in its head or not."""
    predicates = st.sampled_from([P, P, Q])
    body = (Atom("?x", draw(predicates), "?n"),)
    known, guards = ["?n"], []
    for made in draw(st.sampled_from([[], ["?m"], ["?m"], ["?m", "?k"]])):
        name, given = draw(st.sampled_from([("addOne", 1), ("sum", 2), ("max", 2), ("min", 2)]))
        inputs = [draw(st.sampled_from([*known, f'"1"^^{INTEGER}'])) for _ in range(given)]
        guards.append(Guard(name, (*inputs, made)))
        known.append(made)
    head = Atom("?x", draw(predicates), draw(st.sampled_from(known)))
    return Rule((head,), body, tuple(guards))


def rounds(rules: list[Rule], facts: set[Triple], most: int) -> int:
    """How often the rules have to be applied to everything until nothing is new; `most` if that is not enough."""
    for round_ in range(most):
        known = Lookup(sorted(facts))
        new = {
            triple
            for rule in rules
            for binding in matches(rule, known)
            for atom in rule.head
            if is_triple(triple := tuple(binding.get(node, node) for node in atom.nodes))
        } - facts
        if not new:
            return round_
        facts = facts | new
    return most


@given(
    st.lists(making(), min_size=1, max_size=3),
    st.sets(
        st.tuples(
            st.just("<urn:a>"), st.sampled_from([P, Q]), st.sampled_from([f'"{n}"^^{INTEGER}' for n in range(3)])
        ),
        max_size=3,
    ),
)
@settings(max_examples=examples(300), deadline=None)
def test_what_is_let_in_ends(rules: list[Rule], facts: set[Triple]) -> None:
    try:
        check(rules)
    except UnsafeRules:
        return
    assert rounds(rules, facts, most=15) < 15


def test_the_property_can_fail() -> None:
    endless = [Rule((Atom("?x", P, "?m"),), (Atom("?x", P, "?n"),), (Guard("addOne", ("?n", "?m")),))]
    assert rounds(endless, {("<urn:a>", P, f'"1"^^{INTEGER}')}, most=15) == 15
