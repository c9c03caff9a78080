from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory, StoreError, database
from csparql_spark.disk.database import SCHEMA_VERSION
from csparql_spark.disk.errors import DatabaseBusy, DatabaseFault, DatabaseFull
from tests.store.opened import Opened


def test_creating_it_again_changes_nothing(store: Opened) -> None:
    store.append("chunk", "urn:s", payload=b"x")
    before = store.entries()
    Database(store.directory.database).create()
    assert store.entries() == before


def test_the_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = DataDirectory(tmp_path).create().database
    database = Database(path).create()
    with database.transaction() as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 6}")
    with pytest.raises(StoreError) as caught:
        Database(path).create()
    assert str(caught.value) == (
        f"{path} was written by another version of csparql-spark (format {SCHEMA_VERSION + 6}, this one writes "
        f"{SCHEMA_VERSION}): choose another directory with --data"
    )


def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = DataDirectory(tmp_path).create().database
    path.write_bytes(b"this was a database once" * 500)
    with pytest.raises(StoreError) as caught:
        Database(path).create()
    assert str(caught.value) == (
        f"{path} cannot be opened as a database (file is not a database): choose another directory with "
        "--data, or put back a copy of the file"
    )
    assert path.read_bytes() == b"this was a database once" * 500


def test_a_file_that_somebody_else_writes_into(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "TURN_SECONDS", 0.0)
    other = sqlite3.connect(store.directory.database, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError) as caught:
        Database(store.directory.database).create()
    other.close()
    assert str(caught.value) == (
        f"{store.directory.database} cannot be opened as a database (database is locked): another program writes into "
        "it and does not end; end that one, then try again"
    )


def test_damage_in_the_middle_is_found(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(50):
        store.append("chunk", "urn:s", payload=bytes(2000))
    path = store.directory.database
    assert Database(path).check().path == path
    store.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(-10 * 4096, 2)  # among what was pushed, far behind the schema
        file.write(b"Z" * 10 * 4096)
    with pytest.raises(StoreError) as caught:
        Database(path).check()
    assert str(caught.value).startswith(f"{path} is damaged (") and str(caught.value).endswith(
        ": put back a copy of the file and delete store.db-wal and store.db-shm beside it, which do not belong to the "
        "copy, or choose another directory with --data"
    )
    monkeypatch.setattr(database, "CHECKED_BYTES", path.stat().st_size - 1)
    Database(path).check()  # to look through it would take long


def test_a_directory_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.mkdir()
    with pytest.raises(StoreError) as caught:
        Database(path).create()
    assert str(caught.value) == (
        f"{path} cannot be opened as a database (unable to open database file): choose another directory "
        "with --data, or put back a copy of the file"
    )


@pytest.mark.parametrize("durable", [True, False])
def test_a_transaction_that_raises_is_undone_whole(store: Opened, durable: bool) -> None:
    with pytest.raises(KeyError), store.database.transaction(durable=durable) as connection:
        connection.execute("INSERT INTO log (kind, at) VALUES ('tick', 1)")
        raise KeyError
    assert store.put("tick", 2) == 1
    assert [entry.at for entry in store.entries()] == [2]


def test_the_reason_is_told_when_the_database_has_undone_it_by_itself(store: Opened) -> None:
    store.database.connection.execute("PRAGMA max_page_count = 30")
    with pytest.raises(DatabaseFull, match="database or disk is full"):
        with store.database.transaction() as connection:
            connection.execute("INSERT INTO log (kind, at, payload) VALUES ('chunk', 1, zeroblob(1000000))")
    assert store.put("tick", 2) == 1


def test_a_commit_that_fails_is_undone_and_the_next_one_goes(store: Opened) -> None:
    # A deferred constraint is looked at by COMMIT, which then fails and leaves the transaction as it is.
    store.database.connection.execute("PRAGMA foreign_keys = ON")
    with pytest.raises(DatabaseFault, match="constraint failed"), store.database.transaction() as connection:
        connection.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
        connection.execute("INSERT INTO child VALUES (1)")
    assert store.put("tick", 2) == 1
    tables = store.database.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    assert ("log",) in tables and ("child",) not in tables


def test_only_transactions_that_can_be_derived_again_do_not_wait_for_the_disk(store: Opened) -> None:
    def synchronous() -> int:
        return store.database.connection.execute("PRAGMA synchronous").fetchone()[0]

    full, normal = 2, 1
    assert synchronous() == full
    with store.database.transaction():
        assert synchronous() == full
    with store.database.transaction(durable=False):
        assert synchronous() == normal
    assert synchronous() == full
    with pytest.raises(KeyError), store.database.transaction(durable=False):
        raise KeyError
    assert synchronous() == full


def test_writers_take_turns(store: Opened) -> None:
    other = Database(store.directory.database)
    inside, done = threading.Event(), threading.Event()

    def write() -> None:
        inside.wait()
        with other.transaction() as connection:
            connection.execute("INSERT INTO log (kind, at) VALUES ('tick', 2)")
        other.close()
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    with store.database.transaction() as connection:
        inside.set()
        assert not done.wait(0.02)
        connection.execute("INSERT INTO log (kind, at) VALUES ('tick', 1)")
    thread.join()
    assert [entry.at for entry in store.entries()] == [1, 2]


def test_a_writer_whose_turn_never_comes_gives_up(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.disk.database.TURN_SECONDS", 0.01)
    other = Database(store.directory.database)
    other.connection.execute("SELECT 1")
    with store.database.transaction():
        with pytest.raises(DatabaseBusy, match="database is locked"), other.transaction():
            pass
    with other.transaction() as connection:
        connection.execute("INSERT INTO log (kind, at) VALUES ('tick', 1)")
    other.close()
    assert len(store.entries()) == 1


def test_a_snapshot_is_one_state_of_the_database(store: Opened) -> None:
    other = Database(store.directory.database)
    store.put("tick", 1)
    with other.snapshot() as connection:
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (1,)
        store.put("tick", 2)
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (1,)
    assert other.connection.execute("SELECT count(*) FROM log").fetchone() == (2,)
    other.close()


def test_each_thread_has_a_connection_of_its_own(store: Opened) -> None:
    connections = [store.database.connection]

    def look() -> None:
        connections.append(store.database.connection)
        store.database.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert connections[0] is not connections[1] and store.database.connection is connections[0]
