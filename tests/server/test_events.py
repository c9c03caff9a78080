"""Server-sent events over real connections."""

from __future__ import annotations

import http.client
import random
import socket
import threading

import pytest

from csparql_spark.server.backend import Backend
from tests.server.playing import Engine, Event, Listener, registered


def instants(events: list[Event]) -> list[int]:
    return [event.data["at"] for event in events]


def test_the_response(client, port: int, engine: Engine) -> None:
    engine.count(registered(client), 1000)
    listener = Listener(port)
    wanted = ("Content-Type", "Cache-Control", "X-Accel-Buffering", "Vary", "Content-Encoding")
    assert listener.response.status == 200
    assert {name: listener.response.headers[name] for name in wanted} == {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
        "Vary": "Accept",
        "Content-Encoding": None,
    }
    assert listener.response.readline() == b"retry: 1000\n"
    listener.close()


@pytest.mark.parametrize(
    "path, headers, expected",
    [
        ("", {}, [3000, 4000]),
        ("?from=latest", {}, [3000, 4000]),
        ("?from=beginning", {}, [1000, 2000, 3000, 4000]),
        ("?from=1000", {}, [2000, 3000, 4000]),
        ("?from=1970-01-01T00:00:02Z", {}, [3000, 4000]),
        ("?lastEventId=2-1000", {}, [2000, 3000, 4000]),
        ("?lastEventId=1", {}, [2000, 3000, 4000]),
        ("?from=beginning&lastEventId=2-2000", {}, [3000, 4000]),
        ("?from=beginning", {"Last_Event_ID": "2-2000"}, [3000, 4000]),
        ("?lastEventId=2-1000", {"Last_Event_ID": "2-3000"}, [4000]),
        ("?from=beginning&lastEventId=1", {"Last_Event_ID": "2"}, [3000, 4000]),
        ("", {"Last_Event_ID": "1-3000"}, [1000, 2000, 3000, 4000]),
    ],
)
def test_where_it_begins(
    client, port: int, engine: Engine, path: str, headers: dict[str, str], expected: list[int]
) -> None:
    query = registered(client)
    assert query == 2
    engine.count(query, 1000, 2000, 3000)
    listener = Listener(port, f"/queries/q/answers{path}", **headers)
    before = listener.take(len(expected) - 1)
    engine.count(query, 4000)
    assert instants([*before, listener.next()]) == expected
    listener.close()


def test_the_id_of_another_server_is_told_so(client, port: int, engine: Engine) -> None:
    engine.count(registered(client), 1000, 2000)
    for foreign in ("99", "99-bcdfghjkmn", "1-bcdfghjkmn"):
        listener = Listener(port, Last_Event_ID=foreign)
        assert listener.next() == Event("gap", {"query": "q", "after": None, "next": 1000, "reason": "restored"}, "0")
        assert instants(listener.take(2)) == [1000, 2000]
        listener.close()


@pytest.mark.parametrize(
    "accept", ["text/event-stream", "text/event-stream, */*;q=0.1", "TEXT/EVENT-STREAM;q=0.9, application/json;q=0.9"]
)
def test_accept_that_asks_for_events(client, port: int, engine: Engine, accept: str) -> None:
    registered(client)
    listener = Listener(port, Accept=accept)
    assert listener.response.headers["Content-Type"] == "text/event-stream"
    listener.close()


def test_cut_at_random_and_resumed_there_is_no_gap_and_no_repeat(client, port: int, engine: Engine) -> None:
    """One listener is cut off and comes back with the last id, while answers are told; another one listens through."""
    query, dice = registered(client), random.Random(7)
    moments = list(range(1000, 81_000, 1000))
    through = Listener(port)

    def tell() -> None:
        rest = list(moments)
        while rest:
            batch = [rest.pop(0) for _ in range(min(len(rest), dice.randint(1, 3)))]
            engine.count(query, *batch)

    telling = threading.Thread(target=tell)
    telling.start()
    seen: list[Event] = []
    while len(seen) < len(moments):
        headers = {"Last_Event_ID": seen[-1].id} if seen else {}
        listener = Listener(port, "/queries/q/answers?from=beginning", **headers)
        seen += listener.take(min(dice.randint(0, 6), len(moments) - len(seen)))
        listener.close()
    telling.join()
    assert instants(seen) == moments
    assert [event.id for event in seen] == [str(instant // 1000) for instant in moments]
    heard = through.take(len(moments))
    assert heard == seen
    through.close()


def test_a_gap(client, port: int, engine: Engine, backend: Backend) -> None:
    query = registered(client)
    engine.count(query, *range(1000, 9000, 1000))
    backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
    listener = Listener(port, Last_Event_ID=f"{query}-3000")
    told = {"query": "q", "after": 3000, "next": 7000, "reason": "forgotten", "setting": "keep-answers"}
    assert listener.next() == Event("gap", told, "6")
    assert instants(listener.take(2)) == [7000, 8000]
    listener.close()
    for start, after in (("beginning", None), ("0", 0), ("1970-01-01T00:00:02Z", 2000)):
        first = Listener(port, f"/queries/q/answers?from={start}")
        assert first.next() == Event("gap", {**told, "after": after}, "6")
        assert instants(first.take(2)) == [7000, 8000]
        first.close()


def test_failure_and_end(client, port: int, engine: Engine) -> None:
    query = registered(client)
    engine.count(query, 1000)
    listener = Listener(port)
    assert listener.next().data["at"] == 1000
    engine.fail(query, 2000, "too many rows")
    assert listener.next() == Event("problem", {"query": "q", "at": 2000, "reason": "too many rows"})
    client.delete("/queries/q")
    assert listener.next() == Event("end", {"query": "q", "reason": "the query is deleted"})
    assert listener.next() is None
    listener.close()


def test_places_are_limited_and_given_back(client, port: int, engine: Engine, backend: Backend) -> None:
    query = registered(client)
    engine.count(query, 1000)
    listeners = [Listener(port) for _ in range(8)]
    assert instants([listener.next() for listener in listeners]) == [1000] * 8
    refused = Listener(port)
    assert (refused.response.status, refused.response.headers["Retry-After"]) == (503, "10")
    assert refused.response.headers["Content-Type"] == "application/problem+json"
    refused.close()
    assert client.get("/health").json["subscribers"] == 8
    # Others are served while all places are taken.
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/queries/q/answers", headers={"Accept": "text/csv"})
    assert connection.getresponse().read() == b"n\r\n1000\r\n"
    connection.close()
    for listener in listeners:
        # As when a machine is switched off: nothing is said, and nothing will be read.
        listener.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        listener.close()
    instant = 1000
    while backend.threads.fanout.subscribers:  # each answer is a chance to notice
        instant += 1000
        engine.count(query, instant)
    back = Listener(port)
    assert back.next().data["at"] == instant
    back.close()


def test_one_listener_of_each_of_many_queries(client, port: int, engine: Engine) -> None:
    """Answers reach those who asked for them."""
    registered(client)
    names = [f"q{number}" for number in range(6)]
    text = "SELECT ?s FROM STREAM <streams/s> [RANGE 1s] { ?s ?p ?o }"
    ids = {name: client.put(f"/queries/{name}", data=text).json["id"] for name in names}
    listeners = {name: Listener(port, f"/queries/{name}/answers") for name in names}
    for number, name in enumerate(names):
        engine.count(ids[name], 1000 + number, 2000 + number)
    for number, name in enumerate(names):
        told = listeners[name].take(2)
        said = [(event.data["query"], event.data["at"]) for event in told]
        assert said == [(name, 1000 + number), (name, 2000 + number)]
        listeners[name].close()
