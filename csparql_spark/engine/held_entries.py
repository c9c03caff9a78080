"""Held entries: those that a group has been given and does not take yet, because what it would answer them with is
being closed beside (see `background_wait`).

    rows     ──▶ 41 ─ 42 ─ 43 ─ 44 ──▶     42 makes an instant due: it is taken, and answered later; 43 and 44 are held
    group        taken  │ 43  44           ready: the instant of 42 is answered, and 43 and 44 are taken

They are taken in their order, as if they came then; so nobody can tell from the answers that they were held. They are
part of the group's state, in pieces: what a batch adds is one value, and what is taken goes.

    held.hold(row)
    row = held.take()
    for number, value in held.pieces(): ...     # what is to be stored that is not, and under which numbers
    HeldEntries.restored([value, …], first=0)
"""

from __future__ import annotations

import json
import struct
from collections import deque
from collections.abc import Iterable, Iterator

from csparql_spark.schedule.routing import DAMAGED, Row

# What comes again for another query: it may come long after its place in the log, or share it.
REPEATED = frozenset({"background", "rules", DAMAGED})
MOST_BYTES = 64 << 20  # beyond that nothing more is held

_LENGTH = struct.Struct("<Q")


class HeldEntries:
    def __init__(self) -> None:
        self._rows: deque[Row] = deque()
        self.nbytes = 0
        self.seq = 0  # of the last entry that is held
        self.first = self.next = 0  # the numbers of the pieces that are stored
        self._stored = 0  # rows from the front that are in these

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @property
    def head(self) -> Row:
        return self._rows[0]

    def hold(self, row: Row) -> None:
        """Take a row behind the others, unless it is here."""
        if row.kind in REPEATED:
            if any((row.kind, row.seq, row.subject) == (other.kind, other.seq, other.subject) for other in self._rows):
                return
        elif row.seq <= self.seq:
            return
        self._rows.append(row)
        self.nbytes += len(row.payload or b"")
        self.seq = max(self.seq, row.seq)

    def take(self) -> Row:
        """The oldest row, which is held no more."""
        row = self._rows.popleft()
        self.nbytes -= len(row.payload or b"")
        self._stored = 0
        return row

    def forget(self, query: int) -> int | None:
        """A query is deleted before its registration was taken. The version that would have ended with that, if there
        is one here."""
        found = next((row for row in self._rows if (row.kind, row.seq) == ("register", query)), None)
        if found is None:
            return None
        self._rows.remove(found)
        self._stored = 0
        self.nbytes -= len(found.payload or b"")
        ends: int | None = json.loads(found.payload or b"{}").get("ends")
        return ends

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """What is to be stored, each under a number of its own; what is stored under others is no longer part of it."""
        if not self._stored:
            self.first = self.next
        if self._stored < len(self._rows):
            yield self.next, packed(list(self._rows)[self._stored :])
            self.next += 1
            self._stored = len(self._rows)

    @classmethod
    def restored(cls, pieces: Iterable[bytes], first: int) -> HeldEntries:
        held = cls()
        held.first = held.next = first
        for piece in pieces:
            held.next += 1
            for row in unpacked(piece):
                held.hold(row)
        held._stored = len(held)
        return held


def packed(rows: list[Row]) -> bytes:
    """Rows as bytes: all but their payloads as JSON, and these behind it."""
    heads = [(*row[:-1], None if row.payload is None else len(row.payload)) for row in rows]
    head = json.dumps(heads).encode()
    return b"".join((_LENGTH.pack(len(head)), head, *(row.payload or b"" for row in rows)))


def unpacked(piece: bytes) -> Iterator[Row]:
    (length,) = _LENGTH.unpack_from(piece)
    place = _LENGTH.size + length
    for *head, size in json.loads(piece[_LENGTH.size : place]):
        yield Row._make([*head, None if size is None else piece[place : place + size]])
        place += size or 0
