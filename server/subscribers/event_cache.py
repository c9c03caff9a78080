"""Event cache: the events of answers, each spelled once for all who hear of it at about the same time.

    cache = EventCache()
    with cache.lock(key):                     # nobody spells what another one is spelling
        if cache.get(key) is None:
            cache.put(key, event)

Invariants: at most MOST_BYTES are held (or one event that is larger), and nothing that nobody has asked for in
UNUSED_SECONDS, once something else comes: who reads that far behind has it spelled again.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_BYTES = 32 << 20
UNUSED_SECONDS = 30.0
LOCKS = 16
OVERHEAD = 300  # bytes of an entry besides its event, which may be empty

Key = tuple[int | str, ...]  # a query, the position of its answer, and what is told of it


class EventCache:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._bytes = clock, 0
        self._events: OrderedDict[Key, tuple[bytes, float]] = OrderedDict()  # and when it was asked for last
        self._lock = threading.Lock()
        self._locks = [threading.Lock() for _ in range(LOCKS)]

    def lock(self, key: Key) -> threading.Lock:
        return self._locks[hash(key) % LOCKS]

    def get(self, key: Key) -> bytes | None:
        with self._lock:
            entry = self._events.get(key)
            if entry is None:
                return None
            self._events[key] = entry[0], self._clock()
            self._events.move_to_end(key)
            return entry[0]

    def put(self, key: Key, event: bytes) -> None:
        with self._lock:
            now = self._clock()
            if (before := self._events.pop(key, None)) is not None:
                self._bytes -= _size(before[0])
            self._bytes += _size(event)
            self._events[key] = event, now
            while len(self._events) > 1 and (self._bytes > MOST_BYTES or self._oldest() < now - UNUSED_SECONDS):
                self._bytes -= _size(self._events.popitem(last=False)[1][0])

    def _oldest(self) -> float:
        return next(iter(self._events.values()))[1]


def _size(event: bytes) -> int:
    return len(event) + OVERHEAD
