"""The worked examples of the papers."""

from __future__ import annotations

from csparql_spark.entailment.maintain.maintenance import imars_program, volz_program
from csparql_spark.entailment.rules.schema import specialise
from csparql_spark.entailment.rules.sets import rule_set
from csparql_spark.language.rules.rule import Rule
from tests.entailment.interpreter import rows, run
from tests.entailment.twin import ALWAYS, Lookup, Triple, closure, is_triple, matches
from tests.entailment.worked import rule, tagged, triple, triples

# IMaRS, Figure 4: a window of ten seconds, in which triples enter that are tagged with their second plus ten.

IS_IN = rule("?a isIn ?b; ?b isIn ?c -> ?a isIn ?c", name="R")
ENTERING = {1: "A isIn B 11", 2: "B isIn C 12", 3: "C isIn D 13", 4: "A isIn E 14; E isIn D 14"}
HELD = {
    1: "A isIn B 11",
    2: "A isIn B 11; B isIn C 12; A isIn C 11",
    3: "A isIn B 11; B isIn C 12; C isIn D 13; A isIn C 11; B isIn D 12; A isIn D 11",
    4: "A isIn B 11; B isIn C 12; C isIn D 13; A isIn E 14; E isIn D 14; A isIn C 11; B isIn D 12; A isIn D 14",
}
# The paper shows a triple still at the second of its tag. Here that is the first instant at which it is gone, so that
# what the figure shows for a second is what there is between the instant before and that second.
GONE = {
    11: "B isIn C 12; C isIn D 13; A isIn E 14; E isIn D 14; B isIn D 12; A isIn D 14",
    12: "C isIn D 13; A isIn E 14; E isIn D 14; A isIn D 14",
    13: "A isIn E 14; E isIn D 14; A isIn D 14",
    14: "",
}


def test_imars_figure_4_is_a_closure_at_each_second() -> None:
    facts: dict[Triple, int] = {}
    for second, entering in ENTERING.items():
        facts |= tagged(entering)
        assert closure([IS_IN], facts) == tagged(HELD[second])
    for instant, held in GONE.items():
        assert {fact: tag for fact, tag in closure([IS_IN], facts).items() if tag > instant} == tagged(held)


def test_imars_figure_4_is_what_its_maintenance_program_gives() -> None:
    held: set = set()
    for second in range(1, 15):
        entering = tagged(ENTERING.get(second, ""))
        found = run(imars_program([IS_IN]), {"T": held, "Ins": rows(entering)}, now=second)
        held = held - found["Minus"] | found["Plus"]
        assert held == rows(tagged(HELD.get(second) or GONE.get(second, HELD[4])))
        if second == 4:  # the path by way of E holds longer than the one by way of B, which is dropped
            assert found["Old"] == found["Minus"] == rows(tagged("A isIn D 11"))
            assert found["Plus"] == rows(tagged("A isIn E 14; E isIn D 14; A isIn D 14"))


# Volz, Staab and Motik, section 3: a taxonomy in which b is no longer below c, and h comes below d. The figure is
# drawn; its edges are those that the text mentions or needs.

SUBCLASS = rule("?b below ?c; ?a below ?b -> ?a below ?c", name="R2")
TAXONOMY = triples("a below b; b below c; c below g; d below c; e below b; e below d; f below e")


def test_volz_figure_2() -> None:
    gone, new = triples("b below c"), triples("h below d")
    old = set(closure([SUBCLASS], dict.fromkeys(TAXONOMY, ALWAYS)))
    found = run(
        volz_program([SUBCLASS]),
        {"T": rows(old), "ExtDel": rows(gone), "ExtIns": rows(new), "ExtNew": rows(TAXONOMY - gone | new)},
    )
    assert found["Del"] == rows(
        triples("b below c; b below g; a below c; a below g; e below c; e below g;f below c; f below g")
    )
    assert found["Red"] == rows(triples("e below c; e below g; f below c; f below g"))
    assert found["Ins"] == found["Plus"] == rows(triples("h below d; h below c; h below g"))
    assert found["Minus"] == rows(triples("a below c; a below g; b below c; b below g"))


def test_volz_figure_2_has_three_rules_of_each_kind_and_two_for_deriving_again() -> None:
    program = volz_program([SUBCLASS])
    assert [len(program.defining(relation)) for relation in ("Del", "Ins", "Red")] == [3, 3, 2]


# Volz, Staab and Motik, section 4.1: rules that change.

CHILD = rule("?x hasChild ?y -> ?x inDynasty ?y")
ANCESTOR = rule("?x inDynasty ?z; ?z inDynasty ?y -> ?x inDynasty ?y")
INVERSE = rule("?y inDynasty ?x -> ?x inDynasty ?y")
FAMILY = triples("1 hasChild 2; 2 hasChild 3; 4 hasChild 3")


def dynasty(*rules: Rule) -> set[Triple]:
    return set(closure(rules, dict.fromkeys(FAMILY, ALWAYS))) - FAMILY


def test_volz_table_1() -> None:
    children = triples("1 inDynasty 2; 2 inDynasty 3; 4 inDynasty 3")
    assert dynasty(CHILD, ANCESTOR) == children | triples("1 inDynasty 3")
    assert dynasty(ANCESTOR) == set()
    assert dynasty(CHILD) == children
    assert triple("1 inDynasty 4") in dynasty(CHILD, ANCESTOR, INVERSE)
    assert triple("1 inDynasty 4") not in dynasty(CHILD, ANCESTOR)


def test_volz_section_2_the_rules_of_an_ontology_are_its_rules_specialised() -> None:
    """Wine is a potable liquid, and made by wineries only: as triples of OWL, and as rules about wine."""
    ontology = triples(
        "Wine rdfs:subClassOf PotableLiquid; Wine rdfs:subClassOf _:made;"
        "_:made owl:onProperty hasMaker; _:made owl:allValuesFrom Winery"
    )
    wanted = {"rdfs9", "rdfp16"}
    rules = [rule for rule in rule_set("owl-horst") if rule.name in wanted]
    assert set(specialise(rules, ontology).rules) == {
        rule("?a a Wine -> ?a a PotableLiquid"),
        rule("?a a Wine -> ?a a _:made"),
        rule("?x a _:made; ?x hasMaker ?y -> ?y a Winery"),
    }


# DynamiTE, Figure 4: how often a triple is derived. One rule of two premises and three of one make the arrows.

ARROWS = [
    rule("T0 p ?x; T1 p ?x -> T5 p ?x", name="R1"),
    rule("T2 p ?x -> T4 p ?x", name="R2"),
    rule("T3 p ?x -> T4 p ?x", name="R3"),
    rule("T4 p ?x -> T5 p ?x", name="R2"),
    rule("T0 p ?x -> T6 p ?x", name="R3"),
]


def counts(rules: list[Rule], explicit: set[Triple]) -> dict[str, int]:
    """How many direct derivations a triple has, one more when it is explicit; by the triple's subject."""
    known = Lookup(closure(rules, dict.fromkeys(explicit, ALWAYS)))
    found = {fact: int(fact in explicit) for fact in known.all}
    for each in rules:
        for binding in matches(each, known):
            for atom in each.head:
                fact = tuple(binding.get(node, node) for node in atom.nodes)
                found[fact] += is_triple(fact)
    return {subject.removeprefix("<urn:").removesuffix(">"): count for (subject, _, _), count in found.items()}


def test_dynamite_figure_4() -> None:
    explicit = triples("T0 p x; T1 p x; T2 p x; T3 p x")
    assert counts(ARROWS, explicit) == {"T0": 1, "T1": 1, "T2": 1, "T3": 1, "T4": 2, "T5": 2, "T6": 1}
    without = explicit - triples("T0 p x")
    assert counts(ARROWS, without) == {"T1": 1, "T2": 1, "T3": 1, "T4": 2, "T5": 1}


def test_dynamite_figure_4_deletes_what_has_no_derivation_left() -> None:
    """Delete and re-derive takes T5 out and puts it back, where a count says at once that it stays."""
    explicit, gone = triples("T0 p x; T1 p x; T2 p x; T3 p x"), triples("T0 p x")
    old = closure(ARROWS, dict.fromkeys(explicit, ALWAYS))
    found = run(volz_program(ARROWS), {"T": rows(set(old)), "ExtDel": rows(gone), "ExtNew": rows(explicit - gone)})
    assert found["Del"] == rows(triples("T0 p x; T5 p x; T6 p x")) and found["Red"] == rows(triples("T5 p x"))
    assert found["Minus"] == rows(triples("T0 p x; T6 p x"))
