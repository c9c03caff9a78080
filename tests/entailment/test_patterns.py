"""The builtin `regex` in linear time, and what becomes of patterns that it cannot match."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.evaluate import patterns
from csparql_spark.entailment.evaluate.guards import BoundGuard, Terms
from csparql_spark.entailment.evaluate.patterns import all_match, counted, matches
from csparql_spark.language.rules.rule import Guard
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import literal
from tests.examples import examples

TEXTS = ["", "a", "b", "ab", "aab", "é", "aé", "1", "a\nb", 'a"b']
PATTERNS = ["a*b?", ".", "[^a]*", r"\w+", r"(a|b)*", "(?i)A", "é|a", 'a"b']


def test_a_pattern_that_goes_back_for_ever_in_others_ends() -> None:
    """Each further letter would double the time of a matcher that goes back."""
    text = literal("a" * 100_000)
    assert not matches(text, '"(a+)+b"')
    assert matches(literal("a" * 100_000 + "b"), '"(a+)+b"')
    assert not matches(text, '"(a|aa)+b"') and not matches(text, '"(.*a){20}b"')
    assert not matches(text, literal(r"(\w*)*\W"))


@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(PATTERNS)), max_size=12))
@settings(max_examples=examples(200), deadline=None)
def test_many_at_once_as_one_by_one(pairs: list[tuple[str, str]]) -> None:
    questions = [(literal(text), literal(pattern)) for text, pattern in pairs]
    found = all_match(questions)
    assert found == [matches(*question) for question in questions]
    assert found == [re.fullmatch(pattern, text) is not None for text, pattern in pairs]


def test_literals_alone_have_a_form() -> None:
    assert all_match([("<urn:a>", '".*"'), ("_:a", '".*"'), ('"a"@en', '"a"'), ('"1"^^<urn:t>', '"1"')]) == [
        False,
        False,
        True,
        True,
    ]


def test_what_cannot_be_matched_holds_of_nothing_and_is_counted() -> None:
    written = "(", r"(a)\1", "a(?=b)", "(a{1000}){1000}", "a" * 1001, r"\p{No}{2}x\p{Zx}"
    bad = [literal(pattern) for pattern in written]
    with counted() as refused:
        assert all_match([('"a"', pattern) for pattern in (*bad, '"a"', *bad)]) == [False] * len(bad) + [True] + [
            False
        ] * len(bad)
    assert refused.count == 2 * len(bad)
    with counted() as none:
        assert all_match([('"a"', '"b"'), ("<urn:a>", '"("')]) == [False, False]
    assert none.count == 0, "what is no literal is not compared"
    assert refused.count == 2 * len(bad), "what was counted is not counted on"


def test_a_text_that_is_too_long_for_its_pattern_is_counted(monkeypatch) -> None:
    monkeypatch.setattr(patterns, "MOST_WORK", 100)
    with counted() as refused:
        assert all_match([(literal("a" * 50), '"a*"'), (literal("a" * 33), '"a*"'), ('"é"', '"é"')]) == [
            False,
            True,
            True,
        ]
    assert refused.count == 1


def test_each_pattern_of_the_data_is_one_question() -> None:
    """A thousand rows with patterns of their own, some of which are none: each is asked about once, and none stops the
    others."""
    dictionary = TermDictionary()
    texts = dictionary.encode([f'"t{n}"' for n in range(1000)])
    asked = dictionary.encode([f'"t{n}|("' if n % 10 == 0 else f'"t{n}.*"' for n in range(1000)])
    guard = BoundGuard(Guard("regex", ("?t", "?p")), Terms(dictionary))
    with counted() as refused:
        rows, _ = guard.apply({"?t": np.repeat(texts, 2), "?p": np.repeat(asked, 2)}, 2000)
    assert rows.tolist() == [row for row in range(2000) if row // 2 % 10]
    assert refused.count == 100


def test_a_pattern_of_a_stored_rule_that_cannot_be_matched_holds_of_nothing() -> None:
    dictionary = TermDictionary()
    guard = BoundGuard(Guard("regex", ("?t", literal(r"(a)\1"))), Terms(dictionary))
    rows, _ = guard.apply({"?t": dictionary.encode(['"aa"', '"b"'])}, 2)
    assert rows.tolist() == []
