from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark import lifeline
from csparql_spark.lifeline import Lifeline

HOLDING = """
import subprocess, sys, time
from pathlib import Path
from csparql_spark import lifeline
if sys.argv[3] == "thread":
    lifeline.F_SETSIG = None
lifeline.hold(int(sys.argv[1]) if sys.argv[1].isdigit() else Path(sys.argv[1]))
with subprocess.Popen([sys.executable, "-c", sys.argv[2]]):
    time.sleep(30)
    print("the child has survived", flush=True)
"""
GRANDCHILD = "import time; print('begun', flush=True); time.sleep(30); print('the grandchild has survived', flush=True)"
# The regular expression is C that never gives up the lock of the interpreter: no other thread comes to its turn.
HANGING = """
import re, sys
from csparql_spark import lifeline
lifeline.hold(int(sys.argv[1]))
print("begun", flush=True)
re.match("(a+)+$", "a" * 80 + "b")
"""
linux = pytest.mark.skipif(lifeline.F_SETSIG is None, reason="only Linux's kernel kills for what happens to a pipe")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue  # the test has closed it


def begun(*words: str, descriptors: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", *words], stdout=subprocess.PIPE, pass_fds=descriptors, start_new_session=True
    )


def ended(child: subprocess.Popen[bytes]) -> bool:
    """Killed, with all that it has started: the pipe of what they print has an end when nobody could print any more."""
    return child.stdout.read() == b"" and child.wait() == -signal.SIGKILL


@pytest.mark.parametrize("way", [pytest.param("kernel", marks=linux), "thread"])
def test_a_process_and_what_it_has_started_end_with_the_other_end(pipe: tuple[int, int], way: str) -> None:
    reading, writing = pipe
    with begun(HOLDING, str(reading), GRANDCHILD, way, descriptors=(reading,)) as child:
        assert child.stdout.readline() == b"begun\n" and child.poll() is None
        os.close(writing)
        assert ended(child)


@linux
def test_a_process_that_hangs_ends_too(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    with begun(HANGING, str(reading), descriptors=(reading,)) as child:
        assert child.stdout.readline() == b"begun\n"
        os.close(writing)
        assert ended(child)


@linux
def test_a_process_that_is_stopped_ends_too(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    with begun(HOLDING, str(reading), GRANDCHILD, "kernel", descriptors=(reading,)) as child:
        assert child.stdout.readline() == b"begun\n"
        os.killpg(child.pid, signal.SIGSTOP)
        os.waitpid(child.pid, os.WUNTRACED)
        os.close(writing)
        assert ended(child)


@linux
def test_children_that_share_an_end_are_all_killed(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    children = [begun(HANGING, str(reading), descriptors=(reading,)) for _ in range(3)]
    assert [child.stdout.readline() for child in children] == [b"begun\n"] * 3
    os.close(writing)
    for child in children:
        with child:
            assert ended(child)


@pytest.mark.parametrize("way", [pytest.param("kernel", marks=linux), "thread"])
def test_a_line_that_was_cut_before_it_was_held(pipe: tuple[int, int], way: str) -> None:
    reading, writing = pipe
    os.close(writing)
    with begun(HOLDING, str(reading), "import time; time.sleep(30)", way, descriptors=(reading,)) as child:
        assert ended(child)


@pytest.mark.parametrize("way", [pytest.param("kernel", marks=linux), "thread"])
def test_a_line_with_a_name_is_found_by_those_who_inherit_nothing(tmp_path: Path, way: str) -> None:
    line = Lifeline(tmp_path / "line")
    assert (tmp_path / "line").stat().st_mode & 0o777 == 0o600
    with begun(HOLDING, str(tmp_path / "line"), GRANDCHILD, way) as child:
        assert child.stdout.readline() == b"begun\n" and child.poll() is None
        line.cut()
        assert ended(child)
    os.close(line.reading)


@linux
def test_a_program_that_knows_nothing_of_it_is_tied(tmp_path: Path) -> None:
    line = Lifeline(tmp_path / "line")
    with begun(GRANDCHILD, descriptors=(line.reading,)) as child:
        line.tie(child.pid)
        assert child.stdout.readline() == b"begun\n" and child.poll() is None
        line.cut()
        assert ended(child)


@linux
def test_who_holds_an_earlier_line_does_not_hold_the_next_one(tmp_path: Path) -> None:
    earlier = Lifeline(tmp_path / "line")
    with begun(HOLDING, str(tmp_path / "line"), GRANDCHILD, "kernel") as child:
        assert child.stdout.readline() == b"begun\n"
        later = Lifeline(tmp_path / "line")
        earlier.cut()
        assert ended(child)
    later.cut()
    os.close(earlier.reading)
    os.close(later.reading)


def test_a_child_that_has_ended_by_itself_was_not_killed(pipe: tuple[int, int]) -> None:
    reading, _ = pipe
    with begun(
        "import sys; from csparql_spark import lifeline; lifeline.hold(int(sys.argv[1])); print('done')",
        str(reading),
        descriptors=(reading,),
    ) as child:
        assert child.stdout.read() == b"done\n" and child.wait() == 0
