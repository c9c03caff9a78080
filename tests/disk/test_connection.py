"""Connections: whatever SQLite raises, and wherever, is raised in the house's words."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from csparql_spark.disk.connection import connect
from csparql_spark.disk.errors import DatabaseBusy, DatabaseFault, DatabaseFull, PageDamaged, StoreError, fault_of

ROWS = 200


def filled(path: Path) -> Path:
    with closing(connect(path, timeout=0)) as connection:
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        connection.executemany("INSERT INTO things VALUES (?, ?)", [(id, f"{id} " * 50) for id in range(ROWS)])
        connection.execute("COMMIT")
    return path


def torn(path: Path) -> Path:
    """Its last page, which has the last of the rows, is no page any more."""
    with open(path, "r+b") as file:
        file.seek(-4096, 2)
        file.write(b"\xff" * 4096)
    return path


def test_what_is_right_is_as_it_was(tmp_path: Path) -> None:
    with closing(connect(filled(tmp_path / "a.db"), timeout=0)) as connection:
        rows = connection.execute("SELECT id, text FROM things ORDER BY id")
        assert (
            next(rows) == (0, "0 " * 50) and rows.fetchone()[0] == 1 and [row[0] for row in rows.fetchmany(2)] == [2, 3]
        )
        assert [id for id, _ in rows] == list(range(4, ROWS)) and rows.fetchone() is None
        with pytest.raises(StopIteration):
            next(rows)
        assert connection.execute("DELETE FROM things WHERE id < ?", (7,)).rowcount == 7
        assert connection.execute("INSERT INTO things VALUES (NULL, :text)", {"text": "x"}).lastrowid == ROWS


@pytest.mark.parametrize(
    "look",
    [
        lambda rows: rows.fetchall(),
        lambda rows: list(rows),
        lambda rows: rows.fetchmany(ROWS),
        lambda rows: [next(rows) for _ in range(ROWS)],
        lambda rows: [rows.fetchone() for _ in range(ROWS)],
    ],
    ids=["fetchall", "iter", "fetchmany", "next", "fetchone"],
)
def test_rows_that_are_read_later_fail_in_the_same_words(
    tmp_path: Path, look: Callable[[sqlite3.Cursor], object]
) -> None:
    with closing(connect(torn(filled(tmp_path / "a.db")), timeout=0)) as connection:
        rows = connection.execute("SELECT id, text FROM things")
        with pytest.raises(PageDamaged, match="^database disk image is malformed$"):
            look(rows)


@pytest.mark.parametrize(
    "run",
    [
        lambda connection: connection.execute("SELECT 1 FROM none"),
        lambda connection: connection.executemany("INSERT INTO none VALUES (?)", [(1,)]),
        lambda connection: connection.executescript("SELECT 1 FROM none"),
    ],
    ids=["execute", "executemany", "executescript"],
)
def test_each_way_to_run_a_statement_fails_in_the_same_words(
    tmp_path: Path, run: Callable[[sqlite3.Connection], object]
) -> None:
    with closing(connect(tmp_path / "a.db", timeout=0)) as connection:
        with pytest.raises(DatabaseFault, match="^no such table: none$") as found:
            run(connection)
        assert type(found.value) is DatabaseFault and isinstance(found.value.__cause__, sqlite3.OperationalError)


def test_who_waits_for_another_is_busy_and_who_has_no_room_is_full(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.db")
    with closing(connect(path, timeout=0)) as one, closing(connect(path, timeout=0)) as other:
        one.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusy, match="^database is locked$") as busy:
            other.execute("BEGIN IMMEDIATE")
        assert busy.value.remedy.startswith("another program writes into it")
        one.execute("ROLLBACK")
        one.execute(f"PRAGMA max_page_count = {one.execute('PRAGMA page_count').fetchone()[0]}")
        with pytest.raises(DatabaseFull, match="^database or disk is full$") as full:
            one.execute("INSERT INTO things VALUES (NULL, ?)", ("x" * 100_000,))
        assert full.value.remedy.startswith("make room on the disk")


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DatabaseFault, match="^unable to open database file$"):
        connect(tmp_path / "none.db", timeout=0, uri="mode=ro")
    assert not (tmp_path / "none.db").exists()


def test_each_kind_is_an_error_of_the_store() -> None:
    assert all(issubclass(kind, StoreError) for kind in (DatabaseFault, DatabaseBusy, DatabaseFull, PageDamaged))
    quoted = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    assert type(fault_of(quoted)) is DatabaseFault and str(fault_of(quoted)) == str(quoted)
