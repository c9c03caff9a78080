"""Many queries over one connection: whatever happens between, and wherever it is cut, one id tells where it goes on.

The naive twin is the list of everything that was ever told. A client that is cut off again and again, and one that
never is, are compared with it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.bell import Bell
from csparql_spark.log import Draft, LogWriter
from csparql_spark.server.backend import Backend
from csparql_spark.server.subscribers import fanout, subscription
from csparql_spark.server.subscribers.fanout import Fanout
from csparql_spark.server.subscribers.subscription import LATEST, Subscription, start_after
from csparql_spark.store import AnswerStore, Registry, StoredAnswer
from csparql_spark.store.registry import QueryRecord
from csparql_spark.store.retention import Retention
from tests.examples import examples
from tests.server.playing import BASE, TEXT, Engine, Event, Listener, number, parsed, registered

NAMES = ("a", "b", "c")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where nothing waits for a disk


class Said(NamedTuple):
    position: int
    query: int
    name: str
    instant: int
    parts: int


class House:
    def __init__(self, path: Path) -> None:
        directory = DataDirectory(path).create()
        self.database = Database(directory.database).create()
        self.store = AnswerStore(self.database, directory.bell("answers"))
        self.registry = Registry(self.database)
        self.writer = LogWriter(self.database, directory.bell("log")).start()
        self.retention = Retention(self.database)
        self.fanout = Fanout(self.database, self.store, Bell(directory.bell("answers")), places=100)
        self.said: list[Said] = []
        self.wiped: set[int] = set()  # queries whose answers went with them
        self.now = 0

    def register(self, name: str) -> None:
        if self.registry.query(name) is None:
            self.writer.append(QueryRecord.draft(name, text=TEXT, base=None))

    def delete(self, name: str) -> None:
        if self.registry.query(name) is not None:
            self.writer.append(Draft("unregister", subject=name))

    def tell(self, names: str, instants: int, parts: int) -> None:
        """In one batch, in no order."""
        batch, told = [], []
        for _ in range(instants):
            self.now += 1000
            for query in filter(None, map(self.registry.query, names)):
                batch += [
                    StoredAnswer(query.id, self.now, part, 1, number(self.now + part).to_bytes())
                    for part in range(parts)
                ]
                told.append((query.id, query.name, self.now))
        self.store.write(reversed(batch))
        self.said += sorted(
            Said(self.fanout.order.up_to(query, instant), query, name, instant, parts) for query, name, instant in told
        )

    def forget(self, keep: int) -> None:
        self.retention.advance(10_000)
        self.retention.forget(keep_log=0, reach=0, keep_answers=keep)
        live = {query.id for query in self.registry.queries()}
        self.wiped |= {said.query for said in self.said} - live

    def close(self) -> None:
        self.writer.stop()
        self.database.close()


class Client:
    """Reads pieces, and may lose those that were on their way when it was cut off."""

    def __init__(self, house: House, names: tuple[str, ...] | None) -> None:
        self.house, self.names = house, names
        self.seen: list[Event] = []
        self.subscription = self.subscribe()

    def subscribe(self) -> Subscription:
        ids = [event.id for event in self.seen if event.id]
        # From the first id on: who comes without one misses nothing of what was forgotten before.
        start = start_after(ids[-1] if ids else "0", self.house.fanout.order)
        return Subscription(self.house.fanout, self.names, start, slow_instants=2)

    def read(self, most: int | None = None, *, slow: bool = False) -> None:
        self.house.fanout.look()
        while pieces := self.subscription.more(slow=slow):
            self.seen += [event for piece in pieces[:most] for event in parsed(piece.decode())]
            if most is not None:
                self.subscription.close()  # the rest of the pieces is lost
                self.subscription = self.subscribe()
                return

    def answers(self) -> list[tuple[int, str, int]]:
        return [(int(event.id), event.data["query"], event.data["at"]) for event in self.seen if event.kind == "answer"]


def told(said: Said) -> tuple[int, str, int]:
    return said.position, said.name, said.instant


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), st.sampled_from(["a", "b", "ab", "abc", "c"]), st.integers(1, 5), st.integers(1, 3)),
        st.tuples(st.just("forget"), st.integers(1, 6)),
        st.tuples(st.just("delete"), st.sampled_from("bc")),
        st.tuples(st.just("register"), st.sampled_from("bc")),
        st.tuples(st.just("cut"), st.integers(0, 4)),
        st.tuples(st.just("cut"), st.integers(0, 4)),
        st.tuples(st.just("read")),
        st.tuples(st.just("slow")),
    ),
    max_size=25,
)


@settings(max_examples=examples(60), deadline=None)
@given(steps=STEPS, names=st.sampled_from([None, ("a", "b"), NAMES]))
def test_cut_anywhere_and_resumed_it_is_what_was_said(steps: list[tuple], names: tuple[str, ...] | None) -> None:
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as path,
        mock.patch.object(fanout, "PAGE_PLACES", 3),
        mock.patch.object(subscription, "PAGE_PLACES", 3),
    ):
        house = House(Path(path))
        for name in ("a", "b"):
            house.register(name)
        through, cut = Client(house, names), Client(house, names)
        for what, *given_ in [*steps, ("tell", "ab", 1, 2)]:
            if what in ("tell", "forget", "delete", "register"):
                getattr(house, what)(*given_)
            elif what == "cut":
                cut.read(*given_)
            else:
                cut.read(slow=what == "slow")
            through.read()
        cut.read()
        house.close()
    wanted = [said for said in house.said if names is None or said.name in names]
    assert through.answers() == [told(said) for said in wanted], "one that is never cut hears everything, in order"
    assert not [event for event in through.seen if event.kind == "gap"]
    seen = cut.answers()
    assert seen == sorted(set(seen)), "nothing comes twice, or too late"
    unseen = {said for said in wanted if told(said) not in set(seen)}
    explained, reached = set(), dict.fromkeys(NAMES, 0)
    for event in cut.seen:
        if event.kind == "gap":
            lost = {
                said
                for said in unseen
                if said.name == event.data["query"] and reached[said.name] < said.position <= until_of(cut.seen, event)
            }
            assert lost, "a gap was told where nothing is missing"
            if event.data["after"] is not None:
                assert all(event.data["after"] < said.instant for said in lost)
            if event.data["next"] is not None:
                assert all(said.instant < event.data["next"] for said in lost)
            if event.data["reason"] == "slow":
                # Those before the first are forgotten besides.
                assert event.data["first"] in {said.instant for said in lost}
                assert event.data["last"] == max(said.instant for said in lost)
            explained |= lost
        if event.kind in ("gap", "answer"):
            reached[event.data["query"]] = until_of(cut.seen, event)
    # The answers of a query that is deleted go with it, and its end says so.
    assert {said for said in unseen if said.query not in house.wiped} <= explained, "what is missing was not told"
    for event in cut.seen:
        if event.kind == "answer":
            (said,) = [said for said in wanted if said.position == int(event.id)]
            values = [row["n"]["value"] for row in event.data["results"]["results"]["bindings"]]
            assert values == [str(said.instant + part) for part in range(said.parts)], "an instant comes whole"


def until_of(seen: list[Event], gap: Event) -> int:
    """The position up to which a gap goes: its own id, or that of the last gap of its piece."""
    place = next(place for place, event in enumerate(seen) if event is gap)
    return next(int(event.id) for event in seen[place:] if event.id)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "data")
    yield house
    house.close()


def kinds(client: Client) -> list[tuple[str, object]]:
    return [(event.kind, event.data.get("query")) for event in client.seen]


def test_an_added_query_is_heard_from_where_the_client_was(house: House) -> None:
    house.register("a")
    house.register("b")
    house.tell("ab", 2, 1)
    client = Client(house, ("a",))
    client.read()
    house.tell("ab", 2, 1)
    client.names = ("a", "b")
    client.subscription = client.subscribe()
    client.read()
    # From the id of a's answer at 2000, which b's follows.
    assert [(name, at) for _, name, at in client.answers()] == [
        ("a", 1000),
        ("a", 2000),
        ("b", 2000),
        ("a", 3000),
        ("b", 3000),
        ("a", 4000),
        ("b", 4000),
    ]


def test_an_id_outlives_the_process(house: House) -> None:
    house.register("a")
    house.register("b")
    client = Client(house, None)
    house.tell("ab", 2, 2)
    client.read(3)
    house.fanout = Fanout(house.database, house.store, Bell(house.store._bell.path), places=100)
    house.tell("ab", 1, 1)
    client.subscription = client.subscribe()
    client.read()
    assert client.answers() == [told(said) for said in house.said]


def test_the_others_go_on_when_one_is_deleted(house: House) -> None:
    house.register("a")
    house.register("b")
    client = Client(house, ("a", "b"))
    house.tell("ab", 1, 1)
    house.delete("b")
    client.read()
    house.tell("a", 1, 1)
    client.read()
    assert kinds(client) == [("answer", "a"), ("answer", "b"), ("end", "b"), ("answer", "a")]
    assert not client.subscription.finished
    house.delete("a")
    client.read()
    assert kinds(client)[4:] == [("end", "a")]
    assert client.subscription.finished


def test_all_queries_are_also_those_that_come(house: House) -> None:
    client = Client(house, None)
    client.read()
    house.register("a")
    house.tell("a", 1, 1)
    client.read()
    house.delete("a")
    house.register("a")
    house.tell("a", 1, 1)
    client.read()
    assert kinds(client) == [("registered", "a"), ("answer", "a"), ("end", "a"), ("registered", "a"), ("answer", "a")]


def test_the_newest_of_each_to_begin_with(house: House) -> None:
    house.register("a")
    house.register("b")
    house.tell("ab", 3, 1)
    house.tell("a", 2, 1)
    newest = Subscription(house.fanout, None, LATEST)
    told = [event for piece in newest.more() for event in parsed(piece.decode())]
    assert [(event.data["query"], event.data["at"]) for event in told] == [("b", 3000), ("a", 5000)]


def test_how_queries_stand(house: House) -> None:
    for name in NAMES:
        house.register(name)
    house.writer.append(house.registry.query("b").pause(True))
    house.store.write([], [(house.registry.query("c").id, 5000, "too many rows")])
    client = Client(house, None)
    client.read()
    assert kinds(client) == [("paused", "b"), ("problem", "c")]
    house.writer.append(house.registry.query("b").pause(False))
    house.writer.append(house.registry.query("a").pause(True))
    client.read()
    client.read()
    assert kinds(client)[2:] == [("paused", "a"), ("resumed", "b")]


# --- over HTTP


def test_events_of_named_queries(client, port: int, engine: Engine) -> None:
    first = registered(client)
    second = registered(client, name="r", text=TEXT.replace("QUERY q", "QUERY r"))
    listener = Listener(port, "/events?query=q&query=r&from=beginning")
    assert listener.response.headers["Content-Type"] == "text/event-stream"
    engine.count(first, 1000)
    engine.count(second, 1000)
    told = listener.take(2)
    assert [(event.data["query"], event.id) for event in told] == [("q", "1"), ("r", "2")]
    listener.close()
    engine.count(first, 2000)
    client.delete("/queries/r")
    back = Listener(port, "/events?query=q&query=r&from=beginning", Last_Event_ID="1")
    told = back.take(3)
    assert [(event.kind, event.data["query"]) for event in told] == [("answer", "r"), ("answer", "q"), ("end", "r")]
    back.close()


def test_events_of_all_queries(client, port: int, engine: Engine) -> None:
    listener = Listener(port, "/events")
    query = registered(client)
    assert listener.next() == Event("registered", {"query": "q", "id": query, "version": query})
    engine.count(query, 1000)
    assert listener.next().data["at"] == 1000
    client.post("/queries/q/pause")
    assert listener.next() == Event("paused", {"query": "q"})
    client.post("/queries/q/resume")
    assert listener.next() == Event("resumed", {"query": "q"})
    client.delete("/queries/q")
    assert listener.next() == Event("end", {"query": "q", "reason": "the query is deleted"})
    listener.close()


def test_who_comes_back_for_what_is_gone_is_told_to_stay_away(client, port: int, engine: Engine) -> None:
    query = registered(client)
    engine.count(query, 1000)
    client.delete("/queries/q")
    assert client.get("/events?query=q", headers={"Last-Event-ID": "1"}).status_code == 204
    back = Listener(port, "/events?query=q", Last_Event_ID="0")
    assert [(event.kind, event.data["query"]) for event in back.take(2)] == [("answer", "q"), ("end", "q")]
    assert back.next() is None
    back.close()


@pytest.mark.parametrize(
    "url, headers, status, code",
    [
        ("/events?query=nobody", {}, 404, "unknown-query"),
        ("/events?from=yesterday", {}, 400, "bad-event-id"),
        ("/events", {"Last-Event-ID": "x"}, 400, "bad-event-id"),
        ("/events", {"Accept": "application/json"}, 406, "not-acceptable"),
        ("/events?" + "&".join(f"query=q{n}" for n in range(1001)), {}, 400, "bad-setting"),
    ],
)
def test_what_is_refused(client, url: str, headers: dict[str, str], status: int, code: str) -> None:
    answer = client.get(url, headers=headers)
    assert (answer.status_code, answer.json["code"]) == (status, code)


def test_places_are_those_of_the_whole_server(client, port: int, backend: Backend) -> None:
    registered(client)
    listeners = [Listener(port, path) for path in ("/events", "/queries/q/answers") * 4]
    assert backend.threads.fanout.subscribers == 8
    refused = Listener(port, "/events")
    assert refused.response.status == 503
    for listener in (*listeners, refused):
        listener.close()
    assert f"{BASE}/streams/s" in client.get("/streams").text
