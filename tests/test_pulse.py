from __future__ import annotations

import os
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from csparql_spark import pulse
from csparql_spark.pulse import DRIVER, FRONT, JOB, Pulse, Signs


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    moved = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(pulse, "time", SimpleNamespace(monotonic=lambda: moved.now))
    return moved


def test_each_sign_is_heard_once(tmp_path: Path, clock: SimpleNamespace) -> None:
    signs = Signs(tmp_path / "life.bell")
    driver, job = Pulse(tmp_path / "life.bell", DRIVER), Pulse(tmp_path / "life.bell", JOB)
    assert signs.heard() == set()
    driver.beat()
    job.beat()
    assert signs.heard() == {DRIVER, JOB}
    assert signs.heard() == set()
    signs.close()


def test_it_beats_four_times_a_second_at_most(tmp_path: Path, clock: SimpleNamespace) -> None:
    signs, front = Signs(tmp_path / "life.bell"), Pulse(tmp_path / "life.bell", FRONT)
    heard = []
    for _ in range(8):
        front.beat()
        heard.append(signs.heard())
        clock.now += 0.125
    assert heard == [{FRONT}, set()] * 4
    signs.close()


def test_along_what_takes_long_there_is_a_beat_with_each(tmp_path: Path, clock: SimpleNamespace) -> None:
    signs, job = Signs(tmp_path / "life.bell"), Pulse(tmp_path / "life.bell", JOB)
    heard = []
    for item in job.along("abc"):
        heard.append((item, signs.heard()))
        clock.now += 60
    assert heard == [("a", {JOB}), ("b", {JOB}), ("c", {JOB})]
    assert signs.heard() == {JOB}, "the last one took long, too"
    signs.close()


def test_where_nobody_listens_beating_does_nothing(tmp_path: Path, clock: SimpleNamespace) -> None:
    path = tmp_path / "life.bell"
    Pulse(path, FRONT).beat()
    assert not path.exists()
    Signs(path).close()
    Pulse(path, FRONT).beat()  # the pipe is there, and its listener is not
    signs = Signs(path)
    assert signs.heard() == set()
    signs.close()
    Pulse(tmp_path / "life.bell" / "below a file", FRONT).beat()  # nor does anything else stop what turns


def test_a_listener_that_stands_still_holds_nobody_up(tmp_path: Path, clock: SimpleNamespace) -> None:
    signs, front = Signs(tmp_path / "life.bell"), Pulse(tmp_path / "life.bell", FRONT)
    for _ in range(70_000):  # a pipe has room for 65,536
        clock.now += 1
        front.beat()
    assert signs.heard() == {FRONT}
    assert signs.heard() == set()
    signs.close()


def test_what_an_earlier_child_has_said_does_not_count(tmp_path: Path, clock: SimpleNamespace) -> None:
    path = tmp_path / "life.bell"
    earlier = Signs(path)
    Pulse(path, FRONT).beat()
    later = Signs(path)
    assert later.heard() == set()
    earlier.close()
    later.close()


def test_the_pipe_is_made_anew_where_it_is_gone_or_is_none(tmp_path: Path, clock: SimpleNamespace) -> None:
    path = tmp_path / "life.bell"
    path.write_text("restored by a program that copies no pipes")
    for _ in range(2):
        signs = Signs(path)
        Pulse(path, FRONT).beat()
        assert signs.heard() == {FRONT}
        signs.close()
        path.unlink()


def test_it_may_be_sent_to_a_worker(tmp_path: Path) -> None:
    signs = Signs(tmp_path / "life.bell")
    pickle.loads(pickle.dumps(Pulse(tmp_path / "life.bell", JOB))).beat()
    assert signs.heard() == {JOB}
    assert os.stat(tmp_path / "life.bell").st_mode & 0o777 == 0o600
    signs.close()
