from __future__ import annotations

import pytest

from csparql_spark.language import LanguageError, parse
from csparql_spark.language.queries.bounds import DEEPEST_NESTING, LONGEST_TEXT, MOST_LINKS, MOST_TRIPLES, MOST_WORDS

NESTS = {
    "groups": ("SELECT * {", "{ ", "?s ?p ?o", "}", "}"),
    "brackets": ("SELECT * { FILTER(", "(", "1", ")", ") }"),
    "functions": ("SELECT * { FILTER(", "ABS(", "1", ")", ") }"),
    "nodes": ("SELECT * { ?s ?p ", "[ ?p ", "1", "]", "}"),
    "lists": ("SELECT * { ?s ?p ", "( ", "1", ")", "}"),
    "paths": ("SELECT * { ?s ", "(", "<p:p>", ")", "?o }"),
    "selects": ("SELECT * {", "{ SELECT * ", "{ ?s ?p ?o }", "}", "}"),
    "optionals": ("SELECT * {", "OPTIONAL { ", "?s ?p ?o", "}", "}"),
    "exists": ("SELECT * {", "FILTER EXISTS { ", "?s ?p ?o", "}", "}"),
}


@pytest.mark.parametrize("nest", NESTS)
def test_nests_are_read_up_to_the_bound_and_refused_beyond(nest: str) -> None:
    head, opening, middle, closing, tail = NESTS[nest]
    parse(head + opening * 80 + middle + closing * 80 + tail)
    with pytest.raises(LanguageError) as caught:
        parse(head + opening * 50_000 + middle + closing * 50_000 + tail)
    assert caught.value.code in ("too-deep", "too-large")
    with pytest.raises(LanguageError) as caught:
        parse(head + opening * (DEEPEST_NESTING + 1) + middle + closing * (DEEPEST_NESTING + 1) + tail)
    assert caught.value.code == "too-deep"


CHAINS = {
    "triples": ("SELECT * {", "?s ?p ?o .", "}"),
    "objects": ("SELECT * { ?s ?p 1", ", 1", "}"),
    "ors": ("SELECT * { FILTER(1", "||1", ") }"),
    "sums": ("SELECT * { FILTER(1", "+ 1", ") }"),
    "unions": ("SELECT * { {}", "UNION {}", "}"),
    "optionals": ("SELECT * {", "OPTIONAL {}", "}"),
    "filters": ("SELECT * {", "FILTER(1)", "}"),
    "steps": ("SELECT * { ?s <p:p>", "/<p:p>", " ?o }"),
    "lists": ("SELECT * { ?s ?p (1", " 1", ") }"),
    "having": ("SELECT (1 AS ?x) {} HAVING (1)", "(1)", ""),
    "in": ("SELECT * { FILTER(1 IN (1", ",1", ")) }"),
    "timestamps": ("SELECT * { ?s ?p ?o FILTER(1", "+ timestamp(?s)", ") }"),
    "aggregates": ("SELECT * { ?s ?p ?o } AGGREGATE {", "(?n, COUNT, ?s)", "}"),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_chains_are_bounded(chain: str) -> None:
    head, link, tail = CHAINS[chain]
    for length in (max(MOST_LINKS, MOST_TRIPLES) * 2 + 2, 20_000):
        with pytest.raises(LanguageError) as caught:
            parse(head + link * length + tail)
        assert caught.value.code == "too-large"


def test_long_data_is_read() -> None:
    values = " ".join(f"<u:{number}>" for number in range(3000))
    assert parse(f"SELECT * {{ VALUES ?x {{ {values} }} }}").variables == ("x",)


def test_many_words() -> None:
    with pytest.raises(LanguageError) as caught:
        parse("SELECT * { VALUES ?x { " + "1 " * MOST_WORDS + "} }")
    assert (caught.value.code, caught.value.column) == ("too-large", 24 + 2 * (MOST_WORDS - 6))


def test_many_bytes() -> None:
    fits = "ASK {} #" + "é" * ((LONGEST_TEXT - 8) // 2)
    assert parse(fits).form == "ASK"
    with pytest.raises(LanguageError) as caught:
        parse(fits + "é")
    assert caught.value.code == "too-large"


def test_what_is_no_unicode() -> None:
    with pytest.raises(LanguageError) as caught:
        parse('ASK { ?s ?p "\ud800" }')
    assert (caught.value.code, caught.value.column) == ("bad-character", 14)
