from __future__ import annotations

import pytest

from csparql_spark.entailment.rules.sets import DIRECTORY, NAMES, RuleSetError, resolved, rule_set, text_of
from csparql_spark.language import parse_rules
from csparql_spark.language.rules.rule import Rule, RuleFile
from csparql_spark.language.rules.terms import RULE_SETS
from tests.entailment.twin import ALWAYS, closure
from tests.entailment.worked import integer, rule, tagged, term, triple, triples


def entailed(name: str, *facts: str) -> set[tuple[str, str, str]]:
    return set(closure(rule_set(name), dict.fromkeys(triples(*facts), ALWAYS)))


def test_the_sets_of_the_house() -> None:
    assert NAMES == ("owl-horst", "rdf-full", "rdfs", "rdfs-full", "rho-df")
    assert {name: len(rule_set(name)) for name in NAMES} == {
        "owl-horst": 33,
        "rdf-full": 2,
        "rdfs": 11,
        "rdfs-full": 20,
        "rho-df": 6,
    }
    assert {entry.name for entry in DIRECTORY.iterdir()} == {f"{name}.rules" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_of_the_house_has_a_name_and_its_file_says_what_it_is(name: str) -> None:
    own = parse_rules(text_of(name)).rules
    assert all(rule.name for rule in own) and len({rule.name for rule in own}) == len(own)
    assert text_of(name).startswith("# ")


def test_rdfs_is_the_figure_of_the_paper() -> None:
    """Figure 3 of the IMaRS paper, typed once more."""
    assert rule_set("rdfs") == (
        rule("?x ?p ?y; ?p rdfs:domain ?c -> ?x a ?c"),
        rule("?x ?p ?y; ?p rdfs:range ?c -> ?y a ?c"),
        rule("?a rdfs:subPropertyOf ?b; ?b rdfs:subPropertyOf ?c -> ?a rdfs:subPropertyOf ?c"),
        rule("?a a rdf:Property -> ?a rdfs:subPropertyOf ?a"),
        rule("?a ?p ?b; ?p rdfs:subPropertyOf ?q -> ?a ?q ?b"),
        rule("?a a rdfs:Class -> ?a rdfs:subClassOf ?a"),
        rule("?a rdfs:subClassOf ?b; ?b rdfs:subClassOf ?c -> ?a rdfs:subClassOf ?c"),
        rule("?x rdfs:subClassOf ?y; ?a a ?x -> ?a a ?y"),
        rule("?x a rdfs:ContainerMembershipProperty -> ?x rdfs:subPropertyOf rdfs:member"),
        rule("?x ?p ?y -> ?p a rdf:Property; ?x a rdfs:Resource; ?y a rdfs:Resource"),
        rule("?a a rdfs:Class -> ?a rdfs:subClassOf rdfs:Resource"),
    )


def test_rho_df_says_what_the_four_words_say_and_no_more() -> None:
    facts = triples(
        "cat rdfs:subClassOf mammal; mammal rdfs:subClassOf animal; tom a cat; chases rdfs:domain hunter;"
        "chases rdfs:range prey; hunts rdfs:subPropertyOf chases; tom hunts jerry"
    )
    new = set(closure(rule_set("rho-df"), dict.fromkeys(facts, ALWAYS))) - facts
    assert new == triples(
        "cat rdfs:subClassOf animal; tom a mammal; tom a animal; tom chases jerry; tom a hunter;jerry a prey"
    )


def test_rdfs_types_what_is_there() -> None:
    found = closure(rule_set("rdfs"), {(term("tom"), term("age"), integer(3)): 7, **tagged("cat a rdfs:Class 5")})
    assert found == tagged("""cat a rdfs:Class 5; tom a rdfs:Resource 7; age a rdf:Property 7; age a rdfs:Resource 7;
        age rdfs:subPropertyOf age 7; cat rdfs:subClassOf cat 5; cat rdfs:subClassOf rdfs:Resource 5;
        cat a rdfs:Resource 5; rdfs:Class a rdfs:Resource 5; rdf:Property a rdfs:Resource 7;
        rdfs:Resource a rdfs:Resource 7; rdf:type a rdf:Property 7; rdf:type a rdfs:Resource 7;
        rdf:type rdfs:subPropertyOf rdf:type 7; rdfs:subPropertyOf a rdf:Property 7;
        rdfs:subPropertyOf a rdfs:Resource 7; rdfs:subPropertyOf rdfs:subPropertyOf rdfs:subPropertyOf 7;
        rdfs:subClassOf a rdf:Property 5; rdfs:subClassOf a rdfs:Resource 5;
        rdfs:subClassOf rdfs:subPropertyOf rdfs:subClassOf 5""") | {(term("tom"), term("age"), integer(3)): 7}


def test_rdfs_full_knows_its_own_vocabulary_without_any_facts() -> None:
    assert triples(
        "rdfs:Datatype rdfs:subClassOf rdfs:Resource; xsd:string rdfs:subClassOf rdfs:Literal;"
        "rdf:Seq a rdfs:Class; rdfs:label a rdf:Property; rdf:nil a rdfs:Resource"
    ) <= entailed("rdfs-full")


def test_rdfs_full_numbers_the_members_that_are_used() -> None:
    found = entailed("rdfs-full", "box rdf:_12 apple; box rdf:_0 pear; box rdf:_x plum")
    assert triple("box rdfs:member apple") in found
    assert not triples("box rdfs:member pear; box rdfs:member plum") & found


@pytest.mark.parametrize(
    "facts, conclusion",
    [
        ("p a owl:FunctionalProperty; x p y; x p z", "y owl:sameAs z"),
        ("p a owl:InverseFunctionalProperty; x p z; y p z", "x owl:sameAs y"),
        ("p a owl:SymmetricProperty; x p y", "y p x"),
        ("p a owl:TransitiveProperty; x p y; y p z", "x p z"),
        ("x owl:sameAs y", "y owl:sameAs x"),
        ("x owl:sameAs y; y owl:sameAs z", "x owl:sameAs z"),
        ("p owl:inverseOf q; x p y", "y q x"),
        ("p owl:inverseOf q; x q y", "y p x"),
        ("c a owl:Class; c owl:sameAs d", "c rdfs:subClassOf d"),
        ("p owl:sameAs q; x p y", "x q y"),
        ("x p y; x owl:sameAs u; y owl:sameAs v", "u p v"),
        ("c owl:equivalentClass d; x a d", "x a c"),
        ("c owl:equivalentClass d; x a c", "x a d"),
        ("c rdfs:subClassOf d; d rdfs:subClassOf c", "c owl:equivalentClass d"),
        ("p owl:equivalentProperty q; x q y", "x p y"),
        ("p rdfs:subPropertyOf q; q rdfs:subPropertyOf p", "p owl:equivalentProperty q"),
        ("r owl:hasValue y; r owl:onProperty p; x p y", "x a r"),
        ("r owl:hasValue y; r owl:onProperty p; x a r", "x p y"),
        ("r owl:someValuesFrom c; r owl:onProperty p; x p y; y a c", "x a r"),
        ("r owl:allValuesFrom c; r owl:onProperty p; x a r; x p y", "y a c"),
        ("c rdfs:subClassOf d; x a c", "x a d"),
    ],
)
def test_owl_horst(facts: str, conclusion: str) -> None:
    assert triple(conclusion) in entailed("owl-horst", facts)
    for missing in (facts.replace(part, "") for part in facts.split(";")):
        assert triple(conclusion) not in entailed("owl-horst", missing)


def test_two_values_of_a_functional_property_that_are_literals_are_not_made_the_same() -> None:
    facts = dict.fromkeys(triples("age a owl:FunctionalProperty"), 9)
    facts |= {(term("x"), term("age"), integer(3)): 9, (term("x"), term("age"), integer("03")): 9}
    assert not [fact for fact in closure(rule_set("owl-horst"), facts) if fact[1] == term("owl:sameAs")]


# Users' files

ONE = RuleFile((rule("?x p ?y -> ?x q ?y", name="one"),))
TWO = RuleFile((rule("?x q ?y -> ?x r ?y", name="two"),), ("one",))


def names(rules: tuple[Rule, ...]) -> list[str | None]:
    return [rule.name for rule in rules]


def test_a_file_includes_others_and_what_is_included_comes_first() -> None:
    files = {"one": ONE, "two": TWO, "three": RuleFile((), ("two", "one", "rho-df"))}
    assert names(rule_set("one", files)) == ["one"]
    assert names(rule_set("two", files)) == ["one", "two"]
    assert rule_set("three", files) == (*rule_set("two", files), *rule_set("rho-df"))
    assert resolved(TWO, files) == rule_set("two", files)


def test_a_text_includes_sets_of_the_house() -> None:
    file = parse_rules("@include <rho-df> .\n[one: (?x <urn:p> ?y) -> (?x <urn:q> ?y)]")
    assert resolved(file) == (*rule_set("rho-df"), *ONE.rules)
    assert resolved(parse_rules("@include <RDFS> .\n")) == rule_set("rdfs-full") == rule_set("RDFS")


def test_what_the_parser_takes_for_a_rule_set_is_one() -> None:
    assert set(RULE_SETS.values()) == set(NAMES) <= set(RULE_SETS)


def test_a_rule_that_is_there_twice_is_there_once() -> None:
    files = {"one": ONE, "same": RuleFile((rule("?x p ?y -> ?x q ?y", name="other"),), ("one",))}
    assert names(rule_set("same", files)) == ["one"]


def including(*names: str) -> RuleFile:
    return RuleFile((), names)


@pytest.mark.parametrize(
    "name, files, sentence",
    [
        ("rdsf", {}, "There is no rule set 'rdsf'. Known are owl-horst, rdf-full, rdfs, rdfs-full, rho-df."),
        (
            "two",
            {"two": TWO},
            "There is no rule set 'one', which 'two' includes. Known are owl-horst, rdf-full, rdfs, "
            "rdfs-full, rho-df, two.",
        ),
        (
            "a",
            {"a": including("b"), "b": including("c"), "c": including("b")},
            "The rule set 'b' includes itself: b includes c includes b. Take one of these @include lines out.",
        ),
        (
            "a",
            {"a": including("a")},
            "The rule set 'a' includes itself: a includes a. Take one of these @include lines out.",
        ),
        ("RDFS", {"RDFS": ONE}, "'RDFS' is a rule set of the house: give the file another name."),
    ],
)
def test_what_cannot_be_resolved(name: str, files: dict[str, RuleFile], sentence: str) -> None:
    with pytest.raises(RuleSetError) as refused:
        rule_set(name, files)
    assert str(refused.value) == sentence


def test_a_nameless_text_that_includes_what_is_not_there() -> None:
    with pytest.raises(RuleSetError, match="There is no rule set 'one'. Known are"):
        resolved(TWO)
