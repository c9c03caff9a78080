"""The front page, and what is true of all routes."""

from __future__ import annotations

import pytest

from csparql_spark import __version__
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from tests.server.playing import BASE


def test_the_service_describes_itself(client) -> None:
    told = client.get("/").json
    assert (told["service"], told["version"]) == ("csparql-spark", __version__)
    for name in ("streams", "queries", "health"):
        assert told[name]["url"] == f"{BASE}/{name}"


@pytest.mark.parametrize(
    "accept, html",
    [
        (None, False),
        ("*/*", False),
        ("application/json", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", True),
        ("text/html;q=0.5, application/json", False),
    ],
)
def test_html_for_those_who_prefer_it(client, accept: str | None, html: bool) -> None:
    response = client.get("/", headers={"Accept": accept} if accept else {})
    assert response.content_type == ("text/html; charset=utf-8" if html else "application/json")
    if html:
        assert all(f'href="/{name}"' in response.text for name in ("streams", "queries", "health"))


def test_a_slash_at_the_end_changes_nothing(client) -> None:
    for path in ("/streams/", "/queries/", "/health/"):
        assert client.get(path).status_code == 200


def test_two_applications_share_nothing(backend: Backend) -> None:
    """What is common is the backend."""
    first, second = create_app(backend).test_client(), create_app(backend).test_client()
    first.put("/streams/s")
    push = {"data": "<urn:a> <urn:p> <urn:b> .", "content_type": "application/n-triples"}
    assert second.post("/streams/s", **push).status_code == 200
    first.delete("/streams/s")
    assert second.post("/streams/s", **push).status_code == 404


def test_json_ends_with_a_line(client) -> None:
    client.put("/streams/http%3A%2F%2Fex.org%2F%C3%BC")
    body = client.get("/streams").data
    assert body.endswith(b"}\n") and "http://ex.org/ü".encode() in body


def test_options_and_head_are_answered_everywhere(client) -> None:
    client.put("/streams/s")
    allowed = client.options("/streams/s").headers["Allow"]
    assert sorted(allowed.split(", ")) == ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"]
    assert client.head("/streams/s").data == b""
