from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from csparql_spark.store import DataDirectory, StoreError

HOLD = """
import sys
from csparql_spark.store import DataDirectory
with DataDirectory(sys.argv[1]).lock():
    print("held", flush=True)
    sys.stdin.read()
"""
TRY = """
import sys
from csparql_spark.store import DataDirectory, StoreError
try:
    with DataDirectory(sys.argv[1]).lock():
        print("held")
except StoreError as error:
    print(error)
"""


def started(program: str, path: Path, descriptors: tuple[int, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True,
                            pass_fds=descriptors)


def test_a_directory_is_made_with_its_parents_and_may_be_there(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "a" / "b").create()
    assert directory.path.is_dir() and directory.engine.is_dir()
    directory.create()
    assert sorted(entry.name for entry in directory.path.iterdir()) == ["engine"]


def test_a_relative_path_is_one_place_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    directory = DataDirectory("data")
    monkeypatch.chdir("/")
    assert directory.create().path == tmp_path / "data"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        DataDirectory(tmp_path / "file" / "data").create()
    assert str(caught.value) == (f"the data directory {tmp_path}/file/data cannot be written (Not a directory): "
                                 "choose another one with --data")


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, data: bytes) -> int:
        raise PermissionError(13, "Permission denied", str(path))   # a superuser is refused nothing: so it is said here

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(StoreError) as caught:
        DataDirectory(tmp_path).create()
    assert str(caught.value) == (f"the data directory {tmp_path} cannot be written (Permission denied): "
                                 "choose another one with --data")


def test_a_second_process_gets_the_sentence_and_the_third_gets_the_lock(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path).create()
    with started(HOLD, tmp_path) as first:
        assert first.stdout.readline() == "held\n"
        with started(TRY, tmp_path) as second:
            assert second.communicate()[0] == (
                f"the data directory {tmp_path} is in use by another server (process {first.pid}): "
                                               "stop that one, or choose another directory with --data\n")
        with pytest.raises(StoreError, match=f"process {first.pid}"), directory.lock():
            pass
        first.kill()
        first.wait()
        with directory.lock(), pytest.raises(StoreError), directory.lock():
            pass
    with directory.lock():
        pass


def test_a_process_that_inherits_the_lock_holds_it_too(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path).create()
    with directory.lock() as descriptor:
        child = started("import sys; print('here', flush=True); sys.stdin.read()", tmp_path, (descriptor,))
        assert child.stdout.readline() == "here\n"
    with child:
        with pytest.raises(StoreError), directory.lock():
            pass
    with directory.lock():
        pass
