"""Who listens to a query hears it go on when it is replaced: over one connection, from one to the next, by webhooks."""

from __future__ import annotations

import dataclasses
import json

import pytest

from csparql_spark.server.backend import Backend
from csparql_spark.server.sinks import webhooks
from csparql_spark.store import AnswerStore
from tests.server.playing import Engine, Event, Listener, registered
from tests.server.test_versions import WIDER, WIDEST, replaced
from tests.server.test_webhook_changes import rows
from tests.server.test_webhooks import Receiver, observe, until

URLS = ["/queries/q/answers", "/events?query=q", "/events"]


def told(event: Event) -> tuple[str, int, int]:
    return event.kind, event.data["version"], event.data["at"]


@pytest.mark.parametrize("url", URLS)
def test_who_listens_hears_the_next_version(client, port: int, engine: Engine, url: str) -> None:
    first = registered(client)
    listener = Listener(port, url)
    engine.count(first, 1000)
    assert told(listener.next()) == ("answer", first, 1000)
    second = replaced(client, WIDER)
    assert listener.next() == Event("replaced", {"query": "q", "id": first, "version": second, "replaces": first})
    engine.count(first, 2000)  # the rest of it comes late
    engine.count(second, 2000)
    assert [told(event) for event in listener.take(2)] == [("answer", first, 2000), ("answer", second, 2000)]
    client.post("/queries/q/pause")
    assert listener.next() == Event("paused", {"query": "q"})
    third = replaced(client, WIDEST)
    assert listener.next().data == {"query": "q", "id": first, "version": third, "replaces": second}
    assert listener.next() == Event("paused", {"query": "q"})
    client.delete("/queries/q")
    assert listener.next() == Event("end", {"query": "q", "reason": "the query is deleted"})
    listener.close()


def test_who_looks_seldom_misses_no_version(client, backend: Backend, port: int, engine: Engine) -> None:
    first = registered(client)
    listener = Listener(port)
    engine.count(first, 1000)
    listener.next()
    with backend.threads.fanout._looking:  # meanwhile nobody looks
        second = replaced(client, WIDER)
        engine.count(second, 1500)
        third = replaced(client, WIDEST)
        engine.count(third, 2000)
    event = listener.next()
    assert (event.kind, event.data["version"], event.data["replaces"]) == ("replaced", third, first)
    assert [told(event) for event in listener.take(2)] == [("answer", second, 1500), ("answer", third, 2000)]
    listener.close()


@pytest.mark.parametrize("url", URLS)
def test_who_comes_back_goes_on_in_the_next_version(client, port: int, engine: Engine, url: str) -> None:
    first = registered(client)
    engine.count(first, 1000, 2000)
    listener = Listener(port, f"{url}{'&' if '?' in url else '?'}from=beginning")
    id = listener.next().id
    listener.close()
    second = replaced(client, WIDER)
    engine.count(second, 1000)
    listener = Listener(port, url, Last_Event_ID=id)
    assert [told(event) for event in listener.take(2)] == [("answer", first, 2000), ("answer", second, 1000)]
    listener.close()
    # From the beginning is from that of what is kept, and the newest is that of the newest.
    listener = Listener(port, f"{url}{'&' if '?' in url else '?'}from=beginning")
    assert [told(event)[1:] for event in listener.take(3)] == [(first, 1000), (first, 2000), (second, 1000)]
    listener.close()
    listener = Listener(port, url)
    assert told(listener.next()) == ("answer", second, 1000)
    listener.close()


@pytest.mark.parametrize("url", URLS)
def test_who_comes_back_hears_of_a_version_that_has_not_answered_yet(
    client, port: int, engine: Engine, url: str
) -> None:
    first = registered(client)
    engine.count(first, 1000, 2000)
    listener = Listener(port, url)
    id = listener.next().id
    listener.close()
    second = replaced(client, WIDER)
    listener = Listener(port, url, Last_Event_ID=id)
    assert listener.next() == Event("replaced", {"query": "q", "id": first, "version": second, "replaces": first})
    engine.count(second, 3000)
    event = listener.next()
    assert told(event) == ("answer", second, 3000)
    listener.close()
    listener = Listener(port, url, Last_Event_ID=event.id)
    engine.count(second, 3000, 4000)
    assert told(listener.next()) == ("answer", second, 4000)
    listener.close()


@pytest.mark.parametrize("url", URLS)
def test_changes_begin_again_with_a_version(client, port: int, engine: Engine, url: str) -> None:
    first = registered(client)
    listener = Listener(port, f"{url}{'&' if '?' in url else '?'}changes")
    engine.answer(first, 1000, rows("a"))
    engine.answer(first, 2000, rows("a", "b"))
    assert [told(event) for event in listener.take(2)] == [("keyframe", first, 1000), ("change", first, 2000)]
    second = replaced(client, WIDER)
    assert listener.next().kind == "replaced"
    engine.answer(second, 3000, rows("a", "b"))
    engine.answer(first, 3000, rows("b"))  # each folds into its own
    engine.answer(second, 4000, rows("b"))
    events = listener.take(3)
    assert [told(event) for event in events] == [
        ("keyframe", second, 3000),
        ("change", first, 3000),
        ("change", second, 4000),
    ]
    assert [event.data.get("since") for event in events] == [None, 2000, 3000]
    listener.close()
    listener = Listener(port, f"{url}{'&' if '?' in url else '?'}changes", Last_Event_ID=events[0].id)
    assert [told(event) for event in listener.take(2)] == [("change", first, 3000), ("change", second, 4000)]
    listener.close()


def test_what_is_forgotten_with_a_version_is_told_as_a_gap(client, backend: Backend, port: int, engine: Engine) -> None:
    first = registered(client)
    engine.count(first, 1000)
    listener = Listener(port)
    id = listener.next().id
    listener.close()
    engine.count(first, 2000)
    second = replaced(client, WIDER)
    engine.count(second, 3000)
    stores = backend.stores
    stores.retention.advance(stores.log.tail())
    for _ in range(2):
        stores.retention.forget(keep_log=0, reach=0, keep_answers=1)
    assert [version.id for version in stores.registry.versions("q")] == [second]
    listener = Listener(port, Last_Event_ID=id)
    gap, answer = listener.take(2)
    assert (gap.kind, gap.data["query"], gap.data["reason"]) == ("gap", "q", "forgotten")
    assert told(answer) == ("answer", second, 3000)
    listener.close()


# --- webhooks


@pytest.fixture
def settings(settings, receiver: Receiver):
    return dataclasses.replace(settings, webhooks=(receiver.url,))


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def answered(engine: Engine, place: int) -> None:
    """The engine has answered all that the log holds up to a place."""
    engine.store.write([], end=place)


@pytest.mark.parametrize("when", ["always", "changes"])
def test_an_observer_goes_on_with_the_next_version(
    client, backend: Backend, engine: Engine, receiver: Receiver, when: str
) -> None:
    first = registered(client)
    made = observe(client, receiver.url, when=when)
    assert made.status_code == 201
    engine.answer(first, 1000, rows("a"))
    second = replaced(client, WIDER)
    engine.answer(second, 2000, rows("c"))  # it was quicker than the rest of the one before
    engine.answer(first, 2000, rows("a", "b"))
    answered(engine, second)
    engine.answer(second, 3000, rows("c", "d"))
    calls = receiver.take(4)
    bodies = [json.loads(call.body) for call in calls]
    assert [(body["version"], body["at"]) for body in bodies] == [
        (first, 1000),
        (first, 2000),
        (second, 2000),
        (second, 3000),
    ]
    if when == "changes":
        assert [body.get("since") for body in bodies] == [None, 1000, None, 2000]
    assert [call.headers["X-CSPARQL-Version"] for call in calls] == [str(body["version"]) for body in bodies]
    assert len({call.headers["X-CSPARQL-Delivery"] for call in calls}) == 4
    again = observe(client, receiver.url)
    assert (again.status_code, again.json["id"]) == (200, made.json["id"])
    until(lambda: client.get("/queries/q/observers").json["observers"][0]["delivered"] == 4)
    (shown,) = client.get("/queries/q/observers").json["observers"]
    assert client.get(f"/queries/q/observers/{shown['id']}").status_code == 200
    assert client.delete(f"/queries/q/observers/{shown['id']}").status_code == 204


def test_for_the_end_of_a_version_is_asked_once_for_all_observers(
    client, backend: Backend, engine: Engine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And none of them is served meanwhile, however long the engine is away."""
    monkeypatch.setattr(webhooks, "MOST_LOOK_PAUSE", 0.02)
    monkeypatch.setattr(webhooks, "LOOK_PAUSE", 0.01)
    registered(client)
    ids = {observe(client, f"{receiver.url}/{number}").json["id"] for number in range(3)}
    served, looked = [], []
    serve, is_complete = webhooks.Webhooks._serve, AnswerStore.is_complete
    monkeypatch.setattr(
        webhooks.Webhooks, "_serve", lambda self, query, id: served.append(id) or serve(self, query, id)
    )
    monkeypatch.setattr(
        AnswerStore, "is_complete", lambda self, *place: looked.append(place) or is_complete(self, *place)
    )
    second = replaced(client, WIDER)
    engine.count(second, 2000)
    until(lambda: set(served) == ids and len(looked) > 30)
    before = len(served)
    until(lambda: len(looked) > 60)
    assert len(served) == before and receiver.calls.empty()
    answered(engine, second)
    assert [json.loads(call.body)["version"] for call in receiver.take(len(ids))] == [second] * len(ids)


def test_an_observer_of_the_past_begins_with_what_is_kept(client, engine: Engine, receiver: Receiver) -> None:
    first = registered(client)
    engine.count(first, 1000)
    second = replaced(client, WIDER)
    answered(engine, second)
    engine.count(second, 500)
    observe(client, receiver.url, **{"from": "beginning"})
    assert [json.loads(call.body)["version"] for call in receiver.take(2)] == [first, second]


def test_an_observer_that_was_away_for_versions_is_told_a_gap(
    client, backend: Backend, engine: Engine, receiver: Receiver
) -> None:
    first = registered(client)
    receiver.answers = [410]
    id = observe(client, receiver.url).json["id"]
    engine.count(first, 1000)
    receiver.take(1)
    until(lambda: client.get(f"/queries/q/observers/{id}").json["status"] == "failed")
    observe(client, receiver.url)
    receiver.take(1)
    receiver.answers = [410]
    engine.count(first, 2000)
    receiver.take(1)
    until(lambda: client.get(f"/queries/q/observers/{id}").json["status"] == "failed")
    version = first
    for text in (WIDER, WIDEST):
        version = replaced(client, text, version)
        engine.count(version, 500)
    stores = backend.stores
    stores.retention.advance(stores.log.tail())
    for _ in range(2):
        stores.retention.forget(keep_log=0, reach=0, keep_answers=1)
    assert len(stores.registry.versions("q")) == 1
    observe(client, receiver.url)
    (call,) = receiver.take(1)
    assert (json.loads(call.body)["version"], call.headers["X-CSPARQL-Gap"]) == (version, "1000")


def test_observers_go_with_their_query_whatever_version_it_was(client, backend: Backend, receiver: Receiver) -> None:
    registered(client)
    observe(client, receiver.url)
    replaced(client, WIDER)
    assert backend.stores.observers.forget() == 0
    client.delete("/queries/q")
    assert backend.stores.observers.forget() == 1
