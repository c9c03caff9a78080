"""The order of answers: places of whole instants, far and near, and what forgetting leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Draft, LogWriter
from csparql_spark.store import AnswerStore, StoredAnswer, order
from csparql_spark.store.order import AnswerOrder, AnswerPlace
from csparql_spark.store.registry import QueryRecord
from csparql_spark.store.retention import Retention


class Store:
    def __init__(self, path: Path) -> None:
        directory = DataDirectory(path).create()
        self.database = Database(directory.database).create()
        self.answers = AnswerStore(self.database, directory.bell("answers"))
        self.order = AnswerOrder(self.database)
        self.retention = Retention(self.database)
        self.writer = LogWriter(self.database, directory.bell("log")).start()

    def register(self, name: str) -> int:
        return self.writer.append(QueryRecord.draft(name, text="", base=None)).seq

    def write(self, *said: tuple[int, int, int]) -> None:
        """(query, instant, part), in one batch."""
        self.answers.write([StoredAnswer(*one, 0, b"") for one in said])

    def forget(self, keep: int) -> None:
        self.retention.forget(keep_log=0, reach=0, keep_answers=keep)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "data")
    yield store
    store.writer.stop()
    store.database.close()


@pytest.fixture(params=["near", "far"])
def near(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "far":
        monkeypatch.setattr(order, "NEAR", 0)


def test_places_are_those_of_whole_instants(store: Store, near: None) -> None:
    a, b = store.register("a"), store.register("b")
    store.write((b, 1000, 1), (a, 2000, 0), (a, 1000, 0), (b, 1000, 0), (a, 2000, 1))
    all_places = [AnswerPlace(1, a, 1000), AnswerPlace(3, b, 1000), AnswerPlace(5, a, 2000)]
    assert store.order.head() == 5
    assert store.order.after(0, head=5, limit=9) == all_places
    assert store.order.after(2, head=5, limit=9) == all_places[1:], "in the middle of an instant is before it"
    assert store.order.after(0, head=4, limit=9) == all_places[:2]
    assert store.order.after(0, head=5, limit=2) == all_places[:2]
    assert store.order.after(0, head=5, limit=9, queries={a}) == [all_places[0], all_places[2]]
    assert store.order.after(0, head=5, limit=2, queries={a, b}) == all_places[:2]
    assert store.order.newest([a, b, 99], 5) == all_places[1:]
    assert store.order.last(0, 5, 2, {a, b}) == all_places[1:]
    assert store.order.last(0, 5, 1, {a}) == store.order.last(0, 5, 1, None) == all_places[2:]
    assert store.order.waiting(1, 5, None) == {a: (1, 2000, 2000), b: (1, 1000, 1000)}
    assert (store.order.up_to(a, 1500), store.order.up_to(a, 999), store.order.up_to(b, 5000)) == (1, None, 3)


def test_what_is_forgotten_leaves_its_place(store: Store, near: None) -> None:
    a, b = store.register("a"), store.register("b")
    for instant in (1000, 2000, 3000):
        store.write((a, instant, 0), (b, instant, 0))
    store.forget(1)
    places = [AnswerPlace(3, a, None), AnswerPlace(4, b, None), AnswerPlace(5, a, 3000), AnswerPlace(6, b, 3000)]
    assert store.order.after(0, head=6, limit=9) == places
    assert store.order.after(0, head=6, limit=9, queries={b}) == [places[1], places[3]]
    assert store.order.after(3, head=6, limit=9) == places[1:]
    assert store.order.gone(a) == (3, 2000)
    assert store.order.next_instant(a, 3) == 3000
    store.write((a, 4000, 0))
    store.forget(1)
    assert store.order.after(0, head=7, limit=9) == [
        AnswerPlace(4, b, None),
        AnswerPlace(5, a, None),
        AnswerPlace(6, b, 3000),
        AnswerPlace(7, a, 4000),
    ]


def test_a_query_takes_its_places_with_it_and_the_head_stays(store: Store) -> None:
    a = store.register("a")
    store.write((a, 1000, 0), (a, 2000, 0))
    store.forget(1)
    store.writer.append(Draft("unregister", subject="a"))
    store.forget(1)
    assert store.order.after(0, head=2, limit=9) == []
    assert store.order.gone(a) is None
    assert store.order.head() == 2
    assert store.order.queries_since(0, 2) == set()
