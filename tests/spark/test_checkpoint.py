"""Which errors say that a checkpoint cannot be read, and what becomes of it then."""

from __future__ import annotations

from pathlib import Path

import pytest

from csparql_spark.spark.checkpoint import is_unreadable, set_aside
from csparql_spark.store import DataDirectory

DAMAGED = [
    "terminated with exception: Failed to read log file file:{0}/offsets/1. Incomplete log file SQLSTATE: XXKST",
    "terminated with exception: Checksum error: file:{0}/state/0/_metadata/v2/0 at 0 exp: -2032761852 got: -10599",
    "java.io.FileNotFoundException: File file:{0}/state/0/0/12.changelog does not exist",
    "csparql_spark.spark.source.AheadOfLog: the checkpoint is ahead of the log (it has read up to 9 …",
    "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state of {0}/state",
]
OTHERS = [
    "java.io.FileNotFoundException: {0}/offsets/.1.tmp (No space left on device)",
    "{0}/commits/7 (Permission denied), Checksum error",
    "the job has ended by itself",
    "Checksum error: file:/somewhere/else/0",
    "Job aborted due to stage failure: Python worker exited unexpectedly",
    "[CANNOT_LOAD_STATE_STORE] of {0}: Python worker exited unexpectedly (crashed)",
    "Caused by: java.io.EOFException\n+- GroupProcessor({0})\nFile does not exist",
]


class FromJava(Exception):
    """As PySpark's: what Java said is in a trace, or in a cause."""

    def __init__(self, said: str, trace: str = "", cause: Exception | None = None) -> None:
        super().__init__(said)
        self._stackTrace, self._cause = trace, cause


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    directory = DataDirectory(tmp_path / "data").create()
    directory.checkpoint.mkdir()
    (directory.checkpoint / "metadata").write_text("{}")
    return directory


@pytest.mark.parametrize("said", DAMAGED)
def test_files_that_cannot_be_read(directory: DataDirectory, said: str) -> None:
    said = said.format(directory.checkpoint)
    assert is_unreadable(directory, FromJava(said))
    assert is_unreadable(directory, FromJava("[STREAM_FAILED]", trace=said))
    assert is_unreadable(directory, FromJava("[STREAM_FAILED]", cause=FromJava(said)))


@pytest.mark.parametrize("said", OTHERS)
def test_what_is_no_damage(directory: DataDirectory, said: str) -> None:
    said = said.format(directory.checkpoint)
    assert not is_unreadable(directory, FromJava(said))
    assert not is_unreadable(directory, FromJava("[STREAM_FAILED]", trace=said))


def test_a_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data").create()
    assert not is_unreadable(directory, FromJava(DAMAGED[0].format(directory.checkpoint)))


def test_it_is_set_aside_in_the_place_of_an_older_one(directory: DataDirectory) -> None:
    aside = set_aside(directory)
    assert not directory.checkpoint.exists() and (aside / "metadata").read_text() == "{}"
    directory.checkpoint.mkdir()
    assert set_aside(directory) == aside == directory.engine / f"{directory.checkpoint.name}.damaged"
    assert list(aside.iterdir()) == []
