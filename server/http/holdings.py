"""Holdings: what responses hold of what is stored until their clients have taken them, as one sum.

    holdings = Holdings(most=512 << 20)
    holding = holdings.take(3 << 20)        # raises Problem (503, busy) if there is no room for so much
    holding.release()                       # once, or more often
    holdings.note(3 << 20)                  # of what is there already: it counts as taken, and is nobody's room
    holdings.taken                          # bytes

A part of it is there for small answers alone: nobody who reads a large one keeps others from theirs. What is larger
than all of the rest can be read, too, by one at a time. Who takes nothing while much is held is given up by the front,
as with what waits to be sent. When much was given back, so is the memory that the allocator keeps of it.
"""

from __future__ import annotations

import threading
import time

import pyarrow as pa

from csparql_spark.answers.limits import size as in_words
from csparql_spark.server.http.problems import Problem

MOST = 512 << 20
LARGE = 1 << 20
SMALL_PART = 8  # one in so many is for what is not large
MUCH = 16 << 20  # bytes after which memory is given back to the machine,
RARELY = 1.0  # … at most once in so many seconds


class Holdings:
    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._large = self._small = self._noted = 0
        self._lock = threading.Lock()
        self._returned, self._trimmed = 0, 0.0

    def take(self, size: int) -> Holding:
        with self._lock:
            small = self.most // SMALL_PART
            taken, room = (self._large, self.most - small) if size > LARGE else (self._small, small)
            if taken and taken + size > room:
                raise Problem(
                    "busy",
                    f"To read this takes {in_words(size)} of memory, and {in_words(taken)} of the {in_words(room)} "
                    "that all who read may hold are taken: ask again in a moment, or for less at once.",
                    headers={"Retry-After": "1"},
                )
            self._add(size, size)
        return Holding(self, size)

    def note(self, size: int) -> Holding:
        with self._lock:
            self._noted += size
        return Holding(self, size, noted=True)

    @property
    def taken(self) -> int:
        return self._large + self._small + self._noted

    def _add(self, size: int, change: int) -> None:
        if size > LARGE:
            self._large += change
        else:
            self._small += change

    def give_back(self, size: int, *, noted: bool = False) -> None:
        with self._lock:
            if noted:
                self._noted -= size
            else:
                self._add(size, -size)
            self._returned += size
            due = self._returned >= MUCH and time.monotonic() - self._trimmed >= RARELY
            if due:
                self._returned, self._trimmed = 0, time.monotonic()
        if due:
            release_memory()


class Holding:
    def __init__(self, holdings: Holdings, size: int, *, noted: bool = False) -> None:
        self._holdings, self._size, self._noted = holdings, size, noted

    def release(self) -> None:
        size, self._size = self._size, 0
        if size:
            self._holdings.give_back(size, noted=self._noted)


def release_memory() -> None:
    """Give back to the machine what the allocator keeps of what was freed: of the whole process, not of Arrow alone."""
    pa.system_memory_pool().release_unused()
