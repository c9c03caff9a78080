"""What `serve` does with the log before anything comes into it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from csparql_spark.cli.serve import begin
from csparql_spark.disk import StoreError
from csparql_spark.log.sqlite.incarnations import Incarnations
from csparql_spark.spark import checkpoint
from csparql_spark.store import Status

from ..store.restoring import World


@pytest.fixture
def put_back(tmp_path: Path) -> World:
    """A copy was put back, and the engine has read more."""
    world = World(tmp_path)
    world.push(2)
    world.copy()
    world.push(3)
    world.batch()
    world.stop()
    world.put_back(0)
    world.open()
    return world


def test_each_start_begins_an_incarnation(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    world = World(tmp_path)
    names = [world.lineage.newest.name]
    for _ in range(2):
        world.push(1)
        world.batch()
        begin(world.directory, world.database)
        names.append(Incarnations(world.database).lineage().newest.name)
    assert len(set(names)) == 3 and world.directory.checkpoint.exists()
    assert capsys.readouterr() == ("", "")


def test_the_engine_of_another_start_says_nothing_any_more(tmp_path: Path) -> None:
    world = World(tmp_path)
    status = Status(world.database)
    status.say("engine", {"state": "running", "pid": os.getpid()})  # as numbers of processes come again
    begin(world.directory, world.database)
    assert status.of("engine") == {"state": "starting"}


def test_a_copy_that_was_put_back_is_told_in_one_sentence(put_back: World, capsys: pytest.CaptureFixture) -> None:
    begin(put_back.directory, put_back.database)
    said = capsys.readouterr().err
    assert said.startswith("csparql-spark: the engine has seen ") and said.count("\n") == 1 and "a copy" in said
    assert not put_back.directory.checkpoint.exists()
    begin(put_back.directory, put_back.database)
    assert capsys.readouterr().err == ""


def test_a_checkpoint_that_cannot_be_set_aside(put_back: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(checkpoint, "set_aside", refuse)
    before = Incarnations(put_back.database).lineage().incarnations
    with pytest.raises(StoreError) as caught:
        begin(put_back.directory, put_back.database)
    assert str(caught.value) == (
        f"{put_back.directory.checkpoint} is not of the database that is there, and cannot be "
        "set aside (Permission denied): delete it, then start again"
    )
    assert Incarnations(put_back.database).lineage().incarnations == before, "it is found again at the next start"
