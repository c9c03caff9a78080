"""Derived streams: made, filled and ended by REGISTER STREAM queries."""

from __future__ import annotations

import threading

import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.disk import StoreError
from csparql_spark.disk.bell import Bell
from csparql_spark.log import Draft
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources.derived import way
from csparql_spark.store import QueryRecord, StreamRecord
from tests.server.playing import BASE, Engine

HOT = f"{BASE}/streams/Hot"
PATIENCE_SECONDS = 30


def stream_query(name: str, *reads: str) -> str:
    clauses = " ".join(f"FROM STREAM <{BASE}/streams/{stream}> [RANGE 2s STEP 1s]" for stream in reads or ("s",))
    return f"REGISTER STREAM {name} AS CONSTRUCT {{ ?s ?p ?o }} {clauses} WHERE {{ ?s ?p ?o }}"


def plain_query(name: str, read: str) -> str:
    return f"REGISTER QUERY {name} AS SELECT ?s FROM STREAM <{BASE}/streams/{read}> [RANGE 1s] {{ ?s ?p ?o }}"


@pytest.fixture
def source(client) -> str:
    return client.put("/streams/s?clock=event").json["iri"]


def log_of(backend: Backend) -> list[tuple[str, str | None]]:
    return [
        (entry.kind, (entry.subject or "").removeprefix(f"{BASE}/streams/"))
        for entry in backend.stores.log.read(0, backend.stores.log.tail())
    ]


def orphan(backend: Backend, name: str = "Hot") -> int:
    """What is left when the process is killed between the two entries."""
    iri = f"{BASE}/streams/{name}"
    draft = StreamRecord.draft(iri, name=name, clock="derived", delay=0, producer=name)
    return backend.stores.writer.append(draft).seq


def test_a_stream_query_makes_its_stream(client, source: str, backend: Backend) -> None:
    made = client.put("/queries/Hot", data=stream_query("Hot"))
    assert (made.status_code, made.json["kind"], made.json["stream"]) == (201, "stream", HOT)
    assert log_of(backend) == [("stream", "s"), ("stream", "Hot"), ("register", "Hot")]
    told = client.get("/streams/Hot").json
    assert told.pop("created") > 1_600_000_000_000
    assert told == {
        "iri": HOT,
        "name": "Hot",
        "url": HOT,
        "clock": "derived",
        "delay": 0,
        "producer": "Hot",
        "kept": {"chunks": 0, "triples": 0},
        "newest": None,
        "queries": [],
    }
    again = client.put("/queries/Hot", data=stream_query("Hot"))
    assert (again.status_code, again.json) == (200, made.json)
    assert len(log_of(backend)) == 3


def test_it_may_be_named_by_an_iri(client, source: str) -> None:
    text = stream_query("<http://ex.org/hot>")
    made = client.put("/queries/http%3A%2F%2Fex.org%2Fhot", data=text)
    assert (made.status_code, made.json["stream"]) == (201, "http://ex.org/hot")
    assert client.get("/streams/http%3A%2F%2Fex.org%2Fhot").json["producer"] == "http://ex.org/hot"


def test_other_queries_read_it(client, source: str) -> None:
    assert client.put("/queries/r", data=plain_query("r", "Hot")).status_code == 422
    client.put("/queries/Hot", data=stream_query("Hot"))
    made = client.put("/queries/r", data=plain_query("r", "Hot"))
    assert (made.status_code, made.json["streams"], made.json["stream"]) == (201, [HOT], None)
    assert client.get("/streams/Hot").json["queries"] == ["r"]


def test_deleting_it_ends_the_stream(client, source: str, backend: Backend) -> None:
    client.put("/queries/Hot", data=stream_query("Hot"))
    assert client.delete("/queries/Hot").status_code == 204
    assert client.get("/streams/Hot").status_code == 404
    assert log_of(backend)[2:] == [("register", "Hot"), ("unregister", "Hot"), ("drop", "Hot")]
    assert client.put("/streams/Hot").status_code == 201


def test_it_stays_while_its_stream_is_read(client, source: str) -> None:
    client.put("/queries/Hot", data=stream_query("Hot"))
    for name in ("r1", "r2"):
        client.put(f"/queries/{name}", data=plain_query(name, "Hot"))
    refused = client.delete("/queries/Hot")
    assert (refused.status_code, refused.json["code"], refused.json["queries"]) == (409, "stream-in-use", ["r1", "r2"])
    for name in ("r1", "r2", "Hot"):
        assert client.delete(f"/queries/{name}").status_code == 204


@pytest.mark.parametrize(
    "method, path",
    [
        ("DELETE", "/streams/Hot"),
        ("POST", "/streams/Hot"),
        ("PUT", "/streams/Hot"),
        ("PUT", "/streams/Hot?clock=event"),
    ],
)
def test_nobody_else_changes_the_stream(client, source: str, backend: Backend, method: str, path: str) -> None:
    client.put("/queries/Hot", data=stream_query("Hot"))
    refused = client.open(path, method=method, content_type="application/n-triples" if method == "POST" else None)
    assert (refused.status_code, refused.json["code"], refused.json["query"]) == (409, "derived-stream", "Hot")
    assert len(log_of(backend)) == 3


def test_a_push_into_a_stream_that_became_a_derived_one(client, source: str) -> None:
    client.put("/streams/Hot")
    assert client.post("/streams/Hot", data="# nothing\n", content_type="application/n-triples").status_code == 200
    client.delete("/streams/Hot")
    client.put("/queries/Hot", data=stream_query("Hot"))
    refused = client.post("/streams/Hot", data="<urn:a> <urn:b> <urn:c> .", content_type="application/n-triples")
    assert (refused.status_code, refused.json["code"]) == (409, "derived-stream")


def test_a_push_into_a_stream_that_was_a_derived_one(client, source: str) -> None:
    client.put("/queries/Hot", data=stream_query("Hot"))
    for status in (409, 200):
        push = client.post("/streams/Hot", data="<urn:a> <urn:b> <urn:c> .", content_type="application/n-triples")
        assert push.status_code == status
        client.delete("/queries/Hot")
        client.put("/streams/Hot")


def test_a_stream_of_somebody_else_is_in_the_way(client, source: str, backend: Backend) -> None:
    client.put("/streams/Hot")
    refused = client.put("/queries/Hot", data=stream_query("Hot"))
    assert (refused.status_code, refused.json["code"]) == (409, "stream-exists")
    assert log_of(backend) == [("stream", "s"), ("stream", "Hot")]


# --- crashes between the two entries


def test_an_orphan_is_taken_over(client, source: str, backend: Backend) -> None:
    left = orphan(backend)
    assert client.put("/queries/Hot", data=stream_query("Hot")).status_code == 201
    assert log_of(backend) == [("stream", "s"), ("stream", "Hot"), ("register", "Hot")]
    assert backend.stores.registry.stream(HOT).id == left


def test_a_crash_between_the_entries(client, source: str, backend: Backend, monkeypatch) -> None:
    """The store fails for the second entry: the stream is left, and the next try goes on from there."""
    append = backend.stores.writer.append

    def fail(draft: Draft, guard=None):
        if draft.kind == "register":
            raise StoreError("the power is gone")
        return append(draft, guard)

    with monkeypatch.context() as broken:
        broken.setattr(backend.stores.writer, "append", fail)
        assert client.put("/queries/Hot", data=stream_query("Hot")).status_code == 503
    assert log_of(backend)[1:] == [("stream", "Hot")]
    assert client.put("/queries/r", data=plain_query("r", "Hot")).json["code"] == "unknown-stream"
    assert client.put("/queries/Hot", data=stream_query("Hot")).status_code == 201
    assert log_of(backend)[1:] == [("stream", "Hot"), ("register", "Hot")]


def test_a_crash_after_the_deletion(client, source: str, backend: Backend, monkeypatch) -> None:
    client.put("/queries/Hot", data=stream_query("Hot"))
    append = backend.stores.writer.append

    def fail(draft: Draft, guard=None):
        if draft.kind == "drop":
            raise StoreError("the power is gone")
        return append(draft, guard)

    with monkeypatch.context() as broken:
        broken.setattr(backend.stores.writer, "append", fail)
        assert client.delete("/queries/Hot").status_code == 503
    assert client.get("/queries/Hot").status_code == 404
    assert client.get("/streams/Hot").json["clock"] == "derived"
    assert client.delete("/streams/Hot").status_code == 204
    assert client.get("/streams/Hot").status_code == 404


@pytest.mark.parametrize(
    "text", [plain_query("Hot", "s"), "REGISTER STREAM Hot AS nonsense", stream_query("Hot", "nowhere")]
)
def test_an_orphan_that_nobody_takes_over_goes(client, source: str, backend: Backend, text: str) -> None:
    orphan(backend)
    client.put("/queries/Hot", data=text)
    assert client.get("/streams/Hot").status_code == 404


def test_an_orphan_of_another_address_of_the_server_goes(client, source: str, backend: Backend) -> None:
    iri = "http://127.0.0.1:9999/streams/Hot"
    backend.stores.writer.append(StreamRecord.draft(iri, name="Hot", clock="derived", delay=0, producer="Hot"))
    assert client.put("/queries/Hot", data=stream_query("Hot")).json["stream"] == HOT
    assert [stream.iri for stream in backend.stores.registry.streams()] == [source, HOT]


def test_of_many_who_register_one_does(client, source: str, backend: Backend) -> None:
    """Stream queries and a plain one under one name: whoever wins has the stream that belongs to it, and no other."""
    app, told = client.application, []
    texts = [stream_query("Hot"), stream_query("Hot", "s", "t"), plain_query("Hot", "s")]
    client.put("/streams/t?clock=event")

    def register(number: int) -> None:
        response = app.test_client().put("/queries/Hot", data=texts[number])
        told.append((response.status_code, number))

    threads = [threading.Thread(target=register, args=(number % 3,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [number for status, number in told if status == 201]
    assert sorted(told) == sorted(
        [(201, winner)] + [(200, winner)] * 3 + [(409, number) for number in range(3) if number != winner] * 4
    )
    streams = {stream.iri for stream in backend.stores.registry.streams()}
    assert streams - {source, f"{BASE}/streams/t"} == (set() if winner == 2 else {HOT})
    assert [kind for kind, _ in log_of(backend)].count("register") == 1


def test_registering_a_reader_and_deleting_the_producer_at_once(client, source: str, backend: Backend) -> None:
    app = client.application

    def play(number: int) -> None:
        own = app.test_client()
        own.put("/queries/Hot", data=stream_query("Hot"))
        if number % 2:
            own.delete("/queries/Hot")
        else:
            own.put(f"/queries/r{number}", data=plain_query(f"r{number}", "Hot"))

    threads = [threading.Thread(target=play, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer = readers = False
    for kind, subject in log_of(backend):
        match kind, subject:
            case "register", "Hot":
                producer = True
            case "unregister", "Hot":
                assert not readers, "its stream was read"
                producer = False
            case "register", _:
                assert producer, "nobody would ever fill the stream that it reads"
                readers = True


# --- what happens between a check and its entry


def before_entry(backend: Backend, monkeypatch, kind: str, act) -> None:
    """Do something between the check and the next entry of that kind."""
    append = backend.stores.writer.append

    def append_late(draft: Draft, guard=None):
        if draft.kind == kind:
            monkeypatch.setattr(backend.stores.writer, "append", append)
            act()
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)


def test_a_reader_whose_producer_goes_meanwhile(client, source: str, backend: Backend, monkeypatch) -> None:
    """The stream may still be there, for a moment; nobody would fill it."""
    client.put("/queries/Hot", data=stream_query("Hot"))
    before_entry(
        backend, monkeypatch, "register", lambda: backend.stores.writer.append(Draft("unregister", subject="Hot"))
    )
    refused = client.put("/queries/r", data=plain_query("r", "Hot"))
    assert (refused.status_code, refused.json["code"]) == (422, "unknown-stream")
    assert log_of(backend)[-1] == ("unregister", "Hot")


def test_a_reader_that_comes_while_the_producer_goes(client, source: str, backend: Backend, monkeypatch) -> None:
    client.put("/queries/Hot", data=stream_query("Hot"))
    other = client.application.test_client()
    before_entry(backend, monkeypatch, "unregister", lambda: other.put("/queries/r", data=plain_query("r", "Hot")))
    assert client.delete("/queries/Hot").json["queries"] == ["r"]
    assert client.get("/queries/Hot").status_code == client.get("/streams/Hot").status_code == 200


def test_a_name_that_a_plain_query_takes_meanwhile(client, source: str, backend: Backend, monkeypatch) -> None:
    """The plain query drops the stream that was made, and wins."""
    other = client.application.test_client()
    before_entry(backend, monkeypatch, "register", lambda: other.put("/queries/Hot", data=plain_query("Hot", "s")))
    refused = client.put("/queries/Hot", data=stream_query("Hot"))
    assert (refused.status_code, refused.json["code"]) == (409, "query-exists")
    assert log_of(backend)[1:] == [("stream", "Hot"), ("drop", "Hot"), ("register", "Hot")]


def test_a_plain_query_whose_name_has_an_orphan_meanwhile(client, source: str, backend: Backend, monkeypatch) -> None:
    before_entry(backend, monkeypatch, "register", lambda: orphan(backend))
    assert client.put("/queries/Hot", data=plain_query("Hot", "s")).status_code == 201
    assert log_of(backend)[1:] == [("stream", "Hot"), ("drop", "Hot"), ("register", "Hot")]


def test_a_stream_that_is_made_meanwhile(client, source: str, backend: Backend, monkeypatch) -> None:
    other = client.application.test_client()

    def make(draft: Draft, guard=None, append=backend.stores.writer.append):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        assert other.put("/streams/Hot").status_code == 201
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", make)
    refused = client.put("/queries/Hot", data=stream_query("Hot"))
    assert (refused.status_code, refused.json["code"]) == (409, "stream-exists")
    assert client.get("/streams/Hot").json["producer"] is None


def test_an_orphan_that_is_deleted_while_it_is_taken_over(client, source: str, backend: Backend, monkeypatch) -> None:
    orphan(backend)
    other = client.application.test_client()
    before_entry(backend, monkeypatch, "register", lambda: other.delete("/streams/Hot"))
    assert client.put("/queries/Hot", data=stream_query("Hot")).status_code == 201
    assert log_of(backend)[1:] == [("stream", "Hot"), ("drop", "Hot"), ("stream", "Hot"), ("register", "Hot")]


def test_an_orphan_that_is_taken_over_while_it_is_deleted(client, source: str, backend: Backend, monkeypatch) -> None:
    orphan(backend)
    other = client.application.test_client()
    before_entry(backend, monkeypatch, "drop", lambda: other.put("/queries/Hot", data=stream_query("Hot")))
    assert client.delete("/streams/Hot").json["code"] == "derived-stream"
    assert log_of(backend)[1:] == [("stream", "Hot"), ("register", "Hot")]


# --- cycles


def test_a_query_does_not_read_what_it_writes(client, source: str, backend: Backend) -> None:
    refused = client.put("/queries/Hot", data=stream_query("Hot", "Hot", "s"))
    assert (refused.status_code, refused.json["code"], refused.json["cycle"]) == (422, "cycle", ["Hot", "Hot"])
    assert len(log_of(backend)) == 1


def test_a_cycle_is_named(client, source: str, backend: Backend) -> None:
    """No request can close a cycle, since a stream that is read is there; but the log could hold one half of it."""
    orphan(backend, "a")
    for name, reads in (("b", "a"), ("c", "b")):
        orphan(backend, name)
        backend.stores.writer.append(QueryRecord.draft(name, text=stream_query(name, reads), base=None))
    refused = client.put("/queries/a", data=stream_query("a", "s", "c"))
    assert (refused.status_code, refused.json) == (
        422,
        {
            "type": "/problems/cycle",
            "title": "Cycle",
            "status": 422,
            "detail": f"The query a writes the stream <{BASE}/streams/a>, and would read its own output: a reads what c writes, "
            "c reads what b writes, b reads what a writes. Read another stream, or give the query another name.",
            "code": "cycle",
            "query": "a",
            "stream": f"{BASE}/streams/a",
            "cycle": ["a", "c", "b", "a"],
        },
    )


@pytest.mark.parametrize(
    "start, goal, expected",
    [
        (["x"], "x", []),
        (["y"], "x", None),
        ([], "x", None),
        (["b"], "a", ["b"]),
        (["y", "c"], "a", ["c", "b"]),
        (["c", "b"], "a", ["b"]),
        (["c"], "x", ["c", "b", "a"]),
        (["d"], "a", None),
        (["d", "c"], "x", ["c", "b", "a"]),
    ],
)
def test_the_way_back(start: list[str], goal: str, expected: list[str] | None) -> None:
    """Of queries, each of which writes the stream of its name: c reads b, b reads a, a reads x; d reads itself."""
    reads = {"c": ["b"], "b": ["a"], "a": ["x"], "d": ["d"]}
    assert way(start, goal, {name: name for name in reads}, reads) == expected


# --- what they say


def wait_until(backend: Backend, count: int) -> list[tuple[str, int, list[tuple[str, str, str]]]]:
    bell = Bell(backend.directory.bell("log"))
    for _ in range(10 * PATIENCE_SECONDS):
        said = [
            (
                entry.kind,
                entry.at if entry.kind == "tick" else entry.first,
                Chunk.from_ipc(entry.payload).triples() if entry.payload else [],
            )
            for entry in backend.stores.log.read(0, backend.stores.log.tail())
            if entry.kind in ("chunk", "tick")
        ]
        if len(said) >= count:
            bell.close()
            return said
        bell.wait(0.1)
    raise AssertionError(f"{said} is all that was relayed in time")


def say(engine: Engine, query: int, *instants: int) -> None:
    for instant in instants:
        engine.answer(query, instant, Result.graph(f'<urn:s> <urn:at> "{instant}" .\n' if instant % 2000 else ""))


def expected(*instants: int) -> list[tuple[str, int, list[tuple[str, str, str]]]]:
    return [
        ("chunk", instant, [("<urn:s>", "<urn:at>", f'"{instant}"')]) if instant % 2000 else ("tick", instant, [])
        for instant in instants
    ]


def test_answers_are_relayed_as_they_come(client, source: str, backend: Backend, engine: Engine) -> None:
    query = client.put("/queries/Hot", data=stream_query("Hot")).json["id"]
    say(engine, query, 1000, 2000)
    assert wait_until(backend, 2) == expected(1000, 2000)
    say(engine, query, 3000)
    assert wait_until(backend, 3) == expected(1000, 2000, 3000)
    told = client.get("/streams/Hot").json
    assert told["kept"] == {"chunks": 2, "triples": 2} and told["newest"]["last"] == 3000


def test_a_restart_goes_on_where_the_process_before_ended(settings: Settings) -> None:
    with Backend(settings) as backend:
        client = create_app(backend).test_client()
        client.put("/streams/s?clock=event")
        query = client.put("/queries/Hot", data=stream_query("Hot")).json["id"]
        say(Engine(backend), query, 1000, 2000, 3000)
        wait_until(backend, 3)
    with Backend(settings) as backend:
        say(Engine(backend), query, 4000)
        assert wait_until(backend, 4) == expected(1000, 2000, 3000, 4000)


def test_what_was_said_while_nobody_was_there_is_relayed_after_all(settings: Settings) -> None:
    with Backend(settings) as backend:
        client = create_app(backend).test_client()
        client.put("/streams/s?clock=event")
        query = client.put("/queries/Hot", data=stream_query("Hot")).json["id"]
        say(Engine(backend), query, 1000)
        wait_until(backend, 1)
    stopped = Backend(settings)
    instants = range(2000, 30_000, 1000)
    say(Engine(stopped), query, *instants)
    stopped.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
    stopped.close()
    with Backend(settings) as backend:
        assert wait_until(backend, 29) == expected(1000, *instants)
        backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
        assert backend.stores.answers.bounds(query) == (28_000, 29_000)
