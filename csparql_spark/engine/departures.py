"""Departures: which stored slides no window will see again, found without looking at those that stay.

A slide goes when its newest stamp is at the horizon of its stream, or behind it, and its place before the one from
which on a window counts (see `windows.rule.lasting`). So it waits in two queues, one after the other: by its stamp, and
then by its place. Both only move on: whoever looks further back has come later, and sees only what is logged later.

    departures = Departures()
    departures.add(StateKey(7, 0), newest=9_000)
    list(departures.due({0: 10_000}, {}))          # [StateKey(seq=7, stream=0)], once

Invariant: what is due once, and was added once, is told once; who has dropped a slide meanwhile is told all the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping

from csparql_spark.engine.state_keys import StateKey
from csparql_spark.windows.rule import BEGINNING_OF_TIME, END_OF_TIME, lasting


class Departures:
    def __init__(self) -> None:
        self._by_stamp: dict[int, list[tuple[int, StateKey]]] = {}  # heaps, by stream
        self._by_place: dict[int, list[StateKey]] = {}

    def add(self, key: StateKey, newest: int) -> None:
        heapq.heappush(self._by_stamp.setdefault(key.stream, []), (newest, key))

    def due(self, horizons: Mapping[int, int], places: Mapping[int, int]) -> Iterator[StateKey]:
        for stream, waiting in self._by_stamp.items():
            counted = self._by_place.setdefault(stream, [])
            horizon, place = horizons.get(stream, BEGINNING_OF_TIME), places.get(stream, END_OF_TIME)
            while waiting and not lasting(waiting[0][0], horizon, 0, END_OF_TIME):
                heapq.heappush(counted, heapq.heappop(waiting)[1])
            while counted and not lasting(horizon, horizon, counted[0].seq, place):
                yield heapq.heappop(counted)
