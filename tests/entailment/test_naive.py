from __future__ import annotations

import gzip
import inspect
import itertools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings, strategies as st

from csparql_spark.entailment.naive import ALWAYS, MAKERS, TESTS, Derivation, Triple, closure, why
from csparql_spark.entailment.sets import rule_set
from csparql_spark.language import parse_rules
from csparql_spark.language.rules import Atom, Rule
from tests.entailment.worked import RDFS, XSD, guard, integer, rule, tagged, term, triple

TRANSITIVE = rule("?a isIn ?b; ?b isIn ?c -> ?a isIn ?c", name="transitive")


def literal(value: str, datatype: str) -> str:
    return f'"{value}"^^<{XSD}{datatype}>'


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


@pytest.mark.parametrize("facts, missing", [
    ({(term("x"), term("p"), '"5"'): 1}, '"5"'),                                  # a literal as subject
    ({(term("x"), term("p"), "_:b"): 1, (term("_:b"), term("p"), term("y")): 1}, None)])
def test_what_would_be_no_triple_is_not_made(facts: dict[Triple, int], missing: str | None) -> None:
    found = closure([rule("?a p ?b -> ?b q ?a")], facts)
    assert all(not subject.startswith('"') for subject, _, _ in found)
    assert len(found) == len(facts) + (0 if missing else 2)


def test_a_predicate_is_an_iri() -> None:
    facts = {(term("x"), term("p"), "_:b"): 1, (term("x"), term("p"), '"5"'): 1, (term("x"), term("p"), term("q")): 1}
    assert set(closure([rule("?a p ?b -> ?a ?b ?a")], facts)) - set(facts) == {triple("x q x")}


# Guards

@pytest.mark.parametrize("name, arguments, holds", [
    ("equal", (integer(1), literal("1.0", "decimal")), True),
    ("equal", (integer(1), literal("1e0", "double")), True),
    ("equal", ('"a"', '"a"@en'), False),
    ("equal", (literal("NaN", "double"), literal("NaN", "double")), True),           # the same term
    ("notEqual", (integer("01"), integer(1)), False),
    ("notEqual", (term("a"), term("b")), True),
    ("lessThan", (integer(9), integer(10)), True),
    ("lessThan", (integer(10), integer(10)), False),
    ("lessThan", ('"a"', '"b"'), False),                                             # strings are not ordered
    ("lessThan", (literal("2026-01-01T01:00:00+02:00", "dateTime"), literal("2026-01-01T00:00:00Z", "dateTime")), True),
    ("lessThan", (literal("2026-01-01T00:00:00", "dateTime"), literal("2026-01-02T00:00:00Z", "dateTime")), False),
    ("lessThan", (literal("2026-01-01", "date"), literal("2026-01-02", "date")), True),
    ("lessThan", (literal("2026-01-01", "date"), literal("2026-01-02T00:00:00", "dateTime")), False),
    ("lessThan", (literal("2026-13-01", "date"), literal("2027-01-02", "date")), False),
    ("le", (literal("09:30:00Z", "time"), literal("11:30:00+02:00", "time")), True),
    ("lessThan", (literal("300", "unsignedByte"), integer(301)), False),             # no unsignedByte
    ("greaterThan", (literal("1.5", "decimal"), integer(1)), True),
    ("greaterThan", (literal("x", "integer"), integer(1)), False),                   # no number
    ("greaterThan", (literal("INF", "double"), integer(10**400)), True),             # which no double can hold
    ("le", (integer(10), integer(10)), True),
    ("ge", (integer(9), integer(10)), False),
    ("isLiteral", ('"a"',), True),
    ("isLiteral", (term("a"),), False),
    ("notLiteral", ("_:b",), True),
    ("isBNode", ("_:b",), True),
    ("notBNode", ("_:b",), False),
    ("isDType", (integer(5), term("xsd:integer")), True),
    ("isDType", (integer(5), term("xsd:decimal")), True),                            # derived from it
    ("isDType", (literal("5", "decimal"), term("xsd:integer")), False),
    ("isDType", (literal("300", "byte"), term("xsd:byte")), False),
    ("isDType", (literal("-3", "byte"), term("xsd:long")), True),
    ("isDType", (literal("x", "boolean"), term("xsd:boolean")), False),
    ("isDType", (literal("true", "boolean"), term("xsd:boolean")), True),
    ("isDType", (literal("anything", "anyURI"), term("xsd:anyURI")), True),
    ("isDType", (literal("x", "integer"), f"<{RDFS}Literal>"), False),
    ("isDType", ('"a"', term("xsd:string")), True),
    ("isDType", ('"a"@en', f"<{RDFS}Literal>"), True),
    ("isDType", (term("a"), term("xsd:string")), False),
    ("notDType", (term("a"), term("xsd:string")), True),
    ("regex", ('"Berlin"', '"B.*n"'), True),
    ("regex", ('"Berlin"', '"B"'), False),                                           # the whole form
    ("regex", (term("Berlin"), '".*"'), False),
])
def test_tests(name: str, arguments: tuple[str, ...], holds: bool) -> None:
    assert TESTS[name](*arguments) is holds


@pytest.mark.parametrize("name, arguments, made", [
    ("sum", (integer(1), integer(2)), integer(3)),
    ("sum", (integer(1), literal("2.50", "decimal")), literal("3.5", "decimal")),
    ("sum", (literal("0.5", "decimal"), literal("0.5", "decimal")), literal("1", "decimal")),
    ("sum", (integer(1), literal("2", "float")), literal("3.0", "double")),
    ("sum", (integer(1), '"2"'), None),
    ("difference", (integer(1), integer(2)), integer(-1)),
    ("product", (literal("-INF", "double"), integer(2)), literal("-INF", "double")),
    ("quotient", (integer(-7), integer(2)), integer(-3)),
    ("quotient", (integer(7), integer(0)), None),
    ("quotient", (literal("1", "decimal"), integer(8)), literal("0.125", "decimal")),
    ("addOne", (integer(41),), integer(42)),
    ("min", (integer(1), literal("1.0", "decimal")), integer(1)),                    # the first where both are equal
    ("max", (integer(1), integer(2)), integer(2)),
    ("max", (integer(1), term("a")), None),
    ("strConcat", ('"a"@en', integer(5), term("b")), '"a5urn:b"'),
    ("uriConcat", ('"urn:"', '"b"'), term("b")),
    ("uriConcat", ('"no scheme"',), None),
])
def test_makers(name: str, arguments: tuple[str, ...], made: str | None) -> None:
    assert MAKERS[name](*arguments) == made


def test_a_maker_binds_its_last_argument_or_compares_it() -> None:
    double = rule("?x age ?n -> ?x twice ?m", guard("sum", "?n", "?n", "?m"))
    assert closure([double], {(term("x"), term("age"), integer(4)): 1})[term("x"), term("twice"), integer(8)] == 1
    same = rule("?x age ?n; ?x shoe ?m -> ?x odd ?n", guard("sum", "?n", integer(1), "?m"))
    facts = {(term(x), term(p), integer(n)): 1 for x, p, n in
             [("x", "age", 4), ("x", "shoe", 5), ("y", "age", 4), ("y", "shoe", 6)]}
    assert set(closure([same], facts)) - set(facts) == {(term("x"), term("odd"), integer(4))}


def test_guards_are_read_in_their_order() -> None:
    chained = rule("?x age ?n -> ?x old ?x", guard("addOne", "?n", "?m"), guard("greaterThan", "?m", integer(65)))
    facts = {(term("x"), term("age"), integer(65)): 1, (term("y"), term("age"), integer(64)): 1}
    assert set(closure([chained], facts)) - set(facts) == {triple("x old x")}


@pytest.mark.parametrize("broken, says", [
    (rule("?x p ?y -> ?x p ?z"), r"The head of .* uses \?z"),
    (rule("?x p ?y -> ?x p ?y", guard("lessThan", "?x", "?z")), r"lessThan\(\?x, \?z\) uses \?z before it is bound"),
    (rule("?x p ?y -> ?x p ?y", guard("lessthan", "?x", "?y")), "There is no builtin lessthan. Known are addOne, diff"),
    (rule("?x p ?y -> ?x p ?y", guard("regex", '"a"', '"("')), r'regex has the pattern "\("'),
])
def test_a_rule_that_cannot_be_read_is_refused_with_a_sentence(broken: Rule, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        closure([broken], tagged("x p y 1"))


# Why

def test_why_names_what_a_triple_rests_on() -> None:
    facts = tagged("a isIn b 11; b isIn c 12; c isIn d 13; a isIn e 14; e isIn d 14")
    found = why([TRANSITIVE], facts, triple("a isIn d"))
    assert found == Derivation(triple("a isIn d"), 14, TRANSITIVE, (Derivation(triple("a isIn e"), 14),
                                                                    Derivation(triple("e isIn d"), 14)))
    assert str(found) == ("<urn:a> <urn:isIn> <urn:d>  until 14, by transitive\n"
                          "  <urn:a> <urn:isIn> <urn:e>  until 14, given\n"
                          "  <urn:e> <urn:isIn> <urn:d>  until 14, given")
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
        "until 1, by two", "until 1, by one", "until 1, given", "until 1, by one, as above"]


words = st.sampled_from("wxyz")
facts = st.dictionaries(st.builds(lambda s, p, o: triple(f"{s} {p} {o}"), words, st.sampled_from("pq"), words),
                        st.integers(1, 9), max_size=12)
RULES = [TRANSITIVE, rule("?a p ?b; ?b p ?c -> ?a p ?c"), rule("?a p ?b -> ?b q ?a"),
         rule("?a q ?b; ?b q ?c -> ?c p ?a")]


@settings(max_examples=80, deadline=None)
@given(facts)
def test_the_closure_at_an_instant_is_the_closure_of_what_holds_then(facts: dict[Triple, int]) -> None:
    """The law of tags: closing and then looking is looking and then closing."""
    closed = closure(RULES, facts)
    for instant in range(10):
        holding = {fact for fact, tag in closed.items() if tag > instant}
        assert holding == set(closure(RULES, {fact: ALWAYS for fact, tag in facts.items() if tag > instant}))


@settings(max_examples=80, deadline=None)
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


@settings(max_examples=60, deadline=None)
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
