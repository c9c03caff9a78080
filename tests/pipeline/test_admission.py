"""The sentences are part of the language that users meet: they are kept here word for word."""

from __future__ import annotations

import pytest

from csparql_spark.language import LanguageError
from csparql_spark.pipeline.admission import Refusal, admit, read

STREAM = "FROM STREAM <urn:s> [RANGE 10s STEP 5s]"
CAN = "what can be answered is SELECT over a basic graph pattern in one time window"


def refused(text: str, graphs: tuple[str, ...] = ()) -> tuple[str, str]:
    with pytest.raises(Refusal) as caught:
        admit(text, base=None, streams={"urn:s", "urn:t"}, graphs=graphs)
    return caught.value.code, str(caught.value)


def test_a_query_that_can_be_answered_is_let_in() -> None:
    query = admit(f"REGISTER QUERY q AS SELECT ?s {STREAM} FROM <urn:g> WHERE {{ ?s <urn:p> 1 }}", base=None,
                  streams=["urn:s"], graphs=["urn:g"])
    assert (query.name, query.variables, query.graphs) == ("q", ("s",), ("urn:g",))
    assert admit(f"SELECT ?s {STREAM} WHERE {{ ?s <p> 1 }}", base="http://x/", streams={"urn:s"}).name is None


def test_a_text_is_read_once() -> None:
    text = f"REGISTER QUERY q AS SELECT ?s {STREAM} WHERE {{ ?s <p> 1 }}"
    assert read(text, "http://x/") is read(text, "http://x/")
    assert read(text, "http://x/") != read(text, "http://y/")


def test_what_does_not_parse_is_refused_with_its_place() -> None:
    with pytest.raises(LanguageError) as caught:
        admit(f"REGISTER QUERY q AS SELECT ?s {STREAM}\nWHERE {{ ?s <urn:p> }}", base=None, streams={"urn:s"})
    assert (caught.value.line, caught.value.column) == (2, 20)


def test_what_is_not_there_is_named() -> None:
    assert refused("SELECT ?s FROM STREAM <urn:other> [RANGE 1s] WHERE { ?s ?p ?o }") == (
        "unknown-stream", "there is no stream <urn:other>: create it first with PUT /streams/{name or encoded IRI}")
    assert refused(f"SELECT ?s {STREAM} FROM <urn:g> FROM <urn:h> WHERE {{ ?s ?p ?o }}", ("urn:g",)) == (
        "unknown-graph", "there is no background graph <urn:h>: the server has none yet, and `csparql-spark run` takes "
                         "them with --background")
    assert refused("SELECT ?s WHERE { ?s ?p ?o }") == (
        "no-stream", "the query reads no stream: add FROM STREAM <…> [RANGE … STEP …] before WHERE")


@pytest.mark.parametrize("text, sentence", [
    (f"ASK {STREAM} {{ ?s ?p ?o }}", f"ASK is not supported yet: {CAN}"),
    (f"CONSTRUCT {{ ?s ?p ?o }} {STREAM} WHERE {{ ?s ?p ?o }}", f"CONSTRUCT is not supported yet: {CAN}"),
    (f"DESCRIBE ?s {STREAM} WHERE {{ ?s ?p ?o }}", f"DESCRIBE is not supported yet: {CAN}"),
    (f"REGISTER STREAM q AS CONSTRUCT {{ ?s ?p ?o }} {STREAM} WHERE {{ ?s ?p ?o }}",
     f"REGISTER STREAM is not supported yet: {CAN}"),
    (f"SELECT ISTREAM ?s {STREAM} WHERE {{ ?s ?p ?o }}",
     "ISTREAM is not supported yet: all answers are reported at each instant (RSTREAM)"),
    (f"REGISTER QUERY q COMPUTE EVERY 5s AS SELECT ?s {STREAM} WHERE {{ ?s ?p ?o }}",
     "COMPUTE EVERY is not supported yet: write the STEP that is wanted"),
    (f"SELECT ?s FROM STREAM <urn:s> [RANGE 1s] FROM STREAM <urn:t> [RANGE 2s] WHERE {{ ?s ?p ?o }}",
     f"more than one window is not supported yet: {CAN}"),
    ("SELECT ?s FROM STREAM <urn:s> [RANGE TRIPLES 5] WHERE { ?s ?p ?o }",
     "windows that count (TRIPLES, ELEMENTS) are not supported yet: write RANGE with a duration"),
    ("SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT5S STEP PT5S] WHERE { WINDOW <urn:w> { ?s ?p ?o } }",
     "named windows (WINDOW blocks) are not supported yet: write FROM STREAM"),
    (f"SELECT ?s {STREAM} FROM NAMED <urn:g> WHERE {{ ?s ?p ?o }}", f"FROM NAMED is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o FILTER(?o > 1) }}", f"FILTER is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o FILTER EXISTS {{ ?o ?p ?s }} }}", f"FILTER is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o OPTIONAL {{ ?o ?p ?x }} }}", f"OPTIONAL is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ {{ ?s ?p 1 }} UNION {{ ?s ?p 2 }} }}", f"UNION is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o MINUS {{ ?s ?p 2 }} }}", f"MINUS is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o BIND(1 AS ?x) }}", f"BIND and AS is not supported yet: {CAN}"),
    (f"SELECT (1 AS ?x) {STREAM} WHERE {{ ?s ?p ?o }}", f"BIND and AS is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}", f"GRAPH is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o }} ORDER BY ?s", f"ORDER BY is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o }} LIMIT 5", f"LIMIT and OFFSET is not supported yet: {CAN}"),
    (f"SELECT REDUCED ?s {STREAM} WHERE {{ ?s ?p ?o }}", f"REDUCED is not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ ?s <urn:p>+ ?o }}", f"property paths are not supported yet: {CAN}"),
    (f"SELECT ?s {STREAM} WHERE {{ SERVICE <urn:x> {{ ?s ?p ?o }} }}", f"SERVICE is not supported yet: {CAN}"),
])
def test_what_cannot_be_answered_is_named_with_what_can(text: str, sentence: str) -> None:
    assert refused(text, ("urn:g",)) == ("not-supported", sentence)


@pytest.mark.parametrize("text", [
    f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o VALUES ?o {{ 1 2 }} }}",
    f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o }} VALUES ?o {{ 1 2 }}",
    f"SELECT ?s {STREAM} WHERE {{ {{ SELECT ?s WHERE {{ ?s ?p ?o }} }} }}",
    f"SELECT ?s (COUNT(?o) AS ?n) {STREAM} WHERE {{ ?s ?p ?o }} GROUP BY ?s",
    f"SELECT ?s {STREAM} WHERE {{ ?s ?p ?o }} GROUP BY ?s HAVING (COUNT(?o) > 1)",
    f"SELECT ?s {STREAM} WHERE {{ {{ ?s ?p ?o }} {{ ?o ?p ?s }} }}",
])
def test_whatever_the_algebra_calls_it_nothing_else_slips_through(text: str) -> None:
    code, sentence = refused(text)
    assert code == "not-supported" and sentence.endswith(f" is not supported yet: {CAN}")
    assert not any(word in sentence for word in ("AggregateJoin", "ToMultiSet", "Extend", "LeftJoin"))
