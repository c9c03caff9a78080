"""Webhooks that ask for changes: a whole first, then what has changed since what the receiver has taken.

instants     1000  2000  3000  4000  5000  6000
says         a     b     b     ✗     c     d
is posted    a     +b−a                c     +d−c          5000 is a whole: what 4000 says nobody can read
since              1000                      5000
"""

from __future__ import annotations

import json

import pytest
from flask.testing import FlaskClient

from csparql_spark.answers.bindings import Result
from csparql_spark.client import AnswerFold
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from csparql_spark.server.sinks import webhooks
from csparql_spark.store import keyframes
from csparql_spark.store.chains import ChainReader
from tests.server.playing import Engine, registered
from tests.server.test_webhooks import Call, Receiver, backend, observe, receiver, settings, until

__all__ = ["backend", "receiver", "settings"]  # fixtures


def rows(*names: str) -> Result:
    return Result.bindings(("n",), [[f'"{name}"' for name in names]])


def say(engine: Engine, query: int, *answers: Result, first: int = 1000) -> None:
    for number, answer in enumerate(answers):
        engine.answer(query, first + 1000 * number, answer)


def told(calls: list[Call]) -> list[tuple[int, int | None]]:
    return [(body["at"], body.get("since")) for body in (json.loads(call.body) for call in calls)]


def position(client: FlaskClient, id: str) -> int:
    return client.get(f"/queries/q/observers/{id}").json["position"]


def test_first_a_whole_then_changes_and_nothing_of_what_is_the_same(client, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    made = observe(client, receiver.url, when="changes")
    assert (made.status_code, made.json["when"]) == (201, "changes")
    said = [rows("a"), rows("a", "b"), rows("a", "b"), rows("a", "b"), rows("b"), rows()]
    say(engine, query, *said)
    calls = receiver.take(4)
    assert told(calls) == [(1000, None), (2000, 1000), (5000, 2000), (6000, 5000)]
    fold = AnswerFold()
    for call in calls:
        whole = fold.take(json.loads(call.body)).whole
        assert [row["n"].value for row in whole.rows] == [
            row["n"][1:-1] for row in said[call.at // 1000 - 1].table.rows()
        ]
    until(lambda: position(client, made.json["id"]) == 6000)
    assert receiver.calls.empty()
    assert json.loads(calls[1].body) == {
        "query": "q",
        "version": query,
        "at": 2000,
        "since": 1000,
        "added": {"bindings": [{"n": {"type": "literal", "value": "b"}}]},
        "removed": {"bindings": []},
        "until": {"bindings": []},
    }


def test_changes_are_since_what_was_taken_also_when_others_were_passed_over(
    client, engine: Engine, receiver: Receiver
) -> None:
    """One after the other: the position has moved on, and the receiver has not heard of where it is."""
    query = registered(client)
    id = observe(client, receiver.url, when="changes").json["id"]
    for number, answer in enumerate([rows("a"), rows("a"), rows("a")], 1):
        engine.answer(query, 1000 * number, answer)
        until(lambda number=number: position(client, id) == 1000 * number)
    engine.answer(query, 4000, rows("b"))
    assert told(receiver.take(2)) == [(1000, None), (4000, 1000)]


def test_what_is_not_taken_is_told_again_under_the_same_number(client, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    receiver.answers = [500, 204, 204, 503, 503]
    observe(client, receiver.url, when="changes")
    say(engine, query, rows("a"), rows("b"), rows("c"))
    calls = receiver.take(6)
    assert told(calls) == [(1000, None), (1000, None), (2000, 1000), (3000, 2000), (3000, 2000), (3000, 2000)]
    ids = [call.headers["X-CSPARQL-Delivery"] for call in calls]
    assert ids[0] == ids[1] and ids[3] == ids[4] == ids[5] and len(set(ids)) == 3
    assert calls[3].body == calls[4].body == calls[5].body
    fold = AnswerFold()
    wholes = [fold.take(json.loads(call.body)).whole for call in calls]
    assert [[row["n"].value for row in whole.rows] for whole in wholes] == [[name] for name in "aabccc"], "folded once"


def test_what_is_stored_as_a_change_is_told_as_it_is(
    client, engine: Engine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also behind what is the same, which is passed over."""
    query = registered(client)
    many = [f"m{number:03}" for number in range(600)]  # of fewer none is stored as a change
    client.post("/queries/q/pause")
    say(engine, query, *(rows(*some, *many) for some in ("a", "ab", "ab", "b", "c")))
    at = ChainReader.at
    read = []
    monkeypatch.setattr(ChainReader, "at", lambda self, instant: [read.append(instant), *at(self, instant)][1:])
    observe(client, receiver.url, **{"when": "changes", "from": "beginning"})
    calls = receiver.take(4)
    assert told(calls) == [(1000, None), (2000, 1000), (4000, 2000), (5000, 4000)]
    assert read == [1000]
    fold = AnswerFold()
    wholes = [fold.take(json.loads(call.body)).whole for call in calls]
    assert ["".join(row["n"].value for row in whole.rows if row["n"].value in "abc") for whole in wholes] == [
        "a",
        "ab",
        "b",
        "c",
    ]


@pytest.mark.parametrize("when", ["always", "changes"])
def test_how_large_an_answer_is_does_not_hang_on_those_before(
    client, engine: Engine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """One row of many is long, and another one each time."""
    monkeypatch.setattr(webhooks, "MOST_TOLD", 300_000)
    monkeypatch.setattr(keyframes, "LEAST_BYTES", 1 << 40)
    query = registered(client)
    client.post("/queries/q/pause")
    many = [f"m{number:03}" for number in range(600)]
    say(engine, query, *(rows(f"{at:0100000}", *many) for at in range(12)))
    observe(client, receiver.url, **{"when": when, "from": "beginning"})
    calls = receiver.take(12)
    assert [(call.at, call.headers.get("X-CSPARQL-Gap")) for call in calls] == [
        (1000 * at, None) for at in range(1, 13)
    ]


def test_after_what_is_damaged_a_whole(client, backend: Backend, engine: Engine, receiver: Receiver) -> None:
    query = registered(client)
    client.post("/queries/q/pause")
    say(engine, query, rows("a"), rows("b"), rows("c"), rows("d"))
    with backend.stores.database.transaction() as connection:
        connection.execute("UPDATE answers SET payload = x'00' WHERE query = ? AND instant = 2000", (query,))
    observe(client, receiver.url, **{"when": "changes", "from": "beginning"})
    calls = receiver.take(3)
    assert told(calls) == [(1000, None), (3000, None), (4000, 3000)]
    assert [call.headers.get("X-CSPARQL-Gap") for call in calls] == [None, "1000", None]


def test_after_what_is_forgotten_a_whole(settings: Settings, receiver: Receiver) -> None:
    """Also if what it has taken last is forgotten, and nothing after it."""
    with Backend(settings) as backend:
        client, engine = create_app(backend).test_client(), Engine(backend)
        query = registered(client)
        id = observe(client, receiver.url, when="changes").json["id"]
        say(engine, query, rows("a"))
        until(lambda: position(client, id) == 1000)
        receiver.answers = [204, 410]
        say(engine, query, rows("b"), rows("c"), rows("d"), first=2000)
        until(lambda: client.get(f"/queries/q/observers/{id}").json["status"] == "failed")
        assert told(receiver.take(3)) == [(1000, None), (2000, 1000), (3000, 2000)]
        backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
        observe(client, receiver.url)
        calls = receiver.take(2)
        assert told(calls) == [(3000, None), (4000, 3000)]
        until(lambda: position(client, id) == 4000)
        receiver.answers = [410]
        say(engine, query, rows("e"), first=5000)
        receiver.take(1)
        until(lambda: client.get(f"/queries/q/observers/{id}").json["status"] == "failed")
        say(engine, query, rows("f"), rows("g"), first=6000)
        backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
        observe(client, receiver.url)
        calls = receiver.take(2)
        assert [(call.at, call.headers.get("X-CSPARQL-Gap")) for call in calls] == [(6000, "4000"), (7000, None)]
        assert told(calls) == [(6000, None), (7000, 6000)]


def test_a_restart_goes_on_with_changes(settings: Settings, receiver: Receiver) -> None:
    with Backend(settings) as backend:
        client, engine = create_app(backend).test_client(), Engine(backend)
        query = registered(client)
        id = observe(client, receiver.url, when="changes").json["id"]
        say(engine, query, rows("a"), rows("a"))
        until(lambda: position(client, id) == 2000)
    with Backend(settings) as backend:
        say(Engine(backend), query, rows("b"), first=3000)
        assert told(receiver.take(2)) == [(1000, None), (3000, 1000)]


@pytest.mark.parametrize("before", ["nonempty", "always"])
def test_who_asks_for_changes_later_is_told_a_whole_first(
    client, engine: Engine, receiver: Receiver, before: str
) -> None:
    """What it was told before may not be what was said last."""
    query = registered(client)
    id = observe(client, receiver.url, when=before).json["id"]
    say(engine, query, rows("a"), rows())
    until(lambda: position(client, id) == 2000)
    assert observe(client, receiver.url, when="changes").status_code == 200
    say(engine, query, rows("b"), rows("c"), first=3000)
    calls = receiver.take(3 if before == "nonempty" else 4)
    assert told(calls)[-2:] == [(3000, None), (4000, 3000)]
    observe(client, receiver.url, when="changes")
    say(engine, query, rows("d"), first=5000)
    assert told(receiver.take(1)) == [(5000, 4000)]


def test_a_change_is_signed(client, engine: Engine, receiver: Receiver) -> None:
    from csparql_spark.server.sinks.webhooks import signature

    query = registered(client)
    observe(client, receiver.url, when="changes", secret="x")
    say(engine, query, rows("a"), rows("b"))
    for call in receiver.take(2):
        assert call.headers["X-CSPARQL-Signature"] == signature("x", call.body)


def test_what_is_no_way_to_be_told(client, receiver: Receiver) -> None:
    registered(client)
    refused = observe(client, receiver.url, when="change")
    assert refused.status_code == 400 and "changes (what has changed, where something has)" in refused.json["detail"]
