"""What is printed is read back as the same query: for texts of all corners, and for generated queries."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.language import ContinuousQuery, LanguageError, parse, show
from tests.examples import examples
from tests.language import texts

BASE = "http://base.example/"


def read_again(query: ContinuousQuery) -> None:
    printed = show(query)
    again = parse(printed)
    assert dataclasses.replace(again, text="", warnings=()) == dataclasses.replace(query, text="", warnings=())
    assert show(again) == printed


@pytest.mark.parametrize("text", [*texts.TWELVE.values(), *texts.RARE])
def test_texts(text: str) -> None:
    read_again(parse(text))


@pytest.mark.skipif(not texts.citybench(), reason=f"the CityBench queries are not at {texts.CITYBENCH}")
def test_the_benchmark() -> None:
    for text in texts.citybench().values():
        read_again(parse(f"REGISTER QUERY x COMPUTE EVERY 90s AS {text}"))


@pytest.mark.skipif(not texts.W3C.is_dir(), reason=f"the W3C's SPARQL tests are not at {texts.W3C}")
def test_queries_of_the_w3c() -> None:
    paths: list[Path] = sorted(texts.W3C.glob("sparql1*/**/*.rq"))[::9]
    read = 0
    for path in paths:
        try:
            query = parse(path.read_bytes().decode(), base=BASE)
        except LanguageError:
            continue
        read_again(query)
        read += 1
    assert read > 40


def test_the_order_and_the_spelling() -> None:
    text = (
        "PREFIX ex: <http://ex.org/> REGISTER ISTREAM ex:q COMPUTED EVERY PT1M AS select distinct ?x "
        "FROM STREAM ex:s [RANGE 60 sec STEP 30sec] USING ENTAILMENT rdfs, ex:e FROM NAMED ex:n "
        "FROM NAMED WINDOW ex:w ON ex:s [ELEMENTS 5] FROM ex:g FROM NAMED STREAM ex:t [RANGE 3 TRIPLES] "
        "{ ?x ?y ?z . WINDOW ex:w { ?x ?y ?z } } LIMIT 3"
    )
    assert show(parse(text)) == (
        "REGISTER QUERY <http://ex.org/q> COMPUTED EVERY 1m AS\n"
        "PREFIX ex: <http://ex.org/>\n"
        "select ISTREAM distinct ?x\n"
        "FROM <http://ex.org/g>\n"
        "FROM NAMED <http://ex.org/n>\n"
        "FROM STREAM <http://ex.org/s> [RANGE 1m STEP 30s]\n"
        "FROM NAMED WINDOW <http://ex.org/w> ON <http://ex.org/s> [ELEMENTS 5 STEP 5]\n"
        "FROM NAMED STREAM <http://ex.org/t> [RANGE TRIPLES 3 STEP 3]\n"
        "USING ENTAILMENT rdfs, <http://ex.org/e>\n"
        "{ ?x ?y ?z . GRAPH ex:w { ?x ?y ?z } } LIMIT 3"
    )


# Texts made of the grammar's own pieces, so that most of them are read.
WORDS = st.sampled_from(["q", "Gas", "42", "hot-rooms", "Step", "été", "<http://ex.org/q>", "ex:q"])
IRIS = st.sampled_from(["<http://ex.org/s>", "<s>", "ex:s", "<#t>", "ex:from"])
UNITS = st.sampled_from(["ms", " s", "s", "sec", "m", " minutes", "h", "d"])
DURATIONS = st.one_of(
    st.builds("{}{}".format, st.integers(1, 99), UNITS),
    st.builds("PT{}H{}.{:03}S".format, st.integers(0, 5), st.integers(1, 59), st.integers(0, 999)),
)
STEPS = st.sampled_from(["", " TUMBLING"]) | st.builds(" {} {}".format, st.sampled_from(["STEP", "slide"]), DURATIONS)
COUNT_STEPS = st.sampled_from(["", " TUMBLING"]) | st.builds(" STEP {}".format, st.integers(1, 99))
EXTENTS = st.one_of(
    st.builds("[RANGE {}{}]".format, DURATIONS, STEPS),
    st.builds("[RANGE TRIPLES {}{}]".format, st.integers(1, 99), COUNT_STEPS),
    st.builds("[ range {} Triples{} ]".format, st.integers(1, 99), COUNT_STEPS),
    st.builds("[ELEMENTS {}{}]".format, st.integers(1, 99), COUNT_STEPS),
)
CLAUSES = st.one_of(
    st.builds("FROM {}".format, IRIS),
    st.builds("from named {}".format, IRIS),
    st.builds("FROM STREAM {} {}".format, IRIS, EXTENTS),
    st.builds("FROM NAMED STREAM {} {}".format, IRIS, EXTENTS),
    st.builds("USING ENTAILMENT {}".format, st.sampled_from(["rdfs", "rho-df, <e>", "ex:rules"])),
    st.builds("# a comment about {}\n".format, IRIS),
)
OBJECTS = st.sampled_from(
    ["?y", "ex:o", "'a'", '"""b\n"c"""@en', "5", "-5.0", "+1e3", "true", "_:b", "[ ex:p ?z ]", "(1 ?y)", '"7"xsd:int']
    + ['"\\u00e9\\t"', "<o>", "ex:a\\,b", "'1'^^ex:t", "()", "[]"]
)
PATTERNS = st.recursive(
    st.one_of(
        st.builds("?x ex:p {} .".format, OBJECTS),
        st.builds("?x a ex:T; ex:q* {}, {}.".format, OBJECTS, OBJECTS),
        st.sampled_from(
            ["FILTER(timestamp(?x) > 5)", "FILTER(?y+1>-2&&?y IN (1,2))", "BIND(?y * 2 AS ?n)", "VALUES ?v { 1 UNDEF }"]
        ),
    ),
    lambda inner: st.one_of(
        st.builds("{{ {} }} UNION {{ {} }}".format, inner, inner),
        st.builds("OPTIONAL {{ {} }}".format, inner),
        st.builds("FILTER NOT EXISTS {{ {} }}".format, inner),
        st.builds("{{ SELECT ?x (COUNT(*) AS ?k) {{ {} }} GROUP BY ?x }}".format, inner),
        st.builds("{} {}".format, inner, inner),
        st.builds("WINDOW <w> {{ {} }}".format, inner),
    ),
    max_leaves=5,
)
FORMS = st.sampled_from(
    [
        ("SELECT ?x", ""),
        ("SELECT DISTINCT ISTREAM *", ""),
        ("SELECT ?x (SUM(?y) AS ?total)", "GROUP BY ?x HAVING (SUM(?y) > 1)"),
        ("SELECT ?x ?c", "AGGREGATE { (?c, COUNT, ?x) FILTER(?c > 1) }"),
        ("CONSTRUCT DSTREAM { ?x ex:r _:n }", "LIMIT 5"),
        ("CONSTRUCT { ?x ex:r 1 }", "GROUP BY ?x"),
        ("ASK", ""),
        ("DESCRIBE *", ""),
        ("DESCRIBE ?x <d>", "ORDER BY DESC(?x)"),
    ]
)


@st.composite
def generated(draw: st.DrawFn) -> str:
    form, tail = draw(FORMS)
    kind = draw(st.sampled_from(["QUERY", "QUERY", "STREAM", "DSTREAM", None]))
    every = draw(st.just("") | st.builds("COMPUTE EVERY {} ".format, DURATIONS))
    register = f"REGISTER {kind} {draw(WORDS)} {every}AS " if kind else ""
    pattern = draw(PATTERNS)
    clauses = [*draw(st.lists(CLAUSES, max_size=4)), "FROM STREAM <s> [RANGE 5s]"]
    if "WINDOW" in pattern:
        clauses.append("FROM NAMED WINDOW <w> ON ex:s [RANGE PT5S STEP PT1S]")
    return (
        f"BASE <http://base.example/> {register}PREFIX ex: <http://ex.org/>\r\n{form}\n{' '.join(clauses)} "
        f"WHERE {{ {pattern} }} {tail}"
    )


@settings(max_examples=examples(100), deadline=None)
@given(generated())
def test_generated_queries(text: str) -> None:
    try:
        query = parse(text)
    except LanguageError as error:
        # What the pieces cannot know of each other; anything else must be read.
        assert error.code in {
            "two-outputs",
            "stream-without-triples",
            "blank-node-scope",
            "variable-in-use",
            "not-grouped",
            "unbound-variable",
            "timestamp-unbound",
            "timestamp-ambiguous",
            "nothing-to-describe",
        }, f"{error}\n{error.picture(text)}"
        return
    read_again(query)
