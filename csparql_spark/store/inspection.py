"""Inspection: the whole of a database is read once, and each checksum is looked at. Nothing is written.

    found = inspect(directory.database)
    found.entries, found.answers, found.unchecked       # how many were read, and how many of them have no checksum
    found.damaged                                       # [DamagedRow(damage, size), …], in the order of the file

It may be the database of a server that runs: it is read in short pieces, so that nobody waits and no log of changes
grows. What comes in meanwhile is read, what is forgotten is not.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from csparql_spark.disk.connection import connect
from csparql_spark.disk.damage import Damage, answer_damage
from csparql_spark.disk.database import READ_SECONDS, SCHEMA_VERSION, schema_damage
from csparql_spark.disk.errors import DatabaseFault, PageDamaged, StoreError
from csparql_spark.log.sqlite import reader
from csparql_spark.store.stored_answers import COLUMNS, FROM_ANOTHER, AnswerRow, damage_of

PIECE = 500  # rows that are read in one statement
MOST_PAGES = 20  # sentences about the file itself

TableRow = tuple[object, ...]
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class DamagedRow:
    """What is damaged, and how many bytes of payload it has; None if nobody can tell."""

    damage: Damage
    size: int | None


@dataclass
class Inspection:
    entries: int = 0
    answers: int = 0
    unchecked: int = 0
    skipped: int = 0
    pages: list[str] = field(default_factory=list)  # what is the matter with the file itself
    damaged: list[DamagedRow] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return not self.damaged and not self.pages


def inspect(path: Path) -> Inspection:
    """Raises `StoreError` if there is no database of this version."""
    try:
        with closing(_opened(path)) as connection:
            _refuse_another_version(connection, path)
            return _inspected(connection)
    except DatabaseFault as error:
        raise _unreadable(path, error) from error


def refuse_another_version(path: Path) -> None:
    """Whoever only wants to look does not bring a database up to date. Raises `StoreError`."""
    try:
        with closing(_opened(path)) as connection:
            _refuse_another_version(connection, path)
    except DatabaseFault as error:
        raise _unreadable(path, error) from error


def _refuse_another_version(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by another version of csparql-spark (format {version}, this one "
            f"reads {SCHEMA_VERSION}): start its server once with this version, if it is an older "
            "one"
        )


def _opened(path: Path) -> sqlite3.Connection:
    # Where nobody can write, SQLite cannot say to others that it reads; there is nobody to be told, either.
    alone = not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()
    return connect(path, timeout=READ_SECONDS, uri=f"mode=ro{'&immutable=1' if alone else ''}")


def _unreadable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"{path} cannot be read as a database ({error}): put back a copy of the file, or choose another "
        "directory with --data"
    )


def _inspected(connection: sqlite3.Connection) -> Inspection:
    found = Inspection()
    try:
        lines = [line for (line,) in connection.execute(f"PRAGMA integrity_check({MOST_PAGES})")]
    except PageDamaged as error:
        lines = [str(error)]
    schema = schema_damage(connection)
    lines = [line for line in (schema, *lines) if line is not None and line != "ok"]
    found.pages = [" ".join(line.split()) for line in lines]
    for seq, row, fault in _rows(connection, "log", reader.WHOLE, "seq", 0):
        found.entries += 1
        if fault is not None:
            found.damaged.append(DamagedRow(reader.unreadable(connection, seq, fault), None))
            continue
        found.unchecked += row[-1] is None
        found.skipped += row[1] == "skipped"
        damage = reader.damage_of(connection, row)  # type: ignore[arg-type]    # it was read as `reader.WHOLE`
        if damage is not None:
            found.damaged.append(DamagedRow(damage, _size(row[8])))
    _inspect_answers(connection, found)
    return found


def _inspect_answers(connection: sqlite3.Connection, found: Inspection) -> None:
    """They come in the order of their positions, and so those of a query in that of their instants."""
    last: dict[tuple[object, object], object] = {}  # of each part of a query's answers the newest instant
    broken: dict[tuple[object, object, object], int] = {}  # what cannot be put together, and which answer is why
    for position, values, fault in _rows(connection, "answers", COLUMNS, "position", 5):
        found.answers += 1
        if fault is not None:
            query, instant, part = _key(connection, position)
            broken[query, part, instant] = instant
            found.damaged.append(DamagedRow(answer_damage(position, query, instant, str(fault)), None))
            last[query, part] = instant
            continue
        row = AnswerRow(*values)  # type: ignore[arg-type]    # damage_of says whether they are of these types
        found.unchecked += row.checksum is None
        damage, whose = damage_of(row), (row.query, row.part)
        if damage is not None:
            broken[*whose, row.instant] = row.instant
        elif row.since is not None:
            why = broken.get((*whose, row.since), row.since if last.get(whose) != row.since else None)
            if why is not None:
                broken[*whose, row.instant] = why
                damage = answer_damage(
                    position, row.query, row.instant, f"{FROM_ANOTHER}, and that at {why} is damaged"
                )
        if damage is not None:
            found.damaged.append(DamagedRow(damage, _size(row.payload)))
        newest = last.get(whose)
        if not isinstance(newest, int) or isinstance(row.instant, int) and row.instant > newest:
            last[whose] = row.instant


def _size(payload: object) -> int:
    """Of what stands in the place of a payload; it may be anything."""
    return len(payload) if isinstance(payload, bytes | str) else 0


def _rows(
    connection: sqlite3.Connection, table: str, columns: str, key: str, place: int
) -> Iterator[tuple[int, TableRow, PageDamaged | None]]:
    """The rows of a table in the order of their keys (the `place`-th of the columns), each behind its key; of a row
    that cannot be read the key, nothing, and why."""
    reached, last = 0, _last(connection, table, key)
    while reached < last:
        before = reached
        try:
            for row in connection.execute(
                f"SELECT {columns} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?", (reached, PIECE)
            ):
                yield row[place], row, None
                reached = row[place]
            if reached == before:
                return
            continue
        except PageDamaged:
            pass
        for number in range(reached + 1, min(reached + PIECE, last) + 1):
            reached = number
            try:
                row = connection.execute(f"SELECT {columns} FROM {table} WHERE {key} = ?", (number,)).fetchone()
            except PageDamaged as error:
                yield number, (), error
            else:
                if row is not None:
                    yield number, row, None


def _last(connection: sqlite3.Connection, table: str, key: str) -> int:
    return (
        _tried(
            lambda: connection.execute(f"SELECT max({key}) FROM {table}").fetchone()[0],
            lambda: connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()[0],
        )
        or 0
    )


def _key(connection: sqlite3.Connection, position: int) -> tuple[int, int, int]:
    """Query, instant and part of an answer that cannot be read, as its index tells them."""
    return _tried(
        lambda: connection.execute(
            "SELECT query, instant, part FROM answers INDEXED BY sqlite_autoindex_answers_1 WHERE position = ?",
            (position,),
        ).fetchone(),
        lambda: None,
    ) or (0, 0, 0)


def _tried(first: Callable[[], _Result], otherwise: Callable[[], _Result]) -> _Result:
    try:
        return first()
    except PageDamaged:
        return otherwise()
