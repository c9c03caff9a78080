"""Fan-out: one thread looks for new answers, wakes whoever waits for them, and each answer is spelled once for all.

Nobody has a queue. A subscriber is a cursor (the instant it has seen last), and asks for what follows it. A slow
subscriber therefore costs what a quick one costs, and what a dead one leaves behind is nothing.

    channel = fanout.join(query)                 # raises Full; leave(channel) afterwards
    version = channel.version
    for told in fanout.following(channel, after=1700000000000):
        ...                                      # told.event: the bytes to send
    channel.wait(version, timeout=15)            # until there may be more

`heard` is told of all that is new: the ids of the queries that have answers.

Invariants: `version` changes after the answers are in the store, so who reads it first and the store then misses
nothing. What follows an instant never changes: answers of a query are told in the order of their instants.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from itertools import groupby
from typing import NamedTuple

from csparql_spark.language import LanguageError
from csparql_spark.pipeline.admission import read
from csparql_spark.pipeline.instants import grid_of, is_known_before
from csparql_spark.store import AnswerStore, QueryRecord, StoredAnswer
from csparql_spark.store.bell import Bell
from csparql_spark.windows.grid import Grid

from csparql_spark.server import instants

LOOK_SECONDS = 0.5              # a bell may be missed; the store is looked at this often
PAGE_PARTS = 16
CACHE_BYTES = 32 << 20


class Full(Exception):
    """All places are taken."""


class Told(NamedTuple):
    """What follows an instant. `gap`: between the two there may have been answers that are kept no longer."""

    instant: int
    gap: bool
    event: bytes


class Channel:
    """The subscribers of one query."""

    def __init__(self, query: QueryRecord) -> None:
        self.query = query
        self.grid = instants_of(query)
        self.version = 0
        self.ended = False              # no more answers will come: the query is deleted, or the process goes
        self.failed = False
        self.listeners = 0
        self.spelling = threading.Lock()
        self._change = threading.Condition()

    def wake(self, *, ended: bool = False, failed: bool = False) -> None:
        with self._change:
            self.version += 1
            self.ended |= ended
            self.failed |= failed
            self._change.notify_all()

    def wait(self, version: int, timeout: float) -> bool:
        """Sleep until the version is another one, at most `timeout` seconds; false if it still is the same."""
        with self._change:
            return self._change.wait_for(lambda: self.version != version, timeout)


class Fanout:
    def __init__(self, answers: AnswerStore, bell: Bell, *, places: int,
                 heard: Callable[[Collection[int]], None] = lambda queries: None) -> None:
        self._answers = answers
        self._bell = bell               # that the thread listens to
        self._places = places
        self._heard = heard
        self._channels: dict[int, Channel] = {}
        self._lock = threading.Lock()
        self._cache = Cache(CACHE_BYTES)
        self._running = True
        self._thread = threading.Thread(target=self._run, name="fanout", daemon=True)

    def start(self) -> Fanout:
        # Who joins from now on finds in the store what was told before this.
        self._position = self._answers.newest_position()
        self._thread.start()
        return self

    def stop(self) -> None:
        """Send every subscriber home."""
        with self._lock:
            self._running = False
            for channel in self._channels.values():
                channel.wake()
        self._bell.ring()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def running(self) -> bool:
        return self._running

    @property
    def subscribers(self) -> int:
        with self._lock:
            return sum(channel.listeners for channel in self._channels.values())

    def join(self, query: QueryRecord) -> Channel:
        with self._lock:
            if sum(channel.listeners for channel in self._channels.values()) >= self._places:
                raise Full
            channel = self._channels.setdefault(query.id, Channel(query))
            channel.listeners += 1
            return channel

    def leave(self, channel: Channel) -> None:
        with self._lock:
            channel.listeners -= 1
            if not channel.listeners:
                del self._channels[channel.query.id]

    def end(self, query: int) -> None:
        """The query is deleted."""
        with self._lock:
            if query in self._channels:
                self._channels[query].wake(ended=True)

    def latest(self, channel: Channel) -> Told | None:
        """The newest answer."""
        parts = self._answers.latest(channel.query.id)
        return Told(parts[0].instant, False, instants.event(channel.query.name, parts)) if parts else None

    def following(self, channel: Channel, after: int) -> list[Told]:
        """Some of the answers after an instant, oldest first; none if there are none."""
        known = self._known(channel, after)
        if known:
            return known
        with channel.spelling:
            return self._known(channel, after) or self._spelled(channel, after)

    def _known(self, channel: Channel, after: int) -> list[Told]:
        chain: list[Told] = []
        while len(chain) < PAGE_PARTS and (told := self._cache.get((channel.query.id, after))) is not None:
            chain.append(told)
            after = told.instant
        return chain

    def _spelled(self, channel: Channel, after: int) -> list[Told]:
        query = channel.query.id
        page: list[Told] = []
        for instant, parts in self._page(query, after):
            gap = not page and self._gap(channel, after, instant)
            told = Told(instant, gap, instants.event(channel.query.name, parts))
            self._cache.put((query, after), told)
            page.append(told)
            after = instant
        return page

    def _page(self, query: int, after: int) -> list[tuple[int, list[StoredAnswer]]]:
        """The next instants, each with all its parts."""
        parts = self._answers.after(query, after, PAGE_PARTS)
        page = [(instant, list(group)) for instant, group in groupby(parts, key=lambda part: part.instant)]
        if len(parts) == PAGE_PARTS:
            instant, _ = page.pop()         # it may have been cut in the middle
            if not page:
                whole = self._answers.at(query, instant)
                return [(instant, whole)] if whole else self._page(query, instant)
        return page

    def _gap(self, channel: Channel, after: int, instant: int) -> bool:
        # Looked at after the answers were read: the oldest are forgotten first, so if `after` is still reached now,
        # nothing behind it was missing then.
        bounds = self._answers.bounds(channel.query.id)
        if bounds is not None and bounds[0] <= after:
            return False
        return channel.grid is None or instant > channel.grid.after(after)

    def _run(self) -> None:
        while self._running:
            try:
                self._look()
                self._answers.wait(LOOK_SECONDS)
            except sqlite3.Error as error:
                print(f"csparql-spark: subscribers wait, the store fails: {error}", file=sys.stderr, flush=True)
                time.sleep(LOOK_SECONDS)

    def _look(self) -> None:
        self._position, told = self._answers.told_since(self._position)
        if told:
            self._heard(told)
        with self._lock:
            channels = list(self._channels.values())
        for channel in channels:
            failed = not channel.failed and self._answers.failure(channel.query.id) is not None
            if failed or channel.query.id in told:
                channel.wake(failed=failed)


class Cache:
    """What follows which instant of which query: the most recently used, up to so many bytes."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._entries: OrderedDict[tuple[int, int], Told] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[int, int]) -> Told | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: tuple[int, int], told: Told) -> None:
        with self._lock:
            old = self._entries.pop(key, None)
            self._entries[key] = told
            self._size += len(told.event) - (len(old.event) if old else 0)
            while self._size > self._limit and len(self._entries) > 1:
                self._size -= len(self._entries.popitem(last=False)[1].event)


def instants_of(query: QueryRecord) -> Grid | None:
    """The instants of a query, if they are known before they come."""
    try:
        asked = read(query.text, query.base)
    except LanguageError:
        return None
    return grid_of(asked) if is_known_before(asked) else None
