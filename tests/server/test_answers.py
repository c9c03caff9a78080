"""Answers over HTTP: which instant, and in which format."""

from __future__ import annotations

import json

import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.server.backend import Backend
from tests.server.playing import BASE, TEXT, Engine, number, registered

JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
CSV, TSV = "text/csv; charset=utf-8", "text/tab-separated-values; charset=utf-8"
LD, TURTLE, NT = "application/ld+json", "text/turtle; charset=utf-8", "application/n-triples"
TABLE = Result.from_rows(("s", "n"), [{"s": "<urn:a>", "n": '"1"'}, {"s": "<urn:b>"}])
GRAPH = Result.graph("<urn:a> <urn:p> <urn:b> .\n")


def test_json_says_which_query_and_instant(client, engine: Engine) -> None:
    engine.answer(registered(client), 1000, TABLE)
    response = client.get("/queries/q/answers")
    assert response.json == {
        "head": {"vars": ["s", "n"]},
        "results": {
            "bindings": [
                {"s": {"type": "uri", "value": "urn:a"}, "n": {"type": "literal", "value": "1"}},
                {"s": {"type": "uri", "value": "urn:b"}},
            ]
        },
        "query": "q",
        "version": 2,
        "at": 1000,
        "windows": [{"stream": f"{BASE}/streams/s", "opens": -1000, "closes": 1000}],
    }


def test_csv_has_it_in_headers(client, engine: Engine) -> None:
    engine.answer(registered(client), 1_700_000_000_000, TABLE)
    response = client.get("/queries/q/answers", headers={"Accept": "text/csv"})
    assert response.text == "s,n\r\nurn:a,1\r\nurn:b,\r\n"
    wanted = (
        "Content-Type",
        "X-CSPARQL-Instant",
        "X-CSPARQL-Query",
        "X-CSPARQL-Version",
        "X-CSPARQL-Windows",
        "Last-Modified",
        "Cache-Control",
        "Vary",
    )
    assert {name: response.headers[name] for name in wanted} == {
        "Content-Type": CSV,
        "X-CSPARQL-Instant": "1700000000000",
        "X-CSPARQL-Query": "2",
        "X-CSPARQL-Version": "2",
        "X-CSPARQL-Windows": f"<{BASE}/streams/s>; opens=1699999998000; closes=1700000000000",
        "Last-Modified": "Tue, 14 Nov 2023 22:13:20 GMT",
        "Cache-Control": "no-store",
        "Vary": "Accept",
    }


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
ACCEPTED = [
    # (kind, Accept, media type of the response; None: 406)
    ("table", None, JSON),
    ("table", "*/*", JSON),
    ("table", "application/*", JSON),
    ("table", JSON, JSON),
    ("table", "application/json", "application/json"),
    ("table", XML, XML),
    ("table", "text/csv", CSV),
    ("table", "text/*", CSV),
    ("table", "text/tab-separated-values", TSV),
    ("table", "text/csv;q=0.5, application/sparql-results+xml;q=0.9", XML),
    ("table", "text/csv;q=0, */*;q=0.1", JSON),
    ("table", "text/html, text/csv;q=0.1", CSV),
    ("table", "text/turtle", None),
    ("table", "text/csv;q=0", None),
    ("table", "text/event-stream;q=0.5, text/csv", CSV),
    ("table", "text/event-stream;q=0, */*", JSON),
    ("table", "application/x-ndjson", "application/x-ndjson"),
    ("table", BROWSER, "application/json"),
    ("boolean", None, JSON),
    ("boolean", XML, XML),
    ("boolean", "text/csv", CSV),
    ("boolean", BROWSER, "application/json"),
    ("graph", BROWSER, "application/json"),
    ("graph", "application/rdf+xml, application/trig;q=0.1", "application/rdf+xml"),
    ("graph", "application/n-quads", "application/n-quads"),
    ("graph", "application/trig", "application/trig"),
    ("graph", None, LD),
    ("graph", "text/turtle", TURTLE),
    ("graph", NT, NT),
    ("graph", LD, LD),
    ("graph", JSON, None),
]
ANSWERS = {"table": TABLE, "boolean": Result.boolean(True), "graph": GRAPH}


@pytest.mark.parametrize("kind, accept, expected", ACCEPTED)
def test_accept(client, engine: Engine, kind: str, accept: str | None, expected: str | None) -> None:
    engine.answer(registered(client), 1000, ANSWERS[kind])
    response = client.get("/queries/q/answers", headers={"Accept": accept} if accept else {})
    told = (response.status_code, response.content_type)
    assert told == ((200, expected) if expected else (406, "application/problem+json"))


@pytest.mark.parametrize(
    "kind, format, expected",
    [
        ("table", "json", JSON),
        ("table", "xml", XML),
        ("table", "csv", CSV),
        ("table", "tsv", TSV),
        ("table", "text/csv", CSV),
        ("table", "ndjson", "application/x-ndjson"),
        ("graph", "rdf", "application/rdf+xml"),
        ("graph", "application/rdf+xml", "application/rdf+xml"),
        ("graph", "trig", "application/trig"),
        ("graph", "nt", NT),
        ("graph", "ttl", TURTLE),
        ("graph", "jsonld", LD),
        ("boolean", "json", JSON),
    ],
)
def test_format_goes_before_accept(client, engine: Engine, kind: str, format: str, expected: str) -> None:
    engine.answer(registered(client), 1000, ANSWERS[kind])
    response = client.get(f"/queries/q/answers?format={format}", headers={"Accept": "text/event-stream, image/png"})
    assert (response.status_code, response.content_type) == (200, expected)


def test_a_table_that_xml_cannot_express(client, engine: Engine) -> None:
    engine.answer(registered(client), 1000, Result.from_rows(("n",), [{"n": '"\\u0001"'}]))
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
    engine.answer(registered(client), 1000, Result.from_rows(("n",), []))
    assert client.get("/queries/q/answers").json["results"] == {"bindings": []}


@pytest.mark.parametrize(
    "parts, expected",
    [
        (
            [Result.from_rows(("n",), [{"n": f'"{n}"'} for n in rows]) for rows in ((1, 2), (), (3,))],
            "n\r\n1\r\n2\r\n3\r\n",
        ),
        (
            [GRAPH, Result.graph("<urn:c> <urn:p> <urn:d> .\n")],
            "<urn:a> <urn:p> <urn:b> .\n<urn:c> <urn:p> <urn:d> .\n",
        ),
        ([Result.boolean(False), Result.boolean(True)], "true\n"),
        ([Result.boolean(False), Result.boolean(False)], "false\n"),
    ],
)
def test_parts_of_one_instant_are_one_answer(client, engine: Engine, parts: list[Result], expected: str) -> None:
    engine.answer(registered(client), 1000, *parts)
    assert (
        client.get("/queries/q/answers", headers={"Accept": "text/csv, application/n-triples, */*;q=0.1"}).text
        == expected
    )


def test_before_the_first_instant(client, backend: Backend) -> None:
    registered(client, TEXT.replace("STEP 1s", "STEP 365d"))
    assert client.get("/queries/q/answers").headers["X-CSPARQL-Status"] == "the engine is starting"
    backend.stores.status.say("engine", {"state": "running"})
    response = client.get("/queries/q/answers")
    assert (response.status_code, response.data) == (204, b"")
    assert 0 < int(response.headers["Retry-After"]) <= 365 * 86400
    assert response.headers["X-CSPARQL-Status"] == "waiting for the first instant"


def test_while_its_background_is_closed(client, backend) -> None:
    backend.stores.status.say("engine", {"state": "running"})
    backend.stores.waiting.note("g", queries=[registered(client)], triples=70_000, now=1_000)
    response = client.get("/queries/q/answers")
    assert response.status_code == 204
    assert response.headers["X-CSPARQL-Status"] == "its background is being closed under its rules"


def test_a_paused_query_and_a_failed_one_keep_their_answers_and_say_that_no_others_follow(
    client, engine: Engine
) -> None:
    def status(url: str = "/queries/q/answers") -> str | None:
        response = client.get(url)
        assert response.json["at"] == 1000
        return response.headers.get("X-CSPARQL-Status")

    query = registered(client)
    engine.count(query, 1000)
    assert status() is None
    assert client.post("/queries/q/pause").status_code == 200
    assert status() == "paused"
    engine.fail(query, 2000, "too many rows")
    assert status() == "failed" and status("/queries/q/answers?at=1000") is None


def test_head(client, engine: Engine) -> None:
    engine.count(registered(client), 1000)
    told = client.head("/queries/q/answers", headers={"Accept": "text/csv"})
    assert (told.status_code, told.data, told.headers["X-CSPARQL-Instant"]) == (200, b"", "1000")
    events = client.head("/queries/q/answers", headers={"Accept": "text/event-stream"})
    assert (events.status_code, events.data, events.content_type) == (200, b"", "text/event-stream")


def envelope(instant: int) -> dict[str, object]:
    """What a range has at an instant whose answer is its number."""
    return {
        "query": "q",
        "version": 2,
        "at": instant,
        "windows": [{"stream": f"{BASE}/streams/s", "opens": instant - 2000, "closes": instant}],
        "results": {
            "head": {"vars": ["n"]},
            "results": {"bindings": [{"n": {"type": "literal", "value": str(instant)}}]},
        },
    }


@pytest.mark.parametrize(
    "asked, expected",
    [
        ("from=2000&to=4000", [2000, 3000, 4000]),
        ("from=1999&to=4001", [2000, 3000, 4000]),
        ("to=2000", [1000, 2000]),
        ("from=4000", [4000, 5000]),
        ("from=beginning&to=latest", [1000, 2000, 3000, 4000, 5000]),
        ("from=1970-01-01T00:00:05Z", [5000]),
        ("from=6000", []),
        ("from=3000&to=2000", []),
        ("limit=5", [1000, 2000, 3000, 4000, 5000]),
    ],
)
def test_a_range(client, engine: Engine, asked: str, expected: list[int]) -> None:
    engine.count(registered(client), 1000, 2000, 3000, 4000, 5000)
    found = client.get(f"/queries/q/answers?{asked}")
    assert (found.status_code, found.content_type, found.json) == (
        200,
        "application/json",
        [envelope(instant) for instant in expected],
    )
    assert "Link" not in found.headers
    assert client.get(f"/queries/q/answers?{asked}&format=json").json == found.json
    lines = client.get(f"/queries/q/answers?{asked}", headers={"Accept": "application/x-ndjson"})
    assert lines.content_type == "application/x-ndjson"
    assert [json.loads(line) for line in lines.text.splitlines()] == found.json


def test_a_range_says_what_of_it_is_kept_no_longer(client, backend: Backend, engine: Engine) -> None:
    """
    told    1 ── 2 ── 3 ── 4 ── 5 s
    kept                   4    5
    """
    engine.count(registered(client), 1000, 2000, 3000, 4000, 5000)
    assert "X-CSPARQL-Forgotten" not in client.get("/queries/q/answers?from=0").headers
    backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
    for asked, kept in {
        "from=0": [4000, 5000],
        "from=beginning&limit=1": [4000],
        "to=2000": [],
        "from=3000": [4000, 5000],
    }.items():
        found = client.get(f"/queries/q/answers?{asked}")
        assert [one["at"] for one in found.json] == kept
        assert found.headers["X-CSPARQL-Forgotten"] == "3000; oldest=4000; keep-answers=1000"
    assert "X-CSPARQL-Forgotten" not in client.get("/queries/q/answers?from=3001").headers
    assert (
        client.get("/queries/q/answers?at=2000")
        .json["detail"]
        .endswith("older ones no longer (the server's setting keep-answers says how many: 1000).")
    )
    assert "keep-answers" not in client.get("/queries/q/answers?at=4001").json["detail"]


def test_a_range_is_followed_link_by_link(client, engine: Engine) -> None:
    engine.count(registered(client), *range(1000, 8000, 1000))
    url, seen = "/queries/q/answers?to=6000&limit=2&format=ndjson", []
    while url:
        page = client.get(url)
        seen.append([json.loads(line)["at"] for line in page.text.splitlines()])
        link = page.headers.get("Link", "")
        assert not link or link.endswith('>; rel="next"')
        url = link[1:].partition(">")[0].removeprefix(BASE)
    assert seen == [[1000, 2000], [3000, 4000], [5000, 6000]]


def test_the_parts_of_an_instant_are_one_in_a_range(client, engine: Engine) -> None:
    query = registered(client)
    engine.answer(query, 1000, *map(number, range(40)))
    engine.count(query, 2000)
    first, second = client.get("/queries/q/answers?limit=2").json
    assert [row["n"]["value"] for row in first["results"]["results"]["bindings"]] == [str(n) for n in range(40)]
    assert second == envelope(2000)


def test_a_range_of_graphs_and_of_nothing(client, engine: Engine) -> None:
    query = registered(client)
    assert client.get("/queries/q/answers?from=0").json == []
    engine.answer(query, 1000, GRAPH)
    (told,) = client.get("/queries/q/answers?from=0").json
    assert told["triples"] == "<urn:a> <urn:p> <urn:b> .\n" and told["windows"][0]["closes"] == 1000


def test_what_is_forgotten_while_a_range_is_sent_is_left_out(client, backend: Backend, engine: Engine) -> None:
    engine.count(registered(client), 1000, 2000, 3000)
    sent = client.get("/queries/q/answers?from=0&format=ndjson", buffered=False)
    pieces = sent.iter_encoded()
    assert json.loads(next(pieces))["at"] == 1000
    with backend.stores.database.transaction() as connection:
        connection.execute("DELETE FROM answers WHERE instant = 2000")
    assert [json.loads(piece)["at"] for piece in pieces] == [3000]


@pytest.mark.parametrize(
    "asked, status, code",
    [
        ("from=now", 400, "bad-instant"),
        ("to=", 400, "bad-instant"),
        ("limit=0", 400, "bad-setting"),
        ("limit=1001", 400, "bad-setting"),
        ("limit=-1", 400, "bad-setting"),
        ("limit=x", 400, "bad-setting"),
        ("from=0&at=1000", 400, "bad-setting"),
        ("from=0&format=csv", 406, "not-acceptable"),
    ],
)
def test_ranges_that_are_none(client, engine: Engine, asked: str, status: int, code: str) -> None:
    engine.count(registered(client), 1000)
    told = client.get(f"/queries/q/answers?{asked}")
    assert (told.status_code, told.json["code"]) == (status, code)


COUNTED = "REGISTER QUERY q AS SELECT ?s FROM STREAM <streams/s> [RANGE TRIPLES 5] { ?s ?p ?o }"
OFFSET = (
    "REGISTER QUERY q COMPUTED EVERY 1s AS SELECT ?s FROM STREAM <streams/s> [RANGE 4s STEP 2s] "
    "FROM STREAM <streams/s> [RANGE 9s STEP 3s] { ?s ?p ?o }"
)
NAMED = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <streams/s> [RANGE PT4S STEP PT2S] { WINDOW <urn:w> { ?s ?p ?o } }"


@pytest.mark.parametrize(
    "text, expected",
    [
        (COUNTED, [{"opens": None, "closes": 5000}]),
        (OFFSET, [{"opens": 0, "closes": 4000}, {"opens": -6000, "closes": 3000}]),
        (NAMED, [{"name": "urn:w", "opens": 0, "closes": 4000}]),
    ],
)
def test_each_window_as_of_its_own_step(client, engine: Engine, text: str, expected: list[dict[str, object]]) -> None:
    engine.count(registered(client, text), 5000)
    told = client.get("/queries/q/answers")
    assert told.json["windows"] == [{"stream": f"{BASE}/streams/s"} | window for window in expected]
    assert "None" not in told.headers["X-CSPARQL-Windows"]


def test_an_instant_that_is_still_to_come_is_not_told_as_forgotten(client, engine: Engine) -> None:
    """kept: 1000 2000 │ asked: 3000, and 3500, which is between two instants"""
    query = registered(client)

    def detail(instant: int) -> str:
        refused = client.get(f"/queries/q/answers?at={instant}")
        assert (refused.status_code, refused.json["code"]) == (404, "no-answer")
        return refused.json["detail"].partition(": ")[2]

    asks = f"{BASE}/queries/q/timeline tells what it waits for."
    assert detail(3000) == f"that instant has not been answered yet: {asks}"
    engine.answer(query, 1000, TABLE)
    engine.answer(query, 2000, TABLE)
    newest = "; the newest answer is that of 1970-01-01T00:00:02.000Z"
    assert detail(3000) == f"that instant has not been answered yet{newest}: {asks}"
    assert detail(3500) == f"that is none of its instants, the next one is 1970-01-01T00:00:04.000Z{newest}."
    assert detail(1500).startswith("answers are kept from 1970-01-01T00:00:01.000Z to ")
    engine.fail(query, 3000, "too many rows")
    told = f"the query has failed, and answers no more{newest}: {BASE}/queries/q/timeline tells why."
    assert detail(3000) == told
