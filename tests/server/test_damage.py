"""What is damaged on the disk, as those hear of it who ask the server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.disk.damage import Damages
from csparql_spark.log import Draft
from csparql_spark.schedule.relay import draft_of
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.remarks import remarks
from csparql_spark.server.routes.description import advice
from csparql_spark.server.settings import Settings
from csparql_spark.store import QueryRecord, Status
from tests.server.playing import BASE, TEXT, Engine, Listener, number, registered
from tests.server.test_webhooks import Receiver

NT = {"Content-Type": "application/n-triples"}
S = f"{BASE}/streams/s"
WRONG = "is damaged: its payload is not what was written"


def damage(backend: Backend, seq: int) -> None:
    with backend.stores.database.transaction() as connection:
        connection.execute("UPDATE log SET payload = zeroblob(length(payload)) WHERE seq = ?", (seq,))


def damage_answer(backend: Backend, instant: int) -> None:
    with backend.stores.database.transaction() as connection:
        connection.execute("UPDATE answers SET payload = zeroblob(length(payload)) WHERE instant = ?", (instant,))


def problem(response) -> tuple[int, str, str]:
    return response.status_code, response.json["code"], response.json["detail"]


def test_an_answer(client, backend: Backend, engine: Engine) -> None:
    engine.count(query := registered(client), 1000, 2000, 3000)
    damage_answer(backend, 2000)
    told = 500, "damaged", f"The answer at 2000 {WRONG}."
    assert problem(client.get("/queries/q/answers?at=2000")) == told
    assert client.get("/queries/q/answers?at=1000").status_code == 200
    assert client.get("/queries/q/answers").headers["X-CSPARQL-Instant"] == "3000"
    first, second, third = client.get("/queries/q/answers?from=beginning", headers={"Accept": "application/json"}).json
    assert (first["at"], third["at"]) == (1000, 3000) and "results" in first and "results" in third
    assert second == {"query": "q", "version": query, "at": 2000, "problem": f"The answer at 2000 {WRONG}."}
    damage_answer(backend, 3000)
    assert problem(client.get("/queries/q/answers")) == (500, "damaged", f"The answer at 3000 {WRONG}.")


def test_an_answer_among_events(client, backend: Backend, engine: Engine, port: int) -> None:
    engine.count(registered(client), 1000, 2000, 3000)
    damage_answer(backend, 2000)
    listener = Listener(port, "/queries/q/answers?from=beginning")
    first, gap, third = listener.take(3)
    assert [(event.kind, event.id) for event in (first, gap, third)] == [("answer", "1"), ("gap", "2"), ("answer", "3")]
    assert gap.data == {"query": "q", "after": 1000, "next": 3000, "reason": "damaged", "first": 2000, "last": 2000}
    listener.close()
    listener = Listener(port, Last_Event_ID="2")
    assert listener.next() == third
    listener.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.mark.parametrize("when", ["nonempty", "always"])
@pytest.mark.parametrize("lost", [1, 40])
def test_an_answer_that_an_observer_is_to_be_called_with(
    settings: Settings, receiver: Receiver, lost: int, when: str
) -> None:
    with Backend(replace(settings, webhooks=(receiver.url,))) as backend:
        client, engine = create_app(backend).test_client(), Engine(backend)
        query = registered(client)
        instants = [1000 * n for n in range(1, lost + 3)]
        engine.count(query, *instants)
        for instant in instants[1:-1]:
            damage_answer(backend, instant)
        added = client.post("/queries/q", json={"callback": f"{receiver.url}hot", "from": "beginning", "when": when})
        assert added.status_code == 201, added.text
        calls = receiver.take(2)
        assert [call.at for call in calls] == [1000, instants[-1]]
        assert [call.headers.get("X-CSPARQL-Gap") for call in calls] == [None, "1000"]


def test_an_answer_that_a_stream_is_to_hold(client, backend: Backend, engine: Engine) -> None:
    engine.answer(7, 1000, Result.graph("<urn:s> <urn:p> <urn:o> .\n"))
    damage_answer(backend, 1000)
    assert draft_of(7, "urn:d", 1000, backend.stores.answers.at(7, 1000)) == Draft(
        "damaged",
        "urn:d",
        f"the answer at 1000 {WRONG}, and the stream urn:d is without it".encode(),
        first=1000,
        last=1000,
    )


def test_what_is_asked_of_a_stream(client, backend: Backend, engine: Engine) -> None:
    query = registered(client)
    for instant in (1500, 2500):
        client.post(
            "/streams/s",
            data=f"<urn:a> <urn:n> {instant} <urn:t:{instant}> .".replace(f" {instant} ", f' "{instant}" '),
            headers={"Content-Type": "application/n-quads"},
        )
    engine.answer(query, 2000, number(1))
    damage(backend, 3)
    told = 500, "damaged", f"The entry 3 of the stream {S} {WRONG}."
    assert problem(client.get("/streams/s/elements")) == told
    assert problem(client.get("/queries/q/why", query_string={"triple": '<urn:a> <urn:n> "1500"'})) == told
    assert problem(client.get("/queries/q/missing")) == told
    asked = f"SELECT ?n FROM STREAM <{S}> [RANGE 500ms] WHERE {{ ?s <urn:n> ?n }}"
    assert client.get("/sparql", query_string={"query": asked, "format": "csv"}).text.split()[1:] == ["2500"]
    assert problem(client.get("/sparql", query_string={"query": asked.replace("500ms", "5s")})) == told
    assert client.get("/streams/s").json["newest"]["seq"] == 4 and client.get("/queries/q").status_code == 200
    assert client.get("/vocabulary").status_code == 200


def test_a_graph_can_be_set_again(client, backend: Backend) -> None:
    one = "<urn:a> <urn:p> <urn:b> ."
    assert client.put("/graphs?graph=urn:g", data=one, headers=NT).status_code == 201
    damage(backend, 1)
    told = 500, "damaged", f"The entry 1 that set the graph urn:g {WRONG}."
    assert problem(client.get("/graphs?graph=urn:g")) == told
    assert problem(client.post("/graphs?graph=urn:g", data=one, headers=NT)) == told
    assert problem(client.get("/sparql", query_string={"query": "SELECT * FROM <urn:g> { ?s ?p ?o }"})) == told
    assert client.get("/vocabulary").status_code == client.get("/graphs").status_code == 200
    assert client.put("/graphs?graph=urn:g", data=one, headers=NT).status_code == 200
    assert client.get("/graphs?graph=urn:g", headers={"Accept": "application/n-triples"}).text == f"{one}\n"


def test_a_rule_set_can_be_set_again_and_is_in_nobody_elses_way(client, backend: Backend) -> None:
    text = "[r: (?x <urn:p> ?y) -> (?y <urn:p> ?x)]"
    assert client.put("/rules/lab", data=text, content_type="text/plain").status_code == 201
    assert client.put("/graphs?graph=urn:g", data="<urn:a> <urn:p> <urn:b> .", headers=NT).status_code == 201
    damage(backend, 1)
    told = 500, "damaged", f"The entry 1 that set the rule set lab {WRONG}."
    asked = "SELECT ?s FROM <urn:g> {} WHERE {{ ?s ?p ?o }}"
    assert problem(client.get("/rules/lab")) == told
    assert problem(client.get("/sparql", query_string={"query": asked.format("USING ENTAILMENT lab")})) == told
    assert client.get("/sparql", query_string={"query": asked.format("")}).status_code == 200
    assert client.put("/rules/other", data=text, content_type="text/plain").status_code == 201
    assert client.put("/rules/lab", data=text, content_type="text/plain").status_code == 200
    assert client.get("/rules/lab").text == text


def test_a_start_with_a_damaged_rule_set_says_so_and_goes_on(client, backend: Backend) -> None:
    for name in ("lab", "other"):
        text = f"[{name}: (?x <urn:p> ?y) regex(?y, '.*\\\\b') -> (?y <urn:p> ?x)]"
        assert client.put(f"/rules/{name}", data=text, content_type="text/plain").status_code == 201
    damage(backend, 1)
    lost, strange = remarks(backend.stores, backend.texts)
    assert lost == f"the entry 1 that set the rule set lab {WRONG}: bring it again with PUT {BASE}/rules/lab"
    assert strange.startswith("the rule set other has patterns that do not match what they may seem to: ")


def test_a_registration(settings: Settings, client, backend: Backend, engine: Engine) -> None:
    query = registered(client)
    assert client.put("/queries/other", data=TEXT.replace("QUERY q", "QUERY other")).status_code == 201
    damage(backend, query)
    engine.fail(query, 1000, "the engine says why")
    told = {one["name"]: (one["text"], one["status"], one["failure"]) for one in client.get("/queries").json["queries"]}
    assert told["q"] == (
        "",
        "failed",
        {
            "at": 1000,
            "reason": "the engine says why",
            "advice": advice(f"{BASE}/queries/q", QueryRecord(query, "q", 0, "", None)),
        },
    )
    assert told["other"][1:] == ("running", None)
    sentence = "The registration of the query q is damaged on the disk: delete the query and register it again."
    assert problem(client.get("/queries/q/explain")) == (500, "damaged", sentence)
    assert client.get("/queries/other/explain").status_code == client.get("/metrics").status_code == 200
    assert backend.threads.retention_thread.reach() == 2000
    with Backend(replace(settings)) as other:  # a server that starts now
        assert [one.query.name for one in other.threads.fanout.news.roster.standing.values()] == ["q", "other"]
    assert client.delete("/queries/q").status_code == 204
    assert client.put("/queries/q", data=TEXT).status_code == 201


def test_a_stream(settings: Settings, client, backend: Backend) -> None:
    registered(client)
    damage(backend, 1)
    told = (
        500,
        "damaged",
        (
            f"The entry 1 that made the stream <{S}> is damaged on the disk, and its clock is not known: delete the "
            "queries that read it and the stream, and create it again."
        ),
    )
    with Backend(replace(settings)) as other:
        again = create_app(other).test_client()
        push = {"data": "<urn:a> <urn:n> <urn:b> .", "headers": NT}
        assert problem(again.post("/streams/s", **push)) == told
        assert [one["iri"] for one in again.get("/streams").json["streams"]] == [S]
        assert again.put("/streams/other").status_code == 201
        assert (
            again.put(
                "/queries/other", data=TEXT.replace("QUERY q", "QUERY other").replace("/streams/s", "/streams/other")
            ).status_code
            == 201
        )
        assert again.delete("/queries/q").status_code == again.delete("/streams/s").status_code == 204
        assert again.put("/streams/s?clock=event").status_code == 201
        assert again.post("/streams/s", **push).status_code == 200


def test_health_names_what_was_found_and_what_was_passed_over(client, backend: Backend, engine: Engine) -> None:
    query = registered(client)
    client.post("/streams/s", data="<urn:a> <urn:n> <urn:b> .", headers=NT)
    engine.count(query, 1000)
    Status(backend.stores.database).say("engine", {"state": "running", "pid": 1})
    backend.stores.retention.advance(3)
    assert client.get("/health").json["status"] == "ok"
    damage(backend, 3)
    damage_answer(backend, 1000)
    for read in (lambda: list(backend.stores.log.read(0, 3)), lambda: backend.stores.answers.at(query, 1000)):
        read()
    told = client.get("/health").json
    found = {one.what: one for one in Damages(backend.stores.database).all()}
    assert (told["status"], told["damages"]) == ("degraded", 2) and "skipped" not in told
    assert sorted(told["damaged"], key=str) == sorted(
        [
            {
                "seq": 3,
                "kind": "chunk",
                "stream": S,
                "at": found["entry"].at,
                "noticed": found["entry"].noticed,
                "reason": f"the entry 3 of the stream {S} {WRONG}",
            },
            {
                "position": 1,
                "query": "q",
                "at": 1000,
                "noticed": found["answer"].noticed,
                "reason": f"the answer at 1000 {WRONG}",
            },
        ],
        key=str,
    )
    metrics = client.get("/metrics").text
    assert "csparql_damaged 2.0" in metrics
    assert 'csparql_health{status="degraded"} 1.0' in metrics and 'csparql_health{status="ok"} 0.0' in metrics
    Damages(backend.stores.database).skip(found["entry"])
    told = client.get("/health").json
    assert [one["query"] for one in told["damaged"]] == ["q"] and told["damages"] == 1
    assert [(one["seq"], one["skipped"] >= one["noticed"]) for one in told["skipped"]] == [(3, True)]
    assert "csparql_damaged 1.0" in client.get("/metrics").text
