from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk import DataDirectory, StoreError
from csparql_spark.spark.scratch import LONGEST, Scratch

NAME = ".0098467d-b4a5-416d-a9fc-606dc2b7cc48.sock"


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        yield Path(short)


def directory(path: Path) -> DataDirectory:
    return DataDirectory(path).create()


@pytest.fixture
def deep(tmp_path: Path, temporary: Path) -> DataDirectory:
    return directory(tmp_path / ("d" * LONGEST))


def test_the_name_of_a_socket_has_room() -> None:
    assert LONGEST + len("/" + NAME) == 107


def test_sockets_are_in_the_data_directory_where_they_fit(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        scratch = Scratch(directory(Path(short) / "d")).anew()
        assert scratch.sockets == Path(short) / "d" / "engine" / "sockets"
        assert [stat.S_IMODE(path.stat().st_mode) for path in (scratch.sockets, scratch.local)] == [0o700] * 2
    assert list(temporary.iterdir()) == []


def test_sockets_are_elsewhere_where_the_path_is_too_long(deep: DataDirectory, temporary: Path) -> None:
    scratch = Scratch(deep).anew()
    assert [scratch.sockets] == list(temporary.iterdir())
    assert stat.S_IMODE(scratch.sockets.stat().st_mode) == 0o700
    assert Scratch(deep).sockets == scratch.sockets


def test_a_temporary_directory_may_be_too_deep_itself(
    deep: DataDirectory, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary / ("t" * LONGEST)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / ("t" * LONGEST)))
    scratch = Scratch(deep).anew()
    assert scratch.sockets.parent == Path("/tmp") and len(os.fsencode(scratch.sockets)) <= LONGEST
    deep.engine.joinpath("sockets").unlink()
    Scratch(deep).clear()
    assert not scratch.sockets.exists(), "found by its name, without the link"


def test_where_no_temporary_directory_is_short_enough(deep: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.spark.scratch._temporary", lambda: [deep.path])
    with pytest.raises(
        StoreError,
        match="is too long for sockets, and those of temporary directories are, too: choose "
        "another directory with --data, or set TMPDIR",
    ):
        Scratch(deep).anew()


def test_the_longest_path_that_fits() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        rest = LONGEST - len(os.fsencode(short)) - len("//engine/sockets")
        for length, fits in ((rest, True), (rest + 1, False)):
            scratch = Scratch(directory(Path(short) / ("d" * length))).anew()
            assert scratch.sockets.is_relative_to(short) is fits
            scratch.clear()


def test_nothing_is_left_of_an_earlier_engine(deep: DataDirectory, temporary: Path) -> None:
    earlier = Scratch(deep).anew()
    (earlier.sockets / NAME).write_text("")
    (earlier.local / "blocks").mkdir()
    (earlier.local / "blocks" / "1").write_text("")
    os.mkfifo(earlier.line)
    earlier.python.write_text("")
    gone = earlier.sockets
    scratch = Scratch(deep).anew()
    assert not gone.exists() and [scratch.sockets] == list(temporary.iterdir())
    assert [list(scratch.sockets.iterdir()), list(scratch.local.iterdir())] == [[], []]
    assert not scratch.line.exists() and not scratch.python.exists()
    scratch.clear()
    assert list(temporary.iterdir()) == list(deep.engine.iterdir()) == []
    scratch.clear()


def test_the_engines_directory_may_have_been_deleted(deep: DataDirectory, temporary: Path) -> None:
    Scratch(deep).anew()
    shutil.rmtree(deep.engine)
    scratch = Scratch(deep).anew()
    assert scratch.sockets.is_dir() and stat.S_IMODE(deep.engine.stat().st_mode) == 0o700
    assert list(temporary.iterdir()) == [scratch.sockets], "that of the earlier engine is gone, too"
    scratch.clear()


def test_a_directory_that_was_copied_leaves_the_other_ones_sockets_alone(
    deep: DataDirectory, temporary: Path, tmp_path: Path
) -> None:
    """Its server may be running."""
    first = Scratch(deep).anew()
    (first.sockets / NAME).write_text("")
    copy = DataDirectory(tmp_path / ("c" * LONGEST))
    shutil.copytree(deep.path, copy.path, symlinks=True)
    second = Scratch(copy).anew()
    assert (first.sockets / NAME).exists() and second.sockets != first.sockets
    second.clear()
    assert list(temporary.iterdir()) == [first.sockets]
    first.clear()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("name", ["letters", "csparql-spark-other"])
def test_a_link_to_what_is_not_ours_is_not_followed(
    deep: DataDirectory, temporary: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary / name).mkdir()
    (deep.engine / "sockets").symlink_to(temporary / name)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    Scratch(deep).clear()
    assert (temporary / name).is_dir() and not (deep.engine / "sockets").is_symlink()
