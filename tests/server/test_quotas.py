"""How many streams, queries, graphs and rule sets there may be; and JSON and URLs within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings

SELECT = "SELECT ?s FROM STREAM <streams/a> [RANGE 1s] { ?s ?p ?o }"
MAKING = "REGISTER STREAM c AS CONSTRUCT { ?s ?p 1 } FROM STREAM <streams/a> [RANGE 1s] { ?s ?p ?o }"
RULES = "[r: (?a <urn:p> ?b) -> (?b <urn:p> ?a)]"


@pytest.fixture
def backend(settings: Settings) -> Iterator[Backend]:
    with Backend(replace(settings, most_streams=2, most_queries=1, most_graphs=1, most_rules=1)) as backend:
        yield backend


def test_there_is_room_for_so_many_and_no_more(client, backend: Backend) -> None:
    def put(url: str, body: str) -> tuple[int, str | None]:
        told = client.put(url, data=body, content_type="text/turtle" if "graphs" in url else "text/plain")
        return told.status_code, told.json.get("code")

    for url, other, body in (
        ("/streams/a", None, ""),
        ("/graphs?graph=urn:a", "/graphs?graph=urn:b", ""),
        ("/rules/a", "/rules/b", RULES),
        ("/queries/a", "/queries/b", SELECT),
    ):
        assert put(url, body)[0] == 201 and put(url, body)[0] == 200
        if other is not None:
            assert put(other, body) == (409, "limit-reached")
            assert put(url, body)[0] == 200, "what is there may be changed"
    assert client.delete("/queries/a").status_code == 204
    assert put("/streams/b", "")[0] == 201
    assert put("/streams/c", "") == put("/queries/c", MAKING) == (409, "limit-reached")
    assert client.delete("/streams/b").status_code == 204
    assert put("/queries/c", MAKING)[0] == 201
    assert {stream["name"] for stream in client.get("/streams").json["streams"]} == {"a", "c"}


def test_urls_have_an_end(client) -> None:
    told = client.get("/sparql?query=" + "x" * 33_000)
    assert (told.status_code, told.json["code"], told.json["limit"]) == (414, "long-url", 32768)


@pytest.mark.parametrize(
    "body",
    [
        '{"clock": ' + "[" * 200 + "]" * 200 + "}",
        '{"delay": ' + "9" * 20_000 + "}",
        '{"clock": "\\ud800"}',
        '{"clock": NaN}',
        '{"clock": "event", "clock": "arrival"}',
        "[" * 60_000,
    ],
)
def test_json_that_is_not_read(client, body: str) -> None:
    told = client.put("/streams/a", data=body)
    assert (told.status_code, told.json["code"]) == (400, "bad-body")


def test_the_text_of_a_query_as_json(client) -> None:
    client.put("/streams/a")
    assert client.put("/queries/a", json=SELECT).status_code == 201
    assert client.put("/queries/a", json={"query": SELECT}).status_code == 200
    assert client.put("/queries/b", json=[SELECT]).json["code"] == "bad-body"
