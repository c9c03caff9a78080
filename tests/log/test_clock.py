from __future__ import annotations

from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.store.opened import Hands

HOUR = 3_600_000


def test_it_reads_the_wall_clock() -> None:
    hands = Hands(1000)
    clock = hands.clock()
    assert clock.now() == 1000
    hands.forward(250)
    assert clock.now() == 1250


def test_a_wall_clock_that_jumps_ahead_moves_it_at_once() -> None:
    hands = Hands(1000)
    clock = hands.clock()
    hands.wall += HOUR
    assert clock.now() == 1000 + HOUR
    hands.forward(5)
    assert clock.now() == 1005 + HOUR


def test_after_a_sleep_it_is_awake() -> None:
    # A machine that sleeps: the wall clock goes on, the steady one does not.
    hands = Hands(1000)
    clock = hands.clock()
    hands.wall += 8 * HOUR
    hands.steady += 1
    assert clock.now() == 1000 + 8 * HOUR


def test_a_wall_clock_that_is_set_back_halves_its_speed_until_it_has_caught_up() -> None:
    """
    wall   ──▶ 10 000 │ set back to 9 000 ──▶ 9 400 ──▶ 10 400 ──▶ 11 200
    clock  ──▶ 10 000 │            10 000 ──▶ 10 200 ─▶ 10 700 ──▶ 11 200
    """
    hands = Hands(10_000)
    clock = hands.clock()
    hands.wall -= 1000
    assert clock.now() == 10_000
    readings = []
    for passed in (400, 1000, 800):
        hands.forward(passed)
        readings.append(clock.now())
    assert readings == [10_200, 10_700, 11_200]


def test_set_back_by_an_hour_it_never_goes_back_and_never_stands_still() -> None:
    hands = Hands(2 * HOUR)
    clock = hands.clock()
    hands.wall -= HOUR
    readings = [clock.now()]
    for _ in range(130):
        hands.forward(60_000)
        readings.append(clock.now())
    assert readings[0] == 2 * HOUR
    assert all(later - earlier >= 30_000 for earlier, later in zip(readings, readings[1:]))
    assert readings[119] < readings[120] == hands.wall - 10 * 60_000  # caught up after two hours
    assert readings[-1] == hands.wall


def test_it_starts_at_its_floor() -> None:
    hands = Hands(1000)
    clock = hands.clock(5000)
    assert clock.now() == 5000
    hands.forward(100)
    assert clock.now() == 5050
    assert Hands(9000).clock(5000).now() == 9000


@given(st.integers(0, 5000), st.lists(st.tuples(st.integers(-3000, 3000), st.integers(0, 1000)), max_size=30))
@with_settings(max_examples=examples(100), deadline=None)
def test_whatever_the_wall_clock_does(floor: int, moves: list[tuple[int, int]]) -> None:
    hands = Hands(10_000)
    clock = hands.clock(floor)
    before = clock.now()
    for wall, steady in moves:
        hands.wall += wall
        hands.steady += steady
        now = clock.now()
        # Readings are whole milliseconds, cut off; hence the ones.
        assert now >= before and now >= hands.wall - 1 and now - before > steady / 2 - 1
        assert now <= max(hands.wall, before + 2 + steady / 2)
        before = now
