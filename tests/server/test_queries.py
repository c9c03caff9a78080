"""Queries: registered, described, deleted."""

from __future__ import annotations

import json
import threading

import pytest

from csparql_spark.language import parse
from csparql_spark.language.queries.compiled import compiled
from csparql_spark.server.backend import Backend
from csparql_spark.store import QueryRecord
from tests.server.playing import BASE, TEXT, Engine, registered

STREAM = f"{BASE}/streams/s"
DESCRIBED = {
    "name": "q",
    "id": 2,
    "url": f"{BASE}/queries/q",
    "answers": f"{BASE}/queries/q/answers",
    "text": TEXT,
    "kind": "query",
    "form": "SELECT",
    "output": "RSTREAM",
    "every": None,
    "streams": [STREAM],
    "windows": [{"stream": STREAM, "range": 2000, "step": 1000}],
    "graphs": [],
    "named_graphs": [],
    "entailment": [],
    "warnings": [],
    "stream": None,
    "status": "running",
    "failure": None,
    "waiting_for": [],
    "oldest": None,
    "latest": None,
}


def described(response) -> dict[str, object]:
    """What is told of a query that was never replaced."""
    told = response.json
    version = {"version": told.pop("version"), "registered": told.pop("registered")}
    assert version["registered"] > 1_600_000_000_000
    assert told.pop("versions") == [{**version, "oldest": told["oldest"], "latest": told["latest"]}]
    assert response.headers.get("ETag", f'"{told["id"]}"') == f'"{version["version"]}"'
    return told


@pytest.fixture
def stream(client) -> str:
    return client.put("/streams/s?clock=event").json["iri"]


def test_registering(client, stream: str, backend: Backend) -> None:
    made = client.put("/queries/q", data=TEXT)
    assert (made.status_code, made.headers["Location"], described(made)) == (201, f"{BASE}/queries/q", DESCRIBED)
    entry = backend.stores.log.last("q", "register", backend.stores.log.tail())
    assert (entry.seq, json.loads(entry.payload)) == (
        2,
        {"text": TEXT, "base": f"{BASE}/", "compiled": compiled(parse(TEXT, base=f"{BASE}/"))},
    )


def test_the_same_text_again_changes_nothing(client, stream: str, backend: Backend) -> None:
    client.put("/queries/q", data=TEXT)
    again = client.put("/queries/q", data=TEXT)
    assert (again.status_code, again.headers["Location"], described(again)) == (200, f"{BASE}/queries/q", DESCRIBED)
    assert backend.stores.log.tail() == 2


def test_the_same_text_at_another_address_of_the_server(client, stream: str, backend: Backend) -> None:
    """A server that is started again on another port has other relative IRIs, and the same absolute ones."""
    relative = "SELECT ?s FROM STREAM <streams/s> [RANGE 5s] { ?s ?p ?o }"
    for name, text in (("q", TEXT), ("r", relative)):
        backend.stores.writer.append(QueryRecord.draft(name, text=text, base="http://127.0.0.1:9999/"))
    assert client.put("/queries/q", data=TEXT).status_code == 200
    assert client.put("/queries/r", data=relative).status_code == 409


@pytest.mark.parametrize(
    "media_type",
    [
        "application/sparql-query",
        "text/plain; charset=utf-8",
        "text/x-csparql",
        "application/x-www-form-urlencoded",
        "application/octet-stream",
        None,
    ],
)
def test_any_text_type(client, stream: str, media_type: str | None) -> None:
    assert client.put("/queries/q", data=TEXT, content_type=media_type).status_code == 201


def test_json(client, stream: str) -> None:
    assert client.put("/queries/q", json={"query": TEXT}).json["text"] == TEXT


def test_a_text_without_a_name_gets_that_of_the_url(client, stream: str) -> None:
    text = "SELECT ?s FROM STREAM <streams/s> [RANGE 5s] { ?s ?p ?o }"
    made = client.put("/queries/any.name-1", data=text).json
    assert (made["name"], made["form"], made["streams"]) == ("any.name-1", "SELECT", [STREAM])
    assert made["windows"] == [{"stream": STREAM, "range": 5000, "step": 5000}]


def test_a_description_tells_what_is_asked_for(client, stream: str) -> None:
    client.put("/graphs?graph=urn:g", data="", content_type="text/turtle")
    text = (
        "REGISTER QUERY q AS SELECT ISTREAM ?s FROM <urn:g> FROM NAMED <urn:g> FROM STREAM <streams/s> "
        "[RANGE TRIPLES 10 STEP 2] USING ENTAILMENT rdfs WHERE { ?s ?p ?o }"
    )
    made = client.put("/queries/q", data=text)
    assert made.status_code == 201, made.text
    told = {key: made.json[key] for key in ("graphs", "named_graphs", "entailment", "output", "every", "windows")}
    assert told == {
        "graphs": ["urn:g"],
        "named_graphs": ["urn:g"],
        "entailment": ["rdfs"],
        "output": "ISTREAM",
        "every": None,
        "windows": [{"stream": stream, "triples": 10, "triples_step": 2}],
    }


@pytest.mark.parametrize(
    "window, expected",
    [
        ("RANGE TRIPLES 10", {"triples": 10, "triples_step": 10}),
        ("ELEMENTS 5 STEP 1", {"elements": 5, "elements_step": 1}),
        ("RANGE 2m", {"range": 120_000, "step": 120_000}),
    ],
)
def test_a_description_tells_of_windows_how_far_they_go(
    client, stream: str, window: str, expected: dict[str, int]
) -> None:
    text = f"REGISTER QUERY q COMPUTE EVERY 5s AS SELECT ?s FROM STREAM <streams/s> [{window}] {{ ?s ?p ?o }}"
    told = client.put("/queries/q", data=text).json
    assert (told["every"], told["windows"]) == (5000, [{"stream": stream, **expected}])


def test_a_query_may_be_named_by_an_iri(client, stream: str) -> None:
    text = f"SELECT ?s FROM STREAM <{STREAM}> [RANGE 5s] {{ ?s ?p ?o }}"
    url = "/queries/http%3A%2F%2Fex.org%2Fq%2Fanswers"
    made = client.put(url, data=text)
    assert (made.status_code, made.json["name"]) == (201, "http://ex.org/q/answers")
    assert made.json["answers"] == f"{BASE}{url}/answers"
    assert client.get(f"{url}/answers").status_code == 204
    assert client.get(url).json["name"] == "http://ex.org/q/answers"


def test_a_mistake_comes_before_a_name_that_is_taken(client, stream: str) -> None:
    client.put("/queries/q", data=TEXT)
    broken = client.put("/queries/q", data=TEXT.replace("STEP 1s", "STEP 1"))
    assert (broken.status_code, broken.json["code"]) == (400, "bad-query")
    assert broken.json["errors"][0]["hint"] == "Write 1s for seconds."
    another = client.put("/queries/q", data=TEXT.replace("STEP 1s", "STEP 2s"))
    assert (another.status_code, another.json["code"]) == (409, "query-exists")


def test_queries_are_listed_in_order(client, stream: str) -> None:
    for name in ("b", "a"):
        client.put(f"/queries/{name}", data=TEXT.replace("QUERY q", f"QUERY {name}"))
    assert [query["name"] for query in client.get("/queries").json["queries"]] == ["b", "a"]


def test_a_description_tells_how_it_goes(client, engine: Engine) -> None:
    query = registered(client)
    engine.count(query, 1000, 2000, 3000)
    assert described(client.get("/queries/q")) == DESCRIBED | {"oldest": 1000, "latest": 3000}
    engine.fail(query, 4000, "too many rows")
    assert described(client.get("/queries/q")) == DESCRIBED | {
        "oldest": 1000,
        "latest": 3000,
        "status": "failed",
        "failure": {
            "at": 4000,
            "reason": "too many rows",
            "advice": f'To change it, PUT the changed text to {BASE}/queries/q with If-Match: "{query}" '
            "(or the same text, if the cause is gone).",
        },
    }


def test_deleting(client, engine: Engine) -> None:
    engine.count(registered(client), 1000)
    gone = client.delete("/queries/q")
    assert (gone.status_code, gone.data) == (204, b"")
    assert client.get("/queries/q").status_code == client.get("/queries/q/answers").status_code == 404


def test_a_name_that_is_used_again_is_another_query(client, engine: Engine) -> None:
    first = registered(client)
    engine.count(first, 1000)
    client.delete("/queries/q")
    second = client.put("/queries/q", data=TEXT).json
    assert second["id"] > first
    assert second["latest"] is None
    assert client.get("/queries/q/answers").status_code == 204


def test_of_many_who_register_one_does(client, stream: str, backend: Backend) -> None:
    app, told = client.application, []

    def register(number: int) -> None:
        response = app.test_client().put("/queries/q", data=TEXT + f" # {number}")
        told.append((response.status_code, number))

    threads = [threading.Thread(target=register, args=(number % 2,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [number for status, number in told if status == 201]
    assert sorted(told) == sorted([(201, winner)] + [(200, winner)] * 5 + [(409, 1 - winner)] * 6)
    assert backend.stores.log.tail() == 2


def test_a_query_whose_stream_goes_while_it_is_checked(client, stream: str, backend: Backend, monkeypatch) -> None:
    """The check is made again inside the log: what it was made against may be gone by then."""
    append = backend.stores.writer.append

    def append_late(draft, guard=None):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        assert client.application.test_client().delete("/streams/s").status_code == 204
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)
    refused = client.put("/queries/q", data=TEXT)
    assert (refused.status_code, refused.json["code"]) == (422, "unknown-stream")
    assert [entry.kind for entry in backend.stores.log.read(0, backend.stores.log.tail())] == ["stream", "drop"]


def test_a_query_whose_name_is_taken_while_it_is_checked(client, stream: str, backend: Backend, monkeypatch) -> None:
    append = backend.stores.writer.append

    def append_late(draft, guard=None):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        assert client.application.test_client().put("/queries/q", data=TEXT + " # quicker").status_code == 201
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)
    refused = client.put("/queries/q", data=TEXT)
    assert (refused.status_code, refused.json["code"]) == (409, "query-exists")
    assert [entry.kind for entry in backend.stores.log.read(0, backend.stores.log.tail())] == ["stream", "register"]


def test_the_ticker_hears_of_every_change(client, backend: Backend, monkeypatch) -> None:
    heard = []
    monkeypatch.setattr(backend.threads.ticker, "changed", lambda: heard.append(backend.stores.log.tail()))
    registered(client)
    client.put("/queries/q", data=TEXT)
    client.delete("/queries/q")
    client.delete("/streams/s")
    assert heard == [1, 2, 3, 4]
