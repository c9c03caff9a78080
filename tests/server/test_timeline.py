"""The timeline of a query: what came, what was late, where windows opened and closed, and what is waited for; what is
missing from an empty answer; the newest elements of a stream.

    stamps    1000 2000      5000   6500      3000 (late: 4499 has passed)      delay 2s
    ───────────┴────┴─────────┴──────┴────▶
"""

from __future__ import annotations

import pytest

from tests.server.playing import BASE, Engine, number

TEXT = (
    f"REGISTER QUERY q AS SELECT ?s ?n FROM STREAM <{BASE}/streams/s> [RANGE 4s STEP 1s] "
    "WHERE { ?s <urn:n> ?n . ?s <urn:m> ?m }"
)


@pytest.fixture
def query(client, backend) -> int:
    assert client.put("/streams/s?clock=event&delay=2s").status_code == 201
    response = client.put("/queries/q", data=TEXT)
    assert response.status_code == 201, response.text
    backend.stores.status.say("engine", {"state": "running"})
    return response.json["id"]


def push(client, *stamps: int, predicate: str = "urn:n") -> None:
    data = "".join(f'<urn:s{stamp}> <{predicate}> "{stamp}" <urn:t:{stamp}> .\n' for stamp in stamps)
    assert client.post("/streams/s", data=data, content_type="application/n-quads").status_code == 200


def told(client, path: str) -> dict[str, object]:
    response = client.get(path)
    assert response.status_code == 200, response.text
    return response.json


def test_what_came_when_and_what_was_late(client, query: int, engine: Engine) -> None:
    push(client, 1000, 2000)
    push(client, 5000, 6500)
    push(client, 3000, 6800)
    engine.answer(query, 1000, number(1000))
    engine.answer(query, 2000, number(1), number(2))
    timeline = told(client, "/queries/q/timeline?span=7s")
    assert (timeline["from"], timeline["to"], timeline["status"]) == (-200, 6800, "running")
    assert timeline["windows"] == [{"stream": f"{BASE}/streams/s", "range": 4000, "step": 1000}]
    (stream,) = timeline["streams"]
    assert [(dot["from"], dot["to"], dot["triples"], dot["late"]) for dot in stream["elements"]] == [
        (1000, 1000, 1, False),
        (2000, 2000, 1, False),
        (3000, 3000, 1, True),
        (5000, 5000, 1, False),
        (6500, 6500, 1, False),
        (6800, 6800, 1, False),
    ]
    assert (stream["clock"], stream["delay"], stream["newest"], stream["reading"]) == ("event", 2000, 6800, 4799)
    assert timeline["instants"] == [
        {"at": 1000, "rows": 1, "windows": [{"stream": f"{BASE}/streams/s", "opens": -3000, "closes": 1000}]},
        {"at": 2000, "rows": 2, "windows": [{"stream": f"{BASE}/streams/s", "opens": -2000, "closes": 2000}]},
    ]
    assert timeline["next"]["at"] == 3000
    assert timeline["says"] == "The next instant is 1970-01-01T00:00:03.000Z."


def test_many_elements_are_put_together(client, query: int) -> None:
    push(client, *range(1, 6001))
    (stream,) = told(client, "/queries/q/timeline?span=6s")["streams"]
    dots = stream["elements"]
    assert len(dots) == 300 and sum(dot["triples"] for dot in dots) == 6000
    assert [(dot["from"], dot["to"]) for dot in dots[:2]] == [(1, 20), (21, 40)]


def test_what_is_waited_for(client, query: int, engine: Engine, backend) -> None:
    def says() -> str:
        return told(client, "/queries/q/timeline")["says"]

    assert says().startswith(f"Nothing has come on <{BASE}/streams/s>")
    push(client, 2500)
    assert says() == (
        f"The instant 1970-01-01T00:00:03.000Z waits for an element of <{BASE}/streams/s> stamped "
        "1970-01-01T00:00:05.001Z or later (with its delay of 2 s); the newest one is stamped "
        "1970-01-01T00:00:02.500Z."
    )
    push(client, 5001)
    assert says() == "The next instant is 1970-01-01T00:00:03.000Z."
    backend.stores.waiting.note("g", queries=[query], triples=70_000, now=1_000)
    assert says() == (
        "Its background of 70,000 triples is being closed under its rules since 1970-01-01T00:00:01.000Z: "
        "what comes meanwhile is kept for it, and answered then."
    )
    backend.stores.waiting.forget("g")
    assert client.post("/queries/q/pause").status_code == 200
    assert says() == "The query is paused: it answers nothing until it is resumed."
    engine.fail(query, 3000, "too much")
    assert says() == "The query failed at 1970-01-01T00:00:03.000Z: Too much."


def test_an_engine_that_is_not_there_is_named(client, backend, query: int) -> None:
    backend.stores.status.say("engine", {"state": "starting"})
    assert told(client, "/queries/q/timeline")["says"].startswith("The engine is starting")
    backend.stores.status.say("engine", {"state": "failed"})
    assert told(client, "/queries/q/timeline")["says"].startswith("The engine does not run (failed)")


def test_what_is_missing(client, query: int, engine: Engine) -> None:
    def missing(at: int) -> dict[str, object]:
        found = told(client, f"/queries/q/missing?at={at}")
        return {key: found[key] for key in ("triples", "patterns", "lost", "says")}

    assert client.get("/queries/q/missing").json["code"] == "no-answer"
    n, m = "?s <urn:n> ?n", "?s <urn:m> ?m"
    assert missing(1000) == {
        "triples": 0,
        "patterns": [],
        "lost": None,
        "says": "The windows are empty: nothing came in on the streams in that time, or only before the query was "
        "registered.",
    }
    push(client, 1500)
    assert missing(2000) == {
        "triples": 1,
        "lost": 1,
        "patterns": [{"text": n, "matches": 1}, {"text": m, "matches": 0}],
        "says": f"The windows hold 1 triple. Nothing matches {m}.",
    }
    push(client, 1600, predicate="urn:m")
    assert missing(2000)["says"] == (
        f"The windows hold 2 triples. 1 matches {m}, but none of them fits the patterns before it."
    )
    push(client, 1500, predicate="urn:m")
    assert missing(2000) == {
        "triples": 3,
        "lost": None,
        "patterns": [{"text": n, "matches": 1}, {"text": m, "matches": 2}],
        "says": "The windows hold 3 triples. All patterns are found together, so a filter, or a part that is said "
        "apart, lets nothing through.",
    }
    engine.answer(query, 2000, number(0))
    assert told(client, "/queries/q/missing")["at"] == 2000
    rows = len(number(0))
    assert missing(2000)["says"] == (
        f"Nothing is missing: the windows hold 3 triples, and the answer has {rows} row{'s' * (rows != 1)}."
    )


@pytest.mark.parametrize(
    ("window", "body", "why"),
    [
        ("FROM NAMED WINDOW <urn:w> ON", "WINDOW <urn:w> { ?s <urn:n> ?o }", "The query has named windows or graphs"),
        ("FROM NAMED WINDOW <urn:w> ON", "?s <urn:n> ?o", "The query has named windows or graphs"),
        ("FROM STREAM", "?s <urn:n>* ?o", "The body is not made of plain patterns"),
    ],
)
def test_where_patterns_are_not_counted_it_is_said_why(client, window: str, body: str, why: str) -> None:
    client.put("/streams/s?clock=event")
    text = f"REGISTER QUERY p AS SELECT ?s {window} <{BASE}/streams/s> [RANGE 4s STEP 1s] WHERE {{ {body} }}"
    assert client.put("/queries/p", data=text).status_code == 201
    push(client, 1500)
    found = told(client, "/queries/p/missing?at=2000")
    assert (found["patterns"], found["lost"]) == ([], None)
    assert found["says"].startswith(f"The windows hold 1 triple. {why}")


def test_what_is_entailed_is_not_missing(client) -> None:
    client.put(
        "/graphs?graph=urn:kb",
        content_type="text/turtle",
        data="<urn:p> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <urn:q> .",
    )
    client.put("/streams/s?clock=event")
    client.put(
        "/queries/e",
        data=f"REGISTER QUERY e AS SELECT ?s FROM <urn:kb> FROM STREAM <{BASE}/streams/s> "
        "[RANGE 4s STEP 1s] USING ENTAILMENT rho-df WHERE { ?s <urn:q> ?o FILTER(?o = 7) }",
    )
    push(client, 1500, predicate="urn:p")
    found = told(client, "/queries/e/missing?at=2000")
    assert found["patterns"] == [{"text": "?s <urn:q> ?o", "matches": 1}] and found["lost"] is None


def test_the_newest_elements(client, query: int) -> None:
    push(client, 1000, 2000)
    push(client, 1500)
    found = told(client, "/streams/s/elements?limit=2")
    assert [(element["at"], element["triple"]) for element in found["elements"]] == [
        (1500, ["<urn:s1500>", "<urn:n>", '"1500"']),
        (2000, ["<urn:s2000>", "<urn:n>", '"2000"']),
    ]
    assert len(told(client, "/streams/s/elements")["elements"]) == 3


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/queries/q/timeline?span=long", "bad-setting"),
        ("/queries/nobody/timeline", "unknown-query"),
        ("/queries/q/missing?at=soon", "bad-instant"),
        ("/streams/s/elements?limit=0", "bad-setting"),
        ("/streams/s/elements?limit=1001", "bad-setting"),
        ("/streams/nothing/elements", "unknown-stream"),
    ],
)
def test_bad_requests_are_named(client, query: int, path: str, code: str) -> None:
    assert client.get(path).json["code"] == code
