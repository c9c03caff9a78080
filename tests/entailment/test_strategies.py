"""One driver for all strategies: random programs live through random histories, and the whole content, tags included,
is compared with that of the naive twin after each step."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from csparql_spark.entailment.evaluate import program
from csparql_spark.entailment.maintain import explicit
from csparql_spark.entailment.maintain.counting import Counting, RecursiveRules
from csparql_spark.entailment.maintain.deletion import DeleteRederive
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.maintain.recompute import Recompute
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations import graph, keys, runs
from tests.entailment.generated import histories, layered_rules, rules, told
from tests.entailment.worked import rule
from tests.examples import examples

STRATEGIES = [Expiration, Recompute, DeleteRederive, Counting]


@pytest.fixture(autouse=True, scope="module", params=["as it is", "small"])
def bounds(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few facts reach the paths that are made for many only if the bounds between few and many are small."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "small":
            for module, name, value in (
                (runs, "SMALL", 0),
                (runs, "RATIO", 1),
                (graph, "IDLE", 1),
                (keys, "RANK_BITS", 1),
                (explicit, "WAITING", 2),
                (program, "FEW", 0),
            ):
                patch.setattr(module, name, value)
        yield


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(history=histories(rules()))
@settings(max_examples=examples(25), deadline=None)
def test_any_program(strategy: type, history: list[tuple[str, object]]) -> None:
    dictionary = TermDictionary()
    told(history, strategy(dictionary), dictionary)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(history=histories(layered_rules()))
@settings(max_examples=examples(12), deadline=None)
def test_programs_that_are_not_recursive(strategy: type, history: list[tuple[str, Rule]]) -> None:
    dictionary = TermDictionary()
    facts = strategy(dictionary)
    story = told(history, facts, dictionary)
    assert story.refused == []


def test_recursive_rules_are_not_counted() -> None:
    chain = rule("?a p ?b; ?b p ?c -> ?a p ?c")
    said = f"counting cannot maintain the rule {chain}, which is recursive: it may be fed with what it derives"
    with pytest.raises(RecursiveRules, match=re.escape(said)):
        Counting(TermDictionary(), [chain])
    facts = Counting(TermDictionary())
    with pytest.raises(RecursiveRules, match=re.escape(said)):
        facts.add_rules([chain])
    with pytest.raises(ValueError, match="is not there"):
        facts.remove_rules([chain])
