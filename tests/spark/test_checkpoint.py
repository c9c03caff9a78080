"""Which errors say that a checkpoint cannot be read, and what becomes of it then."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from csparql_spark.disk import DataDirectory
from csparql_spark.spark.checkpoint import is_unreadable, lacking, leave_another, set_aside

from ..store.restoring import World

DAMAGED = [
    "terminated with exception: Failed to read log file file:{0}/offsets/1. Incomplete log file SQLSTATE: XXKST",
    "terminated with exception: Checksum error: file:{0}/state/0/_metadata/v2/0 at 0 exp: -2032761852 got: -10599",
    "java.io.FileNotFoundException: File file:{0}/state/0/0/12.changelog does not exist",
    "csparql_spark.spark.source.AheadOfLog: the checkpoint is ahead of the log (it has read up to 9 …",
    "terminated with exception: [STDS_FAILED_TO_READ_OPERATOR_METADATA] Failed to read the operator metadata for "
    "checkpointLocation=file:{0}/state/0 and batchId=3.",
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


def test_those_of_earlier_versions_do_not_stay_for_ever(directory: DataDirectory) -> None:
    for name in ("checkpoint-0.damaged", "checkpoint-1.damaged"):
        (directory.engine / name / "state").mkdir(parents=True)
    aside = set_aside(directory)
    assert [aside] == list(directory.engine.iterdir()) and (aside / "metadata").exists()


# --- what is gone, seen before Spark is asked

METADATA = '{"id":"5b1d6f1e-4dd1-4c84-9a6c-2a1d1f7d0b1e"}'


@pytest.fixture
def whole(tmp_path: Path) -> DataDirectory:
    """After some batches, the last of which is not committed."""
    directory = DataDirectory(tmp_path / "data").create()
    files = {
        "metadata": METADATA,
        "offsets/7": "v1",
        "offsets/8": "v1",
        "commits/7": "v1",
        "offsets/.8.crc": "x",
        "state/0/_metadata/v2/0": "x",
        "state/0/0/8.changelog": "x",
        "state/0/0/SSTs/1.sst": "x",
    }
    for name, text in files.items():
        path = directory.checkpoint / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def remove(directory: DataDirectory, *names: str) -> None:
    for name in names:
        path = directory.checkpoint / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize(
    "gone",
    [
        [],
        ["commits"],
        ["commits", "state"],
        ["offsets/.8.crc"],
        ["offsets", "commits", "state"],
        ["metadata", "offsets", "commits", "state"],
    ],
)
def test_what_spark_can_begin_with(whole: DataDirectory, gone: list[str]) -> None:
    """As it is after any kill, and without commits: then the last batch is run again. Before the first batch has ended
    there is no state, and before it has begun there are no offsets."""
    remove(whole, *gone)
    assert lacking(whole) is None


@pytest.mark.parametrize("name", ["offsets/8", "commits/7", "state/0/_metadata/v2/0", "state/0/0/8.changelog"])
def test_a_file_that_is_empty(whole: DataDirectory, name: str) -> None:
    """Spark finishes a file before it gives it its name."""
    (whole.checkpoint / name).write_bytes(b"")
    assert lacking(whole) == f"{name} is empty"


@pytest.mark.parametrize("name", ["offsets/.9.tmp", "state/0/0/.9.changelog.1.TID7.tmp", "state/0/0/SSTs/2.sst"])
def test_a_file_that_a_kill_has_left_empty(whole: DataDirectory, name: str) -> None:
    (whole.checkpoint / name).write_bytes(b"")
    assert lacking(whole) is None


def test_a_batch_is_not_committed_before_it_has_begun(whole: DataDirectory) -> None:
    for name in ("commits/8", "commits/.9.crc", "commits/.9.tmp"):
        (whole.checkpoint / name).write_text("v1")
    assert lacking(whole) is None
    (whole.checkpoint / "commits" / "9").write_text("v1")
    assert lacking(whole) == "its offsets are gone"


def test_the_first_batch_has_none_before_it(whole: DataDirectory) -> None:
    remove(whole, "offsets/7", "offsets/8", "commits", "state")
    (whole.checkpoint / "offsets" / "0").write_text("v1")
    assert lacking(whole) is None


def test_a_checkpoint_that_was_never_made(tmp_path: Path) -> None:
    assert lacking(DataDirectory(tmp_path / "data").create()) is None


@pytest.mark.parametrize(
    "gone, said",
    [
        (["metadata"], "its metadata is gone or damaged"),
        (["metadata", "commits"], "its metadata is gone or damaged"),
        (["metadata", "offsets", "commits"], "its metadata is gone or damaged"),
        (["offsets"], "its offsets are gone"),
        (["offsets", "commits"], "its offsets are gone"),
        (["offsets", "state"], "its offsets are gone"),
        (["offsets/7", "offsets/8"], "its offsets are gone"),
        (["offsets/7"], "its offsets are gone"),
        (["state"], "its state is gone"),
    ],
)
def test_what_it_cannot_begin_with(whole: DataDirectory, gone: list[str], said: str) -> None:
    remove(whole, *gone)
    assert lacking(whole) == said
    set_aside(whole)
    assert lacking(whole) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '{"name": "x"}', "\0" * 45])
def test_metadata_that_says_nothing(whole: DataDirectory, text: str) -> None:
    (whole.checkpoint / "metadata").write_text(text)
    assert lacking(whole) == "its metadata is gone or damaged"
    remove(whole, "offsets", "commits", "state")
    assert lacking(whole) == "its metadata is damaged"
    (whole.checkpoint / "metadata").write_bytes(b"\xff\xfe")
    assert lacking(whole) == "its metadata is damaged"


def test_a_checkpoint_of_another_past_is_left(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.push(2)
    world.copy()
    world.push(3)
    world.batch()
    assert leave_another(world.directory, world.database) is None and world.directory.checkpoint.exists()
    world.stop()
    world.put_back(0)
    world.open()
    aside = world.directory.engine / "checkpoint-1.damaged"
    assert leave_another(world.directory, world.database) == (
        f"the engine has seen {world.directory.database} with 5 entries in its log, and it went on after 2: it is a "
        f"copy that was put back; what the engine made of the other one is set aside as {aside}, and the engine starts "
        "again from the log"
    )
    assert aside.exists() and not world.directory.checkpoint.exists()
    assert leave_another(world.directory, world.database) is None, "there is none any more"
