"""The witness: a checkpoint that was made of another past is told apart, however that past and this one look.

For example:

    w   what the engine has read last        c   a copy is taken        p   it is put back, and the server started

    ●●●●c●●w p○            shorter
    ●●●●c●●w p○○○○○        it has grown past the checkpoint before anybody looks
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.disk import Database, DatabaseFault
from csparql_spark.disk.damage import Damages
from csparql_spark.log.sqlite import incarnations
from csparql_spark.log.sqlite.incarnations import Incarnations
from csparql_spark.store.witness import NAME, Witness
from tests.disk.test_damage import on_disk
from tests.examples import examples

from .opened import Opened
from .restoring import World

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where nothing waits for a disk


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_restart_is_no_contradiction(world: World) -> None:
    assert world.witness.contradiction() is None, "there is no checkpoint"
    world.push(3)
    world.batch()
    for _ in range(3):
        world.push(1)
        world.stop()
        assert world.start() is None
        assert world.witness.contradiction() is None


def test_a_shorter_log(world: World) -> None:
    world.push(2)
    world.copy()
    world.push(3)
    world.batch()
    world.stop()
    world.put_back(0)
    world.open()
    assert world.witness.contradiction() == (
        f"the engine has seen {world.directory.database} with 5 entries in its log, and it went on after 2: it is a "
        "copy that was put back"
    )


def test_a_log_that_has_grown_again_before_anybody_looks(world: World) -> None:
    """It was started without a look at the checkpoint, and accepted pushes."""
    world.push(2)
    world.copy()
    world.push(3)
    world.batch()
    world.stop()
    world.put_back(0)
    world.open()
    world.begin()
    world.push(10)
    assert "it went on after 2" in world.witness.contradiction()


def test_a_log_that_has_grown_again_in_the_same_incarnation(world: World) -> None:
    """As if the file had been put back under a server that runs."""
    world.push(2)
    world.copy()
    world.push(3)
    world.batch()
    world.stop()
    world.put_back(0)
    world.open()
    world.push(10)
    assert "has another entry 5 in its log than the engine has seen" in world.witness.contradiction()


@pytest.mark.parametrize("column, value", [("payload", b"other"), ("subject", b"urn:\xff"), ("kind", "chunl")])
def test_an_entry_that_is_damaged_is_no_other_entry(tmp_path: Path, column: str, value: object) -> None:
    """Nor is it one when it is passed over; and it can be the newest when the engine looks."""
    store = Opened(tmp_path)
    Incarnations(store.database).begin(at=0)
    store.append("chunk", "urn:s", payload=b"before")
    seq = store.append("chunk", "urn:s", payload=b"whole").seq
    store.directory.checkpoint.mkdir(parents=True)
    Witness(store.directory, store.database).write()
    with store.database.transaction() as connection:
        connection.execute(f"UPDATE log SET {column} = ? WHERE seq = ?", (value, seq))
    assert Witness(store.directory, store.database).contradiction() is None
    Witness(store.directory, store.database).write()
    assert Witness(store.directory, store.database).contradiction() is None
    assert store.log.one(seq).damage is not None
    (damage,) = Damages(store.database).all()
    Damages(store.database).skip(damage)
    assert Witness(store.directory, store.database).contradiction() is None
    store.close()


def test_an_entry_on_a_page_that_cannot_be_read_is_no_other_entry(tmp_path: Path) -> None:
    store = Opened(tmp_path)
    Incarnations(store.database).begin(at=0)
    store.append("chunk", "urn:s", payload=b"x" * 100_000)
    store.directory.checkpoint.mkdir(parents=True)
    Witness(store.directory, store.database).write()
    store.stop()
    content = on_disk(store).read_bytes()
    page = next(place for place in range(0, len(content), 4096) if content[place + 4 : place + 4096] == b"x" * 4092)
    store.directory.database.write_bytes(content[:page] + b"\xff\xff\xff\xf0" + content[page + 4 :])
    database = Database(store.directory.database)
    with pytest.raises(DatabaseFault):
        database.connection.execute("SELECT payload FROM log WHERE seq = 1").fetchone()
    witness = Witness(store.directory, database)
    assert witness.contradiction() is None
    witness.write()
    assert witness.contradiction() is None
    database.close()


def test_a_witness_of_a_version_before_is_compared_all_the_same(world: World) -> None:
    """It noted a hash of what the newest entry says, and now its checksums are noted."""
    world.push(2)
    world.batch()
    state = json.loads(world.witness._path.read_text())
    kind, at, subject, payload = world.database.connection.execute(
        "SELECT kind, at, subject, payload FROM log WHERE seq = ?", (state["seq"],)
    ).fetchone()
    made = hashlib.blake2b(json.dumps([kind, at, subject]).encode(), digest_size=16)
    made.update(payload or b"")
    world.witness._path.write_text(json.dumps(state | {"digest": made.hexdigest()}))
    assert world.witness.contradiction() is None
    world.witness._path.write_text(json.dumps(state | {"digest": "0" * 32}))
    assert "has another entry" in world.witness.contradiction()
    world.witness._path.write_text(json.dumps(state | {"digest": "1.2"}))
    assert "has another entry" in world.witness.contradiction()


def test_no_payload_is_read_for_a_witness(store: Opened) -> None:
    Incarnations(store.database).begin(at=0)
    store.directory.checkpoint.mkdir(parents=True)
    entry = store.append("chunk", "urn:s", payload=b"x" * 100_000)
    sums = store.database.connection.execute("SELECT head_sum, payload_sum FROM log").fetchone()
    statements: list[str] = []
    store.database.connection.set_trace_callback(statements.append)
    Witness(store.directory, store.database).write()
    store.database.connection.set_trace_callback(None)
    assert json.loads((store.directory.checkpoint / NAME).read_text())["digest"] == f"{sums[0]}.{sums[1]}"
    assert [statement for statement in statements if f"seq = {entry.seq}" in statement] == [
        f"SELECT kind, head_sum, payload_sum FROM log WHERE seq = {entry.seq}"
    ]
    assert not any("payload," in statement for statement in statements)


def test_fewer_answers(world: World) -> None:
    world.push(2)
    world.copy()
    world.answer(3)
    world.batch()
    world.stop()
    world.put_back(0)
    world.open()
    assert "with 3 answers, and it went on after 0" in world.witness.contradiction()


def test_a_copy_of_before_the_last_start(world: World) -> None:
    world.push(2)
    world.copy()
    world.stop()
    world.start()
    world.batch()
    world.stop()
    world.put_back(0)
    world.open()
    assert "knows nothing of the server that the engine worked for last" in world.witness.contradiction()


def test_a_checkpoint_from_elsewhere(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    for one in (world, other):
        one.push(2)
        one.batch()
    shutil.rmtree(world.directory.engine)
    shutil.copytree(other.directory.engine, world.directory.engine)
    assert "is that of another database than" in world.witness.contradiction()


def test_a_whole_directory_that_is_put_back_fits_together(world: World) -> None:
    world.push(2)
    world.batch()
    world.copy()
    world.push(3)
    world.batch()
    world.stop()
    world.put_back(0, whole=True)
    assert world.start() is None


def test_what_is_forgotten_since_is_no_contradiction(world: World) -> None:
    world.push(5)
    world.answer(5)
    world.batch()
    world.push(3)
    world.forget()
    world.stop()
    assert world.start() is None


@pytest.mark.parametrize("content", [b"", b"{", b'{"seq": 5}', b"[]", b"\xff\xfe"])
def test_a_witness_that_was_cut_by_the_loss_of_power_says_nothing(world: World, content: bytes) -> None:
    world.push(1)
    world.batch()
    (world.directory.checkpoint / NAME).write_bytes(content)
    assert world.witness.contradiction() is None


def test_it_is_written_where_there_is_a_checkpoint_and_only_when_something_is_new(world: World) -> None:
    world.push(1)
    world.witness.write()
    assert not world.directory.checkpoint.exists()
    world.batch()
    path = world.directory.checkpoint / NAME
    assert json.loads(path.read_text())["seq"] == 1
    path.unlink()
    world.witness.write()
    assert not path.exists(), "nothing is new"
    world.answer(1)
    world.witness.write()
    assert json.loads(path.read_text())["position"] == 1
    assert [file.name for file in world.directory.checkpoint.iterdir()] == [NAME]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["push", "answer"]), st.integers(1, 3)),
        st.tuples(st.sampled_from(["batch", "copy", "forget", "restart"])),
        st.tuples(st.just("put back"), st.integers(0, 9), st.booleans()),
    ),
    max_size=25,
)


@settings(max_examples=examples(150), deadline=None)
@given(steps=STEPS)
def test_a_checkpoint_of_another_past_is_never_gone_on_from_and_one_of_this_is_left_only_for_a_copy(
    steps: list[tuple],
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as path, mock.patch.object(incarnations, "RECENT", 1000):
        world = World(Path(path))
        for what, *given_ in [*steps, ("restart",)]:
            if what in ("push", "answer", "batch", "copy", "forget"):
                getattr(world, what)(*given_)
                continue
            world.stop()
            put_back = what == "put back" and bool(world.copies)
            if put_back:
                world.put_back(given_[0] % len(world.copies), whole=given_[1])
            before = world.checkpoint
            sentence = world.start()
            if sentence is None:
                assert before is None or world.past.begins_with(before)
            else:
                assert put_back and not given_[1], sentence
        world.stop()
