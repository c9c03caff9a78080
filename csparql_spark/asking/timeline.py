"""A timeline: when the elements of a stream are stamped, which of them came late, and what a query waits for.

    elements        ●  ●●   ●       ●        ○ late: stamped 12, logged when the clock read 14
    ────────────────┴──┴┴───┴───┼───┴────▶
    windows at t    └─────[RANGE]─── t       (opens, closes]

    dots(entries, stamps, clock=Clock("event", 2000), low=0, high=60_000, most=300)    # [Dot(1000, 1000, 4, False), …]
    waits("urn:s", Clock("event", 2000), reading=4_999, instant=10_000)     # what an instant waits for, in words

Dots are elements put together until about `most` of them are left, and they are put together on the way: what is held
does not grow with the stream. An element is late as `windows.progress` says it: its stamp had passed when it was
logged. Chunks are opened only where their outline does not tell their stamps, until `MOST_OPENED` triples were looked
at; each of the others is one dot, as its outline has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import NamedTuple

import numpy as np

from csparql_spark.language.durations import in_words
from csparql_spark.log import Entry
from csparql_spark.windows.progress import Clock
from csparql_spark.windows.rule import BEGINNING_OF_TIME, inside, may_hold

MOST_OPENED = 4_000_000  # triples of chunks that are opened for one look
_AT_ONCE = 20_000  # stamps, after which what there is is put together

# The stamps of a chunk's triples.
StampsOf = Callable[[Entry], np.ndarray]


class Dot(NamedTuple):
    """Elements whose stamps are near each other: from `first` to `last`, so many triples."""

    first: int
    last: int
    triples: int
    late: bool


def dots(entries: Iterable[Entry], stamps: StampsOf, *, clock: Clock, low: int, high: int, most: int) -> list[Dot]:
    """The elements stamped low < t <= high of a stream's chunks, which come as outlines in the order of the log."""
    found = _Dots(low, high, most)
    reading = BEGINNING_OF_TIME
    left = MOST_OPENED
    for entry in entries:
        first, last = stamped(entry)
        if may_hold(first, last, low, high):
            if first == last or entry.rows > left:
                found.add_outline(first, last, entry.rows, late=first <= reading)
            else:
                left -= entry.rows
                found.add(stamps(entry), reading)
        if clock.kind != "arrival":
            reading = max(reading, clock.reading(last))
    return found.all()


def waits(stream: str, clock: Clock, reading: int, instant: int | None) -> str | None:
    """What has to happen on a stream before an instant is answered (None: before the first, wherever that is); None if
    nothing has."""
    if clock.kind == "arrival" or instant is not None and reading >= instant:
        return None
    if clock.kind == "derived":
        which = "" if instant is None else f"{written(instant)} "
        return f"The query that makes <{stream}> has not answered {which}yet."
    if reading == BEGINNING_OF_TIME:
        return (
            f"Nothing has come on <{stream}> since the query was registered. It is on the event clock: windows "
            "close when later elements come, not when time goes by."
        )
    if instant is None:
        return None
    newest, needed = reading + clock.delay + 1, instant + clock.delay + 1
    delay = f" (with its delay of {in_words(clock.delay)})" if clock.delay else ""
    return (
        f"The instant {written(instant)} waits for an element of <{stream}> stamped {written(needed)} or later"
        f"{delay}; the newest one is stamped {written(newest)}."
    )


def written(instant: int) -> str:
    """An instant, to be read; the number, where no calendar has it."""
    try:
        moment = datetime.fromtimestamp(instant / 1000, timezone.utc)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError):
        return str(instant)


def stamped(entry: Entry) -> tuple[int, int]:
    """The earliest and the latest stamp in a chunk."""
    if entry.first is None or entry.last is None:
        return entry.at, entry.at
    if entry.unstamped:
        return min(entry.first, entry.at), max(entry.last, entry.at)
    return entry.first, entry.last


class _Dots:
    """Dots, in columns: those that have been put together, and what has come since."""

    def __init__(self, low: int, high: int, most: int) -> None:
        self._low, self._high, self._width = low, high, max(1, -(-(high - low) // most))
        self._parts: list[tuple[np.ndarray, ...]] = []  # first, last, triples, late
        self._outlines: list[tuple[int, int, int, bool]] = []
        self._waiting = 0

    def add_outline(self, first: int, last: int, triples: int, *, late: bool) -> None:
        """A chunk of which no more is known, or needed."""
        self._outlines.append((max(first, self._low + 1), min(last, self._high), triples, late))
        self._grown(1)

    def add(self, stamps: np.ndarray, reading: int) -> None:
        at, triples = np.unique(stamps[inside(stamps, self._low, self._high)], return_counts=True)
        self._parts.append((at, at, triples, at <= reading))
        self._grown(len(at))

    def all(self) -> list[Dot]:
        self._put_together()
        return [Dot(*dot) for columns in self._parts for dot in zip(*(c.tolist() for c in columns), strict=True)]

    def _grown(self, count: int) -> None:
        self._waiting += count
        if self._waiting > _AT_ONCE:
            self._put_together()

    def _put_together(self) -> None:
        self._waiting = 0
        if self._outlines:
            *numbers, late = zip(*self._outlines, strict=True)
            self._parts.append((*(np.array(column, np.int64) for column in numbers), np.array(late, bool)))
            self._outlines = []
        if self._parts:
            columns = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
            self._parts = [self._together(*columns)] if len(columns[0]) else []

    def _together(
        self, first: np.ndarray, last: np.ndarray, triples: np.ndarray, late: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        order = np.lexsort((first, late, (first - self._low - 1) // self._width))
        first, last, triples, late = first[order], last[order], triples[order], late[order]
        bucket = (first - self._low - 1) // self._width
        begins = np.flatnonzero(np.r_[True, (bucket[1:] != bucket[:-1]) | (late[1:] != late[:-1])])
        return first[begins], np.maximum.reduceat(last, begins), np.add.reduceat(triples, begins), late[begins]
