"""Connections: SQLite's own, whose errors are the house's (see `errors`), wherever they come up.

For example:

    connection = connect(path, timeout=5)
    rows = connection.execute("SELECT …")       # DatabaseFault
    next(rows)                                  # DatabaseFault, too: SQLite reads a page when its rows are asked for
    connect(path, timeout=5, uri="mode=ro")     # only to read, and only what is there
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

from csparql_spark.disk.errors import fault_of

STATEMENTS = 256  # that are remembered

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _in_words(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """What SQLite raises in it is raised in the house's words."""

    @functools.wraps(method)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(*args, **kwargs)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise fault_of(error) from error

    return run


class StoreCursor(sqlite3.Cursor):
    execute = _in_words(sqlite3.Cursor.execute)
    executemany = _in_words(sqlite3.Cursor.executemany)
    executescript = _in_words(sqlite3.Cursor.executescript)
    fetchone = _in_words(sqlite3.Cursor.fetchone)
    fetchmany = _in_words(sqlite3.Cursor.fetchmany)
    fetchall = _in_words(sqlite3.Cursor.fetchall)

    def __next__(self) -> tuple[object, ...]:
        try:
            return sqlite3.Cursor.__next__(self)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise fault_of(error) from error


def _on_cursor(
    method: Callable[Concatenate[sqlite3.Cursor, _P], _R],
) -> Callable[Concatenate[sqlite3.Connection, _P], _R]:
    @functools.wraps(method)
    def run(connection: sqlite3.Connection, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return method(StoreCursor(connection), *args, **kwargs)

    return run


class StoreConnection(sqlite3.Connection):
    execute = _on_cursor(StoreCursor.execute)
    executemany = _on_cursor(StoreCursor.executemany)
    executescript = _on_cursor(StoreCursor.executescript)


@_in_words
def connect(path: Path, *, timeout: float, uri: str = "") -> sqlite3.Connection:
    """A connection without transactions of Python's own. `uri`: what is said to SQLite behind the name of the file."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?{uri}" if uri else path,
        uri=bool(uri),
        timeout=timeout,
        isolation_level=None,
        cached_statements=STATEMENTS,
        factory=StoreConnection,
    )
    # A damaged text is still a text: its checksum says that it is none that was written.
    connection.text_factory = _text_of
    return connection


def _text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
