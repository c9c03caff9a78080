from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.evaluate.transitivity import is_transitivity
from csparql_spark.entailment.maintain.deletion import DeleteRederive
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.maintain.recompute import Recompute
from csparql_spark.language.rules.rule import Atom, Guard, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from tests.entailment.generated import columns, decoded, histories, told
from tests.entailment.twin import closure
from tests.examples import examples

P, Q, R, A = "<urn:p>", "<urn:q>", "<urn:r>", "<urn:a>"


def transitive(predicate: str) -> Rule:
    return Rule((Atom("?x", predicate, "?z"),), (Atom("?x", predicate, "?y"), Atom("?y", predicate, "?z")))


BACKWARDS = Rule((Atom("?x", P, "?z"),), (Atom("?y", P, "?z"), Atom("?x", P, "?y")))
OTHERS = [
    transitive(Q),
    BACKWARDS,
    Rule((Atom("?y", P, "?x"),), (Atom("?x", P, "?y"),)),
    Rule((Atom("?x", P, "?y"),), (Atom("?x", Q, "?y"),)),
    Rule((Atom("?x", Q, "?y"),), (Atom("?x", P, "?y"),)),
    Rule((Atom("?x", P, "?z"),), (Atom("?x", P, "?y"), Atom("?y", Q, "?z"))),
    Rule((Atom("?x", Q, "?z"),), (Atom("?x", "?p", "?y"), Atom("?y", "?p", "?z"))),
    Rule((Atom("?x", "?r", "?y"),), (Atom("?x", "?p", "?y"), Atom("?p", Q, "?r"))),
]
some = st.sampled_from([transitive(P), transitive(P), *OTHERS])
node = st.sampled_from([f"<urn:{number}>" for number in range(6)] + [P, R])
chunks = st.lists(
    st.dictionaries(st.tuples(node, st.sampled_from([P, P, Q, R]), node), st.integers(1, 6), max_size=8), max_size=4
)


def test_which_rules_say_that_a_predicate_is_transitive() -> None:
    assert is_transitivity(transitive(P)) and is_transitivity(BACKWARDS)
    (head,), (first, second) = transitive(P).head, transitive(P).body
    for other in (
        Rule((head,), (first, second), (Guard("notEqual", ("?x", "?z")),)),
        Rule((Atom("?x", Q, "?z"),), (first, second)),
        Rule((Atom("?z", P, "?x"),), (first, second)),
        Rule((head, Atom("?x", P, "?y")), (first, second)),
        Rule((head,), (first, second, first)),
        Rule((head,), (first, Atom("?y", Q, "?z"))),
        Rule((head,), (first, Atom("?z", P, "?y"))),
        Rule((Atom("?x", P, "?x"),), (first, Atom("?y", P, "?x"))),
        Rule((Atom("?x", P, A),), (first, Atom("?y", P, A))),
        Rule((Atom("?x", "?p", "?z"),), (Atom("?x", "?p", "?y"), Atom("?y", "?p", "?z"))),
    ):
        assert not is_transitivity(other), other


@given(st.lists(st.sampled_from(OTHERS), max_size=2, unique=True), chunks)
@settings(max_examples=examples(80), deadline=None)
def test_no_path_is_missed(others: list[Rule], given: list[dict]) -> None:
    rules, dictionary, stated = [transitive(P), *others], TermDictionary(), {}
    facts = Expiration(dictionary, rules)
    for chunk in given:
        facts.insert(*columns(chunk, dictionary))
        stated |= {triple: max(tag, stated.get(triple, 0)) for triple, tag in chunk.items()}
        assert decoded(facts.visible(0), dictionary) == closure(rules, stated)


@pytest.mark.parametrize("strategy", [Expiration, DeleteRederive, Recompute])
@given(history=histories(some))
@settings(max_examples=examples(30), deadline=None)
def test_histories(strategy: type, history: list[tuple[str, object]]) -> None:
    dictionary = TermDictionary()
    told(history, strategy(dictionary), dictionary)
