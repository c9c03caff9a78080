"""The window rule: which elements a window holds at an instant, and all that follows from that. Nobody else says it.

A window of RANGE R STEP S, at instant t, is looked at as of its own last step, the greatest multiple of S up to t.
There it holds the elements stamped later than that less R, and not later than that:

    RANGE 6 STEP 4                opens        closes
    at t = 13            ──●──●───(─●───●──●───]●────▶        low < stamp <= high, with (low, high] = (6, 12]
                           4  5   6 7   9  11 12 13           (the element at 13 is not in it before t = 16)

Instants are the multiples of the steps of all windows of a query, or of COMPUTE EVERY. A window that counts holds the
last n elements (or graphs) up to t instead, and opens nowhere; its instants are turns (see `counting`).

Tags put windows of several lengths into one graph. A window that is shorter than the widest by an *offset* sees what
the widest would see of elements that are older by that: so an element's tag is its stamp less the offset, and whatever
the offset, it is seen at t if its tag is later than t less the widest RANGE.

    RANGE 6, widest 9, offset 3     stamp 8, tag 5       seen at 13: 5 > 13 − 9      until 5 + 9 = 8 + 6 = 14

Of the log, a query sees what has a place after that of its registration (`since`).

Invariants: an element is in a window at t exactly if `bounds_of` has its stamp between its two ends; it leaves at
`until_of`, and no earlier; what is stamped at or before where a window opens at an instant is in it at no later one.

    bounds_of(window, 13)                        # Bounds(opens=6, closes=12)
    visible(window, stamps, 13)                  # which of these elements it holds
    aligned(query.windows)                       # Alignment(widest=9, streams=(("urn:a", 0), ("urn:b", 3)))
    tags_of(stamps, 3) > oldest_tag(13, 9)       # the same elements, found by their tags
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from csparql_spark.windows.grid import Grid

END_OF_TIME = int(np.iinfo(np.int64).max)  # the stamp, and the tag, of what holds at every instant
BEGINNING_OF_TIME = -(1 << 62)  # earlier than any stamp

Number = TypeVar("Number", int, np.ndarray)


class WindowSpec(Protocol):
    """What is said of a window, in whatever language: exactly one of `range`, `triples`, `elements`, with its step."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]  # as `dataclasses` itself wants it

    @property
    def stream(self) -> str: ...
    @property
    def range(self) -> int | None: ...
    @property
    def step(self) -> int | None: ...
    @property
    def triples(self) -> int | None: ...
    @property
    def elements(self) -> int | None: ...
    @property
    def triples_step(self) -> int | None: ...
    @property
    def elements_step(self) -> int | None: ...


class QuerySpec(Protocol):
    """What is said of a query's windows. `every` is its COMPUTE EVERY."""

    @property
    def every(self) -> int | None: ...
    @property
    def windows(self) -> Sequence[WindowSpec]: ...


Spec = TypeVar("Spec", bound=WindowSpec)


# --- instants


def is_timed(window: WindowSpec) -> bool:
    """Whether a window is one of time; the others count."""
    return window.range is not None


def grid_of(query: QuerySpec) -> Grid | None:
    """The instants that a query has by time; None if it has only turns."""
    if query.every is not None:
        return Grid((query.every,))
    steps = tuple(sorted({window.step for window in query.windows if window.step is not None}))
    return Grid(steps) if steps else None


def is_known_before(query: QuerySpec) -> bool:
    """Whether the instants of a query are known before anything has arrived."""
    return query.every is not None or all(map(is_timed, query.windows))


def moves_together(query: QuerySpec) -> bool:
    """Whether at each instant of a query all its windows are looked at as of that instant."""
    if not all(map(is_timed, query.windows)):
        return False
    steps = {window.step for window in query.windows if window.step is not None}
    return len(steps) == 1 if query.every is None else all(query.every % step == 0 for step in steps)


# --- what a window holds


class Bounds(NamedTuple):
    """Where a window opens and closes: it holds elements stamped opens < t <= closes. One that counts opens nowhere."""

    opens: int | None
    closes: int

    @property
    def low(self) -> int:
        """Where it opens, as a number for those that count, too."""
        return BEGINNING_OF_TIME if self.opens is None else self.opens

    @property
    def length(self) -> int:
        return self.closes - self.low


def bounds_of(window: WindowSpec, instant: int) -> Bounds:
    """Where a window opens and closes, as it is looked at at an instant: as of its own last step."""
    if window.range is None or window.step is None:
        return Bounds(None, instant)
    closes = instant // window.step * window.step
    return Bounds(closes - window.range, closes)


def inside(stamps: np.ndarray, low: int, high: int) -> np.ndarray:
    """For each stamp, whether it is between the two ends of a window."""
    return (stamps > low) & (stamps <= high)


def may_hold(first: int, last: int, low: int, high: int) -> bool:
    """Whether something stamped from `first` to `last` can lie between the two ends. (The log asks it in SQL.)"""
    return last > low and first <= high


def visible(window: WindowSpec, stamps: np.ndarray, instant: int) -> np.ndarray:
    """The places of the elements that a window holds at an instant, of those with these stamps, in the order of the
    log. For ELEMENTS, what has the same stamp is one graph."""
    if is_timed(window):
        bounds = bounds_of(window, instant)
        return np.flatnonzero(inside(stamps, bounds.low, bounds.closes))
    arrived = np.flatnonzero(stamps <= instant)
    if window.triples is not None:
        return arrived[-window.triples :]
    graphs = np.unique(stamps[arrived])
    return arrived[np.isin(stamps[arrived], graphs[-(window.elements or 0) :])]


def logged_after(places: Number, since: int) -> Number:
    """Whether what stands at a place of the log is seen by who was registered at `since`."""
    return places > since


def at_once(window: Spec) -> Spec:
    """The window as it is looked at at any instant whatever: as of that instant."""
    return dataclasses.replace(window, step=1) if is_timed(window) else window


# --- how long


def until_of(window: WindowSpec, stamps: np.ndarray, instant: int) -> np.ndarray:
    """The instant up to which a window holds elements that it holds at `instant`, as it is told. A window that counts
    knows it of none: they are said to hold until the next millisecond."""
    return np.full(len(stamps), instant + 1) if window.range is None else stamps + window.range


def emptied(window: WindowSpec, stamp: int) -> int:
    """The first instant at which a window is looked at without an element stamped so. One that counts never is: the
    element's own stamp."""
    if window.range is None or window.step is None:
        return stamp
    return Grid((window.step,)).at_or_after(stamp + window.range)


def horizon_of(window: WindowSpec, soonest: int) -> int:
    """Elements stamped this or earlier are in a window of time neither at the instant `soonest` nor at a later one."""
    return bounds_of(window, soonest).low


def lasting(
    stamps: np.ndarray | int, horizon: np.ndarray | int, places: np.ndarray | int, place: np.ndarray | int
) -> np.ndarray | bool:
    """Whether elements may still be seen: by windows of time those stamped later than their horizon, by windows that
    count those logged at their place or after it."""
    return (stamps > horizon) | (places >= place)


def reach_of(windows: Iterable[WindowSpec], delay_of: dict[str, int]) -> int:
    """How far back windows of time can look, in ms, the delay of each stream's clock included; those that count: 0."""
    return max(
        (window.range + delay_of.get(window.stream, 0) for window in windows if window.range is not None), default=0
    )


def widest_of(windows: Iterable[WindowSpec]) -> int:
    """The longest RANGE of windows; 0 if none has one."""
    return max((window.range for window in windows if window.range is not None), default=0)


def share_of(windows: Sequence[WindowSpec], every: int | None) -> float:
    """Which share of what windows hold is another when they are looked at next, about: if what they hold comes evenly,
    and to windows of time at the same rate. `every` is the COMPUTE EVERY of their query."""
    moves = [_move_of(window, every) for window in windows]
    if all(is_timed(window) for window in windows):
        return sum(step for step, _ in moves) / sum(extent for _, extent in moves)
    return max(step / extent for step, extent in moves)


def _move_of(window: WindowSpec, every: int | None) -> tuple[int, int]:
    """How much of a window is another when it is looked at next, and how much it holds."""
    extent, step = next(
        (extent, step)
        for extent, step in (
            (window.range, window.step),
            (window.triples, window.triples_step),
            (window.elements, window.elements_step),
        )
        if extent is not None
    )
    if window.range is not None and every is not None:
        step = max(step or 0, every)
    return min(step or 1, extent), extent


def slowest_of(windows: Iterable[WindowSpec]) -> int:
    """The longest STEP of windows of time; 0 if there is none."""
    return max((window.step for window in windows if window.step is not None), default=0)


# --- windows in one graph


class Alignment(NamedTuple):
    """Windows that move together: the widest RANGE, and their streams, each with how much shorter its window is."""

    widest: int
    streams: tuple[tuple[str, int], ...]


def aligned(windows: Sequence[WindowSpec]) -> Alignment:
    """Windows of time in one graph."""
    widest = widest_of(windows)
    return Alignment(
        widest,
        tuple(sorted({(window.stream, widest - window.range) for window in windows if window.range is not None})),
    )


def tags_of(stamps: np.ndarray, offset: int) -> np.ndarray:
    """The tags of a window's elements, for a window that is shorter than the widest by `offset`."""
    return stamps - offset


def oldest_tag(instant: int, widest: int) -> int:
    """What is tagged this or earlier is not seen at an instant through windows so wide; what is tagged later is."""
    return instant - widest


def stamp_of(tag: int, offset: int) -> int:
    """The stamp of an element with this tag."""
    return tag + offset


def ends_of(tags: np.ndarray, widest: int) -> np.ndarray:
    """The instants up to which what is tagged so is seen through windows so wide."""
    return np.where(tags == END_OF_TIME, END_OF_TIME, tags + widest)
