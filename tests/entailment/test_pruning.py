from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.rules.pruning import may_match, prune
from csparql_spark.entailment.rules.schema import specialise
from csparql_spark.entailment.rules.sets import rule_set
from csparql_spark.language.rules.rule import Atom, Rule
from tests.entailment.twin import Lookup, Triple, closure
from tests.entailment.worked import atoms, rule, triple, triples
from tests.examples import examples


def test_a_rule_that_nothing_asked_needs_is_left_out() -> None:
    is_in, near = rule("?a isIn ?b; ?b isIn ?c -> ?a isIn ?c"), rule("?a near ?b -> ?b near ?a")
    assert prune([is_in, near], atoms("?x isIn rome")) == (is_in,)
    assert prune([is_in, near], atoms("?x likes ?y")) == () == prune([is_in, near], [])


def test_what_a_needed_rule_needs_is_needed() -> None:
    chain = [rule("?a r ?b -> ?a q ?b"), rule("?a q ?b -> ?a p ?b"), rule("?a p ?b -> ?a o ?b")]
    assert prune(chain, atoms("?x p ?y")) == tuple(chain[:2])


def test_constants_must_agree_and_variables_match_anything() -> None:
    rules = [rule("?x p ?y -> ?x a A"), rule("?x p ?y -> ?x a B")]
    assert prune(rules, atoms("?z a A")) == (rules[0],)
    assert prune(rules, atoms("z a ?class")) == tuple(rules) == prune(rules, atoms("?s ?p ?o"))


def test_a_variable_that_occurs_twice_asks_for_the_same_twice() -> None:
    rules = [rule("?x p ?y -> ?x q x"), rule("?x p ?y -> y q x")]
    assert prune(rules, atoms("?z q ?z")) == (rules[0],)
    assert may_match(*atoms("?x q ?y; ?y q ?x")) and not may_match(*atoms("x q y; ?a q ?a"))


def test_conclusions_that_nobody_needs_are_taken_out() -> None:
    types = rule("?x ?p ?y -> ?p a rdf:Property; ?x a rdfs:Resource", name="types")
    (pruned,) = prune([types], atoms("?x a rdfs:Resource"))
    assert pruned == types  # its own body needs everything
    only = rule("?x p ?y -> ?x q ?y; ?y r ?x", name="only")
    (pruned,) = prune([only], atoms("?x r ?y"))
    assert pruned == rule("?x p ?y -> ?y r ?x") and pruned.name == "only"


def test_specialise_first() -> None:
    schema = triples("drives rdfs:domain Driver; sails rdfs:domain Sailor; Driver rdfs:subClassOf Person")
    special = specialise(rule_set("rho-df"), schema)
    assert set(prune(special.rules, atoms("?x a Person"))) == {
        rule("?a a Driver -> ?a a Person"),
        rule("?a drives ?b -> ?a a Driver"),
    }


NODES = ["a", "b", "?x", "?y"]
PLACES = ["p", "q", "r"]
patterns = st.builds(
    lambda s, p, o: atoms(f"{s} {p} {o}")[0],
    st.sampled_from(NODES),
    st.sampled_from([*PLACES, "?p"]),
    st.sampled_from(NODES),
)


def safe(head: list[Atom], body: list[Atom]) -> Rule:
    """A rule whose head has no variables that its body lacks: they become `a`."""
    known = {node for atom in body for node in atom.variables}
    return Rule(
        tuple(
            Atom(
                *(
                    node if not node.startswith("?") or node in known else triple("a p a")[place]
                    for place, node in enumerate(atom.nodes)
                )
            )
            for atom in head
        ),
        tuple(body),
    )


rules = st.lists(
    st.builds(safe, st.lists(patterns, min_size=1, max_size=2), st.lists(patterns, max_size=2)), max_size=5
)
facts = st.dictionaries(
    st.builds(
        lambda s, p, o: triple(f"{s} {p} {o}"), st.sampled_from("abc"), st.sampled_from(PLACES), st.sampled_from("abc")
    ),
    st.integers(1, 5),
    max_size=6,
)


@settings(max_examples=examples(100), deadline=None)
@given(rules, facts, st.lists(patterns, max_size=2))
def test_what_is_asked_stays_the_same(rules: list[Rule], facts: dict[Triple, int], asked: list[Atom]) -> None:
    assert answers(closure(prune(rules, asked), facts), asked) == answers(closure(rules, facts), asked)


def answers(closed: dict[Triple, int], asked: list[Atom]) -> dict[Triple, int]:
    return {
        fact: tag
        for fact, tag in closed.items()
        if any(True for pattern in asked for _ in Lookup([fact]).extended(pattern, {}))
    }
