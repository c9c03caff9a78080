from __future__ import annotations

import os
import select
import signal
import threading
import time
from pathlib import Path

import pytest

from csparql_spark import processor_time
from csparql_spark.answers.forked import Broken, Failed, TooLarge, TooSlow, apart

ROOM = 1 << 28


def test_what_it_finds_comes_back_and_what_it_changes_does_not() -> None:
    held: list[int] = []

    def work() -> bytes:
        held.append(1)
        return b"x" * 3_000_000 + str(os.getpid()).encode()

    said = apart(work, seconds=60, room=ROOM)
    assert said[:3_000_000] == b"x" * 3_000_000 and int(said[3_000_000:]) != os.getpid()
    assert held == []
    assert apart(bytes, seconds=60, room=ROOM) == b""


def children() -> set[int]:
    """The processes that this one has, zombies among them."""
    return {
        int(child) for task in Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split()
    }


def test_it_is_ended_when_its_time_is_over_and_no_child_is_left() -> None:
    before = children()  # other tests may have theirs
    for seconds in (0.0, 0.05):
        with pytest.raises(TooSlow) as caught:
            apart(work_for_ever, seconds=seconds, room=ROOM)
        assert caught.value.on_the_clock == (seconds == 0)
    assert children() == before


def test_its_time_is_that_of_the_processor_and_the_clock_has_patience() -> None:
    def wait(seconds: float) -> bytes:
        select.select([], [], [], seconds)
        return b"done"

    assert apart(lambda: wait(0.3), seconds=0.2, room=ROOM) == b"done"
    with pytest.raises(TooSlow) as caught:
        apart(lambda: wait(60), seconds=0.02, room=ROOM)
    assert caught.value.on_the_clock


def test_what_it_takes_is_time_of_the_thread_that_asks() -> None:
    begun = processor_time.now()
    with pytest.raises(TooSlow):
        apart(work_for_ever, seconds=0.2, room=ROOM)
    assert processor_time.now().processor - begun.processor >= 0.1  # a timer counts in ticks
    elsewhere: list[processor_time.Time] = []
    other = threading.Thread(target=lambda: elsewhere.append(processor_time.now()))
    other.start()
    other.join()
    assert elsewhere[0].processor < 0.1


def work_for_ever() -> bytes:
    while True:
        pass


def test_its_alarm_ends_it_if_nobody_else_does() -> None:
    child = os.fork()
    if child == 0:  # who asks is killed while it waits
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        apart(lambda: time.sleep(60) or b"", seconds=0.1, room=ROOM)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGALRM


def test_it_gets_no_more_memory_than_it_may_have() -> None:
    with pytest.raises(TooLarge):
        apart(lambda: b"x" * (2 * ROOM), seconds=60, room=ROOM)
    with pytest.raises(TooLarge):  # as a library does that ends the process when there is no more
        apart(lambda: os._exit(1), seconds=60, room=ROOM)
    assert len(apart(lambda: b"x" * (ROOM // 8), seconds=60, room=ROOM)) == ROOM // 8


def of_signal(number: signal.Signals) -> bytes:
    os.kill(os.getpid(), number)
    raise AssertionError


@pytest.mark.parametrize("number, on_the_clock", [(signal.SIGPROF, False), (signal.SIGALRM, True)])
def test_a_timer_that_ends_it_says_what_was_over(number: signal.Signals, on_the_clock: bool) -> None:
    with pytest.raises(TooSlow) as caught:
        apart(lambda: of_signal(number), seconds=60, room=ROOM)
    assert caught.value.on_the_clock == on_the_clock


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGILL])
def test_a_signal_that_ends_it_is_told_as_what_it_is(number: signal.Signals) -> None:
    """A stack that is full, say: that is not for want of memory."""
    with pytest.raises(Broken) as caught:
        apart(lambda: of_signal(number), seconds=60, room=ROOM)
    assert str(caught.value) == (
        f"it has ended the process that worked on it ({number.name}): ask for less, or nest it less"
    )
    with pytest.raises(TooLarge):  # so Rust ends where it gets none
        apart(lambda: of_signal(signal.SIGABRT), seconds=60, room=ROOM)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_who_kills_it_changes_nothing(tmp_path: Path, number: signal.Signals) -> None:
    def work() -> bytes:
        killed = len(list(tmp_path.iterdir()))
        if killed < 2:
            (tmp_path / str(killed)).touch()
            os.kill(os.getpid(), number)
        return b"found"

    assert apart(work, seconds=60, room=ROOM) == b"found" and len(list(tmp_path.iterdir())) == 2


def test_where_all_are_killed_there_is_no_room(tmp_path: Path) -> None:
    def work() -> bytes:
        (tmp_path / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    before = children()
    with pytest.raises(TooLarge):
        apart(work, seconds=60, room=ROOM)
    assert len(list(tmp_path.iterdir())) == 3 and children() == before


def test_its_error_is_told() -> None:
    def work() -> bytes:
        raise ValueError("no: é")

    with pytest.raises(Failed, match="no: é"):
        apart(work, seconds=60, room=ROOM)
