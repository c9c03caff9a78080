"""Questions that are asked once, and why a triple holds: both from the log, without an engine."""

from __future__ import annotations

import pytest

from csparql_spark.server.backend import Backend
from tests.server.playing import Engine

KB = "@prefix : <urn:> . :Car <http://www.w3.org/2000/01/rdf-schema#subClassOf> :Vehicle . :c0 a :Car ."
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture
def furnished(client):
    made = [
        client.put("/graphs?graph=urn:kb", data=KB, headers={"Content-Type": "text/turtle"}),
        client.put("/streams/e?clock=event"),
        client.put("/streams/a"),
        client.post(
            "/streams/e",
            headers={"Content-Type": "application/n-quads"},
            data="".join(f"<urn:c{t}> {TYPE} <urn:Car> <urn:t:{t}> .\n" for t in (1000, 5000, 9000)),
        ),
        client.post("/streams/a", data="<urn:now> <urn:p> 1 .", headers={"Content-Type": "text/turtle"}),
    ]
    assert [response.status_code for response in made] == [201, 201, 201, 200, 200]
    return client


def rows(response) -> list[str]:
    assert response.status_code == 200, response.text
    return response.text.split()[1:]


def test_graphs_are_asked_by_every_way_of_the_protocol(furnished) -> None:
    text = "SELECT ?x WHERE { ?x a <urn:Car> }"
    csv = {"Accept": "text/csv"}
    assert rows(furnished.get("/sparql", query_string={"query": text}, headers=csv)) == ["urn:c0"]
    assert rows(furnished.post("/sparql", data={"query": text}, headers=csv)) == ["urn:c0"]
    sent = furnished.post("/sparql", data=text, content_type="application/sparql-query", headers=csv)
    assert rows(sent) == ["urn:c0"]
    assert rows(furnished.post("/sparql?format=csv", data=text)) == ["urn:c0"]
    assert furnished.get("/sparql", query_string={"query": "ASK { <urn:c0> a <urn:Car> }"}).json["boolean"] is True
    graph = furnished.get(
        "/sparql", query_string={"query": "CONSTRUCT WHERE { ?s a ?o }"}, headers={"Accept": "text/turtle"}
    )
    assert graph.content_type == "text/turtle; charset=utf-8" and "<urn:c0>" in graph.text


def test_the_protocol_says_which_graphs(furnished) -> None:
    text = "SELECT ?x WHERE { ?x a <urn:Car> }"
    asked = {"query": text, "default-graph-uri": "urn:kb", "format": "csv"}
    assert rows(furnished.get("/sparql", query_string=asked)) == ["urn:c0"]
    asked = {"query": text, "named-graph-uri": "urn:kb", "format": "csv"}
    assert rows(furnished.get("/sparql", query_string=asked)) == []
    asked["query"] = "SELECT ?g WHERE { GRAPH ?g { ?x a <urn:Car> } }"
    assert rows(furnished.get("/sparql", query_string=asked)) == ["urn:kb"]


def test_what_streams_hold_now(furnished) -> None:
    def asked(window: str, where: str = "?x a <urn:Car>", more: str = "") -> list[str]:
        return rows(furnished.post("/sparql?format=csv", data=f"SELECT ?x {window} {more} WHERE {{ {where} }}"))

    # Back from the newest: (4000, 9000].
    assert asked("FROM STREAM <streams/e> [RANGE 5s]") == ["urn:c5000", "urn:c9000"]
    assert asked("FROM STREAM <streams/e> [RANGE 4s]") == ["urn:c9000"]
    assert asked("FROM STREAM <streams/e> [RANGE TRIPLES 2]") == ["urn:c5000", "urn:c9000"]
    assert asked("FROM STREAM <streams/a> [RANGE 1h]", "?x <urn:p> 1") == ["urn:now"]
    assert asked("FROM STREAM <streams/e> [RANGE 4s] FROM <urn:kb>") == ["urn:c0", "urn:c9000"]
    assert asked("FROM STREAM <streams/e> [RANGE 4s] FROM <urn:kb>", "?x a <urn:Vehicle>", "USING ENTAILMENT rdfs") == [
        "urn:c0",
        "urn:c9000",
    ]


def test_nothing_of_a_question_is_logged(furnished, backend: Backend) -> None:
    tail = backend.stores.log.tail()
    furnished.post("/sparql", data="SELECT * FROM STREAM <streams/e> [RANGE 5s] { ?s ?p ?o }")
    assert backend.stores.log.tail() == tail


def test_why_a_triple_holds(furnished) -> None:
    query = (
        "PREFIX u: <urn:> REGISTER QUERY v AS SELECT ?x FROM <urn:kb> FROM STREAM <streams/late> [RANGE 5s STEP 1s] "
        "USING ENTAILMENT rdfs WHERE { ?x a u:Vehicle }"
    )
    furnished.put("/streams/late?clock=event")
    assert furnished.put("/queries/v", data=query).status_code == 201
    furnished.post(
        "/streams/late",
        headers={"Content-Type": "application/n-quads"},
        data=f"<urn:c7> {TYPE} <urn:Car> <urn:t:7000> .",
    )
    told = furnished.get("/queries/v/why", query_string={"triple": "<urn:c7> a <urn:Vehicle>", "at": "8000"}).json
    assert (told["query"], told["at"], told["holds"], told["why"]["until"]) == ("v", 8000, True, 12000)
    assert told["why"]["rule"] == "rdfs9" and told["text"].startswith(f"<urn:c7> {TYPE} <urn:Vehicle>  until 12000")
    assert {tuple(premise["triple"]) for premise in told["why"]["premises"]} == {
        ("<urn:c7>", TYPE, "<urn:Car>"),
        ("<urn:Car>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "<urn:Vehicle>"),
    }
    short = furnished.get("/queries/v/why", query_string={"triple": "u:c7 rdf:type u:Vehicle", "at": "8000"}).json
    assert short == told
    gone = furnished.get("/queries/v/why", query_string={"triple": "<urn:c7> a <urn:Vehicle>", "at": "12000"}).json
    assert (gone["holds"], gone["why"]) == (False, None)


def test_why_says_which_window_holds_a_triple(furnished) -> None:
    query = (
        "REGISTER QUERY v AS SELECT ?x FROM <urn:kb> FROM STREAM <streams/late> [RANGE 9s STEP 1s] "
        "FROM NAMED WINDOW <urn:w> ON <streams/late> [RANGE 2s STEP 1s] USING ENTAILMENT rdfs "
        "WHERE { WINDOW <urn:w> { ?x a <urn:Vehicle> } }"
    )
    furnished.put("/streams/late?clock=event")
    assert furnished.put("/queries/v", data=query).status_code == 201
    furnished.post(
        "/streams/late",
        headers={"Content-Type": "application/n-quads"},
        data=f"<urn:c7> {TYPE} <urn:Car> <urn:t:7000> .",
    )

    def told(at: str) -> dict:
        return furnished.get("/queries/v/why", query_string={"triple": "<urn:c7> a <urn:Vehicle>", "at": at}).json

    both, wide = told("8000"), told("10000")
    assert [(one["graph"], one["why"]["until"]) for one in both["graphs"]] == [(None, 16000), ("urn:w", 9000)]
    assert (both["graph"], both["why"], both["text"]) == (None, both["graphs"][0]["why"], both["graphs"][0]["text"])
    assert [one["graph"] for one in wide["graphs"]] == [None]


def test_how_a_query_is_answered(furnished) -> None:
    window = (
        "FROM <urn:kb> FROM STREAM <streams/e> [RANGE {}s STEP 1s] USING ENTAILMENT rho-df "
        "WHERE {{ ?x a <urn:Vehicle> }}"
    )
    for name, reach in (("v", 5), ("w", 9)):
        furnished.put(f"/queries/{name}", data=f"REGISTER QUERY {name} AS SELECT ?x {window.format(reach)}")
    told = furnished.get("/queries/v/explain").json
    assert (told["query"], told["evaluator"], told["because"]) == ("v", "maintained", None)
    assert told["group"]["shared_with"] == ["w"] and len(told["rules"]["run"]) == 1
    assert told["group"]["widest"] == 9000
    assert told["live"] == {
        "instant": None,
        "rows": 0,
        "elements": [None],
        "late": None,
        "latency_ms": None,
        "micros": None,
        "nodes": None,
        "state_bytes": None,
        "refused_patterns": None,
    }
    assert told["windows"] == ["the last 5 s of <http://csparql.test/streams/e>, seen anew every 1 s"]
    assert furnished.get("/queries/nix/explain").status_code == 404


# --- what a registered query sees

SEEN = """REGISTER QUERY v AS SELECT ?x FROM <urn:kb> FROM STREAM <streams/late> [RANGE 5s STEP 1s]
USING ENTAILMENT rdfs WHERE { ?x a <urn:Vehicle> }"""


@pytest.fixture
def watched(furnished, engine):
    """A query that has answered at 8000: c2 came before it was registered, and c9 is yet to be seen."""
    furnished.put("/streams/late?clock=event")

    def push(*stamps: int) -> None:
        pushed = furnished.post(
            "/streams/late",
            headers={"Content-Type": "application/n-quads"},
            data="".join(f"<urn:c{t}> {TYPE} <urn:Car> <urn:t:{t}> .\n" for t in stamps),
        )
        assert pushed.status_code == 200

    push(2000)
    id = furnished.put("/queries/v", data=SEEN).json["id"]
    push(3000, 4000, 7000, 9000)
    engine.count(id, 7000, 8000)
    return furnished


def asked_of_window(client, text: str, **more: str):
    return client.get("/sparql", query_string={"query": text, "format": "csv", **more})


def test_a_query_s_own_body_over_its_window_says_what_it_answers(watched) -> None:
    text = "SELECT ?x FROM <queries/v/window> WHERE { ?x a <urn:Vehicle> }"
    answered = asked_of_window(watched, text)
    assert rows(answered) == ["urn:c0", "urn:c4000", "urn:c7000"] and answered.headers["X-CSPARQL-Instant"] == "8000"
    window = "http://csparql.test/queries/v/window"
    text = "SELECT ?x WHERE { ?x a <urn:Vehicle> }"
    assert rows(asked_of_window(watched, text, **{"default-graph-uri": window})) == ["urn:c0", "urn:c4000", "urn:c7000"]
    form = watched.post("/sparql?format=csv", data={"query": text, "default-graph-uri": window})
    assert rows(form) == ["urn:c0", "urn:c4000", "urn:c7000"]
    text = "SELECT ?g WHERE { GRAPH ?g { <urn:c7000> a <urn:Vehicle> } }"
    assert rows(asked_of_window(watched, text, **{"named-graph-uri": window})) == [window]
    # It is asked for by its name, and is no background graph.
    assert rows(asked_of_window(watched, "SELECT ?x WHERE { ?x a <urn:Car> }")) == ["urn:c0"]


def test_the_window_of_a_query_beside_other_graphs(watched) -> None:
    watched.put(
        "/graphs?graph=urn:more", data="<urn:c7000> <urn:is> <urn:red> .", headers={"Content-Type": "text/turtle"}
    )
    text = "SELECT ?x ?y FROM <queries/v/window> FROM <urn:more> WHERE { ?x a <urn:Vehicle> ; <urn:is> ?y }"
    assert rows(asked_of_window(watched, text)) == ["urn:c7000,urn:red"]
    text = """PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>
    SELECT ?x (f:timestamp(?x, a, <urn:Car>) AS ?t) FROM <queries/v/window> WHERE { ?x a <urn:Car> }"""
    assert rows(asked_of_window(watched, text.replace(" a,", f" {TYPE},"))) == [
        "urn:c0,",
        "urn:c4000,4000",
        "urn:c7000,7000",
    ]
    text = "SELECT ?x FROM <queries/v/window> FROM STREAM <streams/e> [RANGE 1s] WHERE { ?x a <urn:Car> }"
    assert rows(asked_of_window(watched, text)) == ["urn:c0", "urn:c4000", "urn:c7000", "urn:c9000"]


def test_named_windows_are_there_by_their_names(watched, engine) -> None:
    text = """REGISTER QUERY n AS SELECT ?x FROM NAMED WINDOW <urn:w> ON <streams/late> [RANGE 2s STEP 1s]
    FROM NAMED <urn:kb> WHERE { WINDOW <urn:w> { ?x a <urn:Car> } }"""
    engine.count(watched.put("/queries/n", data=text).json["id"], 12_000)
    watched.post(
        "/streams/late",
        headers={"Content-Type": "application/n-quads"},
        data=f"<urn:c11> {TYPE} <urn:Car> <urn:t:11000> .",
    )
    text = "SELECT ?g ?x FROM <queries/n/window> WHERE { GRAPH ?g { ?x a <urn:Car> } }"
    assert rows(asked_of_window(watched, text)) == ["urn:kb,urn:c0", "urn:w,urn:c11"]
    assert rows(asked_of_window(watched, "SELECT ?x FROM <queries/n/window> WHERE { ?x ?p ?o }")) == []


def test_the_window_of_a_query_whose_name_is_an_iri(watched, engine) -> None:
    encoded = "http%3A%2F%2Fex.org%2Fq"
    text = SEEN.replace("QUERY v", "QUERY <http://ex.org/q>")
    engine.count(watched.put(f"/queries/{encoded}", data=text).json["id"], 8000)
    answered = asked_of_window(watched, f"SELECT ?x FROM <queries/{encoded}/window> WHERE {{ ?x a <urn:Vehicle> }}")
    assert rows(answered) == ["urn:c0"]  # all was logged before it


def test_a_paused_query_is_seen_as_of_its_latest_instant(watched) -> None:
    assert watched.post("/queries/v/pause").status_code == 200
    answered = asked_of_window(watched, "SELECT ?x FROM <queries/v/window> WHERE { ?x a <urn:Vehicle> }")
    assert rows(answered) == ["urn:c0", "urn:c4000", "urn:c7000"] and answered.headers["X-CSPARQL-Instant"] == "8000"


def test_windows_that_cannot_be_asked(watched, engine) -> None:
    def refused(name: str) -> tuple[int, str, str]:
        told = asked_of_window(watched, f"SELECT * FROM <queries/{name}/window> WHERE {{ ?x ?y ?z }}")
        return told.status_code, told.json["code"], told.json["detail"]

    assert refused("nix") == (
        404,
        "unknown-query",
        "There is no query nix: register it with PUT http://csparql.test/queries/nix.",
    )
    id = watched.put("/queries/w", data=SEEN.replace("QUERY v", "QUERY w")).json["id"]
    assert refused("w") == (
        404,
        "no-answer",
        "The query w has no answer yet, so there is no instant at which it has "
        "seen something: ask again after its first instant.",
    )
    engine.count(id, 4000)
    engine.fail(id, 5000, "the answer is too large")
    assert refused("w") == (
        409,
        "query-failed",
        "The query w failed at 5000, and sees nothing any more: The answer is too large.",
    )
    assert refused("v/answers")[1] == "unknown-graph"
    watched.delete("/queries/v")
    assert refused("v")[:2] == (404, "unknown-query")


def test_a_background_graph_of_that_name_is_what_it_says(watched) -> None:
    watched.put(
        "/graphs?graph=http://csparql.test/queries/v/window",
        data="<urn:x> <urn:y> <urn:z> .",
        headers={"Content-Type": "text/turtle"},
    )
    assert rows(asked_of_window(watched, "SELECT ?x FROM <queries/v/window> WHERE { ?x ?y ?z }")) == ["urn:x"]


def test_a_window_that_counts_is_that_of_its_last_turn(furnished, engine) -> None:
    """
    log              9  3  5 │ 7  8  1     stamps on the event clock, in the order of the log
    TRIPLES 2 STEP 3       └─ turn         holds 3 and 5, whatever comes up to then
    """
    furnished.put("/streams/late?clock=event")
    response = furnished.put(
        "/queries/v",
        data="REGISTER QUERY v AS SELECT ?s FROM STREAM <streams/late> "
        "[RANGE TRIPLES 2 STEP 3] WHERE { ?s <urn:n> ?n }",
    )
    assert response.status_code == 201, response.text
    for stamps in ((9000, 3000, 5000), (7000, 1000)):
        data = "".join(f'<urn:c{stamp}> <urn:n> "1" <urn:t:{stamp}> .\n' for stamp in stamps)
        furnished.post("/streams/late", data=data, headers={"Content-Type": "application/n-quads"})
    engine.run()
    answer = furnished.get("/queries/v/answers").json["results"]["bindings"]
    seen = furnished.get("/sparql", query_string={"query": "SELECT ?s FROM <queries/v/window> WHERE { ?s <urn:n> ?n }"})
    assert [row["s"]["value"] for row in answer] == ["urn:c3000", "urn:c5000"]
    assert seen.json["results"]["bindings"] == answer
    missing = furnished.get("/queries/v/missing").json
    assert (missing["at"], missing["triples"]) == (5000, 2)
    why = {
        stamp: furnished.get("/queries/v/why", query_string={"triple": f'<urn:c{stamp}> <urn:n> "1"'}).json["holds"]
        for stamp in (9000, 3000, 5000, 1000)
    }
    assert why == {9000: False, 3000: True, 5000: True, 1000: False}


def test_what_is_too_large_for_a_question_is_not_read(furnished, backend: Backend, monkeypatch) -> None:
    """By none of those that read for a child: the windows and graphs of a query, those of a question, of an update."""
    query = "SELECT ?x {} FROM STREAM <streams/late> [RANGE 5s STEP 1s] WHERE {{ ?x ?p ?o }}"
    furnished.put("/streams/late?clock=event")
    assert furnished.put("/queries/v", data=query.format("FROM <urn:kb>")).status_code == 201
    assert furnished.put("/queries/w", data=query.format("")).status_code == 201
    pushed = "".join(f"<urn:c> <urn:p> <urn:o> <urn:t:{t}> .\n" for t in (7000, 9000))
    furnished.post("/streams/late", headers={"Content-Type": "application/n-quads"}, data=pushed)
    Engine(backend).run()
    why = {"triple": "<urn:c> <urn:p> <urn:o>", "at": "8000"}
    graphs = "The graphs that the query reads hold more than the 10 bytes that a question may have: ask about a query"
    windows = "The windows, with the graphs beside them, hold more than the 10 bytes that a question may have: choose a"
    asked = "The graphs that the question asks hold more than the 10 bytes that a question may have: name fewer of them"
    update = "The graphs that the update may look at hold more than the 10 bytes that a question may have: name them in"
    monkeypatch.setattr(backend.pool, "memory", 10)
    for response, detail in (
        (furnished.get("/queries/v/explain"), graphs),
        (furnished.get("/queries/v/missing?at=8000"), windows),
        (furnished.get("/queries/v/why", query_string=why), windows),
        (furnished.get("/queries/w/why", query_string=why), windows),
        (furnished.get("/sparql", query_string={"query": "SELECT * { ?s ?p ?o }"}), asked),
        (furnished.post("/sparql", data="SELECT * FROM <queries/w/window> { ?s ?p ?o }"), windows),
        (furnished.post("/sparql", data="SELECT * FROM STREAM <streams/e> [RANGE 9s] { ?s ?p ?o }"), windows),
        (
            furnished.post("/kb", data={"action": "update", "queryBody": "DELETE WHERE { GRAPH <urn:kb> {?s ?p 1} }"}),
            update,
        ),
    ):
        assert (response.status_code, response.json["code"]) == (413, "too-large"), response.text
        assert response.json["detail"].startswith(detail)
