"""Questions that are asked once, and why a triple holds: both from the log, without an engine."""

from __future__ import annotations

import pytest

from csparql_spark.server.backend import Backend

KB = "@prefix : <urn:> . :Car <http://www.w3.org/2000/01/rdf-schema#subClassOf> :Vehicle . :c0 a :Car ."
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture
def furnished(client):
    made = [client.put("/graphs?graph=urn:kb", data=KB, headers={"Content-Type": "text/turtle"}),
            client.put("/streams/e?clock=event"), client.put("/streams/a"),
            client.post("/streams/e", headers={"Content-Type": "application/n-quads"}, data="".join(
                f"<urn:c{t}> {TYPE} <urn:Car> <urn:t:{t}> .\n" for t in (1000, 5000, 9000))),
            client.post("/streams/a", data="<urn:now> <urn:p> 1 .", headers={"Content-Type": "text/turtle"})]
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
    graph = furnished.get("/sparql", query_string={"query": "CONSTRUCT WHERE { ?s a ?o }"},
                          headers={"Accept": "text/turtle"})
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
    assert asked("FROM STREAM <streams/e> [RANGE 4s] FROM <urn:kb>", "?x a <urn:Vehicle>",
                 "USING ENTAILMENT rdfs") == ["urn:c0", "urn:c9000"]


def test_nothing_of_a_question_is_logged(furnished, backend: Backend) -> None:
    tail = backend.log.tail()
    furnished.post("/sparql", data="SELECT * FROM STREAM <streams/e> [RANGE 5s] { ?s ?p ?o }")
    assert backend.log.tail() == tail


def test_why_a_triple_holds(furnished) -> None:
    query = ("REGISTER QUERY v AS SELECT ?x FROM <urn:kb> FROM STREAM <streams/late> [RANGE 5s STEP 1s] "
             "USING ENTAILMENT rdfs WHERE { ?x a <urn:Vehicle> }")
    furnished.put("/streams/late?clock=event")
    assert furnished.put("/queries/v", data=query).status_code == 201
    furnished.post("/streams/late", headers={"Content-Type": "application/n-quads"},
                   data=f"<urn:c7> {TYPE} <urn:Car> <urn:t:7000> .")
    told = furnished.get("/queries/v/why", query_string={"triple": "<urn:c7> a <urn:Vehicle>", "at": "8000"}).json
    assert (told["query"], told["at"], told["holds"], told["why"]["until"]) == ("v", 8000, True, 12000)
    assert told["why"]["rule"] == "rdfs9" and told["text"].startswith(f"<urn:c7> {TYPE} <urn:Vehicle>  until 12000")
    assert {tuple(premise["triple"]) for premise in told["why"]["premises"]} == {
        ("<urn:c7>", TYPE, "<urn:Car>"),
        ("<urn:Car>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "<urn:Vehicle>")}
    gone = furnished.get("/queries/v/why", query_string={"triple": "<urn:c7> a <urn:Vehicle>", "at": "12000"}).json
    assert (gone["holds"], gone["why"]) == (False, None)


def test_how_a_query_is_answered(furnished) -> None:
    window = ("FROM <urn:kb> FROM STREAM <streams/e> [RANGE {}s STEP 1s] USING ENTAILMENT rho-df "
              "WHERE {{ ?x a <urn:Vehicle> }}")
    for name, reach in (("v", 5), ("w", 9)):
        furnished.put(f"/queries/{name}", data=f"REGISTER QUERY {name} AS SELECT ?x {window.format(reach)}")
    told = furnished.get("/queries/v/explain").json
    assert (told["query"], told["evaluator"], told["because"]) == ("v", "maintained", None)
    assert told["group"]["shared_with"] == ["w"] and len(told["rules"]["run"]) == 1
    assert told["live"] == {"instant": None, "rows": 0, "elements": [None], "late": None, "latency_ms": None,
                            "micros": None, "nodes": None, "state_bytes": None}
    assert told["windows"] == ["the last 5 s of <http://csparql.test/streams/e>, seen anew every 1 s"]
    assert furnished.get("/queries/nix/explain").status_code == 404
