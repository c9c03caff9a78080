from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.maintain.maintenance import imars_program, volz_program
from csparql_spark.entailment.rules.sets import rule_set
from csparql_spark.language.rules.rule import Rule
from tests.entailment.interpreter import rows, run
from tests.entailment.twin import ALWAYS, Triple, closure
from tests.entailment.worked import guard, integer, rule, term, triple
from tests.examples import examples

TRANSITIVE = rule("?a isIn ?b; ?b isIn ?c -> ?a isIn ?c", name="R")

# Figure 1 of Volz, Staab and Motik, as it is printed.
RDFS = [
    rule(text)
    for text in (
        "?s ?p ?o -> ?p a rdf:Property",
        "?p rdfs:domain ?c; ?s ?p ?o -> ?s a ?c",
        "?p rdfs:range ?c; ?s ?p ?o -> ?o a ?c",
        "?s ?p ?o -> ?s a rdfs:Resource",
        "?s ?p ?o -> ?o a rdfs:Resource",
        "?q rdfs:subPropertyOf ?r; ?p rdfs:subPropertyOf ?q -> ?p rdfs:subPropertyOf ?r",
        "?p rdfs:subPropertyOf ?r; ?s ?p ?o -> ?s ?r ?o",
        "?c rdfs:subClassOf rdfs:Resource -> ?c a rdfs:Class",
        "?b rdfs:subClassOf ?c; ?a rdfs:subClassOf ?b -> ?a rdfs:subClassOf ?c",
        "?s a ?a; ?a rdfs:subClassOf ?b -> ?s a ?b",
        "?x a rdfs:ContainerMembershipProperty -> ?x rdfs:subPropertyOf rdfs:member",
        "?x a rdfs:Datatype -> ?x rdfs:subClassOf rdfs:Goal",
        "?x rdfs:domain ?y; rdf:type rdfs:subPropertyOf ?x -> rdfs:Resource rdfs:subClassOf ?y",
    )
]


def test_the_counts_of_the_paper() -> None:
    """21 + 21 + 5 as the paper says, and one re-derivation rule for each rule that is printed, or 14 of its 15."""
    program = volz_program(RDFS)
    counts = {relation: len(program.defining(relation)) for relation in program.relations}
    assert counts == {
        "T": 0,
        "ExtDel": 0,
        "ExtIns": 0,
        "ExtNew": 0,
        "Ins": 21,
        "Del": 21,
        "Red": 14,
        "New": 3,
        "Plus": 1,
        "Minus": 1,
    }
    assert len(program.rules) == 61


def test_the_program_of_the_transitive_rule() -> None:
    """Table 6 of the IMaRS paper has ten rules, and its Table 3 ten too, without the three for explicit triples."""
    assert len(imars_program([TRANSITIVE]).rules) == 10 and len(volz_program([TRANSITIVE]).rules) == 10 + 3
    assert [str(rule) for rule in imars_program([TRANSITIVE]).defining("Ins")] == [
        "Ins(?a <urn:isIn> ?c)[t] :- Ins(?a <urn:isIn> ?b)[t1], New(?b <urn:isIn> ?c)[t2], t = min(t1, t2).",
        "Ins(?a <urn:isIn> ?c)[t] :- New(?a <urn:isIn> ?b)[t1], Ins(?b <urn:isIn> ?c)[t2], t = min(t1, t2).",
    ]
    assert [str(rule) for rule in volz_program([TRANSITIVE]).defining("Red")] == [
        "Red(?s ?p ?o) :- Del(?s ?p ?o), ExtNew(?s ?p ?o).",
        "Red(?a <urn:isIn> ?c) :- Del(?a <urn:isIn> ?c), New(?a <urn:isIn> ?b), New(?b <urn:isIn> ?c).",
    ]


def test_a_program_can_be_read() -> None:
    text = imars_program([rule("?x rdfs:subClassOf ?y; ?a a ?x -> ?a a ?y", guard("notEqual", "?x", "?y"))]).text()
    assert text == TEXT
    assert "% 59 rules in all\n" in volz_program(rule_set("rdfs")).text()


TEXT = """\
% Expiration: the maintenance program of 1 rule (Barbieri, Braga, Ceri, Della Valle, Grossniklaus)
%
% T         given: the materialisation, each triple with its tag
% Ins       given: what enters the window at now, each triple with its tag; and what is derived with it
% New       what holds at now
% Old       what holds for longer than this tag says
% PlusPlus  what is new or holds for longer
% Plus      to add to T
% Minus     to take out of T

% Ins: 2 rules
Ins(?a rdf:type ?y)[t] :- Ins(?x rdfs:subClassOf ?y)[t1], New(?a rdf:type ?x)[t2], notEqual(?x, ?y), t = min(t1, t2).\
  % rule 1, first atom
Ins(?a rdf:type ?y)[t] :- New(?x rdfs:subClassOf ?y)[t1], Ins(?a rdf:type ?x)[t2], notEqual(?x, ?y), t = min(t1, t2).\
  % rule 1, second atom

% New: 2 rules
New(?s ?p ?o)[t] :- T(?s ?p ?o)[t], t > now.                 % what has not expired; the paper: t is not now - 1
New(?s ?p ?o)[t] :- Ins(?s ?p ?o)[t], not Old(?s ?p ?o)[t].  % what enters, unless it is there for longer

% Old: 2 rules
Old(?s ?p ?o)[t] :- Ins(?s ?p ?o)[t1], T(?s ?p ?o)[t], t1 > t.    % it was there, and now for longer
Old(?s ?p ?o)[t] :- Ins(?s ?p ?o)[t1], Ins(?s ?p ?o)[t], t1 > t.  % it enters twice

% PlusPlus: 1 rule
PlusPlus(?s ?p ?o)[t] :- New(?s ?p ?o)[t], not T(?s ?p ?o)[>= t].  % what T lacks; the paper: with any tag

% Plus: 1 rule
Plus(?s ?p ?o)[t] :- PlusPlus(?s ?p ?o)[t], not Old(?s ?p ?o)[t].  % net insertions

% Minus: 2 rules
Minus(?s ?p ?o)[t] :- T(?s ?p ?o)[t], not Ins(?s ?p ?o)[t], t <= now.  % what has expired; the paper: t is now - 1
Minus(?s ?p ?o)[t] :- Old(?s ?p ?o)[t].                                % what is there for longer

% 10 rules in all
"""


@pytest.mark.parametrize("make", [volz_program, imars_program])
def test_every_relation_is_filled_before_it_is_denied(make: object) -> None:
    """What the strata promise: within `by_tag`, only triples of greater tags are denied."""
    program = make(RDFS)
    order = [relation for group in (*program.by_tag, *program.strata) for relation in group]
    assert {rule.head.relation for rule in program.rules} == set(order) and len(order) == len(set(order))
    place = {relation: number for number, group in enumerate((*program.by_tag, *program.strata)) for relation in group}
    for made in program.rules:
        for part in made.body:
            if part.denied:
                assert place.get(part.relation, -1) < place[made.head.relation], str(made)


# Run as an oracle

SETS = {
    "transitive": [TRANSITIVE],
    "rho-df": list(rule_set("rho-df")),
    "own": [
        rule("?a isIn ?b; ?b isIn ?c -> ?a isIn ?c"),
        rule("?a isIn ?b -> ?b a Place; ?b p ?a"),
        rule("?a p ?b; ?b isIn ?a -> ?a near ?b", guard("notEqual", "?a", "?b")),
        rule("-> x a Place"),
    ],
}
WORDS = {
    "transitive": ["isIn"],
    "own": ["isIn", "p", "near", "a"],
    "rho-df": ["isIn", "rdfs:subPropertyOf", "rdfs:subClassOf", "rdfs:domain", "a"],
}


@st.composite
def cases(draw: st.DrawFn, changes: int) -> tuple[list[Rule], list[dict[Triple, int]]]:
    """Rules, and facts in several portions."""
    name = draw(st.sampled_from(sorted(SETS)))
    made = st.builds(
        lambda s, p, o: triple(f"{s} {p} {o}"),
        st.sampled_from(["x", "y", "isIn", "p"]),
        st.sampled_from(WORDS[name]),
        st.sampled_from(["x", "y", "isIn", "z"]),
    )
    portions = [draw(st.dictionaries(made, st.integers(1, 6), max_size=5)) for _ in range(changes)]
    return SETS[name], portions


@settings(max_examples=examples(40), deadline=None)
@given(cases(3))
def test_deleting_and_inserting_gives_the_closure_of_what_is_left(case: tuple) -> None:
    rules, (facts, deleted, inserted) = case
    before, gone = set(facts) | set(deleted), set(deleted)
    after = (before - gone) | set(inserted)
    old, new = (set(closure(rules, dict.fromkeys(explicit, ALWAYS))) for explicit in (before, after))
    found = run(
        volz_program(rules), {"T": rows(old), "ExtDel": rows(gone), "ExtIns": rows(inserted), "ExtNew": rows(after)}
    )
    assert {fact for fact, _ in found["New"]} == new
    assert found["Plus"] == rows(new - old) and found["Minus"] == rows(old - new)


@settings(max_examples=examples(40), deadline=None)
@given(cases(4))
def test_slide_by_slide_the_tags_are_those_of_the_closure(case: tuple) -> None:
    """The first portion is background, each other portion enters at an instant and stays for as long as it says."""
    rules, (background, *entering) = case
    given = dict.fromkeys(background, ALWAYS)
    held = rows(closure(rules, given))
    for now, portion in enumerate(entering, 1):
        portion = {fact: now + length for fact, length in portion.items()}
        for fact, tag in portion.items():
            given[fact] = max(tag, given.get(fact, tag))
        found = run(imars_program(rules), {"T": held, "Ins": rows(portion)}, now)
        assert not (found["New"] - held) & found["Old"]
        held = held - found["Minus"] | found["Plus"]
        assert held == rows(closure(rules, {fact: tag for fact, tag in given.items() if tag > now}))
        assert held <= found["New"]


def test_guards_that_make_terms_are_followed() -> None:
    rules = [rule("?x age ?n -> ?x next ?m", guard("sum", "?n", integer(1), "?m"))]
    fact = (term("x"), term("age"), integer(4))
    found = run(volz_program(rules), {"T": set(), "ExtIns": rows([fact]), "ExtNew": rows([fact])})
    assert found["Plus"] == rows([fact, (term("x"), term("next"), integer(5))])
