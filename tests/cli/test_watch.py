"""Whether a child lives or hangs, by a clock that is moved by hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from csparql_spark.cli.serve import engine_watch, web_watch
from csparql_spark.cli.watch import Watch, Work, work_of
from csparql_spark.disk import DataDirectory
from csparql_spark.pulse import DRIVER, FRONT, JOB, Pulse
from csparql_spark.settings import Settings

LIFE = 30.0
PID = 4711


class Stage:
    """A watch, a child whose signs are given by hand, and what its processes have done."""

    def __init__(self, path: Path, *signs: str, labours: bool = False) -> None:
        self.path = path
        self.now = 5000.0
        self.work: Work | None = Work({PID: 7.0})
        self.looks_at_work = 0
        self.watch = Watch(path, {sign: f"<{sign}>" for sign in signs}, LIFE, labours=labours, work_of=self._work_of)
        self.watch.begin(self.now)

    def _work_of(self, session: int) -> Work | None:
        assert session == PID
        self.looks_at_work += 1
        return self.work

    def beat(self, *signs: str) -> None:
        for sign in signs:
            Pulse(self.path, sign).beat()

    def hung_after(self, most: float, *beating: str, step: float = 0.5, share: float = 0.0) -> float | None:
        """After how many seconds something is said to hang, if some beat all the time and a share of a processor is
        used."""
        begun = self.now
        while self.now - begun < most:
            self.now += step
            self.beat(*beating)
            if self.work is not None:
                self.work = Work({PID: self.work.seconds[PID] + share * step}, self.work.disk)
            if self.watch.look(PID, self.now) is not None:
                return self.now - begun
        return None


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    made: list[Stage] = []

    def make(*signs: str, labours: bool = False) -> Stage:
        made.append(Stage(tmp_path / "life.bell", *signs, labours=labours))
        return made[-1]

    yield make
    for one in made:
        one.watch.end()


def test_who_gives_signs_lives(stage: Callable[..., Stage]) -> None:
    assert stage(FRONT).hung_after(3600, FRONT) is None


def test_who_gives_none_any_more_hangs(stage: Callable[..., Stage]) -> None:
    server = stage(FRONT)
    server.hung_after(100, FRONT)
    assert server.hung_after(100) == LIFE
    assert server.watch.look(PID, server.now) == "<f> has given no sign of life for 30 s"


def test_a_sign_in_the_last_moment_is_a_sign(stage: Callable[..., Stage]) -> None:
    server = stage(FRONT)
    server.hung_after(1, FRONT)
    for _ in range(5):
        assert server.hung_after(LIFE - 1) is None
        assert server.hung_after(1, FRONT) is None


def test_who_starts_has_ten_times_as_long(stage: Callable[..., Stage]) -> None:
    assert stage(FRONT).hung_after(10_000) == 10 * LIFE
    engine = stage(DRIVER, JOB, labours=True)
    assert engine.hung_after(10 * LIFE - 1, DRIVER) is None, "Spark starts, and what reads the log has not begun"
    engine.beat(JOB)
    assert engine.hung_after(1000, DRIVER) == 0.5 + LIFE, "it is heard at the next look"


def test_each_sign_is_asked_for_and_one_does_not_stand_for_another(stage: Callable[..., Stage]) -> None:
    for silent, other in ((DRIVER, JOB), (JOB, DRIVER)):
        engine = stage(DRIVER, JOB, labours=True)
        engine.hung_after(5, DRIVER, JOB)
        assert engine.hung_after(100, other) == LIFE
        assert engine.watch.look(PID, engine.now) == f"<{silent}> has given no sign of life for 30 s"


def test_an_engine_that_works_does_not_hang_however_long_it_takes(stage: Callable[..., Stage]) -> None:
    engine = stage(DRIVER, JOB, labours=True)
    engine.hung_after(5, DRIVER, JOB)
    assert engine.hung_after(3600, share=0.06) is None
    assert engine.hung_after(3600, share=1.0) is None
    stopped = engine.hung_after(3600)
    assert stopped is not None and LIFE - 2 <= stopped <= 2 * LIFE, "when it works no more, that is noticed, too"


def test_what_a_jvm_uses_that_has_nothing_to_do_is_no_work(stage: Callable[..., Stage]) -> None:
    engine = stage(DRIVER, JOB, labours=True)
    engine.hung_after(5, DRIVER, JOB)
    assert engine.hung_after(3600, DRIVER, share=0.04) == LIFE


def test_who_waits_for_the_disk_does_not_hang(stage: Callable[..., Stage]) -> None:
    engine = stage(DRIVER, JOB, labours=True)
    engine.hung_after(5, DRIVER, JOB)
    engine.work = Work({PID: 8.0}, disk=True)
    assert engine.hung_after(600) is None


def test_a_web_process_that_serves_nobody_hangs_however_busy_it_is(stage: Callable[..., Stage]) -> None:
    server = stage(FRONT)
    server.hung_after(5, FRONT)
    assert server.hung_after(600, share=1.0) == LIFE
    assert server.looks_at_work == 0


def test_where_there_is_no_telling_what_is_done_nobody_is_said_to_hang(stage: Callable[..., Stage]) -> None:
    engine = stage(DRIVER, JOB, labours=True)
    engine.hung_after(5, DRIVER, JOB)
    engine.work = None
    assert engine.hung_after(3600) is None


def test_work_is_looked_for_only_in_a_silence(stage: Callable[..., Stage]) -> None:
    engine = stage(DRIVER, JOB, labours=True)
    assert engine.hung_after(600, DRIVER, JOB) is None
    assert engine.looks_at_work == 0


@pytest.mark.parametrize("hours", [1, 100])
def test_a_sleep_of_the_machine_or_of_the_supervisor_is_not_theirs(stage: Callable[..., Stage], hours: int) -> None:
    server, engine = stage(FRONT), stage(DRIVER, JOB, labours=True)
    for one, signs in ((server, (FRONT,)), (engine, (DRIVER, JOB))):
        one.watch.begin(one.now)
        one.hung_after(5, *signs)
        one.hung_after(10)
        one.now += 3600 * hours
        assert one.watch.look(PID, one.now) is None
        assert one.hung_after(LIFE - 12) is None, "as long as before is left of its time"
        assert one.hung_after(60) == pytest.approx(1.0)


def test_the_next_child_begins_anew(stage: Callable[..., Stage]) -> None:
    server = stage(FRONT)
    server.hung_after(5, FRONT)
    assert server.hung_after(100) == LIFE
    server.watch.end()
    assert server.hung_after(1000) is None
    server.watch.begin(server.now)
    assert server.hung_after(1000) == 10 * LIFE


def test_work_is_what_processes_have_done_since() -> None:
    before = Work({1: 5.0, 2: 3.0, 3: 9.0})
    assert Work({1: 5.5, 2: 3.0, 4: 0.25}).since(before) == 0.75, "one has ended, one has come"


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only Linux tells what processes have done")
def test_the_work_of_a_session_is_that_of_all_its_process_groups() -> None:
    program = "import os, time; os.setpgid(0, 0); print(os.getpid(), flush=True)\nwhile time.process_time() < 0.2: pass\nprint(0, flush=True); input()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", parent], start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        child = int(started.stdout.readline())
        started.stdout.readline()
        work = work_of(started.pid)
        assert work is not None and set(work.seconds) == {started.pid, child}
        assert work.seconds[child] >= 0.19
        os.kill(child, signal.SIGKILL)
    assert work_of(started.pid) is None


def test_the_settings_say_who_is_asked_for_what(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    settings = Settings(data=tmp_path)
    assert set(web_watch(settings, directory)._names) == {FRONT}
    assert set(engine_watch(settings, directory)._names) == {DRIVER, JOB}
    cluster = Settings(data=tmp_path, master="spark://host:7077")
    assert set(engine_watch(cluster, directory)._names) == {DRIVER}, "its workers are elsewhere"
    never = Settings(data=tmp_path, life_seconds=0)
    assert web_watch(never, directory) is None and engine_watch(never, directory) is None
