"""Observers in the store: added once, moved forward, failed and revived, and gone with their query."""

from __future__ import annotations

from pathlib import Path

import pytest

from csparql_spark.store import Database
from csparql_spark.store.observers import Observer, ObserverStore, TooMany, name_of

URL = "https://hooks.example.org/"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "store.db").create()


@pytest.fixture
def store(database: Database) -> ObserverStore:
    return ObserverStore(database).create()


def add(store: ObserverStore, query: int = 1, url: str = URL, secret: str | None = None, position: int = 5,
        at: int = 100, most: int = 10) -> tuple[Observer, bool]:
    return store.add(query, url, secret=secret, position=position, at=at, most=most)


def test_an_observer_is_added_once(store: ObserverStore) -> None:
    made, new = add(store, secret="s")
    assert new and made == Observer(name_of(1, URL), 1, URL, "s", 100, 5)
    assert store.of(1) == store.active() == [made] and store.one(1, made.id) == made
    assert add(store, position=9, at=200) == (made, False)
    assert add(store, secret="t")[0].secret == "t"
    assert store.of(2) == [] and store.one(2, made.id) is None


def test_it_moves_forward_and_never_back(store: ObserverStore) -> None:
    id = add(store)[0].id
    store.missed(id, "HTTP 503", at=200, fail=False)
    store.missed(id, "HTTP 502", at=300, fail=False)
    told = store.one(1, id)
    assert (told.failures, told.failing, told.error, told.state, told.position) == (2, 200, "HTTP 502", "active", 5)
    store.took(id, 10)
    store.took(id, 7)
    told = store.one(1, id)
    assert (told.position, told.delivered, told.failures, told.failing, told.error) == (10, 2, 0, None, None)


def test_a_failed_one_goes_on_where_it_stopped(store: ObserverStore) -> None:
    id = add(store)[0].id
    store.took(id, 8)
    store.missed(id, "HTTP 410", at=300, fail=True)
    assert store.active() == [] and store.one(1, id).state == "failed"
    revived, new = add(store, position=50)
    assert (new, revived.state, revived.position, revived.error) == (False, "active", 8, None)


def test_there_are_only_so_many(store: ObserverStore) -> None:
    first = add(store, most=1)[0]
    with pytest.raises(TooMany):
        add(store, url=URL + "2", most=1)
    assert add(store, most=1) == (first, False)


def test_removing(store: ObserverStore) -> None:
    id = add(store)[0].id
    assert not store.remove(2, id)
    assert store.remove(1, id) and not store.remove(1, id)
    assert store.of(1) == []


def test_they_go_with_their_query(store: ObserverStore, database: Database) -> None:
    with database.transaction() as connection:
        query = connection.execute("INSERT INTO log (kind, at, subject, payload) "
                                   "VALUES ('register', 1, 'q', x'7b7d')").lastrowid
    add(store, query)
    add(store, query + 100)
    assert store.forget() == 1 and store.forget() == 0
    assert [observer.query for observer in store.active()] == [query]


def test_they_are_there_when_the_file_is_opened_again(store: ObserverStore, database: Database) -> None:
    made, _ = add(store)
    assert ObserverStore(Database(database.path)).create().of(1) == [made]
