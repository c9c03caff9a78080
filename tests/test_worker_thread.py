"""A worker thread: woken, or when its time has come; it says of what fails once, and stops at once."""

from __future__ import annotations

import queue
import threading

import pytest

from csparql_spark.worker_thread import Trouble, WorkerThread

PATIENCE = 20.0
DISK = Trouble((OSError,), "nothing was done", 0.0)


def is_alive(name: str) -> bool:
    return name in {thread.name for thread in threading.enumerate()}


class Work:
    """What a worker does: whether it was woken each time; it fails as often, and as, it is said."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.done: queue.Queue[bool] = queue.Queue()

    def __call__(self, woken: bool) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.done.put(woken)

    def next(self) -> bool:
        return self.done.get(timeout=PATIENCE)


def test_it_works_when_it_is_woken() -> None:
    work = Work()
    worker = WorkerThread("test", work, DISK)
    worker.wake()  # before it is there: that is not lost
    worker.start()
    assert work.next() is True and is_alive("test")
    worker.wake()
    assert work.next() is True
    worker.stop()
    assert work.done.empty() and not is_alive("test")


def test_it_works_when_the_time_has_come() -> None:
    work, pauses = Work(), iter([0.0, 0.0])
    worker = WorkerThread("test", work, DISK, pause=lambda: next(pauses, None))
    worker.start()
    assert [work.next(), work.next()] == [False, False]
    worker.stop()
    assert work.done.empty()


def test_wakes_while_it_works_are_one() -> None:
    working, go_on, rounds = threading.Event(), threading.Event(), []

    def work(woken: bool) -> None:
        rounds.append(woken)
        working.set()
        assert go_on.wait(PATIENCE)
        if len(rounds) == 2:
            over.set()

    over = threading.Event()
    worker = WorkerThread("test", work, DISK)
    worker.wake()
    worker.start()
    assert working.wait(PATIENCE)
    for _ in range(3):
        worker.wake()
    go_on.set()
    assert over.wait(PATIENCE)
    worker.stop()
    assert rounds == [True, True]


def test_what_keeps_failing_is_said_once_until_it_works_again(capfd: pytest.CaptureFixture[str]) -> None:
    full, gone = OSError("the disk is full"), OSError("the disk is gone")
    work = Work(full, full, full, gone, full)
    worker = WorkerThread("test", work, DISK)
    worker.wake()
    worker.start()
    assert work.next() is True  # who fails looks at everything again
    work.errors = [full]
    worker.wake()
    assert work.next() is True
    worker.stop()
    said = [f"csparql-spark: nothing was done: the disk is {how}\n" for how in ("full", "gone", "full", "full")]
    assert capfd.readouterr().err == "".join(said)


@pytest.mark.parametrize("seconds", [0.0, 1e6])
def test_it_stops_at_once_asleep_and_after_a_failure(seconds: float, capfd: pytest.CaptureFixture[str]) -> None:
    failed = threading.Event()

    def work(_woken: bool) -> None:
        failed.set()
        raise OSError("the disk is full")

    asleep = WorkerThread("test", work, DISK, pause=lambda: 1e6)
    asleep.start()
    asleep.stop()
    assert not is_alive("test") and not failed.is_set()
    failing = WorkerThread("test", work, Trouble((OSError,), "nothing was done", seconds))
    failing.wake()
    failing.start()
    assert failed.wait(PATIENCE)
    failing.stop()
    assert not is_alive("test")


def test_one_that_never_began_is_stopped() -> None:
    worker = WorkerThread("test", Work(), DISK)
    worker.stop()
    assert worker.stopped.is_set() and not is_alive("test")
