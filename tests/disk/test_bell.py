from __future__ import annotations

import errno
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk.bell import Bell


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.bell"


@pytest.fixture
def listener(path: Path) -> Iterator[Bell]:
    bell = Bell(path)
    assert not bell.wait(0)
    yield bell
    bell.close()


def test_a_ring_wakes_the_listener(path: Path, listener: Bell) -> None:
    rung = []
    thread = threading.Thread(target=lambda: rung.append(listener.wait(60)))
    thread.start()
    Bell(path).ring()
    thread.join()
    assert rung == [True]


def test_a_ring_before_the_wait_is_not_missed(path: Path, listener: Bell) -> None:
    Bell(path).ring()
    assert listener.wait(0) and not listener.wait(0)


def test_many_rings_are_one_and_never_block(path: Path, listener: Bell) -> None:
    bell = Bell(path)
    for _ in range(70_000):  # more than a pipe holds
        bell.ring()
    assert listener.wait(0) and not listener.wait(0)


def test_without_a_listener_nothing_happens(path: Path) -> None:
    Bell(path).ring()
    assert not path.exists()
    listener = Bell(path)
    listener.wait(0)
    listener.close()
    Bell(path).ring()  # the pipe is there, and nobody at its other end
    assert not listener.wait(0)
    Bell(path).ring()
    assert listener.wait(0)
    listener.close()
    listener.close()


def test_a_listener_that_goes_between_opening_and_ringing(
    path: Path, listener: Bell, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def open_and_lose(*arguments: object) -> int:
        descriptor = opened(*arguments)
        listener.close()
        return descriptor

    monkeypatch.setattr(os, "open", open_and_lose)
    Bell(path).ring()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_ring_may_be_lost_when_descriptors_are_short(
    path: Path, listener: Bell, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    Bell(path).ring()
    monkeypatch.undo()
    assert not listener.wait(0)


def test_a_bell_that_cannot_be_rung_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        Bell(tmp_path / "file" / "log.bell").ring()


def test_of_two_listeners_one_hears(path: Path, listener: Bell) -> None:
    other = Bell(path)
    assert not other.wait(0)
    Bell(path).ring()
    assert [listener.wait(0), other.wait(0)] == [True, False]
    other.close()


def test_it_rings_beyond_the_first_thousand_descriptors(path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2048)), hard))
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    bell = Bell(path)
    try:
        assert not bell.wait(0)
        Bell(path).ring()
        assert bell.wait(60)
    finally:
        bell.close()
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
