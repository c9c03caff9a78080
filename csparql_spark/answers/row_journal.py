"""A row journal: what has become of the rows of a table since somebody looked at them, for whoever asked to be told.

What expires is not in it: tags tell that. A table that nobody asked pays nothing, and who holds its journal no more is
told no more.

    journal = RowJournal()
    table.listen(journal)                   # a table of matches (see `matches`)
    table.move()
    journal.take()                          # entries since then; None: look at the table anew, what follows is of that

Invariant: whoever had the table as it was, and lets each row of the entries, one after the other, hold until what it
`has` now, has the table as it is, but for rows whose time is over. A journal that has more rows than the table is given
up: to look at the table is the shorter way then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

LEAST = 65_536  # rows that are noted, however small the table is


class RowEntry(NamedTuple):
    """Rows that were changed at once, each of them once: until when they held, and until when they do now. NEVER: they
    were not there, or are not any more."""

    columns: Sequence[np.ndarray]
    had: np.ndarray
    has: np.ndarray


class RowJournal:
    __slots__ = ("__weakref__", "_count", "_entries", "_known")

    def __init__(self) -> None:
        self._entries: list[RowEntry] = []
        self._count = 0
        self._known = True

    def note(self, entry: RowEntry, rows: Callable[[], int]) -> None:
        """`rows`: how many the whole table has."""
        if self._known and len(entry.has):
            self._entries.append(entry)
            self._count += len(entry.has)
            if self._count > LEAST and self._count > rows():
                self.lose()

    def lose(self) -> None:
        """It is not known any more what has happened."""
        self._entries, self._count, self._known = [], 0, False

    def take(self) -> list[RowEntry] | None:
        entries, known = self._entries, self._known
        self._entries, self._count, self._known = [], 0, True
        return entries if known else None

    def __len__(self) -> int:
        """How many rows are noted."""
        return self._count

    @property
    def nbytes(self) -> int:
        return 8 * sum(len(entry.has) * (2 + len(entry.columns)) for entry in self._entries)
