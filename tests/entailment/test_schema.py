from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.rules.safety import recursive
from csparql_spark.entailment.rules.schema import WORDS, Specialised, specialise, subsumes
from csparql_spark.entailment.rules.sets import NAMES, rule_set
from csparql_spark.language.rules.rule import Atom, Rule
from tests.entailment.twin import ALWAYS, Triple, closure
from tests.entailment.worked import guard, integer, rule, term, triple, triples
from tests.examples import examples

TAXONOMY = triples(
    "drives rdfs:domain Driver; drives rdfs:range Car; races rdfs:subPropertyOf drives;Driver rdfs:subClassOf Person"
)


def said(special: Specialised) -> set[Rule]:
    return set(special.rules)


def still_general(special: Specialised, rules: Iterable[Rule]) -> list[Rule]:
    """Those of the rules that still ask the schema, because they would have become too many."""
    return [
        rule
        for rule in rules
        if rule in special.rules and any(not WORDS.isdisjoint((atom.predicate, atom.object)) for atom in rule.body)
    ]


def is_contradicted_by(special: Specialised, fact: Triple) -> bool:
    """Whether a fact is about what was presumed to be known."""
    return fact[1] in special.assumed or fact[1] == term("rdf:type") and fact[2] in special.assumed_classes


def terms(*names: str) -> frozenset[str]:
    return frozenset(map(term, names))


def test_the_schema_vanishes_from_the_rules() -> None:
    special = specialise(rule_set("rho-df"), TAXONOMY)
    assert said(special) == {
        rule("?a races ?b -> ?a drives ?b"),
        rule("?a drives ?b -> ?a a Driver"),
        rule("?b drives ?a -> ?a a Car"),
        rule("?a a Driver -> ?a a Person"),
    }
    assert still_general(special, rule_set("rho-df")) == []
    assert special.assumed == terms("rdfs:domain", "rdfs:range", "rdfs:subClassOf", "rdfs:subPropertyOf")


def test_without_a_schema_nothing_is_left() -> None:
    assert specialise(rule_set("rho-df"), []).rules == ()


def test_what_rules_derive_of_the_schema_from_data_is_kept_and_used() -> None:
    """Whatever is typed a class is a sub-class of Resource: that is derived, and what follows from it is too."""
    rules = [rule("?a a Kind -> ?a rdfs:subClassOf Thing"), rule("?x rdfs:subClassOf ?y; ?a a ?x -> ?a a ?y")]
    special = specialise(rules, triples("Thing rdfs:subClassOf Top"))
    assert said(special) == {rules[0], rule("?a a Thing -> ?a a Top"), rule("?a a ?x; ?x a Kind -> ?a a Thing")}


def test_a_conclusion_that_is_a_premise_is_no_conclusion() -> None:
    rules = [
        rule("?a a rdf:Property -> ?a rdfs:subPropertyOf ?a"),
        rule("?a ?p ?b; ?p rdfs:subPropertyOf ?q -> ?a ?q ?b"),
    ]
    assert specialise(rules, []).rules == (rules[0],)


def test_classes_can_be_words_of_the_schema() -> None:
    special = specialise(
        [rule("?p a owl:TransitiveProperty; ?x ?p ?y; ?y ?p ?z -> ?x ?p ?z")], triples("isIn a owl:TransitiveProperty")
    )
    assert said(special) == {rule("?x isIn ?y; ?y isIn ?z -> ?x isIn ?z")}
    assert special.assumed == frozenset() and special.assumed_classes == terms("owl:TransitiveProperty")
    assert is_contradicted_by(special, triple("near a owl:TransitiveProperty"))
    assert not is_contradicted_by(special, triple("near a rdf:Property"))


def test_new_facts_about_the_schema_contradict_what_was_assumed() -> None:
    special = specialise(rule_set("rho-df"), TAXONOMY)
    assert is_contradicted_by(special, triple("walks rdfs:domain Person"))
    assert not is_contradicted_by(special, triple("ann a Person")) and not is_contradicted_by(
        special, triple("ann drives car")
    )


def test_the_words_can_be_chosen() -> None:
    rules = [rule("?x locatedIn ?y; ?u at ?x -> ?u at ?y")]
    assert specialise(rules, triples("station locatedIn city")).rules == tuple(rules)
    special = specialise(rules, triples("station locatedIn city"), words=terms("locatedIn"))
    assert said(special) == {rule("?u at station -> ?u at city")} and special.assumed == terms("locatedIn")


def test_a_rule_that_becomes_too_many_stays_general() -> None:
    schema = {triple(f"p{n} rdfs:domain c{n}") for n in range(6)} | triples("q rdfs:subPropertyOf r")
    special = specialise(rule_set("rho-df"), schema, limit=5)
    domain = next(rule for rule in rule_set("rho-df") if rule.name == "domain")
    assert still_general(special, rule_set("rho-df")) == [domain]
    assert said(special) == {domain, rule("?a q ?b -> ?a r ?b")}
    assert special.assumed == terms("rdfs:range", "rdfs:subClassOf", "rdfs:subPropertyOf")
    assert not still_general(specialise(rule_set("rho-df"), schema, limit=6), rule_set("rho-df"))


def test_a_word_about_which_there_is_no_end_of_rules_is_given_up() -> None:
    """What is the same as something of the schema may be of the schema: nothing is closed."""
    special = specialise(rule_set("owl-horst"), TAXONOMY, limit=30)
    assert set(special.rules) == set(rule_set("owl-horst")) and special.assumed == frozenset()


def test_what_is_assumed_includes_what_was_asked_on_the_way() -> None:
    """What is below depends on what is near, also when the rule that says so stays as it is."""
    rules = [rule("?x near ?y -> ?x below ?y"), rule("a below ?y; ?u at a -> ?u at ?y")]
    schema = {triple(f"{name} near n{name}") for name in "abcde"}
    special = specialise(rules, schema, words=terms("below", "near"), limit=2)
    assert said(special) == {rules[0], rule("?u at a -> ?u at na")}
    assert special.assumed == terms("below", "near")


def test_a_rule_that_can_be_resolved_in_too_many_ways_stays_general() -> None:
    """Nothing comes out of it, but nobody waits for that."""
    schema = {triple(f"a{n} rdfs:subClassOf b{n}") for n in range(150)}
    rules = [
        rule("?a rdfs:subClassOf ?b; ?c rdfs:subClassOf ?d; ?e rdfs:subClassOf ?f; ?g rdfs:subClassOf ?h -> x p y")
    ]
    assert specialise(rules, schema | triples("x p y")).rules == tuple(rules)


def test_guards_about_the_schema_are_decided() -> None:
    rules = [rule("?p weight ?w; ?x ?p ?y -> ?x heavy ?y", guard("greaterThan", "?w", integer(5)))]
    schema = {(term("p"), term("weight"), integer(9)), (term("q"), term("weight"), integer(3))}
    assert said(specialise(rules, schema, words=terms("weight"))) == {rule("?x p ?y -> ?x heavy ?y")}
    made = [rule("?p weight ?w; ?x ?p ?y -> ?x load ?v", guard("sum", "?w", integer(1), "?v"))]
    assert said(specialise(made, schema, words=terms("weight"))) == {
        rule(f"?x p ?y -> ?x load {integer(10)}"),
        rule(f"?x q ?y -> ?x load {integer(4)}"),
    }


def test_clauses_that_get_longer_and_longer_are_an_endless_matter() -> None:
    """What has a weight may say of something else that it has one."""
    rules = (rule("?p weight ?w; ?x ?p ?y -> ?x ?y ?w"),)
    special = specialise(rules, {(term("p"), term("weight"), integer(9))}, words=terms("weight"))
    assert special.rules == rules and special.assumed == frozenset()


def test_a_subject_that_may_be_a_literal_is_none() -> None:
    rules = [rule("?x p ?y -> ?y rdfs:subClassOf Thing"), rule("?u q ?y; ?y rdfs:subClassOf ?z -> ?u a ?z")]
    facts = {(term("x"), term("p"), '"5"'): 1, (term("u"), term("q"), '"5"'): 1}
    assert closure(specialise(rules, []).rules, facts) == closure(rules, facts) == facts


def test_a_rule_keeps_its_name() -> None:
    assert {rule.name for rule in specialise(rule_set("rdfs"), TAXONOMY).rules} == {
        "rdfs2",
        "rdfs3",
        "rdfs5b",
        "rdfs6",
        "rdfs7",
        "rdfs7b",
        "rdfs8",
        "rdfs9",
        "rdfland4",
    }


@pytest.mark.parametrize(
    "general, special, does",
    [
        ("?x ?p ?y -> ?x a R", "?x a A -> ?x a R", True),
        ("?x a A -> ?x a R", "?x ?p ?y -> ?x a R", False),
        ("?x p ?y -> ?x q ?y", "?u p ?v; ?v r ?w -> ?u q ?v", True),
        ("?x p ?y; ?y p ?z -> ?x q ?z", "?x p ?x -> ?x q ?x", True),
        ("?x p ?x -> ?x q ?x", "?x p ?y; ?y p ?z -> ?x q ?z", False),
        ("?x p ?y -> ?x q ?y", "?x p ?y -> ?y q ?x", False),
        ("-> x p y", "?a q ?b -> x p y", True),
    ],
)
def test_one_rule_says_all_that_another_does(general: str, special: str, does: bool) -> None:
    assert subsumes(rule(general), rule(special)) is does


def test_a_rule_with_a_guard_does_not_say_what_one_without_says() -> None:
    plain, guarded = rule("?x p ?y -> ?x q ?y"), rule("?x p ?y -> ?x q ?y", guard("isLiteral", "?y"))
    assert subsumes(plain, guarded) and not subsumes(guarded, plain) and subsumes(guarded, guarded)


# Against the naive twin

PREDICATES = ["p", "q", "a", "rdfs:subClassOf"]
SCHEMA_PREDICATES = ["rdfs:subClassOf", "rdfs:subPropertyOf", "rdfs:domain", "rdfs:range", "owl:inverseOf", "a"]
CLASSES = ["A", "B", "rdfs:Class", "rdf:Property", "rdfs:Datatype", "owl:SymmetricProperty"]
THINGS = ["x", "y", "p", "q", *CLASSES]


def made(subjects: list[str], predicates: list[str], objects: list[str]) -> st.SearchStrategy[Triple]:
    return st.builds(
        lambda *words: triple(" ".join(words)), *(st.sampled_from(words) for words in (subjects, predicates, objects))
    )


schemas = st.sets(made(["p", "q", "A", "B", "rdfs:subClassOf"], SCHEMA_PREDICATES, ["p", "q", *CLASSES]), max_size=6)
data = st.dictionaries(made(THINGS, PREDICATES, [*THINGS, '"5"']), st.integers(1, 5), max_size=6)
OWN = (
    rule("?a a rdfs:Class -> ?a rdfs:subClassOf A"),
    rule("?x rdfs:subClassOf ?y; ?a a ?x -> ?a a ?y"),
    rule("?s ?p ?o; ?p alike ?q -> ?s ?q ?o"),
    rule("?x q ?y -> ?y rdfs:domain ?x"),
    rule("?p rdfs:domain ?c; ?x ?p ?y -> ?x a ?c"),
    rule("?x rdfs:subClassOf ?y; ?y rdfs:subClassOf ?x -> ?x alike ?y", guard("notEqual", "?x", "?y")),
)
SETS = {**{name: rule_set(name) for name in NAMES}, "own": OWN}


@settings(max_examples=examples(25), deadline=None)
@given(st.sampled_from(sorted(SETS)), schemas, data, st.booleans(), st.sampled_from([3, 15]))
def test_the_closure_stays_the_same(
    name: str, schema: set[Triple], data: dict[Triple, int], close: bool, limit: int
) -> None:
    rules = SETS[name]
    if close:
        schema = set(closure(rules, dict.fromkeys(schema, ALWAYS)))
    special = specialise(rules, schema, limit=limit)
    facts = {fact: tag for fact, tag in data.items() if not is_contradicted_by(special, fact)}
    facts |= dict.fromkeys(schema, ALWAYS)
    assert closure(special.rules, facts) == closure(rules, facts)


nodes = st.sampled_from([*map(term, ["x", "p", "rdfs:subClassOf"]), "?a", "?b", "?c"])
edges = st.sampled_from([*map(term, ["p", "q", "r", "rdf:type", "rdfs:subClassOf", "rdfs:domain"]), "?b"])
atoms = st.builds(Atom, nodes, edges, nodes)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(atoms, st.lists(atoms, min_size=1, max_size=2)), max_size=4), schemas)
def test_rules_that_are_not_recursive_do_not_become_so(drawn: list, schema: set[Triple]) -> None:
    """Derivations can be counted where those under the rules as they are written can."""
    rules: list[Rule] = []
    for head, body in drawn:
        bound = {node for atom in body for node in atom.variables}
        one = Rule((head,), tuple(body))
        if bound.issuperset(head.variables) and next(recursive([*rules, one], [*rules, one]), None) is None:
            rules.append(one)
    special = specialise(rules, schema, limit=15).rules
    assert list(recursive(special, special)) == []


LUBM = Path(__file__).resolve().parents[3] / "shared" / "lubm"


@pytest.mark.parametrize("name, most", [("rho-df", 110), ("rdfs", 170), ("rdfs-full", 140)])
def test_the_ontology_of_lubm(name: str, most: int) -> None:
    if not LUBM.exists():
        pytest.skip(f"{LUBM} is absent: the ontology of LUBM was not tried")
    quads = ox.parse(path=LUBM / "univ-bench.owl", format=ox.RdfFormat.RDF_XML, base_iri="http://example.org/")
    stated = {(str(quad.subject), str(quad.predicate), str(quad.object)): ALWAYS for quad in quads}
    schema = closure(rule_set(name), stated)
    special = specialise(rule_set(name), schema)
    assert not still_general(special, rule_set(name)) and len(special.rules) <= most
    assert term("rdfs:subPropertyOf") in special.assumed and term("rdfs:domain") in special.assumed
    with gzip.open(LUBM / "data" / "University0_0.nt.gz") as lines:
        data = ox.parse(b"".join(itertools.islice(lines, 0, 6000, 30)), format=ox.RdfFormat.N_TRIPLES)
        facts = {(str(quad.subject), str(quad.predicate), str(quad.object)): number for number, quad in enumerate(data)}
    assert closure(special.rules, schema | facts) == closure(rule_set(name), schema | facts)


def test_all_words_are_iris() -> None:
    assert all(word.startswith("<http://www.w3.org/") for word in WORDS)
