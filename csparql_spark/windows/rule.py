"""The window rule: which elements a window holds at an instant, and all that follows from that. Nobody else says it.

A window of RANGE R STEP S, at instant t, is looked at as of its own last step, the greatest multiple of S up to t.
There it holds the elements stamped later than that less R, and not later than that:

    RANGE 6 STEP 4                opens        closes
    at t = 13            ──●──●───(─●───●──●───]●────▶        low < stamp <= high, with (low, high] = (6, 12]
                           4  5   6 7   9  11 12 13           (the element at 13 is not in it before t = 16)

Instants are the multiples of the steps of all windows of a query, or of COMPUTE EVERY. Where each of them is one of a
window's own steps, the window is looked at as of every instant, as if its STEP were a millisecond (`looks_of`). A
window that counts holds the last n elements (or graphs) up to t instead, and opens nowhere; its instants are turns
(see `counting`).

An element enters at the first step at or after its stamp, and leaves at the first one at or after stamp + RANGE:

    RANGE 6 STEP 4       ────●──┼───┼────▶        stamped 9, it enters at 12 and leaves at 16
                         8   9  12  16

Both are known when it comes. So it waits until it enters, and goes by its *tag*: nothing ever has to be taken out.
Tags put windows of several lengths and steps into one graph. An *offset* is what a RANGE is less than the widest one,
a *phase* what it is more than so many steps. ⌈x⌉ being the first step at or after x, an element's tag is
⌈stamp + phase⌉ − phase − offset, and at t it is seen if that is later than t − widest:

    RANGE 6 STEP 1, widest 9     offset 3, phase 0    stamp 8    tag 8 − 3 = 5            until 5 + 9 = 8 + 6 = 14
    RANGE 6 STEP 4, widest 9     offset 3, phase 2    stamp 8    tag ⌈10⌉ − 2 − 3 = 7     until 7 + 9 = ⌈8 + 6⌉ = 16

Lengths are not in a tag but for offset and phase: so windows of any RANGE share one graph if their steps, phases and
offsets are the same. A narrower one is a later look at the same facts. A window that counts, if it is the only one,
has a clock of its own, the number of elements that came: there a tag is an *ordinal*, and it is seen if it is more
than the last one less n.

Of the log, a query sees what has a place after that of its registration (`since`).

Invariants: an element is in a window at t exactly if `bounds_of` has its stamp between its two ends; it leaves at
`until_of`, and no earlier; what is stamped at or before where a window opens at an instant is in it at no later one.

    bounds_of(window, 13)                        # Bounds(opens=6, closes=12)
    visible(window, stamps, 13)                  # which of these elements it holds
    widest, (one, other) = aligned(looks_of(query, query.windows))
    one.tags_of(stamps) > oldest_tag(13, widest)     # the same elements, found by their tags; of those stamped up to
                                                     # `one.closes(13)`
"""

from __future__ import annotations

import dataclasses
import math
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


def looks_of(query: QuerySpec, windows: Sequence[Spec]) -> tuple[Spec, ...]:
    """Windows of a query as its instants look at them: those of whose own steps each instant is one, as of that."""
    apart = _apart(query)
    return tuple(
        at_once(window) if window.step is not None and apart % window.step == 0 else window for window in windows
    )


def _apart(query: QuerySpec) -> int:
    """All instants of a query are multiples of this."""
    if query.every is not None:
        return query.every
    if not all(map(is_timed, query.windows)):  # turns come at any time
        return 1
    return math.gcd(*(window.step for window in query.windows if window.step is not None))


def has_tags(windows: Sequence[WindowSpec]) -> bool:
    """Whether for all that windows hold in one graph it is known, on one clock, when it goes: on that of time, or on
    the count of the only one."""
    return len(windows) == 1 or all(map(is_timed, windows))


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
    """The instant up to which a window holds elements that it holds at `instant`, as it is told: that of the first look
    without them. A window that counts knows it of none: they are said to hold until the next millisecond."""
    if window.range is None or window.step is None:
        return np.full(len(stamps), instant + 1)
    return _step_from(stamps + window.range, window.step)


def emptied(window: WindowSpec, stamp: int) -> int:
    """The first instant at which a window is looked at without an element stamped so. One that counts never is: the
    element's own stamp."""
    if window.range is None or window.step is None:
        return stamp
    return _step_from(stamp + window.range, window.step)


def _step_from(time: Number, step: int) -> Number:
    """The first multiple of a step that is not earlier."""
    return -(-time // step) * step


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


def replaced_of(windows: Sequence[WindowSpec], every: int | None) -> int | None:
    """How many triples those windows that count let go of from one look to the next, at most. None: with COMPUTE EVERY
    any number may have come meanwhile, and an element may have any number of triples."""
    counting = [window for window in windows if not is_timed(window)]
    if every is not None or any(window.elements is not None for window in counting):
        return None
    return sum(_move_of(window, every)[0] for window in counting)


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


class AlignedWindow(NamedTuple):
    """A window in one graph with others: as of every how many milliseconds it is looked at, how much shorter it is than
    the widest, and how much longer than so many steps (`phase`). `unit` is what it is as long as: milliseconds, TRIPLES
    or ELEMENTS. One that counts beside others is not found by tags: it holds so many (`size`)."""

    stream: str
    offset: int
    every: int = 1
    phase: int = 0
    unit: str = "ms"
    size: int = 0

    @property
    def counts(self) -> bool:
        return self.unit != "ms"

    @property
    def graphs(self) -> bool:
        """Whether it counts graphs."""
        return self.unit == "ELEMENTS"

    def closes(self, instant: int) -> int:
        """Up to which stamp it holds elements at an instant: what is stamped later waits."""
        return instant // self.every * self.every

    def tags_of(self, stamps: np.ndarray) -> np.ndarray:
        """The tags of its elements; of one that counts, the stamps are their ordinals."""
        if self.every == 1:
            return stamps - self.offset
        return _step_from(stamps + self.phase, self.every) - (self.phase + self.offset)

    def stamp_of(self, tag: int) -> int:
        """The latest stamp of elements with this tag or an earlier one."""
        return self.closes(tag + self.offset + self.phase) - self.phase


class Alignment(NamedTuple):
    """Windows in one graph: how long the widest is, and how they lie in it."""

    widest: int
    windows: tuple[AlignedWindow, ...]


def aligned(windows: Sequence[WindowSpec], *, beside: bool = False) -> Alignment:
    """Windows in one graph. With `beside` there are several windows in the query, of which some count."""
    timed = [window for window in windows if is_timed(window)] if beside else windows
    widest = max((_move_of(window, None)[1] for window in timed), default=0)
    return Alignment(widest, tuple(sorted({_aligned(window, widest, beside) for window in windows})))


def _aligned(window: WindowSpec, widest: int, beside: bool) -> AlignedWindow:
    step, length = _move_of(window, None)
    if window.range is not None and window.step is not None:
        return AlignedWindow(window.stream, widest - length, window.step, length % window.step)
    unit = "TRIPLES" if window.elements is None else "ELEMENTS"
    if beside:  # it turns with those alone that count as many at once
        return AlignedWindow(window.stream, 0, step, 0, unit, length)
    return AlignedWindow(window.stream, widest - length, unit=unit)


def oldest_tag(instant: int, widest: int) -> int:
    """What is tagged this or earlier is not seen at an instant through windows so wide; what is tagged later is. On the
    clock of a window that counts, the instant is the ordinal of the last element that it holds."""
    return instant - widest


def ends_of(tags: np.ndarray, widest: int) -> np.ndarray:
    """The instants up to which what is tagged so is seen through windows so wide."""
    return np.where(tags == END_OF_TIME, END_OF_TIME, tags + widest)
