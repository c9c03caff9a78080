"""Wrong tokens: the first ones are free, then their address waits, and nobody else does."""

from __future__ import annotations

from csparql_spark.server.http import attempts
from csparql_spark.server.http.attempts import FREE, SPAN_SECONDS, Attempts


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_who_is_wrong_too_often_waits_and_nobody_else() -> None:
    clock = Hands()
    made = Attempts(clock)
    for _ in range(FREE):
        assert made.wait("a") == 0
        made.failed("a")
        clock.now += 1
    assert (made.wait("a"), made.wait("b")) == (int(SPAN_SECONDS) - FREE, 0)
    clock.now += SPAN_SECONDS - FREE - 0.5
    assert made.wait("a") == 1
    clock.now += 0.5
    assert made.wait("a") == 0
    made.failed("a")
    assert made.wait("a") == 0


def test_wrong_ones_that_are_far_apart_do_not_add_up() -> None:
    clock = Hands()
    made = Attempts(clock)
    for _ in range(3 * FREE):
        made.failed("a")
        clock.now += SPAN_SECONDS / (FREE - 1)
        assert made.wait("a") == 0


def test_it_remembers_so_many_addresses_and_no_more(monkeypatch) -> None:
    monkeypatch.setattr(attempts, "ADDRESSES", 2)
    made = Attempts(Hands())
    for address in ("a", "b", "c"):
        for _ in range(FREE):
            made.failed(address)
    assert [bool(made.wait(address)) for address in ("a", "b", "c")] == [False, True, True]
