"""Webhooks: a receiver on a real port, an engine that is played, and what the one hears of the other."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import itertools
import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from csparql_spark.answers.bindings import Result as Told
from csparql_spark.log.sqlite.incarnations import Incarnations
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from csparql_spark.server.sinks.outgoing_calls import Allowed
from csparql_spark.server.sinks.webhooks import LONGEST_FAILING, LONGEST_PAUSE, MOST_FAILURES, pause_after, signature
from tests.server.playing import BASE, TEXT, Engine, registered

PATIENCE = 20


class Call(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def at(self) -> int:
        return json.loads(self.body)["at"]


class Receiver:
    """Takes calls; `answers` are the statuses of the next ones, after that 204."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self.answers: list[int] = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answers.pop(0) if receiver.answers else 204
                # Before the answer: after it the next call may come, and overtake this one on its way into the queue.
                receiver.calls.put(Call(self.path, dict(self.headers), body))
                self.send_response(status)
                if status in (301, 307):
                    self.send_header("Location", f"{receiver.url}elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def take(self, count: int) -> list[Call]:
        return [self.calls.get(timeout=PATIENCE) for _ in range(count)]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def settings(settings: Settings, receiver: Receiver) -> Settings:
    return replace(settings, webhooks=(receiver.url,))


@pytest.fixture
def backend(settings: Settings) -> Iterator[Backend]:
    with Backend(settings) as backend:
        backend.threads.webhooks._pause = lambda failures: 0.001
        yield backend


def until(condition) -> None:
    """Wait for what other threads do; without an end to hope for, fail."""
    deadline = threading.Event()
    for _ in range(PATIENCE * 100):
        if condition():
            return
        deadline.wait(0.01)
    raise AssertionError("it did not happen")


def observe(client, url: str, **more: object):
    return client.post("/queries/q", json={"url": url, **more})


def test_each_answer_is_posted_in_order_with_all_that_is_said_of_it(client, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    made = observe(client, f"{receiver.url}hot?x=1", secret="s\u00e4cret")
    assert made.status_code == 201
    id = made.json["id"]
    engine.count(query, 1000, 2000, 3000)
    calls = receiver.take(3)
    assert [call.at for call in calls] == [1000, 2000, 3000]
    first = calls[0]
    assert json.loads(first.body) == {
        "query": "q",
        "version": query,
        "at": 1000,
        "windows": [{"stream": f"{BASE}/streams/s", "opens": -1000, "closes": 1000}],
        "results": {"head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "literal", "value": "1000"}}]}},
    }
    wanted = {
        "Content-Type": "application/json",
        "X-CSPARQL-Query": "q",
        "X-CSPARQL-Instant": "1000",
        "X-CSPARQL-Delivery": f"{id}-1000",
        "X-CSPARQL-Signature": "sha256=" + hmac.new("s\u00e4cret".encode(), first.body, hashlib.sha256).hexdigest(),
    }
    assert first.path == "/hot?x=1" and wanted.items() <= first.headers.items()
    assert "X-CSPARQL-Gap" not in first.headers
    until(lambda: client.get(f"/queries/q/observers/{id}").json["delivered"] == 3)
    told = client.get(f"/queries/q/observers/{id}").json
    assert (told["position"], told["status"], told["failures"], told["error"]) == (3000, "active", 0, None)


def test_many_answers_at_once(client, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    observe(client, receiver.url)
    instants = list(range(1000, 51_000, 1000))
    engine.count(query, *instants)
    assert [call.at for call in receiver.take(50)] == instants


@pytest.mark.parametrize(
    "begin, expected",
    [
        (None, [3000]),
        ("latest", [3000]),
        ("beginning", [1000, 2000, 3000]),
        (1000, [2000, 3000]),
        ("1970-01-01T00:00:02Z", [3000]),
    ],
)
def test_where_an_observer_begins(
    client, engine: Engine, receiver: Receiver, begin: object, expected: list[int]
) -> None:
    query = registered(client)
    engine.count(query, 1000, 2000)
    observe(client, receiver.url, **({} if begin is None else {"from": begin}))
    engine.count(query, 3000)
    assert [call.at for call in receiver.take(len(expected))] == expected


EMPTY = Told.from_rows(("n",), [])


@pytest.mark.parametrize(
    "when, expected", [("always", [1000, 2000, 3000, 4000]), ("nonempty", [2000, 4000]), (None, [2000, 4000])]
)
def test_what_says_nothing_is_told_to_those_who_want_it(
    client, engine: Engine, receiver: Receiver, when: str | None, expected: list[int]
) -> None:
    query = registered(client)
    id = observe(client, receiver.url, **({} if when is None else {"when": when})).json["id"]
    engine.answer(query, 1000, EMPTY)
    engine.count(query, 2000)
    engine.answer(query, 3000, EMPTY, EMPTY)
    engine.answer(query, 4000, EMPTY, Told.from_rows(("n",), [{"n": '"4"'}]))
    assert [call.at for call in receiver.take(len(expected))] == expected
    until(lambda: client.get(f"/queries/q/observers/{id}").json["delivered"] == len(expected))
    assert receiver.calls.empty()


@pytest.mark.parametrize(
    "answer, empty",
    [
        (EMPTY, True),
        (Told.from_rows((), []), True),
        (Told.from_rows((), [{}]), False),
        (Told.from_rows(("n",), [{}]), False),
        (Told.boolean(True), False),
        (Told.boolean(False), False),
        (Told.graph(""), True),
        (Told.graph("<urn:a> <urn:p> <urn:b> .\n"), False),
    ],
)
def test_what_is_empty(client, engine: Engine, receiver: Receiver, answer: Told, empty: bool) -> None:
    """A table without rows, a graph without triples; an ASK always says something, also that it is not so."""
    query = registered(client)
    observe(client, receiver.url)
    engine.answer(query, 1000, answer)
    engine.count(query, 2000)
    assert [call.at for call in receiver.take(1 if empty else 2)] == ([2000] if empty else [1000, 2000])


def test_positions_move_on_over_what_is_not_told(client, backend: Backend, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    id = observe(client, receiver.url).json["id"]
    for instant in range(1000, 60_000, 1000):
        engine.answer(query, instant, EMPTY)
    until(lambda: client.get(f"/queries/q/observers/{id}").json["position"] == 59_000)
    told = client.get(f"/queries/q/observers/{id}").json
    assert (told["delivered"], told["failures"]) == (0, 0)
    engine.count(query, 60_000)
    assert [call.at for call in receiver.take(1)] == [60_000]


def test_a_gap_is_told_with_the_next_answer_that_is(settings: Settings, receiver: Receiver) -> None:
    """Also when what came after it said nothing, and the server was started again in between."""
    with Backend(settings) as backend:
        client, engine = create_app(backend).test_client(), Engine(backend)
        query = registered(client)
        engine.count(query, 1000, 2000, 3000)
        engine.answer(query, 4000, EMPTY)
        engine.answer(query, 5000, EMPTY)
        backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
        id = observe(client, receiver.url, **{"from": 1500}).json["id"]
        until(lambda: client.get(f"/queries/q/observers/{id}").json["position"] == 5000)
    with Backend(settings) as backend:
        Engine(backend).count(query, 6000, 7000)
        calls = receiver.take(2)
    assert [(call.at, call.headers.get("X-CSPARQL-Gap")) for call in calls] == [(6000, "1500"), (7000, None)]


def test_what_is_not_taken_is_told_again(client, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    receiver.answers = [503, 404, 301, 200, 500]
    observe(client, receiver.url)
    engine.count(query, 1000, 2000)
    calls = receiver.take(6)
    assert [call.at for call in calls] == [1000, 1000, 1000, 1000, 2000, 2000]
    assert {call.path for call in calls} == {"/"}, "a redirect was followed"
    assert len({call.headers["X-CSPARQL-Delivery"] for call in calls}) == 2


def test_who_says_that_it_is_gone_fails_and_goes_on_when_it_is_added_again(
    client, engine: Engine, receiver: Receiver
) -> None:
    query = registered(client)
    id = observe(client, receiver.url).json["id"]
    engine.count(query, 1000)
    receiver.take(1)
    until(lambda: client.get(f"/queries/q/observers/{id}").json["delivered"] == 1)
    receiver.answers = [410]
    engine.count(query, 2000, 3000)
    receiver.take(1)
    until(lambda: client.get(f"/queries/q/observers/{id}").json["status"] == "failed")
    told = client.get(f"/queries/q/observers/{id}").json
    assert (told["position"], told["error"], told["failures"]) == (1000, "HTTP 410", 1)
    again = observe(client, receiver.url)
    assert (again.status_code, again.json["id"], again.json["status"]) == (200, id, "active")
    assert [call.at for call in receiver.take(2)] == [2000, 3000]


def test_it_is_failed_after_too_many_failures(client, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    receiver.answers = [500] * MOST_FAILURES
    id = observe(client, receiver.url).json["id"]
    engine.count(query, 1000)
    receiver.take(MOST_FAILURES)
    until(lambda: client.get(f"/queries/q/observers/{id}").json["status"] == "failed")
    assert client.get(f"/queries/q/observers/{id}").json["failures"] == MOST_FAILURES
    assert receiver.calls.empty()


def test_it_is_failed_after_too_long(client, backend: Backend, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    times = itertools.count(0, LONGEST_FAILING)
    backend.threads.webhooks._now = lambda: next(times)
    receiver.answers = [500, 500]
    id = observe(client, receiver.url).json["id"]
    engine.count(query, 1000)
    receiver.take(2)
    until(lambda: client.get(f"/queries/q/observers/{id}").json["status"] == "failed")


def test_a_restart_goes_on_without_a_gap(settings: Settings, receiver: Receiver) -> None:
    with Backend(settings) as backend:
        client, engine = create_app(backend).test_client(), Engine(backend)
        query = registered(client)
        id = observe(client, receiver.url).json["id"]
        engine.count(query, 1000)
        receiver.take(1)
        until(lambda: client.get(f"/queries/q/observers/{id}").json["delivered"] == 1)
        receiver.answers = [503]
        engine.count(query, 2000)
        receiver.take(1)
    with Backend(settings) as backend:
        Engine(backend).count(query, 3000)
        assert [call.at for call in receiver.take(2)] == [2000, 3000]


@pytest.mark.parametrize("begin, gap", [(1000, "1000"), (2999, "2999"), (3000, None), (4000, None)])
def test_what_was_forgotten_is_told_as_a_gap_and_what_never_was_is_none(
    client, backend: Backend, engine: Engine, receiver: Receiver, begin: int, gap: str | None
) -> None:
    query = registered(client)
    engine.count(query, 1000, 3000, 5000, 6000)
    backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
    observe(client, receiver.url, **{"from": begin})
    assert [(call.at, call.headers.get("X-CSPARQL-Gap")) for call in receiver.take(2)] == [(5000, gap), (6000, None)]


def test_a_dead_one_holds_up_nobody(client, backend: Backend, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    backend.threads.webhooks._pause = lambda failures: 3600.0
    dead = Receiver()
    dead.close()
    backend.threads.webhooks.allowed = Allowed((dead.url, receiver.url))
    id = observe(client, dead.url).json["id"]
    observe(client, receiver.url)
    engine.count(query, 1000, 2000)
    assert [call.at for call in receiver.take(2)] == [1000, 2000]
    until(lambda: client.get(f"/queries/q/observers/{id}").json["failures"] == 1)
    told = client.get(f"/queries/q/observers/{id}").json
    assert (told["status"], told["position"]) == ("active", None)
    assert told["error"].startswith("ConnectionRefusedError")


def test_a_deleted_observer_and_a_deleted_query_are_called_no_more(
    client, backend: Backend, engine: Engine, receiver: Receiver
) -> None:
    query = registered(client)
    first, second = (observe(client, receiver.url + path).json["id"] for path in ("a", "b"))
    assert client.delete(f"/queries/q/observers/{first}").status_code == 204
    engine.count(query, 1000)
    assert [call.path for call in receiver.take(1)] == ["/b"]
    client.delete("/queries/q")
    registered(client)
    backend.threads.webhooks.notify({query})
    engine.count(query, 2000)
    until(lambda: backend.stores.observers.one(query, second) is None)
    assert receiver.calls.empty()
    assert client.get("/queries/q/observers").json["observers"] == []


def test_what_the_setting_no_longer_names_is_not_called(settings: Settings, receiver: Receiver) -> None:
    with Backend(settings) as backend:
        client = create_app(backend).test_client()
        query = registered(client)
        id = observe(client, receiver.url).json["id"]
    with Backend(replace(settings, webhooks=())) as backend:
        Engine(backend).count(query, 1000)
        until(lambda: backend.stores.observers.one(query, id).state == "failed")
        assert "sends answers nowhere" in backend.stores.observers.one(query, id).error
    assert receiver.calls.empty()


def test_pauses_grow_and_have_an_end() -> None:
    for failures in range(1, MOST_FAILURES + 100):
        whole = min(LONGEST_PAUSE, 2 ** (failures - 1))
        assert whole / 2 <= pause_after(failures) <= whole


def test_the_signature() -> None:
    """RFC 4231, test case 2."""
    assert signature("Jefe", b"what do ya want for nothing?") == (
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


def test_an_answer_of_another_incarnation_is_another_delivery(settings: Settings, receiver: Receiver) -> None:
    """A copy of the database was put back, and the query says another thing at an instant that the receiver knows."""
    told = []
    for _ in range(2):
        with Backend(replace(settings, webhooks=("*", "127.0.0.1"))) as backend:
            Incarnations(backend.stores.database).begin(at=0)
        with Backend(replace(settings, webhooks=("*", "127.0.0.1"))) as backend:
            client, engine = create_app(backend).test_client(), Engine(backend)
            query = client.put("/queries/q", data=TEXT).json["id"] if told else registered(client)
            client.post("/queries/q", json={"url": receiver.url, "from": "beginning"})
            engine.count(query, 1000)
            told.append(receiver.take(1)[0].headers["X-CSPARQL-Delivery"])
            with backend.stores.database.transaction() as connection:
                connection.execute("DELETE FROM answers")
                connection.execute("DELETE FROM observers")
    first, second = (one.split("-") for one in told)
    assert first[:2] == second[:2] and first[1] == "1000"
    assert first[2] != second[2] and len(first[2]) == 10
