from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.evaluate import program as module
from csparql_spark.entailment.evaluate.absorption import absorbs, transitive
from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.rules.safety import UnsafeRules, recursive
from csparql_spark.language.rules.rule import Atom, Guard, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Block, TaggedGraph
from csparql_spark.relations.tags import ALWAYS
from tests.entailment.generated import columns, decoded, facts, rules, triples
from tests.entailment.twin import Lookup, closure, is_triple, matches
from tests.examples import examples

P, Q, R, A = "<urn:p>", "<urn:q>", "<urn:r>", "<urn:a>"
TYPE, SUBCLASS = "<urn:type>", "<urn:subClassOf>"
ONE = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'

TRANSITIVE = Rule((Atom("?a", SUBCLASS, "?c"),), (Atom("?a", SUBCLASS, "?b"), Atom("?b", SUBCLASS, "?c")))
INHERIT = Rule((Atom("?a", TYPE, "?y"),), (Atom("?x", SUBCLASS, "?y"), Atom("?a", TYPE, "?x")))


def derived(rule: Rule, given: dict, binding: dict[str, str]) -> list[tuple[tuple[str, str, str], int]]:
    filled = [tuple(binding.get(node, node) for node in atom.nodes) for atom in (*rule.body, *rule.head)]
    tag = min((given[triple] for triple in filled[: len(rule.body)]), default=ALWAYS)
    return [(triple, tag) for triple in filled[len(rule.body) :] if is_triple(triple)]


def counted(blocks: list[Block], dictionary: TermDictionary) -> Counter:
    found: Counter = Counter()
    for s, p, o, tag in blocks:
        p = np.full(len(tag), p) if isinstance(p, int) else p
        found.update(zip(zip(*map(dictionary.decode, (s, p, o))), tag.tolist()))
    return found


@given(st.lists(rules(), max_size=3), facts, facts, st.sampled_from([0, 8]))
@settings(max_examples=examples(100), deadline=None)
def test_each_match_is_found_once(chosen: list[Rule], old: dict, new: dict, few: int) -> None:
    chosen = list(dict.fromkeys(chosen))
    dictionary = TermDictionary()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", few)
        program = Program(chosen, dictionary)
    graph = TaggedGraph()
    graph.add([columns(old, dictionary)])
    delta = graph.add([columns(new, dictionary)])
    fresh = decoded(delta, dictionary)
    given = {**old, **fresh}
    known = Lookup(given)
    everything, consequences = Counter(), Counter()
    for rule in chosen:
        for binding in matches(rule, known):
            everything.update(derived(rule, given, binding))
            if any(tuple(binding.get(node, node) for node in atom.nodes) in fresh for atom in rule.body):
                consequences.update(derived(rule, given, binding))
    assert counted(list(program.consequences(graph, delta)), dictionary) == consequences
    graph.settle()
    assert counted(list(program.everything(graph)), dictionary) == everything
    first = Counter(
        pair for rule in chosen[:1] for binding in matches(rule, known) for pair in derived(rule, given, binding)
    )
    assert counted(list(program.everything(graph, chosen[:1])), dictionary) == first


@given(st.lists(rules(), max_size=3), facts, st.sets(triples, max_size=6))
@settings(max_examples=examples(80), deadline=None)
def test_derivations_of_what_is_wanted(chosen: list[Rule], given: dict, wanted: set) -> None:
    dictionary = TermDictionary()
    graph = TaggedGraph()
    graph.add([columns(given, dictionary)])
    known = Lookup(given)
    expected = {
        pair
        for rule in chosen
        for binding in matches(rule, known)
        for pair in derived(rule, given, binding)
        if pair[0] in wanted
    }
    blocks = Program(chosen, dictionary).derivations(graph, columns(dict.fromkeys(sorted(wanted), 1), dictionary))
    assert set(counted(list(blocks), dictionary)) == expected


makers = st.sampled_from(
    [
        Rule((Atom("?x", Q, "?z"),), (Atom("?x", P, "?y"),), (Guard("addOne", ("?y", "?z")),)),
        Rule(
            (Atom("?x", Q, "?z"), Atom("?z", R, "?z")),
            (Atom("?x", P, "?y"), Atom("?v", P, "?y")),
            (Guard("uriConcat", ("?x", "?v", "?z")), Guard("notEqual", ("?x", "?v"))),
        ),
        Rule((Atom("?x", R, "?v"),), (Atom("?x", Q, "?y"), Atom("?x", P, "?z")), (Guard("sum", ("?y", "?z", "?v")),)),
        Rule((Atom("?x", P, "?y"),), (Atom("?x", P, "?z"), Atom("?x", P, "?y")), (Guard("sum", ("?z", ONE, "?y")),)),
        Rule(
            (Atom("?x", "<urn:max>", "?z"),),
            (Atom("?x", Q, "?y"), Atom("?x", Q, "?v")),
            (Guard("max", ("?y", "?v", "?z")),),
        ),
    ]
)


@given(st.lists(makers, max_size=4, unique=True), facts, facts)
@settings(max_examples=examples(60), deadline=None)
def test_makers(chosen: list[Rule], given: dict, gone: dict) -> None:
    dictionary = TermDictionary()
    kept = Expiration(dictionary, chosen)
    kept.insert(*columns({**given, **gone}, dictionary))
    assert decoded(kept.visible(0), dictionary) == closure(chosen, {**given, **gone})
    kept.remove(*columns(gone, dictionary)[:3])
    left = {triple: tag for triple, tag in given.items() if triple not in gone}
    assert decoded(kept.visible(0), dictionary) == closure(chosen, left)


def test_a_literal_is_never_a_subject_or_a_predicate() -> None:
    dictionary = TermDictionary()
    turned = Rule(
        (Atom("?y", P, "?x"), Atom("?x", "?y", "?x"), Atom('"1"', P, "?y"), Atom("?x", Q, "?y")), (Atom("?x", P, "?y"),)
    )
    kept = Expiration(dictionary, [turned])
    given = {(A, P, '"1"'): 5, (A, P, "_:b"): 5}
    kept.insert(*columns(given, dictionary))
    assert decoded(kept.visible(0), dictionary) == closure([turned], given)


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.booleans(), facts)
@settings(max_examples=examples(60), deadline=None)
def test_rules_that_differ_in_their_constants(pairs: set, closed: bool, given: dict) -> None:
    """They are one table; where they replace a class by another and are closed, they do so once."""
    while closed and not (more := {(a, d) for a, b in pairs for c, d in pairs if b == c}) <= pairs:
        pairs = pairs | more
    classes = [A, "<urn:b>", *(f"<urn:c{n}>" for n in range(4))]
    chosen = [Rule((Atom("?x", P, classes[b]),), (Atom("?x", P, classes[a]),)) for a, b in sorted(pairs)]
    dictionary = TermDictionary()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", 1)
        kept = Expiration(dictionary, chosen)
        kept.insert(*columns(given, dictionary))
        assert decoded(kept.visible(0), dictionary) == closure(chosen, given)
        if len({a for a, _ in pairs}) > 1 and len({b for _, b in pairs}) > 1:
            assert len(kept._program.compiled) == 1
            assert closed <= kept._program.compiled[0].table.absorbs()
        kept.remove_rules(chosen[::2])
        assert decoded(kept.visible(0), dictionary) == closure(chosen[1::2], given)


def test_a_chain_of_rules_is_not_closed() -> None:
    dictionary = TermDictionary()
    chain = [Rule((Atom("?x", TYPE, f"<urn:c{n + 1}>"),), (Atom("?x", TYPE, f"<urn:c{n}>"),)) for n in range(50)]
    kept = Expiration(dictionary, chain)
    assert not kept._program.compiled[0].table.absorbs()
    kept.insert(*columns({(A, TYPE, "<urn:c40>"): 7, (A, TYPE, "<urn:other>"): 7}, dictionary))
    assert decoded(kept.visible(0), dictionary) == {
        **{(A, TYPE, f"<urn:c{n}>"): 7 for n in range(40, 51)},
        (A, TYPE, "<urn:other>"): 7,
    }


@pytest.mark.parametrize(
    "rule, message",
    [
        (
            Rule((Atom("?x", P, "?z"),), (Atom("?x", P, "?y"),)),
            "The head of the rule [(?x <urn:p> ?y) -> (?x <urn:p> ?z)] uses ?z, which its body does not bind: use it in the "
            "body too.",
        ),
        (
            Rule((Atom("?x", P, "?x"),), (Atom("?x", P, "?y"),), (Guard("lessThan", ("?x", "?z")),)),
            "In the rule [(?x <urn:p> ?y) lessThan(?x, ?z) -> (?x <urn:p> ?x)], lessThan(?x, ?z) uses ?z before it is bound: "
            "bind it in an atom, or in a guard before this one.",
        ),
        (
            Rule((Atom("?x", P, "?z"),), (Atom("?x", P, "?y"),), (Guard("addOne", ("?y", "?z")),)),
            "The rule [(?x <urn:p> ?y) addOne(?y, ?z) -> (?x <urn:p> ?z)] makes new terms with addOne, and what it derives "
            "can match its own body again, so that it might never end: give what it derives a predicate of its own.",
        ),
    ],
)
def test_unsafe_rules_are_refused(rule: Rule, message: str) -> None:
    with pytest.raises(UnsafeRules) as refusal:
        Program([rule], TermDictionary())
    assert str(refusal.value) == message
    kept = Expiration(TermDictionary(), [TRANSITIVE])
    with pytest.raises(UnsafeRules):
        kept.add_rules([rule])
    kept.remove_rules([TRANSITIVE])  # nothing had changed


def test_a_maker_in_a_cycle_of_several_rules() -> None:
    maker = Rule((Atom("?x", Q, "?z"),), (Atom("?x", P, "?y"),), (Guard("addOne", ("?y", "?z")),))
    back = Rule((Atom("?x", P, "?y"),), (Atom("?x", R, "?y"),))
    Program([maker, back], TermDictionary())
    with pytest.raises(UnsafeRules, match="addOne"):
        anything = Rule((Atom("?x", "?p", "?y"),), (Atom("?x", Q, "?y"), Atom("?p", Q, R)))
        Program([maker, back, anything], TermDictionary())


def test_a_rule_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(ValueError, match="is not there, so it cannot be removed"):
        Program([TRANSITIVE], TermDictionary()).without([INHERIT])


def test_recursive_rules() -> None:
    copy = Rule((Atom("?x", Q, "?y"),), (Atom("?x", P, "?y"),))
    assert list(recursive([copy, TRANSITIVE, INHERIT], [copy, TRANSITIVE, INHERIT])) == [TRANSITIVE, INHERIT]
    anything = Rule((Atom("?x", "?y", "?x"),), (Atom("?x", Q, "?y"),))
    assert list(recursive([copy, anything], [copy, anything])) == [copy, anything]
    assert not list(recursive([copy], [copy]))
    step, next_ = (Rule((Atom("?x", TYPE, b),), (Atom("?x", TYPE, a),)) for a, b in ((A, P), (P, Q)))
    assert not list(recursive([step, next_], [step, next_]))
    assert list(recursive([step, next_, Rule(step.body, next_.head)], [next_])) == [next_]


def test_rules_that_absorb() -> None:
    rules = transitive([TRANSITIVE, INHERIT])
    assert rules == {SUBCLASS} and not transitive([INHERIT])
    assert absorbs(INHERIT, rules) == 1 and absorbs(TRANSITIVE, rules) is None and absorbs(INHERIT, ()) is None
    property_ = Rule((Atom("?a", "?q", "?b"),), (Atom("?a", "?p", "?b"), Atom("?p", SUBCLASS, "?q")))
    assert absorbs(property_, rules) == 0
    down = Rule((Atom("?a", TYPE, "?x"),), (Atom("?x", SUBCLASS, "?y"), Atom("?a", TYPE, "?y")))
    assert absorbs(down, rules) == 1
    for other in (
        Rule(INHERIT.head, INHERIT.body, (Guard("notEqual", ("?a", "?x")),)),
        Rule((Atom("?y", TYPE, "?y"),), (Atom("?x", SUBCLASS, "?y"), Atom("?y", TYPE, "?x"))),
        Rule((Atom("?a", P, "?y"),), INHERIT.body),
        Rule((Atom("?a", TYPE, "?y"), Atom("?a", P, "?y")), INHERIT.body),
        Rule((Atom("?a", TYPE, "?y"),), (Atom("?x", P, "?y"), Atom("?a", TYPE, "?x"))),
        Rule((Atom("?a", TYPE, A),), (Atom("?x", SUBCLASS, A), Atom("?a", TYPE, "?x"))),
    ):
        assert absorbs(other, rules) is None, other


schema = st.lists(
    st.sampled_from(
        [
            TRANSITIVE,
            INHERIT,
            Rule((Atom("?a", "?q", "?b"),), (Atom("?a", "?p", "?b"), Atom("?p", SUBCLASS, "?q"))),
            Rule((Atom("?a", TYPE, "?x"),), (Atom("?x", SUBCLASS, "?y"), Atom("?a", TYPE, "?y"))),
            Rule((Atom("?a", TYPE, "?x"),), (Atom("?a", "?x", "?b"),)),
            Rule((Atom("?a", "?p", "?b"),), (Atom("?b", "?p", "?a"),)),
        ]
    ),
    max_size=3,
    unique=True,
)
schema = schema.map(lambda some: [TRANSITIVE, *some])
node = st.sampled_from([A, "<urn:b>", "<urn:c>", TYPE])
schema_facts = st.dictionaries(
    st.tuples(node, st.sampled_from([TYPE, SUBCLASS, SUBCLASS, A]), node), st.integers(1, 6), max_size=6
)


@given(schema, st.lists(schema_facts, max_size=4))
@settings(max_examples=examples(80), deadline=None)
def test_what_is_absorbed_is_not_missed(chosen: list[Rule], chunks: list[dict]) -> None:
    dictionary, all_facts = TermDictionary(), {}
    kept = Expiration(dictionary, chosen)
    for chunk in chunks:
        kept.insert(*columns(chunk, dictionary))
        all_facts = {**all_facts, **{triple: max(tag, all_facts.get(triple, 0)) for triple, tag in chunk.items()}}
        assert decoded(kept.visible(0), dictionary) == closure(chosen, all_facts)


def test_who_asks_for_the_terms_finds_no_more_terms() -> None:
    """Contents count the ids that are in use: a constant that guards alone know has none."""
    dictionary = TermDictionary()
    guarded = Rule(
        (Atom("?x", Q, "?y"),),
        (Atom("?x", P, "?y"),),
        (Guard("notEqual", ("?y", '"1"')), Guard("addOne", ("?y", '"2"'))),
    )
    program = Program([guarded, INHERIT], dictionary)
    size = len(dictionary)
    assert sorted(dictionary.decode(program.terms())) == sorted([P, Q, TYPE, SUBCLASS])
    assert len(dictionary) == size
