"""Rule sets: those of the server, and those that users bring."""

from __future__ import annotations

import pytest

from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.guarded.texts import Texts
from csparql_spark.entailment.rules.sets import NAMES, text_of
from csparql_spark.language import parse_rules
from csparql_spark.server.backend import Backend
from tests.server.playing import BASE

PARTS = "# Parts of parts.\n[parts: (?a <urn:isIn> ?b) (?b <urn:isIn> ?c) -> (?a <urn:isIn> ?c)]\n"
BOTH = "@include <rdfs>.\n" + PARTS + "[known: -> (<urn:a> <urn:isIn> <urn:b>)]"
QUERY = "REGISTER QUERY q AS SELECT ?s FROM STREAM <streams/s> [RANGE 1h] USING ENTAILMENT {} WHERE {{ ?s ?p ?o }}"


def told(response) -> dict[str, object]:
    found = dict(response.json)
    assert found.pop("changed") > 1_600_000_000_000
    return found


def test_setting_a_rule_set(client, backend: Backend) -> None:
    made = client.put("/rules/lab", data=PARTS)
    described = {"name": "lab", "url": f"{BASE}/rules/lab", "built_in": False, "rules": 1, "warnings": []}
    assert (made.status_code, made.headers["Location"], told(made)) == (201, f"{BASE}/rules/lab", described)
    entry = backend.stores.log.last("lab", "rules", backend.stores.log.tail())
    assert (entry.payload.decode(), entry.rows) == (PARTS, 1)
    again = client.put("/rules/lab", data=PARTS)
    assert (again.status_code, again.json) == (200, made.json)
    assert backend.stores.log.tail() == 1
    other = client.put("/rules/lab", data=BOTH)
    assert (other.status_code, told(other)) == (200, described | {"rules": 2})
    read = client.get("/rules/lab")
    assert (read.text, read.content_type) == (BOTH, "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain; charset=utf-8",
        "application/x-jena-rules",
        None,
        "text/x-rules",
        "application/x-www-form-urlencoded",
        "application/octet-stream",
    ],
)
def test_any_text_type(client, media_type: str | None) -> None:
    assert client.put("/rules/lab", data=PARTS, content_type=media_type).status_code == 201


def test_an_iri_names_a_rule_set(client) -> None:
    made = client.put("/rules/http%3A%2F%2Fex.org%2Frules", data=PARTS)
    assert (made.json["name"], made.json["url"]) == ("http://ex.org/rules", f"{BASE}/rules/http%3A%2F%2Fex.org%2Frules")
    assert client.get("/rules/http://ex.org/rules").text == PARTS
    client.put("/streams/s?clock=event")
    assert client.put("/queries/q", data=QUERY.format("<http://ex.org/rules>")).status_code == 201
    assert client.delete("/rules/http://ex.org/rules").status_code == 409


def test_warnings_are_told(client) -> None:
    text = "@include <OWL>."
    assert client.put("/rules/lab", data=text).json["warnings"] == list(parse_rules(text).warnings) != []


def test_a_file_without_rules(client) -> None:
    assert client.put("/rules/lab", data="# none yet\n").json["rules"] == 0
    assert client.get("/rules/lab").text == "# none yet\n"
    assert client.put("/rules/empty", data="\n").status_code == 201
    assert client.get("/rules/empty").text == "\n"
    assert client.put("/rules/empty", data="\n").status_code == 200


def test_all_are_listed_those_of_the_server_first(client) -> None:
    for name in ("b", "a"):
        client.put(f"/rules/{name}", data=PARTS)
    listed = client.get("/rules").json["rules"]
    assert [(one["name"], one["built_in"]) for one in listed] == [
        *((name, True) for name in NAMES),
        ("a", False),
        ("b", False),
    ]
    for one in listed[: len(NAMES)]:
        assert one == {
            "name": one["name"],
            "url": f"{BASE}/rules/{one['name']}",
            "built_in": True,
            "rules": len(parse_rules(text_of(one["name"])).rules),
            "changed": None,
            "warnings": [],
        }


@pytest.mark.parametrize("name, ours", [*((name, name) for name in NAMES), ("RDFS", "rdfs-full")])
def test_those_of_the_server_can_be_read(client, name: str, ours: str) -> None:
    assert client.get(f"/rules/{name}").text == text_of(ours)


@pytest.mark.parametrize("name", [*NAMES, "RDFS", "Rdfs", "OWLMini", "http://www.w3.org/ns/entailment/RDFS"])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_those_of_the_server_stay_as_they_are(client, backend: Backend, name: str, method: str) -> None:
    refused = client.open(f"/rules/{name}", method=method, data=PARTS)
    assert (refused.status_code, refused.json["code"]) == (409, "built-in-rules")
    assert backend.stores.log.tail() == 0


def test_deleting(client, backend: Backend) -> None:
    client.put("/rules/lab", data=PARTS)
    gone = client.delete("/rules/lab")
    assert (gone.status_code, gone.data) == (204, b"")
    assert client.get("/rules/lab").status_code == client.delete("/rules/lab").status_code == 404
    assert [(entry.kind, entry.payload) for entry in backend.stores.log.read(0, backend.stores.log.tail())] == [
        ("rules", PARTS.encode()),
        ("rules", None),
    ]
    assert client.put("/rules/lab", data=PARTS).status_code == 201


def test_rules_that_are_used_stay_until_no_query_uses_them(client) -> None:
    client.put("/streams/s?clock=event")
    client.put("/rules/lab", data=PARTS)
    client.put("/rules/other", data=PARTS)
    made = client.put("/queries/q", data=QUERY.format("rdfs, lab"))
    assert (made.status_code, made.json["entailment"]) == (201, ["rdfs", "lab"])
    refused = client.delete("/rules/lab")
    assert (refused.status_code, refused.json["code"], refused.json["queries"]) == (409, "rules-in-use", ["q"])
    assert client.delete("/rules/other").status_code == 204
    assert client.put("/rules/lab", data=BOTH).status_code == 200
    client.delete("/queries/q")
    assert client.delete("/rules/lab").status_code == 204


def test_rules_that_parse_and_cannot_be_followed(client, backend: Backend, monkeypatch) -> None:
    client.put("/rules/other", data=BOTH)

    def refuse(texts: Texts, name: str, text: str, others: dict[str, str], used: object) -> None:
        raise Refusal("bad-rules", f"{name} among {sorted(others.items())} would never end")

    monkeypatch.setattr(Texts, "rule_file", refuse)
    refused = client.put("/rules/lab", data=PARTS)
    assert (refused.status_code, refused.json["code"], refused.json["detail"]) == (
        422,
        "bad-rules",
        f"Lab among [('other', {BOTH!r})] would never end.",
    )
    assert backend.stores.log.tail() == 1


def test_a_query_with_rules_that_are_not_there(client) -> None:
    client.put("/streams/s?clock=event")
    refused = client.put("/queries/q", data=QUERY.format("lab"))
    assert (refused.status_code, refused.json["code"]) == (422, "unknown-rules")


def test_a_query_whose_rules_go_while_it_is_checked(client, backend: Backend, monkeypatch) -> None:
    client.put("/streams/s?clock=event")
    client.put("/rules/lab", data=PARTS)
    append = backend.stores.writer.append

    def append_late(draft, guard=None):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        assert client.application.test_client().delete("/rules/lab").status_code == 204
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)
    refused = client.put("/queries/q", data=QUERY.format("lab"))
    assert (refused.status_code, refused.json["code"]) == (422, "unknown-rules")
    log = backend.stores.log
    assert [entry.kind for entry in log.read(0, log.tail())] == ["stream", "rules", "rules"]


def test_who_is_overtaken_sets_it_all_the_same(client, backend: Backend, monkeypatch) -> None:
    append = backend.stores.writer.append

    def append_late(draft, guard=None):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        assert client.application.test_client().put("/rules/lab", data=BOTH).status_code == 201
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)
    assert client.put("/rules/lab", data=PARTS).status_code == 200
    assert client.get("/rules/lab").text == PARTS
    assert backend.stores.log.tail() == 2


COUNTING = "[count: (?x <urn:a> ?n) addOne(?n, ?m) -> (?x <urn:b> ?m)]"
BACK = "[back: (?x <urn:b> ?n) -> (?x <urn:a> ?n)]"
FOR_EVER = "that it might never end: give what it derives a predicate of its own."


def test_sets_that_end_alone_and_not_together(client) -> None:
    client.put("/streams/s")
    for name, text in (("counting", COUNTING), ("back", BACK), ("parts", PARTS)):
        assert client.put(f"/rules/{name}", data=text).status_code == 201
    refused = client.put("/queries/q", data=QUERY.format("counting, back"))
    assert (refused.status_code, refused.json["code"]) == (422, "bad-rules")
    assert refused.json["detail"].startswith("The rule sets counting, back cannot be used together: The rule [count: ")
    assert refused.json["detail"].endswith(FOR_EVER)
    assert client.put("/queries/q", data=QUERY.format("counting, parts")).status_code == 201
    assert client.put("/queries/r", data=QUERY.format("back, parts").replace(" q ", " r ")).status_code == 201
    refused = client.put("/rules/parts", data=BACK)
    assert (refused.status_code, refused.json["code"]) == (422, "bad-rules")
    assert refused.json["detail"].startswith("The rule sets counting, parts cannot be used together: ")
    assert client.get("/rules/parts").text == PARTS
    client.delete("/queries/q")
    assert client.put("/rules/parts", data=BACK).status_code == 200


def test_nothing_is_no_rule_set(client) -> None:
    """Somebody has forgotten the file, and the rules that are there stay."""
    client.put("/rules/own", data="[r: (?a <urn:p> ?b) -> (?b <urn:p> ?a)]", content_type="text/plain")
    told = client.put("/rules/own", content_type="text/plain")
    assert (told.status_code, told.json["code"]) == (400, "empty-body")
    assert "urn:p" in client.get("/rules/own").text
    assert client.put("/rules/own", data="# none", content_type="text/plain").json["rules"] == 0
