"""The console's files: the page at `/`, what it names, and what stands there when nothing was built."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from csparql_spark.server.backend import Backend

HTML = {"Accept": "text/html"}


@pytest.fixture
def built(backend: Backend) -> None:
    dist = backend.settings.web / "dist"
    dist.mkdir(parents=True)
    (dist / "index.html").write_text("<p>the console</p>")
    (dist / "main-AB12CD34.js").write_text("console.log(1)")
    (dist / "licences.txt").write_text("MIT")
    (backend.settings.web / "secret.txt").write_text("not for everybody")


def test_browsers_get_the_page_and_programs_get_json(client: FlaskClient, built: None) -> None:
    page = client.get("/", headers=HTML)
    assert (page.text, page.content_type) == ("<p>the console</p>", "text/html; charset=utf-8")
    assert client.get("/").json["service"] == "csparql-spark"


def test_the_page_is_asked_for_anew_and_costs_nothing_then(client: FlaskClient, built: None) -> None:
    page = client.get("/", headers=HTML)
    assert (page.headers["Cache-Control"], page.headers["Vary"]) == ("no-cache", "Accept")
    again = client.get("/", headers={**HTML, "If-None-Match": page.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_what_is_named_by_its_content_is_kept_for_ever(client: FlaskClient, built: None) -> None:
    script = client.get("/console/main-AB12CD34.js")
    assert (script.text, script.mimetype) == ("console.log(1)", "text/javascript")
    assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert client.get("/console/licences.txt").headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "nothing.js",
        "secret.txt",
        "../secret.txt",
        "..%2Fsecret.txt",
        "%2e%2e/secret.txt",
        ".",
        "a/b.js",
        "main-AB12CD34.js/",
        "%00",
    ],
)
def test_nothing_else_is_served(client: FlaskClient, built: None, path: str) -> None:
    response = client.get(f"/console/{path}")
    assert (response.status_code, response.json["code"]) in [(404, "not-found"), (400, "bad-name")]
    assert b"not for everybody" not in response.data


def test_without_a_build_the_page_says_how_to_get_one(client: FlaskClient) -> None:
    page = client.get("/", headers=HTML)
    assert page.status_code == 200
    assert "make console" in page.text and 'href="/streams"' in page.text
    assert "<script" not in page.text
