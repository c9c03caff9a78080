"""Timelines: dots are what one finds who looks at each element by itself, however many are put together on the way.

stamps   (low)  1  2 │ 3     │    6 │ …  (high)       three buckets; of each those in time, and those that are late
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csparql_spark.asking import timeline
from csparql_spark.asking.timeline import Dot, dots
from csparql_spark.log import Entry
from csparql_spark.windows.progress import Clock
from tests.examples import examples

LOW, HIGH = -5, 40
CLOCKS = [Clock("event", 0), Clock("event", 7), Clock("derived"), Clock("arrival")]

chunks = st.lists(st.lists(st.integers(-20, 50), min_size=1, max_size=6), max_size=12)


def entries(found: list[list[int]]) -> list[Entry]:
    return [
        Entry(place + 1, "chunk", 0, "urn:s", len(stamps), min(stamps), max(stamps), 0)
        for place, stamps in enumerate(found)
    ]


def naive(found: list[list[int]], clock: Clock, most: int) -> list[Dot]:
    width = -(-(HIGH - LOW) // most)
    groups: defaultdict[tuple[int, bool], list[int]] = defaultdict(list)
    for place, stamps in enumerate(found):
        before = [stamp for earlier in found[:place] for stamp in earlier]
        passed = max(before) - clock.delay - (clock.kind == "event") if before and clock.kind != "arrival" else None
        for stamp in stamps:
            if LOW < stamp <= HIGH:
                groups[(stamp - LOW - 1) // width, passed is not None and stamp <= passed].append(stamp)
    return [Dot(min(group), max(group), len(group), late) for (_, late), group in sorted(groups.items())]


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chunks, st.sampled_from(CLOCKS), st.integers(1, 50), st.integers(0, 5))
def test_dots_are_those_of_each_element(
    monkeypatch: pytest.MonkeyPatch, found: list[list[int]], clock: Clock, most: int, at_once: int
) -> None:
    monkeypatch.setattr(timeline, "_AT_ONCE", at_once)

    def stamps(entry: Entry) -> np.ndarray:
        assert entry.first != entry.last, "its outline says all"
        return np.array(found[entry.seq - 1])

    assert dots(entries(found), stamps, clock=clock, low=LOW, high=HIGH, most=most) == naive(found, clock, most)


def test_beyond_a_bound_chunks_are_dots_as_their_outlines_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_OPENED", 3)
    found = [[1, 2, 9], [11, 12, 60], [-20, 20, 31]]
    opened: list[int] = []

    def stamps(entry: Entry) -> np.ndarray:
        opened.append(entry.seq)
        return np.array(found[entry.seq - 1])

    assert dots(entries(found), stamps, clock=Clock("event", 0), low=LOW, high=HIGH, most=45) == [
        Dot(-4, 31, 3, True),
        Dot(1, 1, 1, False),
        Dot(2, 2, 1, False),
        Dot(9, 9, 1, False),
        Dot(11, 40, 3, False),
    ]
    assert opened == [1]
