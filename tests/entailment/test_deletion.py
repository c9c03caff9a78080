"""What is deleted and derived again, where a whole block of derivations is concerned at once."""

from __future__ import annotations

import pytest

from csparql_spark.entailment.maintain.deletion import DeleteRederive
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from tests.entailment.generated import columns, decoded

A, B, C, D, P, Q = (f"<urn:{name}>" for name in "abcdpq")
COPY = Rule((Atom("?x", Q, "?y"),), (Atom("?x", P, "?y"),))
IS_IN = Rule((Atom("?x", P, "?z"),), (Atom("?x", P, "?y"), Atom("?y", P, "?z")))


@pytest.mark.parametrize("strategy", [Expiration, DeleteRederive])
def test_what_is_stated_stays_and_what_was_derived_beside_it_goes(strategy: type) -> None:
    dictionary = TermDictionary()
    facts = strategy(dictionary, [COPY])
    facts.insert(*columns({(A, P, B): 10, (C, P, D): 10, (A, Q, B): 10, (D, P, D): 8}, dictionary))
    facts.remove(*columns({(A, P, B): 0, (C, P, D): 0}, dictionary)[:3])
    assert decoded(facts.visible(0), dictionary) == {(A, Q, B): 10, (D, P, D): 8, (D, Q, D): 8}


@pytest.mark.parametrize("strategy", [Expiration, DeleteRederive])
def test_facts_of_a_cycle_do_not_hold_one_another_up(strategy: type) -> None:
    dictionary = TermDictionary()
    facts = strategy(dictionary, [IS_IN])
    facts.insert(*columns({(A, P, B): 10, (B, P, C): 10, (C, P, B): 10}, dictionary))
    facts.remove(*columns({(B, P, C): 0}, dictionary)[:3])
    assert decoded(facts.visible(0), dictionary) == {(A, P, B): 10, (C, P, B): 10}


def test_a_fact_that_holds_shorter_without_what_is_taken_back() -> None:
    dictionary = TermDictionary()
    facts = Expiration(dictionary, [COPY])
    facts.insert(*columns({(A, P, B): 10, (A, Q, B): 5}, dictionary))
    facts.remove(*columns({(A, P, B): 0}, dictionary)[:3])
    assert decoded(facts.visible(0), dictionary) == {(A, Q, B): 5}
