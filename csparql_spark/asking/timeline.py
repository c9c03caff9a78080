"""A timeline: when the elements of a stream are stamped, which of them came late, and what a query waits for.

    elements        ●  ●●   ●       ●        ○ late: stamped 12, logged when the clock read 14
    ────────────────┴──┴┴───┴───┼───┴────▶
    windows at t    └─────[RANGE]─── t       (opens, closes]

    dots(entries, payload, clock=Clock("event", 2000), low=0, high=60_000, most=300)   # [Dot(1000, 1000, 4, False), …]
    waits("urn:s", Clock("event", 2000), reading=4_999, instant=10_000)     # what an instant waits for, in words

Dots are elements put together until about `most` of them are left. An element is late as `windows.progress` says it:
its stamp had passed when it was logged. Chunks are opened only where their outline does not tell their stamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import NamedTuple

import numpy as np

from csparql_spark.language.durations import in_words
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.progress import Clock
from csparql_spark.windows.rule import BEGINNING_OF_TIME, inside, may_hold


class Dot(NamedTuple):
    """Elements whose stamps are near each other: from `first` to `last`, so many triples."""

    first: int
    last: int
    triples: int
    late: bool


def dots(
    entries: Iterable[Entry], payload: Callable[[Entry], bytes], *, clock: Clock, low: int, high: int, most: int
) -> list[Dot]:
    """The elements stamped low < t <= high of a stream's chunks, which come as outlines in the order of the log."""
    stamps, triples, late = [], [], []
    reading = BEGINNING_OF_TIME
    for entry in entries:
        first, last = stamped(entry)
        if may_hold(first, last, low, high):
            own, counts = _stamps(entry, payload, first, last)
            stamps.append(own)
            triples.append(counts)
            late.append(own <= reading)
        if clock.kind != "arrival":
            reading = max(reading, clock.reading(last))
    if not stamps:
        return []
    at, count, was_late = map(np.concatenate, (stamps, triples, late))
    shown = inside(at, low, high)
    return _together(at[shown], count[shown], was_late[shown], low, max(1, -(-(high - low) // most)))


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


def _stamps(entry: Entry, payload: Callable[[Entry], bytes], first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """The different stamps of a chunk, and how many triples have each."""
    if first == last:
        return np.array([first]), np.array([entry.rows])
    return np.unique(Chunk.from_ipc(payload(entry)).stamped(entry.at).t, return_counts=True)


def _together(at: np.ndarray, count: np.ndarray, late: np.ndarray, low: int, width: int) -> list[Dot]:
    if not len(at):
        return []
    order = np.lexsort((at, late, (at - low - 1) // width))
    at, count, late = at[order], count[order], late[order]
    bucket = (at - low - 1) // width
    begins = np.flatnonzero(np.r_[True, (bucket[1:] != bucket[:-1]) | (late[1:] != late[:-1])])
    ends = np.r_[begins[1:], len(at)] - 1
    return [
        Dot(*dot)
        for dot in zip(
            at[begins].tolist(),
            at[ends].tolist(),
            np.add.reduceat(count, begins).tolist(),
            late[begins].tolist(),
            strict=True,
        )
    ]
