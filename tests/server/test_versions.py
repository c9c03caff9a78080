"""Versions: a query is replaced in place by whoever says which version that is to be, and everybody goes on."""

from __future__ import annotations

import threading

import pytest
from flask.testing import FlaskClient

from csparql_spark.log.contents import QueryRegistered, content_of
from csparql_spark.server.backend import Backend
from csparql_spark.server.http.conditions import Condition
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.routes.registration import Made, RegistrationDraft, register
from csparql_spark.store.versions import MOST
from tests.server.playing import BASE, TEXT, Engine, registered

WIDER, WIDEST = TEXT.replace("2s", "3s"), TEXT.replace("2s", "4s")
STREAM = f"REGISTER STREAM q AS CONSTRUCT {{ ?s <urn:is> ?n }} FROM STREAM <{BASE}/streams/s> [RANGE 2s] WHERE {{ ?s ?p ?n }}"


def put(client: FlaskClient, text: str, match: object = None, **more: str):
    headers = {} if match is None else {"If-Match": match if match == "*" else f'"{match}"'}
    return client.put("/queries/q", data=text, headers=headers, query_string=more)


def replaced(client: FlaskClient, text: str, match: object = "*", **more: str) -> int:
    """Replace the query q; its version."""
    response = put(client, text, match, **more)
    assert response.status_code == 200, response.text
    return response.json["version"]


def registrations(backend: Backend) -> list[QueryRegistered]:
    log = backend.stores.log
    return [content_of(entry) for entry in log.read(0, log.tail()) if entry.kind == "register"]


def test_a_query_is_replaced_by_who_names_its_version(client, backend: Backend) -> None:
    first = registered(client)
    assert client.get("/queries/q").headers["ETag"] == f'"{first}"'
    response = put(client, WIDER, first)
    second = first + 1
    assert (response.status_code, response.headers["ETag"]) == (200, f'"{second}"')
    assert response.headers["Location"] == f"{BASE}/queries/q"
    told = client.get("/queries/q").json
    assert told == response.json
    assert (told["id"], told["version"], told["text"]) == (first, second, WIDER)
    assert [one["version"] for one in told["versions"]] == [first, second]
    assert [query["version"] for query in client.get("/queries").json["queries"]] == [second]
    assert [(one.replaces, one.origin) for one in registrations(backend)] == [(None, None), (first, first)]
    old = client.get(f"/queries/q?version={first}")
    assert (old.json["text"], old.json["status"], old.json["id"]) == (TEXT, "replaced", first)
    assert old.headers["ETag"] == f'"{first}"'


def test_the_same_request_again_makes_nothing(client, backend: Backend) -> None:
    first = registered(client)
    second = replaced(client, WIDER, first)
    again = put(client, WIDER, first)
    assert (again.status_code, again.headers["ETag"], again.json["version"]) == (200, f'"{second}"', second)
    for match in (None, second, "*"):
        assert put(client, WIDER, match).json["version"] == second
    assert len(registrations(backend)) == 2
    third = replaced(client, WIDEST, second)
    late = put(client, WIDER, first)
    assert (late.status_code, late.json["code"], late.json["version"]) == (412, "precondition-failed", third)
    assert late.headers["ETag"] == f'"{third}"'
    # Back to what it was is another version, too.
    assert replaced(client, TEXT, third) == third + 1


def test_conditions(client) -> None:
    def status(method: str, name: str = "q", **headers: str) -> int:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.open(f"/queries/{name}", method=method, data=TEXT, headers=sent).status_code

    first = registered(client)
    assert status("PUT", If_None_Match="*") == status("PUT", If_None_Match=f'"{first}"') == 412
    assert status("PUT", If_None_Match='"99"') == 200
    assert status("PUT", If_Match="what?") == status("PUT", If_Match='"99", "98"') == 412
    assert [status("PUT", If_Match=tag) for tag in (f"{first}", f'W/"{first}"', f'"99", "{first}"')] == [200] * 3
    assert status("PUT", If_Match=f'"{first}"', If_None_Match="*") == 412
    assert status("DELETE", If_Match='"99"') == 412 and status("DELETE", If_Match="*") == 204
    assert status("DELETE", If_Match="*") == 404
    assert status("PUT", If_Match="*") == 412
    assert status("PUT", If_None_Match="*") == 201
    assert status("DELETE", If_Match=client.get("/queries/q").headers["ETag"]) == 204


def test_of_many_at_once_one_replaces_it(client, backend: Backend) -> None:
    first = registered(client)
    condition, made, refused = client.get("/queries/q").headers["ETag"], [], []
    begin = threading.Barrier(8)

    def replace(number: int) -> None:
        with backend_of(client).test_request_context(headers={"If-Match": condition}) as context:
            wanted = RegistrationDraft(
                TEXT.replace("2s", f"{10 + number}s"), condition=Condition(context.request.if_match)
            )
            begin.wait()
            try:
                made.append(register(backend, "q", wanted))
            except Problem as problem:
                refused.append(problem.code)

    threads = [threading.Thread(target=replace, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [what for _, what in made] == [Made.VERSION] and refused == ["precondition-failed"] * 7
    assert made[0][0].replaces == first and backend.stores.registry.query("q").text == made[0][0].text
    assert len(registrations(backend)) == 2


def backend_of(client: FlaskClient):
    return client.application


def test_a_text_that_is_no_query_replaces_nothing(client, backend: Backend) -> None:
    first = registered(client)
    for text in ("", "SELECT", TEXT.replace("streams/s", "streams/none"), TEXT.replace("QUERY q", "QUERY other")):
        assert put(client, text, first).status_code in (400, 422)
    assert client.get("/queries/q").json["version"] == first and len(registrations(backend)) == 1


@pytest.mark.parametrize("paused", [False, True])
def test_it_is_paused_as_it_was_or_as_is_said(client, backend: Backend, paused: bool) -> None:
    registered(client)
    statuses = []
    for asked, text in (({}, WIDER), ({"paused": "false"}, WIDEST), ({"paused": "true"}, TEXT)):
        client.post(f"/queries/q/{'pause' if paused else 'resume'}")
        replaced(client, text, **asked)
        statuses.append(client.get("/queries/q").json["status"])
    assert statuses == ["paused" if paused else "running", "running", "paused"]
    assert client.post("/queries/q/resume").json["status"] == "running"


def test_who_has_failed_runs_again_with_any_text(client, engine: Engine, backend: Backend) -> None:
    first = registered(client)
    engine.fail(first, 1000, "too many rows")
    assert put(client, TEXT).json["version"] == first  # who does not say so replaces nothing
    second = replaced(client, TEXT, first)
    assert client.get("/queries/q").json["status"] == "running"
    assert put(client, TEXT, first).json["version"] == second
    engine.fail(second, 1000, "too many rows")
    assert put(client, TEXT, first).json["version"] == second  # as it was told before
    assert replaced(client, WIDER, second) > second
    told = client.get(f"/queries/q?version={first}").json
    assert (told["status"], told["failure"]["reason"]) == ("failed", "too many rows")
    live = client.get("/queries/q").json["version"]
    assert f'If-Match: "{live}"' in told["failure"]["advice"]  # that of the failed one would be refused


def test_answers_are_those_of_the_version_that_is_asked_for(client, engine: Engine) -> None:
    first = registered(client)
    engine.count(first, 1000, 2000)
    second = replaced(client, WIDER)
    waiting = client.get("/queries/q/answers")
    assert (waiting.status_code, waiting.headers["X-CSPARQL-Status"]) == (204, "the engine is starting")
    engine.count(second, 1000, 3000)

    def told(query: str = "") -> tuple[str, str, str]:
        headers = client.get(f"/queries/q/answers?{query}").headers
        return tuple(headers[f"X-CSPARQL-{name}"] for name in ("Query", "Version", "Instant"))

    assert told() == (str(first), str(second), "3000")
    assert told(f"version={first}") == told(f'version="{first}"') == (str(first), str(first), "2000")
    assert told(f"version={first}&at=1000") == (str(first), str(first), "1000")
    assert client.get(f"/queries/q/answers?version={first}").headers["X-CSPARQL-Status"] == "replaced"
    both = [client.get(f"/queries/q/answers?from=beginning&version={one}").json for one in (first, second)]
    assert [[(one["version"], one["at"]) for one in some] for some in both] == [
        [(first, 1000), (first, 2000)],
        [(second, 1000), (second, 3000)],
    ]
    versions = client.get("/queries/q").json["versions"]
    assert [(one["oldest"], one["latest"]) for one in versions] == [(1000, 2000), (1000, 3000)]
    other = client.put("/queries/r", data=TEXT.replace("QUERY q", "QUERY r")).json["version"]
    for unknown in (other, 99, -1, "x", "9" * 30):
        assert client.get(f"/queries/q/answers?version={unknown}").json["code"] == "unknown-version"
    third = replaced(client, WIDEST)
    assert client.get(f"/queries/q/answers?version={third}").status_code == 204
    replaced(client, TEXT)
    gone = client.get(f"/queries/q/answers?version={third}")
    assert (gone.status_code, gone.headers["X-CSPARQL-Status"]) == (204, "replaced")
    assert "was replaced before that" in client.get(f"/queries/q/answers?version={first}&at=9000").json["detail"]


def test_replacing_all_the_time_makes_nothing_grow(client, engine: Engine, backend: Backend) -> None:
    version = registered(client)
    for number in range(30):
        engine.count(version, 1000)
        version = replaced(client, TEXT.replace("2s", f"{3 + number}s"), version)
    backend.stores.retention.advance(backend.stores.log.tail())
    for _ in range(2):
        backend.threads.retention_thread.forget()
    versions = client.get("/queries/q").json["versions"]
    assert len(versions) == 1 + MOST and versions[-1]["version"] == version
    assert len(registrations(backend)) == 1 + MOST
    assert client.delete("/queries/q").status_code == 204
    backend.stores.retention.advance(backend.stores.log.tail() + 1)
    client.put("/streams/another")
    for _ in range(2):
        backend.threads.retention_thread.forget()
    assert registrations(backend) == [] and client.get("/queries").json == {"queries": []}


def test_a_text_of_the_largest_size(client, backend: Backend) -> None:
    limit = backend.settings.query_limit
    first = registered(client)
    long = f"{WIDER} #{'x' * (limit - len(WIDER) - 2)}"
    assert replaced(client, long, first) > first and client.get("/queries/q").json["text"] == long
    assert put(client, f"{long}x", "*").status_code == 413


# --- stream queries


def streams(client) -> dict[str, str | None]:
    return {one["name"]: one.get("producer") for one in client.get("/streams").json["streams"]}


def test_the_stream_of_a_query_stays(client, backend: Backend) -> None:
    registered(client, STREAM)
    made = backend.stores.registry.stream(f"{BASE}/streams/q")
    reader = f"SELECT ?s FROM STREAM <{BASE}/streams/q> [RANGE 1s] WHERE {{ ?s ?p ?n }}"
    assert client.put("/queries/r", data=reader).status_code == 201
    replaced(client, STREAM.replace("urn:is", "urn:was"))
    assert backend.stores.registry.stream(f"{BASE}/streams/q") == made
    plain = put(client, TEXT, "*")
    assert (plain.status_code, plain.json["code"], plain.json["queries"]) == (409, "stream-in-use", ["r"])
    cycle = put(client, STREAM.replace("streams/s", "streams/q"), "*")
    assert (cycle.status_code, cycle.json["code"]) == (422, "cycle")
    client.put(
        "/queries/r",
        data=reader.replace("SELECT ?s", "REGISTER STREAM r AS CONSTRUCT { ?s ?p ?n }"),
        headers={"If-Match": "*"},
    )
    cycle = put(client, STREAM.replace("streams/s", "streams/r"), "*")
    assert (cycle.status_code, cycle.json["code"]) == (422, "cycle")


def test_a_query_that_makes_a_stream_no_more_leaves_none_and_the_other_way_round(client, backend: Backend) -> None:
    registered(client, STREAM)
    assert "q" in streams(client)
    replaced(client, TEXT)
    assert "q" not in streams(client)
    replaced(client, STREAM)
    assert streams(client)["q"] == "q"
    assert client.get("/queries/q").json["stream"] == f"{BASE}/streams/q"


def test_a_stream_that_nobody_fills_any_more_is_read_by_nobody(client, backend: Backend, monkeypatch) -> None:
    """A crash between the replacement and the end of the stream."""
    registered(client, STREAM)
    with monkeypatch.context() as crash:
        crash.setattr("csparql_spark.server.sources.derived.drop_orphans", lambda *_, **__: None)
        replaced(client, TEXT)
    assert "q" in streams(client)
    reader = f"SELECT ?s FROM STREAM <{BASE}/streams/q> [RANGE 1s] WHERE {{ ?s ?p ?n }}"
    assert client.put("/queries/r", data=reader).status_code == 422
    replaced(client, WIDER)
    assert "q" not in streams(client)


def test_an_instant_that_another_version_has_answered_says_so(client, engine: Engine) -> None:
    first = registered(client)
    engine.count(first, 1000, 2000)
    second = replaced(client, WIDER)
    engine.count(second, 3000)
    problem = client.get("/queries/q/answers?at=2000")
    assert problem.status_code == 404 and problem.json["detail"].endswith(
        f": the version {first} of the query has: ask with &version={first}."
    )
    assert client.get(f"/queries/q/answers?at=2000&version={first}").status_code == 200
    unknown = client.get("/queries/q/answers?version=99")
    assert f"Kept are: {first}, {second}." in unknown.json["detail"]
