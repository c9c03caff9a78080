"""Where batches end that were begun before: against a twin that remembers the first end that was told."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csparql_spark.store.batch_ends import Ends
from tests.examples import examples
from tests.store.opened import Opened


@pytest.fixture
def ends(store: Opened) -> Ends:
    return Ends(store.database)


def test_with_the_first_tick_that_is_late_enough(store: Opened, ends: Ends) -> None:
    """
    seq     1       2      3      4     5       6
            chunk   tick   chunk  tick  chunk   tick
    at      10      1000   1010   2003  2010    3000
    """
    for kind, at in (("chunk", 10), ("tick", 1000), ("chunk", 1010), ("tick", 2003), ("chunk", 2010), ("tick", 3000)):
        store.put(kind, at)
    assert [ends.of(1, tick) for tick in (999, 1000, 1001, 2003, 2004, 3001)] == [2, 2, 4, 4, 6, None]
    assert [ends.of(after, 1000) for after in (0, 1, 2, 3, 4, 6)] == [2, 2, 4, 4, 6, None]


def test_ticks_of_streams_end_nothing(store: Opened, ends: Ends) -> None:
    store.put("tick", 5000, "urn:e")
    assert ends.of(0, 1000) is None


def test_what_is_settled_stays_also_when_the_tick_comes_after_all(store: Opened, ends: Ends) -> None:
    store.put("chunk", 10)
    store.put("chunk", 1005)
    assert ends.of(1, 1000) is None
    assert ends.settle(1, 1000) == 2
    store.put("tick", 1006)
    assert ends.of(1, 1000) == ends.settle(1, 1000) == 2
    assert ends.of(2, 1000) == 3  # another batch, which came after


def test_what_has_a_tick_is_not_settled_otherwise(store: Opened, ends: Ends) -> None:
    store.put("tick", 1000)
    store.put("chunk", 1005)
    assert ends.settle(0, 1000) == 1
    ends.forget(1 << 40)
    assert ends.of(0, 1000) == 1


@pytest.mark.parametrize("after", [0, 7])
def test_where_nothing_has_come_it_ends_where_it_began(store: Opened, ends: Ends, after: int) -> None:
    assert ends.settle(after, 1000) == after


def test_only_what_was_settled_before_is_forgotten(store: Opened, ends: Ends) -> None:
    store.retention.advance(1)
    settled = []
    for after in range(3):
        store.put("chunk", 10)
        settled.append(ends.settle(after, 1000))
    assert settled == [1, 2, 3]
    ends.forget(2)
    store.put("tick", 1000)
    assert [ends.of(after, 1000) for after in range(3)] == [4, 2, 3]
    assert store.retention.position() == 1


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["chunk", "tick", "of", "settle"]), st.integers(0, 9), st.integers(0, 9)), max_size=30
    )
)
def test_an_end_that_was_told_is_the_end_for_ever(store: Opened, steps: list[tuple[str, int, int]]) -> None:
    with store.database.transaction() as connection:
        connection.execute("DELETE FROM log")
        connection.execute("DELETE FROM batch_ends")
    ends, told, log, clock = Ends(store.database), {}, [], 0
    base = store.put("stream", 0)
    for kind, one, other in steps:
        if kind in ("chunk", "tick"):
            clock += other
            log.append((store.put(kind, clock), kind, clock))
            continue
        after, tick = base + one, clock + other - 4
        expected = told.get((after, tick)) or next(
            (seq for seq, kind, at in log if seq > after and kind == "tick" and at >= tick), None
        )
        if kind == "settle" and expected is None:
            expected = max(after, log[-1][0] if log else base)
        assert getattr(ends, kind)(after, tick) == expected
        if expected is not None:
            told[after, tick] = expected
    # Whoever asks later, in another process, hears the same.
    again = Ends(store.database)
    assert {key: again.of(*key) for key in told} == told
