"""Answers over HTTP: which instant, and in which format."""

from __future__ import annotations

import pytest

from csparql_spark.answers.bindings import Answer
from tests.server.playing import TEXT, Engine, registered

JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
CSV, TSV = "text/csv; charset=utf-8", "text/tab-separated-values; charset=utf-8"
LD, TURTLE, NT = "application/ld+json", "text/turtle; charset=utf-8", "application/n-triples"
TABLE = Answer.from_rows(("s", "n"), [{"s": "<urn:a>", "n": '"1"'}, {"s": "<urn:b>"}])
GRAPH = Answer.graph("<urn:a> <urn:p> <urn:b> .\n")


def test_json_says_which_query_and_instant(client, engine: Engine) -> None:
    engine.answer(registered(client), 1000, TABLE)
    response = client.get("/queries/q/answers")
    assert response.json == {
        "head": {"vars": ["s", "n"]},
        "results": {"bindings": [{"s": {"type": "uri", "value": "urn:a"}, "n": {"type": "literal", "value": "1"}},
                                 {"s": {"type": "uri", "value": "urn:b"}}]},
        "query": "q", "at": 1000}


def test_csv_has_it_in_headers(client, engine: Engine) -> None:
    engine.answer(registered(client), 1_700_000_000_000, TABLE)
    response = client.get("/queries/q/answers", headers={"Accept": "text/csv"})
    assert response.text == "s,n\r\nurn:a,1\r\nurn:b,\r\n"
    wanted = ("Content-Type", "X-CSPARQL-Instant", "X-CSPARQL-Query", "Last-Modified", "Cache-Control", "Vary")
    assert {name: response.headers[name] for name in wanted} == {
        "Content-Type": CSV, "X-CSPARQL-Instant": "1700000000000", "X-CSPARQL-Query": "2",
        "Last-Modified": "Tue, 14 Nov 2023 22:13:20 GMT", "Cache-Control": "no-store", "Vary": "Accept"}


ACCEPTED = [
    # (kind, Accept, media type of the response; None: 406)
    ("table", None, JSON), ("table", "*/*", JSON), ("table", "application/*", JSON), ("table", JSON, JSON),
    ("table", "application/json", "application/json"), ("table", XML, XML), ("table", "text/csv", CSV),
    ("table", "text/*", CSV),
    ("table", "text/tab-separated-values", TSV), ("table", "text/csv;q=0.5, application/sparql-results+xml;q=0.9", XML),
    ("table", "text/csv;q=0, */*;q=0.1", JSON), ("table", "text/html, text/csv;q=0.1", CSV),
    ("table", "text/turtle", None),
    ("table", "text/csv;q=0", None), ("table", "text/event-stream;q=0.5, text/csv", CSV),
    ("table", "text/event-stream;q=0, */*", JSON),
    ("boolean", None, JSON), ("boolean", XML, XML), ("boolean", "text/csv", None),
    ("graph", None, LD), ("graph", "text/turtle", TURTLE), ("graph", NT, NT), ("graph", LD, LD), ("graph", JSON, None),
]
ANSWERS = {"table": TABLE, "boolean": Answer.boolean(True), "graph": GRAPH}


@pytest.mark.parametrize("kind, accept, expected", ACCEPTED)
def test_accept(client, engine: Engine, kind: str, accept: str | None, expected: str | None) -> None:
    engine.answer(registered(client), 1000, ANSWERS[kind])
    response = client.get("/queries/q/answers", headers={"Accept": accept} if accept else {})
    told = (response.status_code, response.content_type)
    assert told == ((200, expected) if expected else (406, "application/problem+json"))


@pytest.mark.parametrize("kind, format, expected", [
    ("table", "json", JSON), ("table", "xml", XML), ("table", "csv", CSV), ("table", "tsv", TSV),
    ("table", "text/csv", CSV),
    ("graph", "nt", NT), ("graph", "ttl", TURTLE), ("graph", "jsonld", LD), ("boolean", "json", JSON),
])
def test_format_goes_before_accept(client, engine: Engine, kind: str, format: str, expected: str) -> None:
    engine.answer(registered(client), 1000, ANSWERS[kind])
    response = client.get(f"/queries/q/answers?format={format}", headers={"Accept": "text/event-stream, image/png"})
    assert (response.status_code, response.content_type) == (200, expected)


def test_a_table_that_xml_cannot_express(client, engine: Engine) -> None:
    engine.answer(registered(client), 1000, Answer.from_rows(("n",), [{"n": '"\\u0001"'}]))
    response = client.get("/queries/q/answers?format=xml")
    assert (response.status_code, response.json["code"]) == (406, "not-acceptable")
    assert "U+0001" in response.json["detail"]


def test_the_newest_instant_or_another_one(client, engine: Engine) -> None:
    engine.count(registered(client), 1000, 2000, 3000)
    assert client.get("/queries/q/answers").json["at"] == 3000
    assert client.get("/queries/q/answers?at=2000").json["at"] == 2000
    assert client.get("/queries/q/answers?at=1970-01-01T00:00:02Z").json["at"] == 2000
    assert client.get("/queries/q/answers?at=1970-01-01T01:00:02+01:00").json["at"] == 2000


def test_an_empty_table_is_an_answer(client, engine: Engine) -> None:
    engine.answer(registered(client), 1000, Answer.from_rows(("n",), []))
    assert client.get("/queries/q/answers").json["results"] == {"bindings": []}


@pytest.mark.parametrize("parts, expected", [
    ([Answer.from_rows(("n",), [{"n": f'"{n}"'} for n in rows]) for rows in ((1, 2), (), (3,))],
     "n\r\n1\r\n2\r\n3\r\n"),
    ([GRAPH, Answer.graph("<urn:c> <urn:p> <urn:d> .\n")], "<urn:a> <urn:p> <urn:b> .\n<urn:c> <urn:p> <urn:d> .\n"),
    ([Answer.boolean(False), Answer.boolean(True)], '{"head":{},"boolean":true,"query":"q","at":1000}'),
    ([Answer.boolean(False), Answer.boolean(False)], '{"head":{},"boolean":false,"query":"q","at":1000}'),
])
def test_parts_of_one_instant_are_one_answer(client, engine: Engine, parts: list[Answer], expected: str) -> None:
    engine.answer(registered(client), 1000, *parts)
    assert client.get("/queries/q/answers",
                      headers={"Accept": "text/csv, application/n-triples, */*;q=0.1"}).text == expected


def test_before_the_first_instant(client) -> None:
    registered(client, TEXT.replace("STEP 1s", "STEP 365d"))
    response = client.get("/queries/q/answers")
    assert (response.status_code, response.data) == (204, b"")
    assert 0 < int(response.headers["Retry-After"]) <= 365 * 86400
    assert response.headers["X-CSPARQL-Status"] == "waiting for the first instant"


def test_a_failed_query_keeps_its_answers(client, engine: Engine) -> None:
    query = registered(client)
    engine.count(query, 1000)
    engine.fail(query, 2000, "too many rows")
    assert client.get("/queries/q/answers").json["at"] == 1000


def test_head(client, engine: Engine) -> None:
    engine.count(registered(client), 1000)
    told = client.head("/queries/q/answers", headers={"Accept": "text/csv"})
    assert (told.status_code, told.data, told.headers["X-CSPARQL-Instant"]) == (200, b"", "1000")
    events = client.head("/queries/q/answers", headers={"Accept": "text/event-stream"})
    assert (events.status_code, events.data, events.content_type) == (200, b"", "text/event-stream")
