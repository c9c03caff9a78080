"""Errors: what the store cannot do, as sentences.

    StoreError                the store cannot be used
    └ DatabaseFault           SQLite has refused a statement; `remedy` says what to do
      ├ DatabaseBusy          another program holds the database
      ├ DatabaseFull          the disk is full
      └ PageDamaged           a page of the file cannot be read; the file as a whole can

    try: database.connection.execute(…)
    except DatabaseFull as error: print(f"{error}: {error.remedy}")

Invariant: whatever goes wrong in a statement of a `Database`, or while its rows are fetched, is a `DatabaseFault` with
the words of SQLite. So nobody but the rooms that write SQL needs to know whose words those are.
"""

from __future__ import annotations

import sqlite3


class StoreError(Exception):
    """The store cannot be used; the text says why and what to do."""


class DatabaseFault(StoreError):
    """A statement failed; the text is what SQLite says."""

    remedy = "choose another directory with --data, or put back a copy of the file"


class DatabaseBusy(DatabaseFault):
    remedy = "another program writes into it and does not end; end that one, then try again"


class DatabaseFull(DatabaseFault):
    remedy = "make room on the disk, then try again"


class PageDamaged(DatabaseFault):
    """It is a page of the file that cannot be read, and not the file as a whole, or the moment."""


_KINDS = {
    sqlite3.SQLITE_BUSY: DatabaseBusy,
    sqlite3.SQLITE_FULL: DatabaseFull,
    sqlite3.SQLITE_CORRUPT: PageDamaged,
    sqlite3.SQLITE_TOOBIG: PageDamaged,
}


def fault_of(error: sqlite3.Error | UnicodeDecodeError) -> DatabaseFault:
    """The same in the house's words. A sentence of SQLite's may quote what is damaged: then it is no text."""
    return _KINDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, DatabaseFault)(str(error))
