"""Shares: how many connections there may be at once, and how many of them one client may hold.

    places = Places(total=10_000, each=2_500)
    place = places.enter()              # None: all are taken
    place.belong("203.0.113.9")         # false: this client has its share already
    place.leave()                       # once, or more often

A place belongs to nobody before it is known whose the connection is, and may change hands: over a connection of a proxy
come requests of many clients. What is sent to a subscriber is a connection like any other.
"""

from __future__ import annotations

import threading
from collections import Counter


class Places:
    def __init__(self, total: int, each: int) -> None:
        self.total, self.each = total, each
        self._lock = threading.Lock()
        self._taken = 0
        self._counts: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._taken

    def count(self, client: str) -> int:
        return self._counts[client]

    def enter(self) -> ConnectionPlace | None:
        with self._lock:
            if self._taken >= self.total:
                return None
            self._taken += 1
        return ConnectionPlace(self)

    def change(self, before: str | None, after: str | None) -> bool:
        """Whether a place could change hands; if not, it is nobody's."""
        with self._lock:
            if before is not None:
                self._counts[before] -= 1
                if not self._counts[before]:
                    del self._counts[before]
            if after is None:
                return True
            if self._counts[after] >= self.each:
                return False
            self._counts[after] += 1
            return True

    def give_back(self) -> None:
        with self._lock:
            self._taken -= 1


class ConnectionPlace:
    __slots__ = ("_client", "_left", "_places")

    def __init__(self, places: Places) -> None:
        self._places, self._left = places, False
        self._client: str | None = None

    def belong(self, client: str | None) -> bool:
        """Whether the client, or nobody, could have it."""
        if client == self._client:
            return True
        got = self._places.change(self._client, client)
        self._client = client if got else None
        return got

    def leave(self) -> None:
        if not self._left:
            self._left = True
            self.belong(None)
            self._places.give_back()
