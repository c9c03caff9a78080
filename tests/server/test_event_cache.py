"""Events are held while they are asked for, and never too many bytes of them."""

from __future__ import annotations

import pytest

from csparql_spark.server.subscribers import event_cache as module
from csparql_spark.server.subscribers.event_cache import UNUSED_SECONDS, EventCache


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def held(cache: EventCache) -> list[int]:
    """The positions, those that were asked for longest ago first; looking is not asking."""
    return [int(position) for _, position in cache._events]


def test_what_was_asked_for_last_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    monkeypatch.setattr(module, "OVERHEAD", 0)
    cache = EventCache()
    for position in (1, 2, 3):
        cache.put((7, position), b"abc")
    assert cache.get((7, 1)) == b"abc" and cache.get((7, 4)) is None
    cache.put((7, 4), b"abc")
    assert held(cache) == [3, 1, 4]
    cache.put((7, 1), b"a")
    cache.put((7, 5), b"abc")  # there is room: what was longer is shorter now
    assert held(cache) == [3, 4, 1, 5]
    cache.put((7, 6), b"longer than all of them may be")
    assert held(cache) == [6] and cache.get((7, 6)) == b"longer than all of them may be"
    cache.put((7, 7), b"abc")
    assert held(cache) == [7]


def test_what_nobody_asks_for_goes() -> None:
    """
    seconds     0        20        31                  50.5
    position    1, 2     1 asked   3: 2 goes           4: 1 goes
    """
    clock = Clock()
    cache = EventCache(clock)
    cache.put((7, 1), b"a")
    cache.put((7, 2), b"b")
    clock.now += 20
    assert cache.get((7, 1)) == b"a"
    clock.now += UNUSED_SECONDS - 19
    cache.put((7, 3), b"c")
    assert held(cache) == [1, 3]
    clock.now += 19.5
    cache.put((7, 4), b"d")
    assert held(cache) == [3, 4]


def test_an_event_of_nothing_takes_room_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10 * module.OVERHEAD)
    cache = EventCache()
    for position in range(100):
        cache.put((7, position), b"")
    assert len(held(cache)) == 10
