from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest

from csparql_spark import lifeline
from csparql_spark.cli import processes
from csparql_spark.cli.processes import Child, Supervisor

SUPERVISE = """
import sys
from csparql_spark import lifeline
from csparql_spark.cli import processes
processes.GRACE_SECONDS = 1.0
named = zip(sys.argv[1::2], sys.argv[2::2])
processes.Supervisor([processes.Child(name, [sys.executable, "-c", program]) for name, program in named]).run()
"""
# Whoever outlives its supervisor says so, in the end.
LINGER = "time.sleep(60); print('has survived', flush=True)"
HOLD = "import os, signal, subprocess, sys, time; from csparql_spark import lifeline; lifeline.hold(int(sys.argv[2]))"
# In one write: several children share the pipe, and an unbuffered Python prints the end of the line by itself.
SAY = "os.write(1, (str(os.getpid()) + chr(10)).encode())"
STEADY = f"{HOLD}; {SAY}; {LINGER}"
STUBBORN = f"{HOLD}; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SAY}; {LINGER}"
QUITTER = f"{HOLD}; {SAY}; sys.exit(1)"
# The regular expression is C that never gives up the lock of the interpreter: no other thread comes to its turn.
HANGING = f'{HOLD}; {SAY}; import re; re.match("(a+)+$", "a" * 80 + "b")'
PARENT = f'{HOLD}; subprocess.Popen([sys.executable, "-c", "import time; {LINGER}"]); {SAY}; {LINGER}'


class Supervised:
    """A supervisor in a process of its own, and what it and its children print."""

    def __init__(self, **programs: str) -> None:
        words = [word for named in programs.items() for word in named]
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def line(self) -> str:
        return self.process.stdout.readline().rstrip("\n")

    def rest(self) -> list[str]:
        """What is printed until nobody is left who could print."""
        return self.process.stdout.read().splitlines()


@pytest.fixture
def supervised() -> Iterator[object]:
    made: list[Supervised] = []

    def make(**programs: str) -> Supervised:
        made.append(Supervised(**programs))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()  # the children's lifelines are cut with it
        one.process.wait()
        one.process.stdout.close()


def test_a_child_that_was_killed_comes_back_at_once(supervised: object) -> None:
    server = supervised(steady=STEADY)
    first = int(server.line())
    os.kill(first, signal.SIGKILL)
    assert server.line() == "csparql-spark: the steady process has ended (killed by SIGKILL); it is started again"
    assert int(server.line()) != first


def test_one_child_comes_back_and_the_other_is_left_alone(supervised: object) -> None:
    server = supervised(one=STEADY, other=STEADY)
    first, second = int(server.line()), int(server.line())
    os.kill(first, signal.SIGKILL)
    assert server.line().endswith("process has ended (killed by SIGKILL); it is started again")
    assert int(server.line()) not in (first, second)
    os.kill(second, 0)


def test_what_a_child_has_left_behind_ends_with_it(supervised: object) -> None:
    server = supervised(parent=PARENT)
    os.kill(int(server.line()), signal.SIGKILL)
    assert server.line() == "csparql-spark: the parent process has ended (killed by SIGKILL); it is started again"
    server.line()
    server.process.terminate()
    assert server.rest() == []


def test_a_child_that_gives_up_comes_back_after_a_pause_that_grows(supervised: object) -> None:
    server = supervised(quitter=QUITTER)
    assert server.line().isdigit()
    ended = "csparql-spark: the quitter process has ended (exit code 1); it is started again in"
    assert server.line() == f"{ended} 0.5 s"
    assert server.line().isdigit()
    assert server.line() == f"{ended} 1.0 s"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_in_a_row_end_it_and_nobody_survives(supervised: object, number: signal.Signals) -> None:
    server = supervised(steady=STEADY, stubborn=STUBBORN, parent=PARENT)
    assert all(server.line().isdigit() for _ in range(3))
    for _ in range(2):
        server.process.send_signal(number)
    assert server.rest() == ["csparql-spark: the stubborn process did not end in time and is killed"]
    assert server.process.wait() == 0


def test_a_signal_may_come_in_the_middle_of_another_one() -> None:
    """Wherever the second one comes: it must not wait for the first, which goes on only after it."""
    supervisor = Supervisor([])
    interruptions = []

    def interrupt(frame: FrameType, event: str, argument: object) -> object:
        interruptions.append(event)
        supervisor._stop(signal.SIGTERM, frame)
        return interrupt

    def stop() -> None:
        sys.settrace(interrupt)
        supervisor._stop(signal.SIGTERM, None)
        sys.settrace(None)

    first = threading.Thread(target=stop, daemon=True)
    first.start()
    first.join(10)
    assert not first.is_alive()
    assert "line" in interruptions and supervisor._stopping


def test_when_it_is_killed_the_children_end_too(supervised: object) -> None:
    server = supervised(steady=STEADY, stubborn=STUBBORN, parent=PARENT)
    assert all(server.line().isdigit() for _ in range(3))
    server.process.kill()
    assert server.rest() == []


@pytest.mark.skipif(lifeline.F_SETSIG is None, reason="only Linux's kernel ends what hangs")
def test_when_it_is_killed_children_that_hang_end_too(supervised: object) -> None:
    server = supervised(hanging=HANGING, stopped=STEADY, another=HANGING)
    processes = [int(server.line()) for _ in range(3)]
    for process in processes:
        os.kill(process, signal.SIGSTOP if process == processes[0] else signal.SIGCONT)
    server.process.kill()
    assert server.rest() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_in_the_background_of_a_script_it_is_ended_by_either_signal_too(
    supervised: object, number: signal.Signals
) -> None:
    """A shell without job control has its jobs in the background ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server = supervised(steady=STEADY)
    finally:
        signal.signal(signal.SIGINT, before)
    assert server.line().isdigit()
    server.process.send_signal(number)
    assert server.rest() == [] and server.process.wait() == 0


def test_a_child_comes_back_though_its_log_was_deleted_with_its_directory(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    log = tmp_path / "engine" / "engine.log"
    child = Child("child", [sys.executable, "-c", "print('here')"], log=log)
    Supervisor([child])._start(child, reading)
    assert child.process.wait() == 0 and log.read_text() == "here\n"
    os.close(reading)
    os.close(writing)


# --- pauses, by a clock that is moved by hand


class Stage:
    """A supervisor of one child, whose lives are told beforehand: how long each is, and its exit code."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *lives: tuple[float, int]) -> None:
        self.now = 1000.0
        self.lives = iter(lives)
        self.starts: list[float] = []
        monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(Supervisor, "_start", self.start)
        monkeypatch.setattr(Supervisor, "_bury", lambda supervisor, child: None)
        self.child = Child("child", [])
        self.supervisor = Supervisor([self.child], lambda line: None)

    def start(self, child: Child, lifeline: int) -> None:
        self.starts.append(self.now)
        length, code = next(self.lives)
        end = self.now + length
        child.started = self.now
        child.process = SimpleNamespace(returncode=code, poll=lambda: code if self.now >= end else None)

    def pauses(self, lives: int) -> list[float]:
        """How long it waits after each of so many lives, in steps of 0.5 s."""
        pauses = []
        self.supervisor._look(0)
        for _ in range(lives):
            while self.child.process is not None:
                self.now += 0.5
                self.supervisor._look(0)
            ended = self.now
            self.supervisor._look(0)
            while self.child.process is None:
                self.now += 0.5
                self.supervisor._look(0)
            pauses.append(self.starts[-1] - ended)
        return pauses


def test_pauses_grow_to_a_longest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, *[(1.0, 1)] * 9)
    assert stage.pauses(8) == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]


def test_pauses_begin_anew_after_a_long_life_or_a_violent_death(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, (1.0, 1), (1.0, 1), (1.0, -9), (1.0, 1), (1.0, 1), (60.0, 1), (1.0, 1), (1.0, 1))
    assert stage.pauses(7) == [0.5, 1.0, 0.0, 0.5, 1.0, 0.0, 0.5]


def test_it_is_asked_whether_it_is_ready_until_it_is_and_again_in_each_life() -> None:
    reading, writing = os.pipe()
    answers, asked = iter([False, False, True, False, True]), []

    def ready(process: int) -> bool:
        asked.append(process)
        return next(answers)

    child = Child("child", [sys.executable, "-c", STEADY.replace(SAY, "pass")], ready=ready)
    supervisor = Supervisor([child], lambda line: None)
    supervisor._start(child, reading)
    first = child.process
    for _ in range(5):
        supervisor._look(reading)
    assert asked == [first.pid] * 3
    first.kill()
    first.wait()
    for _ in range(5):
        supervisor._look(reading)
    assert asked == [first.pid] * 3 + [child.process.pid] * 2 and child.process.pid != first.pid
    supervisor._end()
    os.close(reading)
    os.close(writing)


# --- who hangs

BEAT = "from pathlib import Path; from csparql_spark.pulse import Pulse; pulse = Pulse(Path({path!r}), 'f')"
BEATING = f"{HOLD}; {BEAT}; pulse.beat(); {SAY}\nwhile True: pulse.beat(); time.sleep(0.01)"
ONCE = f"{HOLD}; {BEAT}; pulse.beat(); {SAY}; {LINGER}"
WATCHED = """
import sys
from pathlib import Path
from csparql_spark.cli import processes
from csparql_spark.cli.watch import Watch
path, program = sys.argv[1:]
watch = Watch(Path(path), {"f": "its thread"}, 0.5)
processes.Supervisor([processes.Child("child", [sys.executable, "-c", program], watch=watch)]).run()
"""


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    path, made = str(tmp_path / "life.bell"), []

    def make(program: str) -> Supervised:
        one = Supervised.__new__(Supervised)
        one.process = subprocess.Popen(
            [sys.executable, "-c", WATCHED, path, program.replace("{path!r}", repr(path))],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        made.append(one)
        return one

    yield make
    for one in made:
        one.process.kill()
        one.process.wait()
        one.process.stdout.close()


@pytest.mark.parametrize("program", [BEATING, ONCE], ids=["stopped", "silent"])
def test_a_child_that_hangs_is_killed_and_started_again(watched: object, program: str) -> None:
    server = watched(program)
    first = int(server.line())
    if program == BEATING:
        os.kill(first, signal.SIGSTOP)
    assert (
        server.line()
        == "csparql-spark: the child process hangs: its thread has given no sign of life for 0.5 s; it is killed"
    )
    assert server.line() == "csparql-spark: the child process has ended (killed by SIGKILL); it is started again"
    assert int(server.line()) != first


def test_a_disk_on_which_no_pipe_can_be_made_is_no_reason_not_to_start(tmp_path: Path) -> None:
    said: list[str] = []
    reading, writing = os.pipe()
    watch = processes.Watch(tmp_path / "gone" / "life.bell", {"f": "its thread"}, 0.5)
    child = Child("child", [sys.executable, "-c", ""], watch=watch)
    Supervisor([child], said.append)._start(child, reading)
    assert child.process.wait() == 0
    (sentence,) = said
    assert sentence.startswith("csparql-spark: whether the child process hangs cannot be told (")
    assert watch.look(child.process.pid, child.started + 100_000) is None
    os.close(reading)
    os.close(writing)
