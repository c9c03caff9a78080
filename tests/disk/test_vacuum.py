"""Room that is free is given back to the disk, in steps that nobody waits for; a file of before is written anew
once."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from csparql_spark.disk import Database, DataDirectory, vacuum
from csparql_spark.disk.vacuum import SLACK_PAGES, STEP_PAGES, convert, give_back, surplus
from csparql_spark.store import StoredAnswer
from tests.store.opened import Opened
from tests.store.test_versions import written

PAGE = 4096
MB = 1 << 20


def fill(store: Opened, chunks: int = 200, size: int = 100_000) -> None:
    store.put("stream", 1, "urn:s", payload=b'{"name": "s", "clock": "arrival", "delay": 0}')
    for number in range(chunks):
        store.put("chunk", 10, "urn:s", payload=bytes([number % 256]) * size)
    store.put("chunk", 1_000_000, "urn:s", payload=b"newest")
    store.retention.advance(store.log.tail())


def forget(store: Opened) -> None:
    assert store.retention.forget(keep_log=1000, reach=0, keep_answers=1) > 0


def size(store: Opened) -> int:
    """Bytes on the disk."""
    paths = [Path(f"{store.directory.database}{end}") for end in ("", "-wal")]
    return sum(path.stat().st_size for path in paths if path.exists())


def now(seconds: float) -> bool:
    return False


def test_a_file_shrinks_when_what_filled_it_is_forgotten(store: Opened) -> None:
    fill(store)
    answers = [StoredAnswer(2, instant, 0, 0, Random(instant).randbytes(30_000)) for instant in range(300)]
    store.answers.write(answers)
    full = size(store)
    assert full > 25 * MB
    forget(store)
    assert give_back(store.database, now) > 5000
    assert size(store) < SLACK_PAGES * PAGE + 2 * MB
    assert surplus(store.database.connection) == 0 and give_back(store.database, now) == 0
    entries = store.entries()
    assert [(entry.kind, entry.payload) for entry in entries[1:]] == [("chunk", b"newest")]
    assert store.database.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_it_goes_in_steps_between_which_others_write(store: Opened) -> None:
    fill(store)
    forget(store)
    other = Opened(store.directory.path)
    sizes = []

    def write(seconds: float) -> bool:
        other.put("tick", 1_000_001 + len(sizes))
        sizes.append(surplus(other.database.connection))
        return len(sizes) == 5

    given = give_back(store.database, write)
    assert given == 5 * STEP_PAGES and len(sizes) == 5
    assert all(0 < before - after <= STEP_PAGES for before, after in zip(sizes, sizes[1:]))
    assert len(other.entries()) == 2 + 5
    other.close()


def test_some_slack_stays(store: Opened) -> None:
    fill(store, chunks=30)
    forget(store)
    before = size(store)
    assert give_back(store.database, now) == 0 and size(store) == before


def test_a_large_log_of_changes_is_emptied(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    wal = Path(f"{store.directory.database}-wal")
    monkeypatch.setattr(vacuum, "WAL_BYTES", MB)
    reader = Opened(store.directory.path)
    with reader.database.snapshot() as connection:
        connection.execute("SELECT count(*) FROM log").fetchone()
        fill(store, chunks=100)
        give_back(store.database, now)
        large = wal.stat().st_size
        assert large > 5 * MB, "who reads is not waited for, and goes on reading"
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (0,)
    give_back(store.database, now)
    assert wal.stat().st_size == 0 and len(store.entries()) == 102
    reader.close()


def old(path: Path, megabytes: int = 30) -> Database:
    """A file of before, most of which is free."""
    directory = written(path, 3)
    with closing(sqlite3.connect(directory.database)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executemany(
            "INSERT INTO answers (query, instant, part, rows, payload) VALUES (9, ?, 0, 0, ?)",
            ((number, bytes(MB)) for number in range(megabytes)),
        )
        connection.execute("DELETE FROM answers WHERE query = 9")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Database(directory.database).create()


def test_a_file_of_before_is_written_anew_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuum, "SMALL_BYTES", MB)
    database, said = old(tmp_path), []
    before = list(Opened(tmp_path).entries())
    assert database.path.stat().st_size > 30 * MB and give_back(database, now) == 0
    assert convert(database, said.append)
    assert database.path.stat().st_size < MB
    assert len(said) == 2 and said[0].startswith(
        f"{database.path} has 30 MB, of which 30 MB are free: it is written anew, once, which takes about 1 s and "
    )
    assert said[1].startswith(f"{database.path} has 0 MB now, after ")
    assert not convert(database, said.append) and len(said) == 2
    database.close()
    again = Opened(tmp_path)
    assert again.entries() == before
    again.put("stream", 1, "urn:t", payload=b"{}")
    fill(again)
    forget(again)
    assert give_back(again.database, now) > 0
    again.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux says which files are open")
def test_the_copy_is_made_on_the_disk_of_the_file(tmp_path: Path) -> None:
    """Whose room was looked at; and SQLite is at work already when it is told where."""
    database = old(tmp_path / "it's here")
    database.connection.execute(
        "INSERT INTO answers (query, instant, part, rows, payload) VALUES (3, 3, 0, 0, ?)", (bytes(10 * MB),)
    )
    seen: set[str] = set()

    def look() -> None:
        for descriptor in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                seen.add(os.readlink(descriptor))

    database.connection.set_progress_handler(look, 1)
    assert convert(database, pytest.fail)
    database.close()
    assert {Path(path).parent for path in seen if "etilqs" in path} == {tmp_path / "it's here"}


def test_a_small_file_of_before_is_written_anew_without_a_word(tmp_path: Path) -> None:
    database, said = old(tmp_path), []
    assert convert(database, said.append) and said == []
    database.close()


def test_a_large_file_that_is_full_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuum, "SMALL_BYTES", 0)
    database, said = Database(written(tmp_path, 3).database).create(), []
    assert not convert(database, said.append) and said == []
    database.close()


def test_without_room_it_says_how_much_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, said = old(tmp_path), []
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, 5 * MB))
    assert not convert(database, said.append)
    assert said == [
        f"{database.path} has 30 MB, of which 30 MB are free, and cannot give them back: it was made by an older version "
        "and has to be written anew once, for which 16 MB of room are needed on its disk and 5 MB are there. Make room "
        "and start again; until then it goes on as it is"
    ]
    assert database.path.stat().st_size > 30 * MB
    database.close()


def test_a_disk_that_is_full_after_all(tmp_path: Path) -> None:
    database, said = old(tmp_path), []
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    database.connection.execute("PRAGMA busy_timeout = 0")
    assert not convert(database, said.append)
    assert said == [f"{database.path} could not be written anew, and goes on as it is: database is locked"]
    other.close()
    database.close()


def test_a_new_file_can_give_back(tmp_path: Path) -> None:
    database = Database(DataDirectory(tmp_path).create().database).create()
    assert not convert(database, pytest.fail)
    assert database.connection.execute("PRAGMA auto_vacuum").fetchone() == (vacuum.INCREMENTAL,)
    database.close()
