from __future__ import annotations

import pytest

from csparql_spark.answers.bindings import Answer
from csparql_spark.language import LanguageError
from csparql_spark.pipeline.admission import Refusal
from csparql_spark.pipeline.once import ask
from csparql_spark.rdf.chunk import Chunk

GRAPHS = {
    "urn:g": Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:b>", "<urn:p>", '"01"')]),
    "urn:h": Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:c>", "<urn:p>", "<urn:b>")], [5, 6]),
    "urn:empty": Chunk.empty(),
}
SO = "SELECT ?s ?o {} WHERE {{ ?s <urn:p> ?o }}"


def rows(text: str, default_graphs: tuple[str, ...] | None = None) -> list[tuple[str, ...]]:
    answer = ask(text, GRAPHS, base=None, default_graphs=default_graphs)
    return [tuple(row.values()) for row in answer.table.rows()]


A, B, C = ("<urn:a>", "<urn:b>"), ("<urn:b>", '"01"'), ("<urn:c>", "<urn:b>")


def test_the_graphs_that_are_asked() -> None:
    assert rows(SO.format("")) == [A, B, C]                              # all: a triple in two graphs counts once
    assert rows(SO.format("FROM <urn:h>")) == [A, C]                     # those of the text
    assert rows(SO.format("FROM <urn:g> FROM <urn:h>")) == [A, B, C]
    assert rows(SO.format("FROM <urn:h>"), ("urn:g",)) == [A, B]         # those of the request
    assert rows(SO.format("FROM <urn:h>"), ()) == rows(SO.format("FROM <urn:empty>")) == []


def test_graphs_by_their_names() -> None:
    asked = "SELECT ?g ?s ?o {} WHERE {{ GRAPH ?g {{ ?s <urn:p> ?o }} }}"
    everything = ask(asked.format(""), GRAPHS, base=None)
    assert {row["g"] for row in everything.table.rows()} == {"<urn:g>", "<urn:h>"}
    (first, *rest) = ask(asked.format("FROM <urn:h> FROM NAMED <urn:g>"), GRAPHS, base=None).table.rows()
    assert {row["g"] for row in (first, *rest)} == {"<urn:g>"}
    given = ask(asked.format("FROM NAMED <urn:g>"), GRAPHS, base=None, named_graphs=["urn:h"]).table.rows()
    assert {row["g"] for row in given} == {"<urn:h>"}


def test_without_any_graph() -> None:
    assert ask(SO.format(""), {}, base=None, default_graphs=None) == Answer.from_rows(("s", "o"), [])
    assert ask("SELECT * WHERE { }", {}, base=None, default_graphs=None) == Answer.bindings((), (), 1)


def test_relative_names_start_from_the_base() -> None:
    graphs = {"http://x/g": Chunk.from_triples([("<http://x/a>", "<http://x/p>", "<http://x/b>")])}
    answer = ask("SELECT ?o FROM <g> WHERE { <a> <p> ?o }", graphs, base="http://x/", default_graphs=None)
    assert answer == Answer.from_rows(("o",), [{"o": "<http://x/b>"}])


@pytest.mark.parametrize("text, default_graphs, code, sentence", [
    (SO.format("FROM <urn:i>"), None, "unknown-graph", "there is no background graph <urn:i>"),
    (SO.format(""), ("urn:g", "urn:i"), "unknown-graph", "there is no background graph <urn:i>"),
    ("ASK { SERVICE <urn:x> { ?s ?p ?o } }", None, "not-supported",
     "SERVICE is not supported: the server sends no requests on behalf of a query. Load what the other endpoint knows as "
     "a background graph"),
])
def test_refusals(text: str, default_graphs: tuple[str, ...] | None, code: str, sentence: str) -> None:
    with pytest.raises(Refusal) as caught:
        rows(text, default_graphs)
    assert (caught.value.code, str(caught.value)) == (code, sentence)


def test_what_does_not_parse() -> None:
    with pytest.raises(LanguageError):
        rows("SELECT ?s WHERE { ?s }")
