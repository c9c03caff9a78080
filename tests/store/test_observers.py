"""Observers in the store: added once, moved forward, failed and revived, and gone with their query."""

from __future__ import annotations

from pathlib import Path

import pytest

from csparql_spark.disk import Database
from csparql_spark.log.contents import QueryRegistered, draft_of
from csparql_spark.store.observers import Observer, ObserverDraft, ObserverStore, TooManyObservers, name_of

URL = "https://hooks.example.org/"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "store.db").create()


@pytest.fixture
def store(database: Database) -> ObserverStore:
    return ObserverStore(database).create()


def add(
    store: ObserverStore,
    query: int = 1,
    url: str = URL,
    secret: str | None = None,
    position: int = 5,
    at: int = 100,
    most: int = 10,
    **more: object,
) -> tuple[Observer, bool]:
    return store.add(ObserverDraft(query, url, position, secret, **more), at=at, most=most)


def test_an_observer_is_added_once(store: ObserverStore) -> None:
    made, new = add(store, secret="s")
    assert new and made == Observer(name_of(1, URL), 1, URL, "s", 100, 5, when="nonempty", begin="latest", version=1)
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


def test_what_it_wants_changes_only_when_it_is_said(store: ObserverStore) -> None:
    made, _ = add(store, when="always", begin="1000")
    assert (made.when, made.begin) == ("always", "1000")
    assert add(store) == (made, False)
    assert add(store, when="nonempty")[0].when == "nonempty"


def test_it_moves_past_what_it_is_not_told(store: ObserverStore) -> None:
    id = add(store)[0].id
    store.missed(id, "HTTP 503", at=200, fail=False)
    store.passed(id, 10)
    told = store.one(1, id)
    assert (told.position, told.delivered, told.failures, told.gap) == (10, 0, 1, None)
    store.passed(id, 7, gap=5)
    store.passed(id, 20, gap=15)
    assert (store.one(1, id).position, store.one(1, id).gap) == (20, 5)  # the first gap that was not told
    store.took(id, 30)
    assert (store.one(1, id).position, store.one(1, id).gap) == (30, None)


def test_those_of_older_directories_are_told_everything(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute(
            "CREATE TABLE observers (id TEXT PRIMARY KEY, query INTEGER NOT NULL, url TEXT NOT NULL, "
            "secret TEXT, created INTEGER NOT NULL, position INTEGER NOT NULL, "
            "state TEXT NOT NULL DEFAULT 'active', delivered INTEGER NOT NULL DEFAULT 0, "
            "failures INTEGER NOT NULL DEFAULT 0, failing INTEGER, error TEXT)"
        )
        connection.execute(
            "INSERT INTO observers VALUES (?, 1, ?, NULL, 100, 5, 'active', 3, 0, NULL, NULL)", (name_of(1, URL), URL)
        )
    store = ObserverStore(database).create().create()
    kept = Observer(name_of(1, URL), 1, URL, None, 100, 5, delivered=3, when="always", begin=None, version=1)
    assert store.of(1) == [kept] and add(store) == (kept, False)
    assert add(store, url=URL + "2")[0].when == "nonempty"


def test_a_failed_one_goes_on_where_it_stopped(store: ObserverStore) -> None:
    id = add(store)[0].id
    store.took(id, 8)
    store.missed(id, "HTTP 410", at=300, fail=True)
    assert store.active() == [] and store.one(1, id).state == "failed"
    revived, new = add(store, position=50)
    assert (new, revived.state, revived.position, revived.error) == (False, "active", 8, None)


def test_there_are_only_so_many(store: ObserverStore) -> None:
    first = add(store, most=1)[0]
    with pytest.raises(TooManyObservers):
        add(store, url=URL + "2", most=1)
    assert add(store, most=1) == (first, False)


def test_removing(store: ObserverStore) -> None:
    id = add(store)[0].id
    assert not store.remove(2, id)
    assert store.remove(1, id) and not store.remove(1, id)
    assert store.of(1) == []


def test_they_go_with_their_query(store: ObserverStore, database: Database) -> None:
    with database.transaction() as connection:
        query = connection.execute(
            "INSERT INTO log (kind, at, subject, payload) VALUES ('register', 1, 'q', ?)", (registration(),)
        ).lastrowid
    add(store, query)
    add(store, query + 100)
    assert store.forget() == 1 and store.forget() == 0
    assert [observer.query for observer in store.active()] == [query]


def registration(**more: int) -> bytes | None:
    return draft_of(QueryRegistered("SELECT", None, **more), "q").payload


def test_they_go_on_with_the_versions_of_their_query(store: ObserverStore, database: Database) -> None:
    made, _ = add(store)
    other, _ = add(store, query=4, version=6)
    assert (made.version, other.version) == (1, 6)
    store.took(made.id, 10)
    store.moved(made.id, 5, position=-1)
    moved = store.one(1, made.id)
    assert (moved.version, moved.position, moved.taken, moved.gap, moved.delivered) == (5, -1, None, None, 1)
    store.moved(made.id, 6, position=-1, gap=10)
    store.moved(made.id, 7, position=-1)
    assert store.one(1, made.id).gap == 10
    assert add(store)[0].version == 7  # added again, it is where it was
    # Its query is there as long as one of that origin is, or as the damaged version that it was told last.
    with database.transaction() as connection:
        for payload in (registration(replaces=6, origin=1), b"no longer what was written"):
            connection.execute("DELETE FROM log")
            connection.execute(
                "INSERT INTO log (seq, kind, at, subject, payload, payload_sum) VALUES (7, 'register', 1, 'q', ?, ?)",
                (payload, None if payload[:1] == b"{" else 1),
            )
    assert store.forget() == 1
    assert [observer.id for observer in store.active()] == [made.id]


def test_they_are_there_when_the_file_is_opened_again(store: ObserverStore, database: Database) -> None:
    made, _ = add(store)
    assert ObserverStore(Database(database.path)).create().of(1) == [made]
