"""The vocabulary: what there is, and what was seen."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.routes import vocabulary
from tests.server.playing import BASE, TEXT

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept: each look sees what there is."""
    monkeypatch.setattr(vocabulary, "FRESH_SECONDS", 0.0)


def push(client: FlaskClient, *triples: str, path: str = "/streams/s") -> None:
    send = client.put if path.startswith("/graphs") else client.post
    response = send(path, data="\n".join(triples).encode(), content_type="application/n-triples")
    assert response.status_code in (200, 201), response.text


def test_of_an_empty_server(client: FlaskClient) -> None:
    told = client.get("/vocabulary").json
    assert (told["streams"], told["graphs"], told["properties"], told["classes"]) == ([], [], [], [])
    assert told["prefixes"]["rdf"] == "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    assert "rdfs" in told["rules"] and "TUMBLING" in told["keywords"]


def test_names_of_what_there_is(client: FlaskClient) -> None:
    client.put("/streams/s")
    push(client, "<urn:a> <urn:p> <urn:b> .", path="/graphs?graph=urn:g")
    client.put("/rules/lab", data="[r: (?a <urn:p> ?b) -> (?b <urn:p> ?a)]")
    client.put("/queries/q", data=f"PREFIX my.own: <http://ex.org/own#>\nprefix : <http://ex.org/>\n{TEXT}")
    told = client.get("/vocabulary").json
    assert (told["streams"], told["graphs"]) == ([f"{BASE}/streams/s"], ["urn:g"])
    assert told["rules"][-1] == "lab"
    assert (told["prefixes"]["my.own"], told["prefixes"][""]) == ("http://ex.org/own#", "http://ex.org/")


def test_what_was_seen_most_often_comes_first(client: FlaskClient) -> None:
    client.put("/streams/s")
    push(
        client,
        "<urn:a> <urn:p> 'one' .".replace("'", '"'),
        f"<urn:a> {TYPE} <urn:C> .",
        f"<urn:b> {TYPE} <urn:C> .",
        f"_:x {TYPE} _:y .",
    )
    push(client, f"<urn:c> {TYPE} <urn:D> .", "<urn:a> <urn:q> <urn:b> .")
    push(client, "<urn:a> <urn:q> <urn:b> .", path="/graphs?graph=urn:g")
    told = client.get("/vocabulary").json
    assert told["properties"] == [
        {"iri": TYPE[1:-1], "count": 4},
        {"iri": "urn:q", "count": 2},
        {"iri": "urn:p", "count": 1},
    ]
    assert told["classes"] == [{"iri": "urn:C", "count": 2}, {"iri": "urn:D", "count": 1}]


def test_the_scan_is_bounded_and_begins_with_the_newest(
    client: FlaskClient, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.put("/streams/s")
    for number in range(5):
        push(client, *(f"<urn:{number}> <urn:p{number}> <urn:{row}> ." for row in range(10)))
    monkeypatch.setattr(vocabulary, "MOST_TRIPLES", 15)
    assert [told["iri"] for told in vocabulary.words_now(backend.stores)["properties"]] == ["urn:p4", "urn:p3"]
    monkeypatch.setattr(vocabulary, "NEWEST_ENTRIES", 1)
    assert [told["iri"] for told in vocabulary.words_now(backend.stores)["properties"]] == ["urn:p4"]
    monkeypatch.setattr(vocabulary, "MOST_TRIPLES", 9)
    assert vocabulary.words_now(backend.stores) == {"properties": [], "classes": []}


def test_a_look_is_kept_for_a_while(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "FRESH_SECONDS", 3600.0)
    client = create_app(backend).test_client()
    client.put("/streams/s")
    push(client, "<urn:a> <urn:p> <urn:b> .")
    assert [told["iri"] for told in client.get("/vocabulary").json["properties"]] == ["urn:p"]
    push(client, "<urn:a> <urn:q> <urn:b> .")
    assert [told["iri"] for told in client.get("/vocabulary").json["properties"]] == ["urn:p"]


def test_counting_agrees_with_counting() -> None:
    triples = [(f"<urn:{s}>", f"<urn:p{s * o % 3}>", f'"{o}"') for s in range(5) for o in range(5)]
    chunk = Chunk.from_triples(triples)
    naive: dict[str, int] = {}
    for _, p, _ in triples:
        naive[p[1:-1]] = naive.get(p[1:-1], 0) + 1
    assert vocabulary.counted(chunk, chunk.p) == naive
    assert vocabulary.counted(chunk, chunk.o) == {}
    assert vocabulary.counted(chunk, chunk.p[:0]) == {}
