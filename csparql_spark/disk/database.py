"""The embedded database: SQLite in WAL mode, one file, any number of reading processes, one writer at a time.

`synchronous=FULL`: when `transaction()` has returned, what it wrote survives the loss of every process and of power.
`transaction(durable=False)` skips the wait for the disk; it is for what can be derived again.

Writers of several processes take turns. SQLite's own busy handler sleeps for up to 100 ms between tries, which would
cost an answer its latency: this module retries every millisecond instead.

    database = Database(directory.database)
    with database.transaction() as connection:
        connection.execute("INSERT INTO log (kind, at) VALUES ('tick', 5)")

How to change the schema. The number in `PRAGMA user_version` is the version that wrote the file; `create` brings an
older file up to date, in one transaction, so that a server that is killed in the middle has changed nothing. Whoever
changes the schema adds one to `SCHEMA_VERSION`, and to `SINCE`, under the number before, the statements that make the
new out of the old. A new file is made the same way, from version 1: what is there is never edited, but for a view that
a later entry drops and makes again. Old rows stay as they are where to fill them in would mean to read them all: NULL
says that they are old. What the version before has made goes, as text, into `tests/store/schemas/`, where the tests
find it: they open each old version, filled, and end the process at each statement in between. An older program refuses
the new file with a sentence, and there is no way back but a copy of the file: so say in the release notes that there
is none.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from csparql_spark.disk.connection import connect
from csparql_spark.disk.errors import DatabaseBusy, DatabaseFault, StoreError

SCHEMA_VERSION = 8

# The conditions on `kind` are those of the index, without which the views would read every chunk there is.
STREAMS = """
CREATE VIEW streams AS
    SELECT seq AS id, subject AS iri, at AS created, payload, payload_sum FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind = 'stream' AND NOT EXISTS (
        SELECT 1 FROM log AS gone INDEXED BY log_registry WHERE gone.kind NOT IN ('chunk', 'tick')
        AND gone.kind = 'drop' AND gone.subject = made.subject AND gone.seq > made.seq)
"""

# Background graphs and rule sets, as they are now.
SETTINGS = """
CREATE VIEW settings AS
    SELECT seq AS id, kind, subject AS name, at AS changed, rows FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind IN ('background', 'rules') AND payload IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM log AS newer INDEXED BY log_registry WHERE newer.kind NOT IN ('chunk', 'tick')
        AND newer.kind = made.kind AND newer.subject = made.subject AND newer.seq > made.seq)
"""

# `turned`: the newest of what was said of pausing it, if anything was.
QUERIES = """
CREATE VIEW queries AS
    SELECT seq AS id, subject AS name, at AS registered, payload, payload_sum, (
        SELECT turn.kind FROM log AS turn INDEXED BY log_registry WHERE turn.kind NOT IN ('chunk', 'tick')
        AND turn.kind IN ('pause', 'resume') AND turn.subject = made.subject AND turn.seq > made.seq
        ORDER BY turn.seq DESC LIMIT 1) AS turned
    FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind = 'register' AND NOT EXISTS (
        SELECT 1 FROM log AS gone INDEXED BY log_registry WHERE gone.kind NOT IN ('chunk', 'tick')
        AND gone.kind = 'unregister' AND gone.subject = made.subject AND gone.seq > made.seq)
"""

# Of the queries that there are all versions that are kept: `ended` is the place where the next one begins. And of each
# query the newest.
_GONE = """
    WHERE kind NOT IN ('chunk', 'tick') AND kind = 'register' AND NOT EXISTS (
        SELECT 1 FROM log AS gone INDEXED BY log_registry WHERE gone.kind NOT IN ('chunk', 'tick')
        AND gone.kind = 'unregister' AND gone.subject = made.subject AND gone.seq > made.seq)
"""
VERSIONS = (
    "DROP VIEW queries",
    f"""
CREATE VIEW versions AS
    SELECT seq AS id, subject AS name, at AS registered, payload, payload_sum, (
        SELECT min(next.seq) FROM log AS next INDEXED BY log_registry WHERE next.kind NOT IN ('chunk', 'tick')
        AND next.kind = 'register' AND next.subject = made.subject AND next.seq > made.seq) AS ended
    FROM log AS made INDEXED BY log_registry{_GONE}""",
    f"""{QUERIES}        AND NOT EXISTS (
        SELECT 1 FROM log AS next INDEXED BY log_registry WHERE next.kind NOT IN ('chunk', 'tick')
        AND next.kind = 'register' AND next.subject = made.subject AND next.seq > made.seq)
""",
)

# What queries cost: the newest points of each, numbered as they came. `totals` is what they sum up to, as JSON.
MEASURES = """
CREATE TABLE measures (
    query     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    at        INTEGER NOT NULL,   -- when it was written, epoch ms
    instant   INTEGER NOT NULL,
    latency   REAL,               -- ms from what made the newest instant due to `at`
    micros    INTEGER NOT NULL,
    instants  INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    elements  INTEGER NOT NULL,
    late      INTEGER NOT NULL,
    state     INTEGER NOT NULL,   -- bytes
    totals    TEXT    NOT NULL,
    PRIMARY KEY (query, number)
) WITHOUT ROWID
"""

# Pushes that were named by who sent them, and what they were told; see `repeats`.
REPEATS = (
    """
CREATE TABLE IF NOT EXISTS repeats (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    stream    INTEGER NOT NULL,   -- the entry that made the stream
    key       TEXT    NOT NULL,
    digest    BLOB    NOT NULL,   -- of what was sent
    at        INTEGER NOT NULL,
    told      TEXT    NOT NULL,   -- JSON
    UNIQUE (stream, key)
)
""",
    "CREATE INDEX IF NOT EXISTS repeats_of_stream ON repeats (stream, id)",
)

# Which log this is, and which incarnations it has had; see `incarnations`. The first one begins with the file.
INCARNATIONS = (
    "CREATE TABLE IF NOT EXISTS identity (name TEXT NOT NULL)",
    """
CREATE TABLE IF NOT EXISTS incarnations (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT    NOT NULL UNIQUE,
    position  INTEGER NOT NULL,   -- of the newest answer, when it began
    seq       INTEGER NOT NULL,   -- of the newest entry
    at        INTEGER NOT NULL
)
""",
    "INSERT INTO identity SELECT lower(hex(randomblob(16))) WHERE NOT EXISTS (SELECT 1 FROM identity)",
    "INSERT INTO incarnations SELECT 1, '', 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM incarnations)",
)

# Checksums of entries and answers (see `checksum`; NULL: none was made), and what was found to be damaged (`damage`).
# A registration is looked at by many, so its views show what they check it by.
CHECKSUMS = (
    "ALTER TABLE log ADD COLUMN head_sum INTEGER",
    "ALTER TABLE log ADD COLUMN payload_sum INTEGER",
    "ALTER TABLE answers ADD COLUMN checksum INTEGER",
    "DROP VIEW IF EXISTS streams",
    STREAMS,
    "DROP VIEW queries",
    QUERIES,
    """
CREATE TABLE damages (
    what      TEXT    NOT NULL,   -- "entry" of the log, or "answer"
    place     INTEGER NOT NULL,   -- its seq, or its position
    kind      TEXT,               -- of the entry, and its subject; of an answer its query; NULL: nobody knows
    subject   TEXT,
    at        INTEGER NOT NULL,
    noticed   INTEGER NOT NULL,   -- epoch ms
    reason    TEXT    NOT NULL,
    skipped   INTEGER,            -- when it was decided to be passed over, if it was
    PRIMARY KEY (what, place)
) WITHOUT ROWID
""",
)

# How far who has come. All of that was in one table `positions (reader, seq)`, under names: the engine ("engine" and
# "batch end"; see `progress`), the relay ("relay 17"; `relays`), retention ("forgotten 17" and "forgotten 17 at";
# `order`), and the batches whose ends were settled ("end 41 5000"; `batch_ends`).
POSITIONS = (
    """
CREATE TABLE engine_progress (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    read      INTEGER NOT NULL,   -- the last entry that Spark has noted as read
    batch_end INTEGER NOT NULL    -- the last entry of which everything is answered
)
""",
    """
CREATE TABLE relayed (
    query     INTEGER PRIMARY KEY,
    instant   INTEGER NOT NULL    -- the newest that is in the log
)
""",
    """
CREATE TABLE forgotten (
    query     INTEGER PRIMARY KEY,
    position  INTEGER NOT NULL,   -- of the last answer that is gone, and its instant
    instant   INTEGER NOT NULL
)
""",
    """
CREATE TABLE batch_ends (
    after     INTEGER NOT NULL,   -- the entry that it takes all that comes after, up to a tick
    tick      INTEGER NOT NULL,
    seq       INTEGER NOT NULL,   -- its last entry
    PRIMARY KEY (after, tick)
) WITHOUT ROWID
""",
    """
INSERT INTO engine_progress
    SELECT 1, coalesce(max(CASE reader WHEN 'engine' THEN seq END), 0),
           coalesce(max(CASE reader WHEN 'batch end' THEN seq END), 0) FROM positions
""",
    """
INSERT OR IGNORE INTO relayed
    SELECT CAST(substr(reader, 7) AS INTEGER), seq FROM positions WHERE reader GLOB 'relay [0-9]*'
""",
    """
INSERT OR IGNORE INTO forgotten
    SELECT CAST(substr(gone.reader, 11) AS INTEGER), gone.seq, at.seq
    FROM positions AS gone JOIN positions AS at ON at.reader = gone.reader || ' at'
    WHERE gone.reader GLOB 'forgotten [0-9]*'
""",
    """
INSERT OR IGNORE INTO batch_ends
    SELECT CAST(substr(reader, 5) AS INTEGER), CAST(substr(reader, 5 + instr(substr(reader, 5), ' ')) AS INTEGER), seq
    FROM positions WHERE reader GLOB 'end [0-9]* *'
""",
    "DROP TABLE positions",
)

# Answers are wholes, or what has changed since the one of the instant `since` (see `keyframes`). `frame`: the instant
# of the keyframe that an answer is folded from, its own of a whole; `weight`: of the changes since that, with its own;
# `size`: bytes of the payload before it is packed. All are NULL in what an older version wrote: these are wholes.
CHAINS = tuple(f"ALTER TABLE answers ADD COLUMN {name} INTEGER" for name in ("since", "frame", "weight", "size"))

# What version 1 wrote. Later versions are made of it by what has come `SINCE`, in a new file as in an old one.
SCHEMA = """
CREATE TABLE log (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    kind      TEXT    NOT NULL,
    at        INTEGER NOT NULL,   -- arrival clock, epoch ms; of a tick: the instant that has passed
    subject   TEXT,               -- IRI of a stream or graph, name of a query
    rows      INTEGER NOT NULL DEFAULT 0,
    first     INTEGER,            -- smallest and largest stamp that the producer gave
    last      INTEGER,
    unstamped INTEGER NOT NULL DEFAULT 0,
    payload   BLOB
);
CREATE INDEX log_registry ON log (subject, kind, seq) WHERE kind NOT IN ('chunk', 'tick');
CREATE INDEX log_chunks ON log (subject, seq) WHERE kind = 'chunk';

CREATE TABLE answers (
    position  INTEGER PRIMARY KEY AUTOINCREMENT,
    query     INTEGER NOT NULL,   -- seq of the registration: a name used again is another query
    instant   INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    payload   BLOB    NOT NULL,
    UNIQUE (query, instant, part)
);
CREATE TABLE failures (
    query     INTEGER PRIMARY KEY,
    instant   INTEGER NOT NULL,
    reason    TEXT    NOT NULL
);
CREATE TABLE positions (
    reader    TEXT    PRIMARY KEY,
    seq       INTEGER NOT NULL
);
CREATE TABLE status (
    name      TEXT    PRIMARY KEY,
    payload   TEXT    NOT NULL
);
"""

# What has come since a version of the file was written.
SINCE = {
    1: (SETTINGS,),
    2: ("DROP VIEW IF EXISTS queries", QUERIES, MEASURES, *REPEATS),
    3: (*INCARNATIONS, *CHECKSUMS),
    4: POSITIONS,
    5: (),  # the log has entries of the kind `fail`, which a program before cannot read
    6: CHAINS,
    7: VERSIONS,  # a query can be replaced in place
}

CHECKED_BYTES = 64 << 20
TURN_SECONDS = 30.0
READ_SECONDS = 5  # readers wait for nobody, but for a moment when the database is recovered after a crash


class Database:
    """A handle on the database file. Connections are one per thread and process, and opened when first used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()

    def create(self) -> Database:
        """Make the tables unless they are there."""
        try:
            with self.transaction() as connection:
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version not in (0, *SINCE, SCHEMA_VERSION):
                    raise StoreError(
                        f"{self.path} was written by another version of csparql-spark (format {version}, "
                        f"this one writes {SCHEMA_VERSION}): choose another directory with --data"
                    )
                _bring_up_to_date(connection, version)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except DatabaseFault as error:
            raise StoreError(f"{self.path} cannot be opened as a database ({error}): {error.remedy}") from error
        return self

    def check(self) -> Database:
        """Look through the file, but for its indexes, and unless that takes long. Raises `StoreError` if it is damaged:
        what is found now need not be found by somebody's push."""
        self.check_schema()
        if self.path.stat().st_size > CHECKED_BYTES:
            return self
        try:
            (line,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
        except DatabaseFault as error:
            line = str(error)
        if line != "ok":
            raise self._damaged(line)
        return self

    def check_schema(self) -> None:
        """What a table or a view is made of SQLite takes as it stands in the file. Raises `StoreError`."""
        try:
            line = schema_damage(self.connection)
        except DatabaseFault as error:
            line = str(error)
        if line is not None:
            raise self._damaged(line)

    def _damaged(self, line: str) -> StoreError:
        return StoreError(
            f"{self.path} is damaged ({' '.join(line.split())}): put back a copy of the file and "
            f"delete {self.path.name}-wal and {self.path.name}-shm beside it, which do not belong to "
            "the copy, or choose another directory with --data"
        )

    @staticmethod
    def format(path: Path) -> int:
        """The version that wrote a file, which is only looked at. Raises `DatabaseFault`."""
        with contextlib.closing(connect(path, timeout=READ_SECONDS, uri="mode=ro")) as connection:
            return connection.execute("PRAGMA user_version").fetchone()[0]

    @property
    def connection(self) -> sqlite3.Connection:
        if getattr(self._local, "pid", None) != os.getpid():
            new = not self.path.exists() or not self.path.stat().st_size
            connection = connect(self.path, timeout=READ_SECONDS)
            if new:  # what is forgotten is given back to the disk; see `vacuum`
                self._set(connection, "auto_vacuum = INCREMENTAL")
            self._set(connection, "journal_mode = WAL")
            self._set(connection, "synchronous = FULL")
            self._local.connection, self._local.pid = connection, os.getpid()
        return self._local.connection

    @staticmethod
    def _set(connection: sqlite3.Connection, pragma: str) -> None:
        in_turn(lambda: connection.execute(f"PRAGMA {pragma}"))

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        connection = self.connection
        connection.execute("PRAGMA busy_timeout = 0")
        if not durable:
            connection.execute("PRAGMA synchronous = NORMAL")
        try:
            in_turn(lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk, say, has undone it already
                    connection.execute("ROLLBACK")
                raise
        finally:
            self.usual(connection)

    @staticmethod
    def usual(connection: sqlite3.Connection) -> None:
        """As a connection is between transactions."""
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA busy_timeout = {1000 * READ_SECONDS}")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several reads of one state of the database."""
        self.connection.execute("BEGIN")
        try:
            yield self.connection
        finally:
            # Nothing was written. To commit would fail where somebody has met a damaged page, and made the best of it.
            self.connection.execute("ROLLBACK")

    def fold(self) -> None:
        """Bring all changes into the file itself, so that nothing beside it is needed any more: whoever puts another
        one in its place need not know that `store.db-wal` would be laid over that one, too. Waits a while for those who
        read; what they hold up stays beside it."""
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close this thread's connection; other threads close theirs."""
        if getattr(self._local, "pid", None) == os.getpid():
            self._local.connection.close()
            del self._local.pid


def _bring_up_to_date(connection: sqlite3.Connection, version: int) -> None:
    """Make what a version (0: none) has left to that of `SCHEMA_VERSION`."""
    if version == 0:
        for statement in SCHEMA.split(";\n"):
            connection.execute(statement)
    for statement in (more for since, added in SINCE.items() if since >= version for more in added):
        connection.execute(statement)


def schema_damage(connection: sqlite3.Connection) -> str | None:
    """Which table, index or view of the file is another than this version makes it; None if all are as they should be.
    What is there besides is others' (see `observers`)."""
    with contextlib.closing(connect(Path(":memory:"), timeout=0)) as new:
        _bring_up_to_date(new, 0)
        expected = _schema(new)
    there = _schema(connection)
    return next(
        (
            f"the {kind} {name} is not as it was made"
            for (kind, name), sql in expected.items()
            if there.get((kind, name)) != sql
        ),
        None,
    )


def _schema(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'"
    )
    return {(kind, name): " ".join(str(sql).split()) for kind, name, sql in rows}


def in_turn(statement: Callable[[], object]) -> None:
    """Run a statement that writes, as soon as nobody else does."""
    deadline = time.monotonic() + TURN_SECONDS
    while True:
        try:
            statement()
            return
        except DatabaseBusy:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.001)
