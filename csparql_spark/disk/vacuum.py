"""Vacuum: what nothing fills any more is given back to the disk.

    give_back(database, stop.wait)       # what is free beyond some slack, in steps between which others write
    convert(database, say)               # once for a file of before: from then on it can give back

SQLite keeps pages that have become free, for what comes. A file that was made with `auto_vacuum = INCREMENTAL` (see
`database`) can move its last pages into the free ones and end earlier; one that was made before versions did that has
to be written anew once. That needs room on the disk, and says so.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from csparql_spark.disk.database import Database, in_turn
from csparql_spark.disk.errors import DatabaseBusy, DatabaseFault

INCREMENTAL = 2
STEP_PAGES = 128  # moved while the others wait
PAUSE_SECONDS = 0.005  # between two steps, at least: as long as the step has taken, too
SLACK_PAGES = 1024  # that stay free, or a quarter of those that are filled: what is given is taken again
WAL_BYTES = 16 << 20  # a log of changes that is larger is emptied, if nothing was given back, too
EMPTY_SECONDS = 0.5  # for which that is tried
SMALL_BYTES = 64 << 20  # a file of this size is written anew in a moment
SPARE_BYTES = 16 << 20


def surplus(connection: sqlite3.Connection) -> int:
    """How many pages are free that need not be."""
    pages, free, _ = _sizes(connection)
    return max(0, free - max(SLACK_PAGES, (pages - free) // 4))


def give_back(database: Database, wait: Callable[[float], object]) -> int:
    """Give back all that is free beyond the slack; how many pages that was. `wait` sleeps, and says true when it is to
    end."""
    connection, given, ended = database.connection, 0, False
    if connection.execute("PRAGMA auto_vacuum").fetchone()[0] == INCREMENTAL:
        while not ended and (more := min(STEP_PAGES, surplus(connection))):
            begun = time.monotonic()
            _step(connection, more)
            given += more
            ended = bool(wait(max(PAUSE_SECONDS, time.monotonic() - begun)))
    _empty_wal(database, given)
    return given


def _step(connection: sqlite3.Connection, pages: int) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")  # that a page is free is no news that could be lost
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        # A script, because its statements are run to their ends: each row of this pragma is one page.
        in_turn(lambda: connection.executescript(f"PRAGMA incremental_vacuum({pages})"))
    finally:
        Database.usual(connection)


def _empty_wal(database: Database, given: int) -> None:
    """Bring the changes into the file, which ends earlier only then. Who reads meanwhile is not waited for: what is not
    done now is done the next time."""
    wal = Path(f"{database.path}-wal")
    if not given and not (wal.exists() and wal.stat().st_size > WAL_BYTES):
        return
    connection = database.connection
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    # Writers wait for this one, but next to nothing is left to do; and it is tried between two of them.
    connection.execute("PRAGMA busy_timeout = 0")
    deadline = time.monotonic() + EMPTY_SECONDS
    try:
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] and time.monotonic() < deadline:
            time.sleep(0.001)
    except DatabaseBusy:
        pass  # who reads meanwhile holds it up: the next time, then
    finally:
        Database.usual(connection)


def convert(database: Database, say: Callable[[str], None]) -> bool:
    """Write a file of before anew, if it is small or has much to give back, and there is room for that; whether it was.
    Nobody else has the database open."""
    connection, path = database.connection, database.path
    pages, free, bytes_of_page = _sizes(connection)
    size, used = pages * bytes_of_page, (pages - free) * bytes_of_page
    if connection.execute("PRAGMA auto_vacuum").fetchone()[0] == INCREMENTAL:
        return False
    if size > SMALL_BYTES and free * 4 < pages:
        return False  # it fills what is free, and has little to give back
    # A copy beside the file, and once more in the log of changes.
    needed, room = 2 * used + SPARE_BYTES, shutil.disk_usage(path.parent).free
    if room < needed:
        say(
            f"{path} has {_mb(size)}, of which {_mb(size - used)} are free, and cannot give them back: it was made by "
            f"an older version and has to be written anew once, for which {_mb(needed)} of room are needed on its disk "
            f"and {_mb(room)} are there. Make room and start again; until then it goes on as it is"
        )
        return False
    if size > SMALL_BYTES:
        say(
            f"{path} has {_mb(size)}, of which {_mb(size - used)} are free: it is written anew, once, which takes "
            f"about {max(1, used // (50 << 20))} s and {_mb(needed)} of room for that time"
        )
    begun = time.monotonic()
    try:
        _rewrite(connection, path.parent)
    except DatabaseFault as error:
        say(f"{path} could not be written anew, and goes on as it is: {error}")
        return False
    if size > SMALL_BYTES:
        say(f"{path} has {_mb(path.stat().st_size)} now, after {time.monotonic() - begun:.1f} s")
    return True


def _rewrite(connection: sqlite3.Connection, beside: Path) -> None:
    # Where SQLite makes its copy; /tmp and /var/tmp are often smaller. It has looked at the environment long ago.
    quoted = str(beside).replace("'", "''")
    connection.execute(f"PRAGMA temp_store_directory = '{quoted}'")
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute("PRAGMA temp_store_directory = ''")


def _sizes(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Pages, those of them that are free, and the bytes of one."""
    return tuple(
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )


def _mb(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"
