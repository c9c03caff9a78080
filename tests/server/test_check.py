"""Checking a text: what a registration would say, at its place, with what to write instead; and nothing is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from csparql_spark.language.errors import Fix
from csparql_spark.language.queries.mentions import Mention, mentions
from tests.server.playing import BASE, TEXT

GOLDENS = sorted((Path(__file__).parents[1] / "language" / "errors").glob("*.rq"))


@pytest.fixture(autouse=True)
def streams(client: FlaskClient) -> None:
    assert client.put("/streams/s").status_code == 201


def checked(client: FlaskClient, text: str, **asked: str) -> dict:
    response = client.post("/check", query_string=asked, data=text.encode(), content_type="text/plain")
    assert response.status_code == 200, response.text
    return response.json


def mended(text: str, error: dict) -> str:
    fix = error["fix"]
    return Fix(fix["label"], fix["line"], fix["column"], fix["endLine"], fix["endColumn"], fix["text"]).applied(text)


def test_a_text_that_would_be_registered_is_fine_and_nothing_is_done(client: FlaskClient) -> None:
    assert checked(client, TEXT) == {
        "ok": True,
        "kind": "query",
        "name": "q",
        "form": "SELECT",
        "streams": [f"{BASE}/streams/s"],
        "windows": [{"stream": f"{BASE}/streams/s", "range": 2000, "step": 1000}],
        "warnings": [],
        "errors": [],
    }
    assert client.get("/queries").json == {"queries": []}


def test_a_mistake_has_a_place_a_hint_and_a_fix(client: FlaskClient) -> None:
    text = TEXT.replace("2s STEP", "2 STEP")
    told = checked(client, text)
    column = text.index("2 STEP") + 1
    assert (told["ok"], told["errors"]) == (
        False,
        [
            {
                "line": 1,
                "column": column,
                "endLine": 1,
                "endColumn": column + 1,
                "message": "2 has no unit.",
                "hint": "Write 2s for seconds.",
                "code": "missing-unit",
                "fix": {
                    "label": "Write 2s",
                    "line": 1,
                    "column": column,
                    "endLine": 1,
                    "endColumn": column + 1,
                    "text": "2s",
                },
            }
        ],
    )
    assert checked(client, mended(text, told["errors"][0]))["ok"]


def test_a_refused_registration_says_the_same(client: FlaskClient) -> None:
    text = TEXT.replace("2s STEP", "2 STEP")
    [refused] = client.put("/queries/q", data=text).json["errors"]
    [error] = checked(client, text)["errors"]
    assert refused["fix"] == error["fix"]
    assert {name: error[name] for name in refused} == refused


def test_all_that_is_not_there_is_told_where_the_text_names_it(client: FlaskClient) -> None:
    text = (
        f"PREFIX p: <{BASE}/streams/>\nREGISTER QUERY q USING ENTAILMENT rdsf AS SELECT ?s\n"
        f"FROM <urn:nowhere>\nFROM STREAM p:s2 [RANGE 2s STEP 1s] WHERE {{ ?s ?p ?o }}"
    )
    errors = checked(client, text)["errors"]
    assert [(error["code"], error["line"], error["column"], error["endColumn"]) for error in errors] == [
        ("unknown-rules", 2, 35, 39),
        ("unknown-graph", 3, 6, 19),
        ("unknown-stream", 4, 13, 17),
    ]
    assert [error["hint"] for error in errors] == [
        "Did you mean rdfs?",
        "Load it first.",
        f"Did you mean {BASE}/streams/s?",
    ]
    text = mended(mended(text, errors[2]), errors[0])
    assert [error["code"] for error in checked(client, text)["errors"]] == ["unknown-graph"]


def test_a_prefix_that_another_query_declares_can_be_taken_over(client: FlaskClient) -> None:
    client.put("/queries/q", data=f"PREFIX mine: <http://ex.org/mine#>\n{TEXT}")
    text = "# a comment\n" + TEXT.replace("QUERY q", "QUERY r").replace("<urn:n>", "mine:n")
    [error] = checked(client, text)["errors"]
    assert error["code"] == "undeclared-prefix"
    assert error["fix"]["label"] == "Add PREFIX mine: <http://ex.org/mine#>"
    assert mended(text, error).splitlines()[:2] == ["# a comment", "PREFIX mine: <http://ex.org/mine#>"]
    assert checked(client, mended(text, error))["ok"]


def test_a_name_that_is_taken(client: FlaskClient) -> None:
    client.put("/queries/q", data=TEXT)
    assert checked(client, TEXT)["ok"]
    [error] = checked(client, TEXT.replace("?s ?n FROM", "?n FROM"))["errors"]
    assert (error["code"], error["line"], error["column"], error["endColumn"]) == ("query-exists", 1, 16, 17)
    told = [
        client.post("/check", data=TEXT.replace("2s", "3s"), headers={"If-Match": tag}).json["errors"]
        for tag in ("*", client.get("/queries/q").headers["ETag"], '"99"')
    ]
    assert [[error["code"] for error in errors] for errors in told] == [[], [], ["precondition-failed"]]
    [error] = checked(client, TEXT, name="other")["errors"]
    assert (error["code"], error["column"]) == ("name-mismatch", 16)
    text = TEXT.replace("QUERY q AS SELECT ?s ?n", "STREAM s AS CONSTRUCT { ?s <urn:n> ?n }")
    [error] = checked(client, text)["errors"]
    assert (error["code"], error["column"]) == ("stream-exists", 17)


def test_what_is_refused_without_a_place_is_told_at_the_beginning(client: FlaskClient) -> None:
    [error] = checked(client, "SELECT ?s WHERE { ?s ?p ?o }")["errors"]
    assert (error["code"], error["line"], error["column"], error["fix"]) == ("no-stream", 1, 1, None)


def test_warnings_have_places(client: FlaskClient) -> None:
    told = checked(client, TEXT.replace("<urn:n>", "rdf:n"))
    assert told["ok"]
    [warning] = told["warnings"]
    assert (warning["line"], warning["column"]) == (1, TEXT.index("<urn:n>") + 1)
    assert warning["message"].startswith('the prefix "rdf:" is not declared')


def test_questions(client: FlaskClient) -> None:
    assert checked(client, "SELECT ?s FROM <urn:nowhere> { ?s ?p ?o }", kind="question")["ok"]
    codes = [error["code"] for error in checked(client, TEXT, kind="question")["errors"]]
    assert codes == ["refused"]
    assert [error["code"] for error in checked(client, "SELECT", kind="question")["errors"]] == ["unexpected"]


def test_rule_files(client: FlaskClient) -> None:
    assert checked(client, "[r: (?a <urn:p> ?b) -> (?b <urn:q> ?a)]", kind="rules", name="lab")["rules"] == 1
    [error] = checked(client, "[r: (?a <urn:p> ?b) -> (?b <urn:q> ?c)]", kind="rules")["errors"]
    assert (error["line"], error["code"]) == (1, "unsafe-rule") or "?c" in error["message"]
    [error] = checked(client, "[r: (?a <urn:p> ?b) -> (?b <urn:q> ?a)]", kind="rules", name="rdfs")["errors"]
    assert error["code"] == "built-in-rules"
    assert [rules for rules in client.get("/rules").json["rules"] if not rules["built_in"]] == []


def test_kinds_that_there_are(client: FlaskClient) -> None:
    response = client.post("/check?kind=poem", data="x", content_type="text/plain")
    assert (response.status_code, response.json["code"]) == (400, "bad-setting")


@pytest.mark.parametrize("case", GOLDENS, ids=lambda path: path.stem)
def test_every_known_mistake_is_told_as_a_registration_tells_it(client: FlaskClient, case: Path) -> None:
    text = case.read_bytes().decode()
    errors = checked(client, text)["errors"]
    refused = client.put("/queries/q", data=text.encode()).json
    if refused.get("errors"):
        assert [(error["code"], error["line"], error["column"]) for error in errors] == [
            (error["code"], error["line"], error["column"]) for error in refused["errors"]
        ]
    assert errors


def test_mentions_are_where_the_text_names_things() -> None:
    text = (
        "PREFIX e: <http://ex.org/> REGISTER QUERY e:q USING ENTAILMENT rdfs AS SELECT ?s FROM e:g "
        "FROM NAMED WINDOW e:w ON <t> [RANGE PT5S] FROM STREAM e:s [RANGE 5s] "
        "WHERE { ?s ?p ?o . GRAPH e:h { ?s ?p ?o } WINDOW e:w { ?a ?b ?c } }"
    )
    found = mentions(text, "http://base.org/")
    assert [(one.role, one.name, text[one.start : one.end]) for one in found] == [
        ("name", "http://ex.org/q", "e:q"),
        ("rules", "rdfs", "rdfs"),
        ("graph", "http://ex.org/g", "e:g"),
        ("stream", "http://base.org/t", "<t>"),
        ("stream", "http://ex.org/s", "e:s"),
    ]
    assert mentions("ASK FROM STREAM <urn:s> [RANGE 5s] { }") == [Mention("stream", "urn:s", 16, 23)]


def test_an_empty_rule_file_is_told_what_put_says(client) -> None:
    put = client.put("/rules/lab", data="")
    assert (put.status_code, put.json["code"]) == (400, "empty-body")
    told = client.post("/check?kind=rules&name=lab", data="").json
    assert told["ok"] is False
    assert [(error["code"], error["message"]) for error in told["errors"]] == [("empty-body", put.json["detail"])]
