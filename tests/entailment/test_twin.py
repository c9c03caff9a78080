"""The twin that everything is compared with: worked examples, the law of tags, and what SPARQL says."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.rules.sets import rule_set
from csparql_spark.language import parse_rules
from csparql_spark.language.rules.rule import Atom, Rule
from tests.entailment.twin import ALWAYS, Triple, closure
from tests.entailment.worked import guard, integer, rule, tagged, term, triple
from tests.examples import examples

TRANSITIVE = rule("?a isIn ?b; ?b isIn ?c -> ?a isIn ?c", name="transitive")


def test_a_conclusion_holds_as_long_as_all_its_premises() -> None:
    assert closure([TRANSITIVE], tagged("a isIn b 11; b isIn c 12")) == tagged("a isIn b 11; b isIn c 12; a isIn c 11")


def test_of_two_derivations_the_one_that_holds_longer_counts() -> None:
    facts = tagged("a isIn b 11; b isIn d 12; a isIn e 14; e isIn d 13")
    assert closure([TRANSITIVE], facts) == facts | tagged("a isIn d 13")


def test_what_was_given_is_improved_by_what_is_derived_and_never_made_worse() -> None:
    assert closure([TRANSITIVE], tagged("a isIn b 9; b isIn c 9; a isIn c 5"))[triple("a isIn c")] == 9
    assert closure([TRANSITIVE], tagged("a isIn b 9; b isIn c 9; a isIn c 50"))[triple("a isIn c")] == 50


def test_an_improvement_is_passed_on() -> None:
    """A better tag that is found late improves what was derived from the worse one."""
    chain = rule("?a p ?b -> ?a q ?b"), rule("?a r ?b -> ?a p ?b"), rule("?a s ?b -> ?a r ?b")
    assert closure(chain, tagged("x p y 1; x s y 7")) == tagged("x p y 7; x s y 7; x r y 7; x q y 7")


def test_cycles_end() -> None:
    both = rule("?a p ?b -> ?b p ?a"), rule("?a p ?b; ?b p ?c -> ?a p ?c")
    assert closure(both, tagged("x p y 3")) == tagged("x p y 3; y p x 3; x p x 3; y p y 3")


def test_a_rule_without_a_body_holds_always() -> None:
    assert closure([rule("-> a p b; c p d")], {}) == {triple("a p b"): ALWAYS, triple("c p d"): ALWAYS}


def test_a_variable_that_occurs_twice_is_the_same_term_twice() -> None:
    assert triple("y q y") not in closure([rule("?a p ?a -> ?a q ?a")], tagged("x p x 1; y p z 1"))
    assert triple("x q x") in closure([rule("?a p ?a -> ?a q ?a")], tagged("x p x 1; y p z 1"))


def test_a_variable_predicate_matches_every_triple() -> None:
    found = closure([rule("?s ?p ?o; ?p rdfs:domain ?c -> ?s a ?c")], tagged("x p y 4; p rdfs:domain C 9"))
    assert found == tagged("x p y 4; p rdfs:domain C 9; x a C 4")


@pytest.mark.parametrize(
    "facts, missing",
    [
        ({(term("x"), term("p"), '"5"'): 1}, '"5"'),  # a literal as subject
        ({(term("x"), term("p"), "_:b"): 1, (term("_:b"), term("p"), term("y")): 1}, None),
    ],
)
def test_what_would_be_no_triple_is_not_made(facts: dict[Triple, int], missing: str | None) -> None:
    found = closure([rule("?a p ?b -> ?b q ?a")], facts)
    assert all(not subject.startswith('"') for subject, _, _ in found)
    assert len(found) == len(facts) + (0 if missing else 2)


def test_a_predicate_is_an_iri() -> None:
    facts = {(term("x"), term("p"), "_:b"): 1, (term("x"), term("p"), '"5"'): 1, (term("x"), term("p"), term("q")): 1}
    assert set(closure([rule("?a p ?b -> ?a ?b ?a")], facts)) - set(facts) == {triple("x q x")}


# Guards


def test_a_maker_binds_its_last_argument_or_compares_it() -> None:
    double = rule("?x age ?n -> ?x twice ?m", guard("sum", "?n", "?n", "?m"))
    assert closure([double], {(term("x"), term("age"), integer(4)): 1})[term("x"), term("twice"), integer(8)] == 1
    same = rule("?x age ?n; ?x shoe ?m -> ?x odd ?n", guard("sum", "?n", integer(1), "?m"))
    facts = {
        (term(x), term(p), integer(n)): 1
        for x, p, n in [("x", "age", 4), ("x", "shoe", 5), ("y", "age", 4), ("y", "shoe", 6)]
    }
    assert set(closure([same], facts)) - set(facts) == {(term("x"), term("odd"), integer(4))}


def test_guards_are_read_in_their_order() -> None:
    chained = rule("?x age ?n -> ?x old ?x", guard("addOne", "?n", "?m"), guard("greaterThan", "?m", integer(65)))
    facts = {(term("x"), term("age"), integer(65)): 1, (term("y"), term("age"), integer(64)): 1}
    assert set(closure([chained], facts)) - set(facts) == {triple("x old x")}


@pytest.mark.parametrize(
    "broken, says",
    [
        (rule("?x p ?y -> ?x p ?z"), r"The head of .* uses \?z"),
        (
            rule("?x p ?y -> ?x p ?y", guard("lessThan", "?x", "?z")),
            r"lessThan\(\?x, \?z\) uses \?z before it is bound",
        ),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused_with_a_sentence(broken: Rule, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        closure([broken], tagged("x p y 1"))


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
def test_the_closure_at_an_instant_is_the_closure_of_what_holds_then(facts: dict[Triple, int]) -> None:
    """The law of tags: closing and then looking is looking and then closing."""
    closed = closure(RULES, facts)
    for instant in range(10):
        holding = {fact for fact, tag in closed.items() if tag > instant}
        assert holding == set(closure(RULES, {fact: ALWAYS for fact, tag in facts.items() if tag > instant}))


# Against SPARQL: each rule as an update, until the store stays as it is


def by_sparql(rules: Iterable[Rule], facts: Iterable[Triple]) -> set[Triple]:
    store = ox.Store()
    store.extend(ox.parse("".join(f"{' '.join(fact)} .\n" for fact in facts), format=ox.RdfFormat.N_TRIPLES))
    updates = [f"INSERT {{ {patterns(rule.head)} }} WHERE {{ {patterns(rule.body)} }}" for rule in rules]
    size = -1
    while len(store) > size:
        size = len(store)
        for update in updates:
            store.update(update)
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in store}


def patterns(atoms: Iterable[Atom]) -> str:
    return " . ".join(" ".join(atom.nodes) for atom in atoms)


@settings(max_examples=examples(60), deadline=None)
@given(facts)
def test_the_closure_is_what_sparql_gives(facts: dict[Triple, int]) -> None:
    rules = [*RULES, rule("?a ?p ?b; ?b ?p ?a -> ?a p ?a; ?b q w"), rule("-> x p y")]
    assert set(closure(rules, facts)) == by_sparql(rules, facts)


LUBM = Path(__file__).resolve().parents[3] / "shared" / "lubm"


@pytest.mark.parametrize("name", ["rho-df", "rdfs"])
def test_a_part_of_lubm_is_what_sparql_gives(name: str) -> None:
    if not LUBM.exists():
        pytest.skip(f"{LUBM} is absent: the ontology of LUBM was not tried")
    rules = (*rule_set(name), *parse_rules((LUBM / "lubm.rules").read_text(encoding="utf-8")).rules)
    ontology = ox.parse(path=LUBM / "univ-bench.owl", format=ox.RdfFormat.RDF_XML, base_iri="http://example.org/")
    with gzip.open(LUBM / "data" / "University0_0.nt.gz") as lines:
        data = ox.parse(b"".join(itertools.islice(lines, 0, 6000, 20)), format=ox.RdfFormat.N_TRIPLES)
        stated = {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in (*ontology, *data)}
    closed = set(closure(rules, dict.fromkeys(stated, ALWAYS)))
    assert closed == by_sparql(rules, stated) and len(closed) > len(stated) + 300
