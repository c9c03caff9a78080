"""Which past a log has: names and spans, and what is kept of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log.sqlite.incarnations import (
    FIRST,
    LETTERS,
    MOST,
    NAME_LENGTH,
    RECENT,
    Incarnation,
    Incarnations,
    Lineage,
)
from tests.store.restoring import World

#                 0         40        60   60       90
LIST = [
    Incarnation("", 0, 0, 0),
    Incarnation("b", 40, 400, 1),
    Incarnation("c", 60, 500, 2),
    Incarnation("d", 60, 500, 3),
    Incarnation("e", 90, 700, 4),
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(
    "position, name",
    [(0, ""), (1, ""), (40, ""), (41, "b"), (60, "b"), (61, "d"), (90, "d"), (91, "e"), (1 << 60, "e")],
)
def test_the_one_that_a_position_lies_in(position: int, name: str) -> None:
    assert Lineage("x", LIST).of(position) == name
    assert Lineage("x", LIST).stands(name, position) == position


@pytest.mark.parametrize(
    "name, position, stands",
    [("", 41, 40), ("", 1000, 40), ("b", 61, 60), ("c", 70, 60), ("d", 95, 90), ("e", 1000, 1000), ("z", 5, None)],
)
def test_up_to_where_another_past_stands(name: str, position: int, stands: int | None) -> None:
    assert Lineage("x", LIST).stands(name, position) == stands


def test_what_is_older_than_the_list_is_of_its_oldest() -> None:
    lineage = Lineage("x", LIST[2:])
    assert [lineage.of(position) for position in (0, 10, 60, 61)] == ["c", "c", "c", "d"]


def test_an_identity_is_made_once(tmp_path: Path) -> None:
    made = []
    for name in ("a", "a", "b"):
        database = Database(DataDirectory(tmp_path / name).create().database).create()
        lineage = Incarnations(database).lineage()
        assert lineage.incarnations == (Incarnation(FIRST, 0, 0, 0),)
        made.append(lineage.identity)
        database.close()
    assert made[0] == made[1] != made[2] and len(made[0]) == 32


def test_each_begins_where_the_log_and_the_answers_are(world: World) -> None:
    world.push(3)
    world.answer(2)
    begun = Incarnations(world.database).begin(at=99)
    assert begun[1:] == (2, 3, 99)
    assert len(begun.name) == NAME_LENGTH and set(begun.name) <= set(LETTERS)
    assert Incarnations(world.database).lineage().newest == begun
    assert Incarnations(world.database).begin(at=100).name != begun.name


def test_a_place_is_kept_when_what_stood_there_is_forgotten(world: World) -> None:
    world.push(3)
    world.answer(3)
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM answers")
        connection.execute("DELETE FROM log WHERE seq < 3")
    assert Incarnations(world.database).begin(at=0)[1:3] == (3, 3)


def test_starts_in_which_nothing_was_answered_do_not_pile_up(world: World) -> None:
    world.answer(2)
    first = world.lineage.newest
    for _ in range(5 * RECENT):
        Incarnations(world.database).begin(at=0)
    incarnations = Incarnations(world.database).lineage().incarnations
    assert len(incarnations) <= RECENT + 3
    assert first in incarnations, "the one in which something was answered"


def test_what_lies_before_all_answers_that_are_kept_goes_but_for_one(world: World) -> None:
    for _ in range(5 * RECENT):
        world.answer(1)
        world.begin()
    assert len(world.lineage.incarnations) == 5 * RECENT + 1, "all answers are kept"
    world.forget(keep=2 * RECENT)
    world.begin()
    kept = world.lineage
    oldest_answer = 3 * RECENT + 1
    assert kept.oldest.position == oldest_answer - 2
    assert len(kept.incarnations) == 2 * RECENT + 3
    assert kept.of(oldest_answer) == kept.incarnations[1].name
    world.forget(keep=1)
    world.begin()
    assert len(world.lineage.incarnations) == RECENT, "those that a checkpoint may speak of"


def test_the_list_is_bounded(world: World) -> None:
    with world.database.transaction() as connection:
        connection.executemany(
            "INSERT INTO incarnations (name, position, seq, at) VALUES (?, ?, 0, 0)",
            ((f"n{number}", number) for number in range(1, 2 * MOST)),
        )
    world.begin()
    assert len(world.lineage.incarnations) == MOST
