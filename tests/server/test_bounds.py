"""What is read of a request, and told of what is stored, in the process that serves takes little whatever users send."""

from __future__ import annotations

import difflib
import json
import threading
from types import SimpleNamespace

import pytest

from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.formats import LONGEST_MESSAGE, RdfFormat, parse_push
from csparql_spark.server.http.documents import json_of
from csparql_spark.server.http.front import Front
from csparql_spark.server.http.limits import ConnectionLimits
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.routes import check, timeline, vocabulary
from tests.server.playing import BASE


class CountedName(str):
    """A name that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedName.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_name_that_occurs_twice_is_found_by_looking_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from csparql_spark.server.http import documents

    once = documents._once
    monkeypatch.setattr(
        documents, "_once", lambda members: once([(CountedName(name), value) for name, value in members])
    )
    names = [*(f"a{n}" for n in range(3000)), "z", "z"]
    with pytest.raises(Problem, match="the name 'z' occurs twice"):
        json_of("{" + ",".join(f'"{name}":1' for name in names) + "}", "The body", "{}")
    assert CountedName.compared < 10 * len(names)


def test_few_names_are_compared_for_one_that_is_meant(client, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def close(name: str, names: list[str], **how: object) -> list[str]:
        compared.append(len(names))
        return difflib.get_close_matches(name, names, **how)

    monkeypatch.setattr(check, "get_close_matches", close)
    for number in range(40):
        client.put(f"/streams/number-{number}-of-many")
    wrong = [f"FROM STREAM <{BASE}/streams/number-{n}-of-may> [RANGE 1s STEP 1s]" for n in range(30)]
    told = client.post("/check", data=f"SELECT ?s {' '.join(wrong)} {{ ?s ?p ?o }}", content_type="text/plain").json
    assert len(told["errors"]) == check.MOST_MISTAKES
    assert compared == [check.MOST_COMPARED] * check.MOST_MEANT
    assert told["errors"][7]["hint"] == "Create it first."
    for number in range(3):
        assert told["errors"][number]["hint"] == f"Did you mean {BASE}/streams/number-{number}-of-many?"
    assert check.similar("x" * 1000, ["x" * 999]) == []


def test_elements_are_told_up_to_so_much_text(client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_TEXT", 2500)
    client.put("/streams/s")
    long = f'"{"x" * 1000}"'
    lines = "".join(f"<urn:{n}> <urn:p> {long} .\n" for n in range(5))
    for body in (lines, f'<urn:last> <urn:p> "{"y" * 5000}" .\n'):
        assert client.post("/streams/s", data=body, content_type="application/n-triples").status_code == 200
    told = client.get("/streams/s/elements").json["elements"]
    assert [one["triple"][0] for one in told] == ["<urn:last>"], "one is told, however long"
    assert client.post("/streams/s", data=lines, content_type="application/n-triples").status_code == 200
    told = client.get("/streams/s/elements").json["elements"]
    assert [one["triple"][0] for one in told] == ["<urn:4>", "<urn:3>"]
    assert [one["triple"][0] for one in client.get("/streams/s/elements?limit=1").json["elements"]] == ["<urn:4>"]


def test_words_are_short_and_few_bytes_are_looked_at_for_them(client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.put("/streams/s")
    body = f"<urn:s> <urn:p> 1 . <urn:s> <urn:{'p' * 3000}> 2 . <urn:s> a <urn:{'C' * 3000}> ."
    assert client.post("/streams/s", data=body, content_type="text/turtle").status_code == 200
    monkeypatch.setattr(vocabulary, "FRESH_SECONDS", 0.0)
    told = client.get("/vocabulary").json
    assert {word["iri"] for word in told["properties"]} == {"urn:p", vocabulary.TYPE[1:-1]} and told["classes"] == []
    monkeypatch.setattr(vocabulary, "MOST_BYTES", 100)
    assert client.get("/vocabulary").json["properties"] == []


def test_a_content_type_is_short(client) -> None:
    told = client.post("/check", data="x", headers={"Content-Type": 'text/plain;a="' + '\\"' * 20_000})
    assert (told.status_code, told.json["code"]) == (400, "bad-request")
    assert told.json["detail"].startswith("The Content-Type has more than 1000 characters")


def test_what_a_parser_says_is_not_all_that_it_was_given() -> None:
    with pytest.raises(RdfError) as error:
        parse_push(b"A" * 100_000, RdfFormat.TURTLE, base=None, blank_prefix="b")
    assert len(error.value.message) <= LONGEST_MESSAGE


def test_what_is_unpacked_counts_until_it_is_answered() -> None:
    front = SimpleNamespace(_counting=threading.Lock(), _bodies=900, limits=ConnectionLimits(body_bytes=1000))
    connection = SimpleNamespace(counted=100, buffer=b"", body=None)
    Front.unpacked(front, connection, 100)
    with pytest.raises(Problem) as problem:
        Front.unpacked(front, connection, 1)
    assert (problem.value.status, front._bodies, connection.counted) == (503, 1000, 200)
    Front._count(front, connection)
    assert (front._bodies, connection.counted) == (800, 0)
    assert json.loads(problem.value.body())["code"] == "busy"
