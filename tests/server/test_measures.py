"""What queries have cost, point by point, and in the explanation."""

from __future__ import annotations

import pytest

from csparql_spark.server.backend import Backend
from csparql_spark.store.measures import Cost, Measures
from tests.server.playing import Engine, registered

PLAN = {"node": "scan", "does": "?s <urn:n> ?n", "rows": 2, "micros": 12}


def cost(query: int, instant: int = 5000, **more: object) -> Cost:
    return Cost(query, instant, 1, 2, 2, 300, 300, 7, 1, 999, [instant])._replace(**more)


def measured(backend: Backend, *costs: Cost, at: float) -> None:
    with backend.stores.database.transaction() as connection:
        Measures(backend.stores.database).write(connection, costs, at=at)


def test_the_points_of_a_query(client, backend: Backend) -> None:
    query = registered(client)
    assert client.get("/queries/q/measures").json == {"query": "q", "points": []}
    measured(backend, cost(query), at=5041.23)
    measured(backend, cost(query, 7000, instants=2, rows=9, due=[6000, None]), at=7100)
    first = {
        "at": 5041,
        "instant": 5000,
        "latency_ms": 41.2,
        "micros": 300,
        "instants": 1,
        "rows": 2,
        "elements": 7,
        "late": 1,
        "state_bytes": 999,
    }
    second = first | {"at": 7100, "instant": 7000, "latency_ms": None, "instants": 2}
    assert client.get("/queries/q/measures").json == {"query": "q", "points": [first, second]}
    assert client.get("/queries/q/measures?limit=1").json == {"query": "q", "points": [second]}


@pytest.mark.parametrize("limit", ["0", "301", "-1", "many", "", "²"])
def test_a_limit_that_is_none(client, limit: str) -> None:
    registered(client)
    refused = client.get("/queries/q/measures", query_string={"limit": limit})
    assert (refused.status_code, refused.json["code"], refused.json["detail"]) == (
        400,
        "bad-setting",
        f"The limit '{limit}' is not a number of points from 1 to 300.",
    )


def test_an_unknown_query(client) -> None:
    assert client.get("/queries/nix/measures").status_code == 404


def test_an_explanation_tells_what_the_newest_answer_has_cost(client, backend: Backend) -> None:
    query = registered(client)
    nothing = {
        "instant": None,
        "rows": 0,
        "elements": [None],
        "micros": None,
        "latency_ms": None,
        "state_bytes": None,
        "late": None,
        "refused_patterns": None,
        "nodes": None,
    }
    assert client.get("/queries/q/explain").json["live"] == nothing
    measured(backend, cost(query, nodes=PLAN, refused_patterns=2), at=5040)
    assert client.get("/queries/q/explain").json["live"] == nothing | {
        "micros": 300,
        "latency_ms": 40,
        "state_bytes": 999,
        "late": 1,
        "refused_patterns": 2,
        "nodes": {"instant": 5000, "plan": PLAN},
    }


def test_an_explanation_counts_what_each_window_holds_as_of_its_own_step(client, engine: Engine) -> None:
    query = registered(
        client,
        "REGISTER QUERY q AS SELECT ?s FROM STREAM <streams/s> [RANGE 4s STEP 2s] "
        "FROM STREAM <streams/s> [RANGE 6s STEP 3s] { ?s ?p ?o }",
    )
    for at in range(1, 7):
        data = f"<urn:a{at}> <urn:p> <urn:b> <urn:t:{at}000> ."
        assert client.post("/streams/s", data=data, content_type="application/n-quads").status_code == 200
    engine.count(query, 4000)
    assert client.get("/queries/q/explain").json["live"]["elements"] == [4, 3]  # (0, 4s], and (-3s, 3s]


def test_an_explanation_tells_in_which_order_patterns_are_joined(client) -> None:
    client.put("/streams/s")
    client.put("/queries/q", data="SELECT ?x FROM STREAM <streams/s> [RANGE 5s] { ?x <urn:p> ?y . ?y <urn:q> ?z }")
    told = client.get("/queries/q/explain").json
    first, second = "?x <urn:p> ?y", "?y <urn:q> ?z"
    assert [[sorted(order) for order in orders] for orders in told["join_order"]] == [[[first, second]] * 2]
    assert [[order[0] for order in orders] for orders in told["join_order"]] == [[first, second]]
    assert told["plan"]["node"] == "project"
