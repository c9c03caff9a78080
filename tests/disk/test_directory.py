from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory, StoreError
from csparql_spark.disk.bell import Bell
from csparql_spark.disk.directory import private

HOLD = """
import sys
from csparql_spark.disk import DataDirectory
with DataDirectory(sys.argv[1]).lock():
    print("held", flush=True)
    sys.stdin.read()
"""
TRY = """
import sys
from csparql_spark.disk import DataDirectory, StoreError
try:
    with DataDirectory(sys.argv[1]).lock():
        print("held")
except StoreError as error:
    print(error)
"""


def started(program: str, path: Path, descriptors: tuple[int, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=descriptors,
    )


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
    assert str(caught.value) == (
        f"the data directory {tmp_path}/file/data cannot be written (Not a directory): choose another one with --data"
    )


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, data: bytes) -> int:
        raise PermissionError(13, "Permission denied", str(path))  # a superuser is refused nothing: so it is said here

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(StoreError) as caught:
        DataDirectory(tmp_path).create()
    assert str(caught.value) == (
        f"the data directory {tmp_path} cannot be written (Permission denied): choose another one with --data"
    )


def test_a_second_process_gets_the_sentence_and_the_third_gets_the_lock(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path).create()
    with started(HOLD, tmp_path) as first:
        assert first.stdout.readline() == "held\n"
        with started(TRY, tmp_path) as second:
            assert second.communicate()[0] == (
                f"the data directory {tmp_path} is in use by another server (process {first.pid}): "
                "stop that one, or choose another directory with --data\n"
            )
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


# --- whom it lets in


def modes(path: Path) -> dict[str, str]:
    return {str(found.relative_to(path)): stat.filemode(found.lstat().st_mode) for found in (path, *path.rglob("*"))}


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_what_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data").create()
    with private(), directory.lock():
        Database(directory.database).create().close()
    bell = Bell(directory.bell("log"))
    bell.wait(0.0)
    bell.close()
    assert modes(directory.path) == {
        ".": "drwx------",
        "engine": "drwx------",
        "server.lock": "-rw-------",
        "store.db": "-rw-------",
        "log.bell": "prw-------",
    }
    (tmp_path / "after").write_text("")
    assert modes(tmp_path)["after"] == "-rw-rw-rw-"


@pytest.fixture
def wide(tmp_path: Path, open_umask: None) -> DataDirectory:
    """As it was made where nobody cared."""
    directory = DataDirectory(tmp_path / "data")
    (directory.checkpoint / "commits").mkdir(parents=True)
    for path in ("store.db", "store.db-wal", "tokens.lock", "engine/checkpoint-1/commits/0"):
        (directory.path / path).write_text("")
    os.mkfifo(directory.bell("answers"), 0o666)
    (directory.engine / "python").touch(0o755)
    (directory.engine / "elsewhere").symlink_to(tmp_path)
    return directory


def test_one_that_is_wider_is_narrowed(wide: DataDirectory) -> None:
    assert wide.create().narrow() is True
    assert modes(wide.path) == {
        ".": "drwx------",
        "store.db": "-rw-------",
        "store.db-wal": "-rw-------",
        "tokens.lock": "-rw-------",
        "answers.bell": "prw-------",
        "engine": "drwx------",
        "engine/python": "-rwx------",
        "engine/elsewhere": "lrwxrwxrwx",
        "engine/checkpoint-1": "drwx------",
        "engine/checkpoint-1/commits": "drwx------",
        "engine/checkpoint-1/commits/0": "-rw-------",
    }
    assert wide.narrow() is False


def test_in_a_directory_of_others_only_what_is_ours_is_narrowed(wide: DataDirectory) -> None:
    (wide.path / "letters").mkdir()
    (wide.path / "letters" / "engine").write_text("")
    assert wide.narrow() is True
    found = modes(wide.path)
    assert (found["."], found["letters"], found["letters/engine"]) == ("drwxrwxrwx", "drwxrwxrwx", "-rw-rw-rw-")
    assert (found["store.db"], found["engine"]) == ("-rw-------", "drwx------")


def test_what_belongs_to_somebody_else_is_left_alone(wide: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    before = modes(wide.path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert wide.narrow() is False and modes(wide.path) == before


@pytest.mark.usefixtures("open_umask")
def test_a_directory_that_is_empty_is_narrowed_and_nobody_need_know(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    directory = DataDirectory(tmp_path / "data").create()
    assert directory.narrow() is False
    assert modes(directory.path) == {".": "drwx------", "engine": "drwx------"}
