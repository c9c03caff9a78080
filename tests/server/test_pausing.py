"""Pausing and resuming: routes, entries of the log, and who hears of it."""

from __future__ import annotations

import json

import pytest

from csparql_spark.server.backend import Backend
from csparql_spark.server.routes import pausing
from tests.server.playing import BASE, TEXT, Engine, registered

HOT = "REGISTER STREAM Hot AS CONSTRUCT { ?s ?p ?o } FROM STREAM <streams/s> [RANGE 2s STEP 1s] WHERE { ?s ?p ?o }"
READER = "SELECT ?s FROM STREAM <streams/{}> [RANGE 2s STEP 1s] WHERE {{ ?s ?p ?o }}"


def turns(backend: Backend) -> list[tuple[str, str, int]]:
    return [
        (entry.kind, entry.subject, json.loads(entry.payload)["id"])
        for entry in backend.stores.log.read(0, backend.stores.log.tail())
        if entry.kind in ("pause", "resume")
    ]


def test_a_query_is_paused_and_goes_on(client, backend: Backend) -> None:
    query = registered(client)
    running = client.get("/queries/q").json
    assert running["status"] == "running"
    for url, status in (("pause", "paused"), ("resume", "running"), ("pause", "paused")):
        told = client.post(f"/queries/q/{url}")
        assert (told.status_code, told.json) == (200, running | {"status": status})
        assert client.get("/queries/q").json == client.get("/queries").json["queries"][0] == told.json
    assert turns(backend) == [("pause", "q", query), ("resume", "q", query), ("pause", "q", query)]


def test_what_is_so_already_is_not_logged(client, backend: Backend) -> None:
    registered(client)
    assert client.post("/queries/q/resume").json["status"] == "running"
    for _ in range(2):
        assert client.post("/queries/q/pause").json["status"] == "paused"
    assert [kind for kind, _, _ in turns(backend)] == ["pause"]


def test_a_query_may_be_registered_paused(client, backend: Backend) -> None:
    client.put("/streams/s?clock=event")
    made = client.put("/queries/q?paused=true", data=TEXT)
    assert (made.status_code, made.json["status"]) == (201, "paused")
    assert [entry.kind for entry in backend.stores.log.read(0, backend.stores.log.tail())] == ["stream", "register"]
    for url in ("/queries/q?paused=true", "/queries/q"):
        again = client.put(url, data=TEXT)
        assert (again.status_code, again.json) == (200, made.json)
    assert client.post("/queries/q/resume").json["status"] == "running"
    assert client.put("/queries/q?paused=true", data=TEXT).json["status"] == "running"
    assert [kind for kind, _, _ in turns(backend)] == ["resume"]


def test_a_name_that_is_used_again_is_not_paused(client) -> None:
    registered(client)
    client.post("/queries/q/pause")
    client.delete("/queries/q")
    assert client.put("/queries/q", data=TEXT).json["status"] == "running"


@pytest.mark.parametrize("said", ["yes", "", "True"])
def test_neither_true_nor_false(client, said: str) -> None:
    client.put("/streams/s?clock=event")
    refused = client.put(f"/queries/q?paused={said}", data=TEXT)
    assert (refused.status_code, refused.json["code"], refused.json["detail"]) == (
        400,
        "bad-setting",
        f"paused={said} is neither true nor false.",
    )


@pytest.mark.parametrize("url", ["pause", "resume"])
def test_an_unknown_query(client, url: str) -> None:
    refused = client.post(f"/queries/nix/{url}")
    assert (refused.status_code, refused.json["code"]) == (404, "unknown-query")


@pytest.mark.parametrize("url", ["pause", "resume"])
def test_a_failed_query_stays_what_it_is(client, backend: Backend, engine: Engine, url: str) -> None:
    engine.fail(registered(client), 4000, "too many rows")
    refused = client.post(f"/queries/q/{url}")
    assert (refused.status_code, refused.json["code"], refused.json["detail"]) == (
        409,
        "query-failed",
        f"The query q failed at 4000, and answers no more: Too many rows. To change it, PUT the changed text to "
        f'{BASE}/queries/q with If-Match: "2" (or the same text, if the cause is gone).',
    )
    assert client.get("/queries/q").json["status"] == "failed"
    assert turns(backend) == []


def test_of_two_who_pause_one_is_logged(client, backend: Backend, monkeypatch) -> None:
    """The guard sees what has happened between the look and the entry."""
    registered(client)
    append = backend.stores.writer.append

    def append_late(draft, guard=None):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        pausing.pause(backend.stores, backend.threads, "q")
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)
    assert pausing.pause(backend.stores, backend.threads, "q").paused
    assert [kind for kind, _, _ in turns(backend)] == ["pause"]


def test_who_has_to_hear_of_it_does(client, backend: Backend, monkeypatch) -> None:
    heard = []
    registered(client)
    monkeypatch.setattr(backend.threads.ticker, "changed", lambda: heard.append("ticker"))
    monkeypatch.setattr(backend.threads.fanout, "changed", lambda: heard.append("subscribers"))
    client.post("/queries/q/resume")
    assert heard == []
    client.post("/queries/q/pause")
    assert heard == ["ticker", "subscribers"]


def test_readers_of_a_query_that_does_not_run_wait_for_it(client, backend: Backend, engine: Engine) -> None:
    client.put("/streams/s?clock=event")
    hot = client.put("/queries/Hot", data=HOT).json["id"]
    client.put("/queries/Hotter", data=HOT.replace("Hot ", "Hotter ").replace("streams/s", "streams/Hot"))
    client.put("/queries/r", data=READER.format("Hotter"))
    client.put("/queries/q", data=TEXT)

    def waiting() -> dict[str, list]:
        return {query["name"]: query["waiting_for"] for query in client.get("/queries").json["queries"]}

    assert waiting() == {"Hot": [], "Hotter": [], "r": [], "q": []}
    client.post("/queries/Hot/pause")
    paused = {"query": "Hot", "status": "paused"}
    assert waiting() == {"Hot": [], "Hotter": [paused], "r": [paused], "q": []}
    client.post("/queries/Hotter/pause")
    engine.fail(hot, 4000, "too many rows")
    failed = {"query": "Hot", "status": "failed"}
    assert waiting() == {"Hot": [], "Hotter": [failed], "r": [{"query": "Hotter", "status": "paused"}, failed], "q": []}
    assert client.get("/queries/r").json["waiting_for"] == waiting()["r"]
    assert f"{BASE}/streams/Hotter" in client.get("/queries/r").json["streams"]
