"""What was said of a term is held, and of how many, and of how long ones, has a bound."""

from __future__ import annotations

import pytest

from csparql_spark import remembering
from csparql_spark.rdf.terms import parse
from csparql_spark.remembering import LONGEST, remembered


def test_a_term_is_asked_about_once_unless_it_is_long() -> None:
    asked: list[str] = []

    @remembered
    def length(term: str) -> int:
        """How long."""
        asked.append(term)
        return len(term)

    short, long = LONGEST * "a", (LONGEST + 1) * "a"
    assert [length(term) for term in (short, short, long, long)] == [LONGEST, LONGEST, LONGEST + 1, LONGEST + 1]
    assert asked == [short, long, long]
    assert (length.__name__, length.__doc__) == ("length", "How long.")


def test_the_terms_that_were_asked_about_last_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(remembering, "MOST", 2)
    named = remembered(lambda term: asked.append(term))
    for term in "abcbca":
        named(term)
    assert asked == ["a", "b", "c", "a"]


def test_what_fails_fails_again_and_long_terms_mean_the_same() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="is not an IRI"):
            parse("rubbish")
    assert parse(f'"{LONGEST * "a"}"@en') == ("literal", LONGEST * "a", parse('"b"@en').datatype, "en", None)
