"""Whoever is stopped or killed, zygote or child, before a piece of work has begun: it is done all the same, by another
one, or the server is said to be busy; and nothing stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from csparql_spark.answers.limits import Limits, Overloaded
from csparql_spark.asking.guarded import Crowded, Pool, children
from csparql_spark.asking.guarded.pool import TEXT
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from tests.asking.guarded import deeds

ROOMY = Limits(milliseconds=60_000)
MEMORY = 128 << 20


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Its children are given up soon, and ended with it."""
    children.stop()
    monkeypatch.setattr(children, "BEGIN_SECONDS", 0.8)
    monkeypatch.setattr(children, "_LOOK_SECONDS", 0.2)
    with contextlib.closing(Pool(memory=MEMORY)) as made:
        yield made
    children.stop()


def done(guarded: Pool, work: Callable[..., bytes], *arguments: object, limits: Limits = ROOMY) -> bytes:
    with guarded.place("test") as place:
        return bytes(place.run(limits, work, *arguments))


def waiting(guarded: Pool, count: int) -> list[int]:
    """So many children that wait, by their numbers."""
    taken = [guarded.take() for _ in range(count)]
    for one in taken:
        one.lasts = True
        guarded.give_back(one)
    found: set[int] = set()
    for one in taken:
        (_, _, number) = one.ask(message(deeds.number), 60.0)
        found.add(int(number))
    assert len(found) == count
    return sorted(found)


def message(function: Callable[..., bytes]) -> list[bytes]:
    return [json.dumps({"seconds": 60.0, "memory": MEMORY}).encode(), pickle.dumps((function, ()))]


def state(process: int) -> str | None:
    """As the kernel has it; None if it is gone, or only waits for being buried."""
    try:
        kind = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None
    return None if kind in "ZX" else kind


def stopped(process: int) -> int:
    """Whom nobody wakes any more; returned when the kernel has done it."""
    os.kill(process, signal.SIGSTOP)
    while state(process) not in ("T", None):
        threading.Event().wait(0.001)
    return process


def gone(process: int) -> None:
    while state(process) is not None:
        threading.Event().wait(0.001)


def zygote() -> int:
    children.start()
    assert children._running is not None
    return children._running.process.pid


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_zygote_that_is_stopped_is_replaced(guarded: Pool) -> None:
    hung = stopped(zygote())
    assert done(guarded, deeds.echo, b"done") == b"done"
    assert zygote() != hung
    gone(hung)


def test_a_zygote_that_is_stopped_beside_children_that_wait_is_noticed_when_it_is_needed(guarded: Pool) -> None:
    (one,) = waiting(guarded, 1)
    hung = stopped(zygote())
    assert int(done(guarded, deeds.number)) == one  # which needs no zygote
    stopped(one)
    assert done(guarded, deeds.echo, b"done") == b"done"
    gone(hung)
    gone(one)


def test_how_a_child_has_ended_is_found_out_though_its_zygote_is_stopped(
    guarded: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody tells that its time was over; so it is tried again, and a zygote is there that does."""
    monkeypatch.setattr(children, "LAST_WORDS", 0.2)
    waiting(guarded, 1)
    hung = stopped(zygote())
    with pytest.raises(Exception, match="takes longer than 0.2 s of processor time"):
        done(guarded, deeds.spin, limits=Limits(milliseconds=200))
    gone(hung)


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_children_that_are_stopped_or_killed_while_they_wait_are_nobodys_fault(guarded: Pool, number: int) -> None:
    """More of them than it is tried with: the next one is new."""
    idle = waiting(guarded, 5)
    for process in idle:
        os.kill(process, number)
    for _ in range(6):
        assert done(guarded, deeds.echo, b"done") == b"done"
        assert guarded.attempt(TEXT, lambda place: place.run(ROOMY, deeds.echo, b"text")) == b"text"


def test_a_child_that_is_stopped_is_killed_where_it_was_not_begun(guarded: Pool) -> None:
    (one,) = waiting(guarded, 1)
    stopped(one)
    large = bytes(20 << 20)  # more than a socket takes: it is noticed while it is sent
    assert int(done(guarded, deeds.measured, large)) == len(large)
    gone(one)


def test_a_child_that_is_stopped_at_work_has_had_its_time(guarded: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.asking.guarded.pool.GRACE", 0.2)
    with pytest.raises(Overloaded, match=r"longer than 0\.1 s on the clock"):
        done(guarded, deeds.stop, limits=Limits(milliseconds=10))
    assert done(guarded, deeds.echo, b"done") == b"done"


@pytest.fixture
def stopped_at_start(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The next zygotes are stopped as soon as they are there: as many as the list has elements. They are not waited
    for, as others are."""
    times: list[int] = []

    def started(*arguments: object, **named: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(*arguments, **named)
        monkeypatch.setattr(children, "LONGEST_START", 0.5 if times else 60.0)
        if times:
            times.pop()
            stopped(process.pid)
        return process

    monkeypatch.setattr(children, "subprocess", SimpleNamespace(Popen=started, DEVNULL=subprocess.DEVNULL))
    return times


def test_a_zygote_that_hangs_in_its_start_is_started_once_more(guarded: Pool, stopped_at_start: list[int]) -> None:
    stopped_at_start.append(1)
    assert done(guarded, deeds.echo, b"there") == b"there"
    assert not stopped_at_start


def test_where_no_zygote_starts_all_who_wait_are_told_so_at_once(guarded: Pool, stopped_at_start: list[int]) -> None:
    """Two tries for all that have come meanwhile, and not two for each."""
    open_before = descriptors()
    stopped_at_start.extend(range(4))
    told: list[str] = []
    children._lock.acquire()  # so that both come before the first try has ended

    def ask(kind: str) -> None:
        with pytest.raises(Crowded) as crowded:
            guarded.attempt(kind, lambda place: place.run(ROOMY, deeds.echo, b"not there"))
        told.append(str(crowded.value))

    threads = [threading.Thread(target=ask, args=(kind,)) for kind in (TEXT, "test")]
    for thread in threads:
        thread.start()
    while guarded.working("texts") + guarded.working("small questions") < 2:
        threading.Event().wait(0.001)
    children._lock.release()
    for thread in threads:
        thread.join()
    assert (
        told
        == ["no process can be started that would work on it (it is not ready after 0.5 s): ask again in a moment"] * 2
    )
    assert len(stopped_at_start) in (0, 2)  # 0: the second has come to its turn only when the first had failed
    assert descriptors() == open_before
    stopped_at_start.clear()
    assert done(guarded, deeds.echo, b"there") == b"there"


@pytest.fixture
def stopped_before_forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the zygotes, each stopped before it is asked for a child."""
    zygotes: list[int] = []
    forked = children.fork

    def fork() -> children.GuardedChild:
        zygotes.append(stopped(zygote()))
        return forked()

    monkeypatch.setattr(children, "fork", fork)
    return zygotes


def test_where_no_child_ever_comes_the_server_is_busy(guarded: Pool, stopped_before_forks: list[int]) -> None:
    open_before = descriptors()
    with pytest.raises(Crowded, match="no process begins to work on it: ask again in a moment"):
        done(guarded, deeds.echo, b"not there")
    for process in stopped_before_forks:
        gone(process)
    assert len(set(stopped_before_forks)) == len(stopped_before_forks) == 3 and descriptors() == open_before


def test_a_registration_is_no_worse_for_a_zygote_that_hangs(
    guarded: Pool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with Backend(Settings(data=tmp_path, base_url="http://csparql.test")) as backend:
        client = create_app(backend).test_client()
        assert client.put("/streams/s").status_code == 201
        stopped(zygote())
        text = "SELECT ?s FROM STREAM <streams/s> [RANGE 2s] { ?s ?p ?o }"
        assert client.put("/queries/q", data=text).status_code == 201
        while backend.pool._idle:
            backend.pool._idle.pop().end()
        request.getfixturevalue("stopped_before_forks")
        busy = client.put("/queries/other", data=text)
        assert busy.status_code == 503 and busy.json["code"] == "busy" and busy.headers["Retry-After"] == "5"
        assert "no process begins to work on it: ask again in a moment" in busy.json["detail"].lower()


def test_under_a_crowd_all_is_done_or_the_server_is_busy_and_nothing_is_left(guarded: Pool) -> None:
    """Twelve that ask again and again; beside them children and zygotes are stopped and killed."""
    children.stop()
    open_before = descriptors()
    outcomes: list[object] = []

    def ask(number: int) -> None:
        for turn in range(6):
            said = b"%d of %d" % (turn, number)
            try:
                kind = ("test", TEXT, "other")[turn % 3]
                found = guarded.attempt(kind, lambda place: bytes(place.run(ROOMY, deeds.echo, said)))  # noqa: B023
                outcomes.append(found == said)
            except Exception as error:
                outcomes.append(error)

    crowd = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in crowd:
        thread.start()
    seen: set[int] = set()
    for turn in range(8):
        leader = zygote()
        family = {leader, *map(int, Path(f"/proc/{leader}/task/{leader}/children").read_text().split())}
        seen |= family
        for process in [leader] if turn % 4 == 3 else sorted(family - {leader}):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, (signal.SIGSTOP, signal.SIGKILL)[turn % 2])
        before = len(outcomes)
        while len(outcomes) < min(before + 4, 72) and any(thread.is_alive() for thread in crowd):
            threading.Event().wait(0.01)
    for thread in crowd:
        thread.join()
    # Who was at work when it was killed, three times, is told that nobody knows what it takes.
    assert len(outcomes) == 72
    assert all(one is True or isinstance(one, (Crowded, Overloaded)) for one in outcomes), outcomes
    assert outcomes.count(True) > 36
    assert done(guarded, deeds.echo, b"and now") == b"and now"
    assert not guarded.waiting and all(not one.lane.kinds for one in guarded._lanes.values())
    guarded.close()
    children.stop()
    for process in seen:
        gone(process)
    assert descriptors() == open_before
