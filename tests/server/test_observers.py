"""Observers over HTTP: added by URL, listed, deleted; and the words that pause and restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from tests.server.playing import BASE, registered

HOOK = "https://hooks.example.org/hot"
TEXT = {"content_type": "text/plain"}


@pytest.fixture
def backend(settings: Settings) -> Iterator[Backend]:
    with Backend(replace(settings, webhooks=("https://hooks.example.org/",), most_observers=2)) as backend:
        yield backend


def test_an_observer_is_added_read_and_deleted(client) -> None:
    registered(client)
    made = client.post("/queries/q", data=f" {HOOK}\n", **TEXT)
    id = made.json["id"]
    url = f"{BASE}/queries/q/observers/{id}"
    told = {
        "id": id,
        "query": "q",
        "url": url,
        "callback": HOOK,
        "when": "nonempty",
        "from": "latest",
        "signed": False,
        "status": "active",
        "created": made.json["created"],
        "position": None,
        "delivered": 0,
        "failures": 0,
        "failing_since": None,
        "error": None,
    }
    assert (made.status_code, made.headers["Location"], made.json) == (201, url, told)
    again = client.post("/queries/q", data=HOOK)  # as curl -d sends it
    assert (again.status_code, again.json) == (200, told)
    assert client.post("/queries/q", json=HOOK).json["id"] == id
    signed = client.post("/queries/q", json={"callback": HOOK, "secret": "s"})
    assert (signed.status_code, signed.json) == (200, told | {"signed": True})
    assert client.get("/queries/q/observers").json == {"query": "q", "observers": [told | {"signed": True}]}
    assert client.get(f"/queries/q/observers/{id}").json == told | {"signed": True}
    assert client.delete(f"/queries/q/observers/{id}").status_code == 204
    assert client.get(f"/queries/q/observers/{id}").json["code"] == "unknown-observer"
    assert client.delete(f"/queries/q/observers/{id}").status_code == 404


@pytest.mark.parametrize(
    "sent, shown",
    [
        ({"when": "always", "from": "beginning"}, {"when": "always", "from": "beginning"}),
        ({"when": "nonempty", "from": 1000}, {"when": "nonempty", "from": 1000, "position": 1000}),
        ({"from": "1970-01-01T00:00:02Z"}, {"when": "nonempty", "from": 2000, "position": 2000}),
        ({}, {"when": "nonempty", "from": "latest"}),
    ],
)
def test_what_is_sent_is_what_is_shown(client, sent: dict[str, object], shown: dict[str, object]) -> None:
    registered(client)
    made = client.post("/queries/q", json={"callback": HOOK, **sent}).json
    assert {name: made[name] for name in shown} == shown
    assert client.get(f"/queries/q/observers/{made['id']}").json == made


def test_the_old_name_of_a_callback_is_read_still(client) -> None:
    registered(client)
    made = client.post("/queries/q", json={"url": HOOK}).json
    assert made["callback"] == HOOK
    assert client.post("/queries/q", json={"url": HOOK, "callback": HOOK, "when": "always"}).json == (
        made | {"when": "always"}
    )


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", None])
def test_an_object_need_not_say_that_it_is_json(client, kind: str | None) -> None:
    """curl -d says that it sends a form."""
    registered(client)
    made = client.post("/queries/q", data=json.dumps({"callback": HOOK, "when": "always"}), content_type=kind)
    assert (made.status_code, made.json["callback"], made.json["when"]) == (201, HOOK, "always")


@pytest.mark.parametrize(
    "sent, said",
    [
        (
            {"callback": HOOK, "when": "changed"},
            "when is 'changed', and can be nonempty (an answer that says something), always (each answer) or changes "
            "(what has changed, where something has).",
        ),
        (
            {"callback": HOOK, "when": 5},
            "when is 5, and can be nonempty (an answer that says something), always (each answer) or changes (what "
            "has changed, where something has).",
        ),
        (
            {"callback": HOOK, "when": None},
            "when is None, and can be nonempty (an answer that says something), always (each answer) or changes (what "
            "has changed, where something has).",
        ),
        (
            {"callback": HOOK, "wen": "always"},
            "An observer has no setting 'wen', did you mean 'when'? It has callback, secret, from, when.",
        ),
        ({"callback": HOOK, "colour": 1}, "An observer has no setting 'colour': it has callback, secret, from, when."),
        ({"callback": HOOK, "url": HOOK + "2"}, "callback and url (its older name) name two places: leave url out."),
        (
            {"secret": "s"},
            'The body names no callback: send its URL as text, or {"callback": "https://hooks.example.org/", '
            '"secret": "…", "when": "nonempty"}.',
        ),
    ],
)
def test_what_is_wrong_is_said(client, sent: dict[str, object], said: str) -> None:
    registered(client)
    told = client.post("/queries/q", json=sent)
    assert (told.status_code, told.json["detail"]) == (400, said)


@pytest.mark.parametrize(
    "sent, status, code",
    [
        ({"data": "https://elsewhere.org/"}, 403, "url-not-allowed"),
        ({"data": "hello"}, 400, "bad-url"),
        ({"data": ""}, 400, "bad-url"),
        ({"json": {}}, 400, "bad-body"),
        ({"json": [HOOK]}, 400, "bad-body"),
        ({"json": {"url": HOOK, "secret": ""}}, 400, "bad-setting"),
        ({"json": {"url": HOOK, "x": 1}}, 400, "bad-setting"),
        ({"json": {"url": HOOK, "from": "now"}}, 400, "bad-instant"),
        ({"data": "action=stop"}, 400, "bad-setting"),
        ({"data": "{", "content_type": "application/json"}, 400, "bad-body"),
        ({"data": "[" * 50_000, "content_type": "application/json"}, 413, "too-large"),
        ({"data": "[" * 5000, "content_type": "application/json"}, 400, "bad-body"),
        ({"data": '{"url": "\\ud800"}', "content_type": "application/json"}, 400, "bad-body"),
        ({"data": '{"url": "a", "url": "b"}', "content_type": "application/json"}, 400, "bad-body"),
        ({"data": HOOK, "content_type": "image/png"}, 415, "unsupported-format"),
    ],
)
def test_what_is_no_observer(client, sent: dict[str, object], status: int, code: str) -> None:
    registered(client)
    told = client.post("/queries/q", **sent)
    assert (told.status_code, told.json["code"]) == (status, code)
    assert client.get("/queries/q/observers").json["observers"] == []


def test_of_a_query_that_is_not_there(client) -> None:
    for method, path in (("POST", ""), ("GET", "/observers"), ("GET", "/observers/x"), ("DELETE", "/observers/x")):
        assert client.open(f"/queries/nix{path}", method=method, data=HOOK).json["code"] == "unknown-query"


def test_there_are_only_so_many(client) -> None:
    registered(client)
    assert [client.post("/queries/q", data=HOOK + end).status_code for end in "abca"] == [201, 201, 409, 200]


@pytest.mark.parametrize(
    "data, sent", [("action=pause", TEXT), ("action=pause", {}), (None, {"json": {"action": "pause"}})]
)
def test_pause_and_restart(client, data: str | None, sent: dict[str, object]) -> None:
    registered(client)
    paused = client.post("/queries/q", data=data, **sent)
    assert (paused.status_code, paused.json["status"]) == (200, "paused")
    restarted = client.post("/queries/q", data="action=restart")
    assert (restarted.status_code, restarted.json["status"]) == (200, "running")
