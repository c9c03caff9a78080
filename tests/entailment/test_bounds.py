"""Rules that derive too much fail before there is room made for it, in a sentence that names them."""

from __future__ import annotations

import contextlib
import itertools
import time

import numpy as np
import pytest

from csparql_spark import processor_time
from csparql_spark.entailment.evaluate import bounds
from csparql_spark.entailment.evaluate.bounds import BYTES_PER_ROW, TooMuchDerived, bounded
from csparql_spark.entailment.maintain.deletion import DeleteRederive
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.maintain.recompute import Recompute
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.language import parse_rules
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.tags import ALWAYS
from tests.entailment.twin import Triple

STRATEGIES = [Expiration, DeleteRederive, Recompute]

PAIRS = [(f"<urn:{n}>", "<urn:p>", f"<urn:o{n}>") for n in range(60)]
HUB = [(f"<urn:{n}>", "<urn:p>", "<urn:o>") for n in range(60)]
CHAIN = [(f"<urn:{n}>", "<urn:p>", f"<urn:{n + 1}>") for n in range(60)]
POISONS = {
    "a product": ("(?a <urn:p> ?b) (?c <urn:p> ?d) -> (?a <urn:q> ?c)", PAIRS, "pairs that no variable connects"),
    "a product of three": ("(?a <urn:p> ?b) (?c ?p ?d) (?e ?q ?f) -> (?a <urn:q> ?e)", PAIRS[:20], "multiplies"),
    "all that share one": ("(?a <urn:p> ?o) (?b <urn:p> ?o) -> (?a <urn:q> ?b)", HUB, "multiplies"),
    "a long chain": ("(?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)", CHAIN, "multiplies"),
    "many heads": (
        "(?a <urn:p> ?b) -> " + " ".join(f"(?b <urn:q{n}> ?a)" for n in range(20)),
        PAIRS,
        "the rules derive more than 1,000 facts in one step",
    ),
}


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_ROWS", 1_000)
    monkeypatch.setattr(bounds, "MOST_PAIRS", 500)


def closed(strategy: type, text: str, triples: list[Triple]) -> set[Triple]:
    dictionary = TermDictionary()
    facts: Materialization = strategy(dictionary, parse_rules(text).rules)
    columns = [dictionary.encode([triple[place] for triple in triples]).astype(np.int64) for place in range(3)]
    facts.insert(*columns, np.full(len(triples), ALWAYS))
    found = facts.visible(0)
    return set(zip(*(dictionary.decode(column) for column in found[:3]), strict=True))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("poison", POISONS)
def test_what_multiplies_is_refused_by_name(narrow: None, strategy: type, poison: str) -> None:
    body, triples, why = POISONS[poison]
    with pytest.raises(TooMuchDerived) as refused:
        closed(strategy, f"[other: (?x <urn:no> ?y) -> (?y <urn:no> ?x)] [poison: {body}]", triples)
    assert "[poison: " in str(refused.value) and why in str(refused.value)
    assert "connect all parts of" in str(refused.value)


@pytest.mark.parametrize("poison", POISONS)
def test_the_same_rules_over_fewer_facts_derive_what_follows(narrow: None, poison: str) -> None:
    body, triples, _ = POISONS[poison]
    few = triples[:3]
    here = closed(Expiration, f"[poison: {body}]", few)
    assert here == closed(Recompute, f"[poison: {body}]", few) and here > set(few)


def test_what_is_constant_multiplies_nothing(narrow: None) -> None:
    many = [(f"<urn:{n}>", "<urn:p>", f"<urn:o{n}>") for n in range(900)]
    switch = ("<urn:switch>", "<urn:is>", "<urn:on>")
    text = "[r: (?a <urn:p> ?b) (?x <urn:is> <urn:on>) -> (?a <urn:q> ?b)]"
    assert closed(Expiration, text, [*many, switch]) == {*many, switch, *((s, "<urn:q>", o) for s, _, o in many)}


def test_a_closure_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_FACTS", 100)
    with pytest.raises(TooMuchDerived, match="more than 100 facts follow under its rules"):
        closed(Expiration, "[r: (?a <urn:p> ?b) -> (?b <urn:q> ?a)]", PAIRS)


def test_time_is_bounded_where_somebody_waits() -> None:
    text = "[r: (?a <urn:p> ?b) -> (?b <urn:q> ?a)]"
    with pytest.raises(TooMuchDerived, match=r"longer than -1 s of processor time.* the rule \[r: "), bounded(-1):
        closed(Expiration, text, PAIRS)
    with bounded(60):
        assert len(closed(Expiration, text, PAIRS)) == 120
    assert len(closed(Expiration, text, PAIRS)) == 120


TRANSITIVE = "[r: (?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)]"


@pytest.mark.parametrize("seconds, done", [(30, False), (100, True)])
def test_time_is_looked_at_with_each_length_of_a_path(
    monkeypatch: pytest.MonkeyPatch, seconds: int, done: bool
) -> None:
    """A transitive rule is applied once, to a chain of any length."""
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    for name in ("now", "lately"):  # the processor works all the time
        monkeypatch.setattr(processor_time, name, lambda: processor_time.Time(tick := next(clock), tick))
    with (
        bounded(seconds),
        contextlib.nullcontext() if done else pytest.raises(TooMuchDerived, match="longer than 30 s"),
    ):
        assert len(closed(Expiration, TRANSITIVE, CHAIN)) == 60 * 61 // 2


@pytest.mark.parametrize("text", [TRANSITIVE, "[r: (?a <urn:p> ?b) (?c <urn:q> ?b) -> (?a <urn:r> ?c)]"])
def test_there_are_no_more_rows_than_there_is_memory_for(text: str) -> None:
    shared = [(f"<urn:{n}>", f"<urn:{p}>", "<urn:o>") for n in range(40) for p in "pq"]
    with bounded(60, 1_000 * BYTES_PER_ROW), pytest.raises(TooMuchDerived, match="more than 1,000 rows at once"):
        closed(Expiration, text, [*CHAIN, *shared])
    with bounded(60, 10_000 * BYTES_PER_ROW):
        closed(Expiration, text, [*CHAIN, *shared])
