"""The sentences are part of the language that users meet: they are kept here word for word."""

from __future__ import annotations

import pytest

from csparql_spark.asking.admission import Refusal, admit
from csparql_spark.language import LanguageError

STREAM = "FROM STREAM <urn:s> [RANGE 10s STEP 5s]"


def refused(text: str, graphs: tuple[str, ...] = ()) -> tuple[str, str]:
    with pytest.raises(Refusal) as caught:
        admit(text, base=None, streams={"urn:s", "urn:t"}, graphs=graphs)
    return caught.value.code, str(caught.value)


def test_a_query_that_can_be_answered_is_let_in() -> None:
    query = admit(
        f"REGISTER QUERY q AS SELECT ?s {STREAM} FROM <urn:g> WHERE {{ ?s <urn:p> 1 }}",
        base=None,
        streams=["urn:s"],
        graphs=["urn:g"],
    )
    assert (query.name, query.variables, query.graphs) == ("q", ("s",), ("urn:g",))
    assert admit(f"SELECT ?s {STREAM} WHERE {{ ?s <p> 1 }}", base="http://x/", streams={"urn:s"}).name is None


def test_what_does_not_parse_is_refused_with_its_place() -> None:
    with pytest.raises(LanguageError) as caught:
        admit(f"REGISTER QUERY q AS SELECT ?s {STREAM}\nWHERE {{ ?s <urn:p> }}", base=None, streams={"urn:s"})
    assert (caught.value.line, caught.value.column) == (2, 20)


def test_what_is_not_there_is_named() -> None:
    assert refused("SELECT ?s FROM STREAM <urn:other> [RANGE 1s] WHERE { ?s ?p ?o }") == (
        "unknown-stream",
        "there is no stream <urn:other>: create it first with PUT /streams/{name or encoded IRI}",
    )
    assert refused(f"SELECT ?s {STREAM} FROM <urn:g> FROM <urn:h> WHERE {{ ?s ?p ?o }}", ("urn:g",)) == (
        "unknown-graph",
        "there is no background graph <urn:h>: load it first with PUT /graphs?graph={encoded IRI}, or "
        "give it to `csparql-spark run` with --background",
    )
    assert refused("SELECT ?s WHERE { ?s ?p ?o }") == (
        "no-stream",
        "the query reads no stream: add FROM STREAM <…> [RANGE … STEP …] before WHERE",
    )


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            f"ASK ISTREAM {STREAM} {{ ?s ?p ?o }}",
            "ISTREAM tells which rows are new or have ceased, and ASK has none: leave it out, or SELECT what the question is "
            "about",
        ),
        (
            f"SELECT ?s {STREAM} WHERE {{ SERVICE <urn:x> {{ ?s ?p ?o }} }}",
            "SERVICE is not supported: the server sends no requests on behalf of a query. Load what the other endpoint knows "
            "as a background graph",
        ),
    ],
)
def test_what_cannot_be_answered_is_named(text: str, sentence: str) -> None:
    assert refused(text, ("urn:g",)) == ("not-supported", sentence)


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            f"SELECT ?s {STREAM} FROM <urn:s> WHERE {{ ?s ?p ?o }}",
            "<urn:s> is read both as a stream and as a background graph: put one of them under another IRI",
        ),
        (
            "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT5S] FROM NAMED <urn:w> "
            "WHERE { GRAPH <urn:w> { ?s ?p ?o } }",
            "<urn:w> names both a window and a graph of FROM NAMED: give the window another name",
        ),
    ],
)
def test_two_things_of_one_name_are_refused(text: str, sentence: str) -> None:
    assert refused(text, ("urn:s", "urn:w")) == ("not-supported", sentence)


@pytest.mark.parametrize(
    "text",
    [
        f"ASK {STREAM} {{ ?s ?p ?o }}",
        f"CONSTRUCT {{ ?s ?p ?o }} {STREAM} WHERE {{ ?s ?p ?o }}",
        f"DESCRIBE ?s {STREAM} WHERE {{ ?s ?p ?o }}",
        f"SELECT ISTREAM ?s {STREAM} WHERE {{ ?s ?p ?o }}",
        f"REGISTER QUERY q COMPUTE EVERY 5s AS SELECT ?s {STREAM} WHERE {{ ?s ?p ?o }}",
        "SELECT ?s FROM STREAM <urn:s> [RANGE 1s] FROM STREAM <urn:t> [RANGE 2s] WHERE { ?s ?p ?o }",
        "SELECT ?s FROM STREAM <urn:s> [RANGE TRIPLES 5] WHERE { ?s ?p ?o }",
        "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT5S STEP PT5S] WHERE { WINDOW <urn:w> { ?s ?p ?o } }",
        f"SELECT ?s {STREAM} FROM NAMED <urn:g> WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}",
        f"SELECT ?s (COUNT(?o) AS ?n) {STREAM} WHERE {{ ?s ?p ?o FILTER(?o > 1) OPTIONAL {{ ?o ?p ?x }} }} GROUP BY ?s",
        f"SELECT ?s {STREAM} WHERE {{ {{ ?s <urn:p>+ 1 }} UNION {{ ?s ?p 2 }} MINUS {{ ?s ?p 3 }} }} ORDER BY ?s LIMIT 5",
    ],
)
def test_all_of_the_language_is_let_in(text: str) -> None:
    assert admit(text, base=None, streams={"urn:s", "urn:t"}, graphs={"urn:g"}).text == text
