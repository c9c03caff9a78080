"""Indexes: of what is stored they say where it stands. They hold nothing of their own, and no checksum.

A bit that flips in one hides entries from those who look for them there, or has them seem to be damaged, and SQLite
does not notice. Whoever compares the indexes with what they are made of does; then they are made anew.

    made_anew(database, say)         # at a start, while nobody else has the database open; whether that was needed
"""

from __future__ import annotations

from collections.abc import Callable

from csparql_spark.disk import database as files
from csparql_spark.disk.damage import Damages
from csparql_spark.disk.database import Database
from csparql_spark.disk.errors import DatabaseFault, StoreError
from csparql_spark.store.inspection import inspect


def made_anew(database: Database, say: Callable[[str], None]) -> bool:
    """Look through the file, once, unless that takes long. Raises `StoreError` if it is damaged elsewhere than in its
    indexes, or if they cannot be made anew."""
    database.check_schema()
    if database.path.stat().st_size > files.CHECKED_BYTES:
        return False
    try:
        found = _looked_through(database)
        if found is None:
            return False
        database.check()  # which says so if it is not an index
        # It may be what stands there that is damaged, and the index that has it as it was: once that is made anew,
        # nobody would find the entry where it is missed.
        damages, damaged = Damages(database), [one.damage for one in inspect(database.path).damaged]
        for damage in damaged:
            damages.note(damage)
        with database.transaction() as connection:
            connection.execute("REINDEX")
            # What an entry says of itself may have been read out of the index.
            connection.executemany(
                "DELETE FROM damages WHERE skipped IS NULL AND what = ? AND place = ?",
                {(one.what, one.place) for one in damages.all()} - {(one.what, one.place) for one in damaged},
            )
    except DatabaseFault as error:
        raise StoreError(
            f"an index of {database.path} is damaged and cannot be made anew ({error}): put back a copy "
            "of the file, or choose another directory with --data"
        ) from error
    say(f"an index of {database.path} was damaged ({' '.join(found.split())}) and is made anew")
    return True


def _looked_through(database: Database) -> str | None:
    """What is damaged first; None if nothing is."""
    try:
        (line,) = database.connection.execute("PRAGMA integrity_check(1)").fetchone()
    except DatabaseFault as error:
        line = str(error)
    return None if line == "ok" else str(line)
