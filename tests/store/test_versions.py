"""Files of the versions before: they open, everything in them reads, and whoever is killed on the way tries again.

`schemas/N.sql` is what version N has made, as text.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.database import SCHEMA_VERSION
from csparql_spark.log import Entry
from csparql_spark.log.contents import QueryFailed, draft_of
from csparql_spark.log.sqlite.relays import relayed_to
from csparql_spark.schedule.failures import Failures
from csparql_spark.store import QueryRecord, StoredAnswer, StreamRecord

from .opened import Opened

SCHEMAS = Path(__file__).parent / "schemas"
ENTRIES = [
    Entry(1, "stream", 10, "urn:s", payload=b'{"name": "s", "clock": "event", "delay": 5}'),
    Entry(2, "background", 11, "urn:g", 1, payload=b"a graph"),
    Entry(3, "register", 12, "q", payload=b'{"text": "SELECT", "base": null}'),
    Entry(4, "chunk", 13, "urn:s", 2, 7, 9, 0, b"triples" * 2000),
    Entry(5, "tick", 14),
    Entry(6, "register", 15, "gone", payload=b'{"text": "ASK", "base": "urn:b"}'),
    Entry(7, "unregister", 16, "gone"),
    Entry(8, "rules", 17, "lab", 1, payload=b"a rule"),
]
ANSWERS = [StoredAnswer(3, 1000, 0, 2, b"an answer" * 900, 1), StoredAnswer(3, 2000, 0, 0, b"another", 2)]

# What was in `positions`, under names: see `disk/database.py`.
POSITIONS = [
    ("engine", 5),
    ("batch end", 7),
    ("relay 3", 1000),
    ("relay 17", -5),
    ("forgotten 3", 0),
    ("forgotten 3 at", 500),
    ("forgotten 12", 40),
    ("forgotten 12 at", 4000),
    ("end 0 10", 3),
    ("end 41 1700000000000", 7),
    ("end 4 -2", 6),
]
FORGOTTEN, BATCH_ENDS = [(3, 0, 500), (12, 40, 4000)], [(0, 10, 3), (4, -2, 6), (41, 1700000000000, 7)]


def written(path: Path, version: int) -> DataDirectory:
    """A data directory as a server of that version has left it."""
    directory = DataDirectory(path).create()
    with closing(sqlite3.connect(directory.database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript((SCHEMAS / f"{version}.sql").read_text(encoding="utf-8"))
        connection.executemany(
            "INSERT INTO log (seq, kind, at, subject, rows, first, last, unstamped, payload) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(e.seq, e.kind, e.at, e.subject, e.rows, e.first, e.last, e.unstamped, e.payload) for e in ENTRIES],
        )
        connection.executemany(
            "INSERT INTO answers (position, query, instant, part, rows, payload) VALUES (?, ?, ?, ?, ?, ?)",
            [(a.position, a.query, a.instant, a.part, a.rows, a.payload) for a in ANSWERS],
        )
        connection.execute("INSERT INTO failures VALUES (3, 3000, 'for a reason')")
        if version < 5:
            connection.executemany("INSERT INTO positions VALUES (?, ?)", POSITIONS)
        else:
            connection.execute("INSERT INTO engine_progress VALUES (1, 5, 7)")
            connection.executemany("INSERT INTO relayed VALUES (?, ?)", [(3, 1000), (17, -5)])
            connection.executemany("INSERT INTO forgotten VALUES (?, ?, ?)", FORGOTTEN)
            connection.executemany("INSERT INTO batch_ends VALUES (?, ?, ?)", BATCH_ENDS)
        connection.execute("INSERT INTO status VALUES ('engine', '{}')")
    return directory


def shape(path: Path) -> list[tuple]:
    """What a file is made of, and of which version it says that it is: some differ in what the log may hold alone."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            *connection.execute("PRAGMA user_version"),
            *connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name"),
        ]


def whole(store: Opened) -> None:
    """All that was there is there, and the store goes on."""
    assert store.entries() == ENTRIES
    assert store.registry.streams() == [StreamRecord(1, "urn:s", 10, "s", "event", 5)]
    assert store.registry.queries() == [QueryRecord(3, "q", 12, "SELECT", None)]
    assert [(s.name, s.changed, s.rows) for s in store.registry.settings("background")] == [("urn:g", 11, 1)]
    assert [(s.name, s.changed, s.rows) for s in store.registry.settings("rules")] == [("lab", 17, 1)]
    assert store.answers.after(3, 0, 10) == ANSWERS
    assert store.answers.failure(3) == (3000, "for a reason")
    assert store.retention.position() == 5 and store.status.of("engine") == {}
    assert store.retention.batch_end() == 7
    assert [relayed_to(store.database.connection, query) for query in (3, 17, 1)] == [1000, -5, None]
    rows = store.database.connection.execute
    assert rows("SELECT query, position, instant FROM forgotten ORDER BY query").fetchall() == FORGOTTEN
    assert rows("SELECT after, tick, seq FROM batch_ends ORDER BY after").fetchall() == BATCH_ENDS
    assert store.answers.newest_instant(3) == 2000 and store.answers.newest_instant(12) == 4000
    # What has failed there is not in the log yet: it goes there when the server starts.
    Failures(store.registry, store.answers, store.writer).look()
    failed = draft_of(QueryFailed(3, 3000, "for a reason", answered=2000), "q")
    entry = store.append("chunk", "urn:s", payload=b"more")
    assert (entry.seq, store.entries()[-1]) == (10, entry)
    assert store.entries()[:-1] == [*ENTRIES, failed.entry(9, store.entries()[-2].at)]


def test_each_version_before_has_its_schema_here() -> None:
    assert {path.stem for path in SCHEMAS.iterdir()} == {str(version) for version in range(1, SCHEMA_VERSION)}


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_file_of_a_version_before_is_brought_up_to_date(tmp_path: Path, version: int) -> None:
    directory = written(tmp_path, version)
    Database(DataDirectory(tmp_path / "new").create().database).create().close()
    for _ in range(2):
        database = Database(directory.database).create()
        assert database.connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        database.close()
        assert shape(directory.database) == shape(tmp_path / "new" / "store.db")
    store = Opened(tmp_path)
    whole(store)
    store.close()


def killed(directory: DataDirectory, n: int) -> bool:
    """Open a store in a process that ends, without a word to anybody, before its n-th statement, if it comes so far."""
    child = os.fork()
    if not child:
        seen = itertools.count()
        try:
            database = Database(directory.database)
            database.connection.set_trace_callback(lambda statement: os._exit(9) if next(seen) == n else None)
            database.create()
        finally:
            os._exit(int(sys.exc_info()[0] is not None))
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, 9)
    return ended == 9


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_who_is_killed_on_the_way_tries_again(tmp_path: Path, version: int) -> None:
    old = shape(written(tmp_path / "old", version).database)
    Database(DataDirectory(tmp_path / "new").create().database).create().close()
    found = {"old": old, "new": shape(tmp_path / "new" / "store.db")}
    seen, on = [], True
    while on:
        directory = written(tmp_path / str(len(seen)), version)
        on = killed(directory, len(seen))
        seen += [name for name, made in found.items() if made == shape(directory.database)]
        store = Opened(directory.path)
        whole(store)
        store.close()
        assert shape(directory.database) == found["new"]
    # All of it or nothing.
    assert set(seen) == set(found) and seen == ["old"] * seen.count("old") + ["new"] * seen.count("new")
    assert seen.count("old") > 4 and seen[-1] == "new"
