"""The checks of bench.faults find what is broken, and its table keeps the rows of other runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.faults.laws import RANGE, judged
from bench.faults.restores import Folding
from bench.faults.row import Row
from bench.faults.scene import QUERIES
from bench.faults.table import BEGIN, END, write
from csparql_spark.asking.replay import answer
from csparql_spark.client import Event
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Draft, Log, LogWriter
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import AnswerStore, QueryRecord, StoredAnswer, StreamRecord

STREAM = "http://faults.test/streams/numbers"


class Heard:
    """A subscriber who was told all there was."""

    def __init__(self, told: list[tuple[int, frozenset[int]]]) -> None:
        self.told, self.notices = told, []

    def reached(self, instant: int, patience: float) -> bool:
        return self.told[-1][0] >= instant


@pytest.fixture
def scene(tmp_path: Path) -> tuple[DataDirectory, dict[int, int], Heard]:
    """A log with three pushes, the answers to it, and who was told them."""
    directory = DataDirectory(tmp_path / "data").create()
    database = Database(directory.database).create()
    writer = LogWriter(database, directory.bell("log")).start()
    writer.append(StreamRecord.draft(STREAM, name="numbers", clock="arrival", delay=0))
    query = writer.append(QueryRecord.draft("Numbers", text=QUERIES["Numbers"], base="http://faults.test/")).seq
    acknowledged = {}
    for number in (1, 2, 3):
        chunk = Chunk.from_triples([(f"<urn:push/{number}>", "<urn:number>", f'"{number}"')])
        entry = writer.append(Draft("chunk", STREAM, chunk.to_ipc(), rows=1, unstamped=1))
        acknowledged[number] = entry.seq
    writer.append(Draft("tick", at=entry.at + RANGE + 500))
    writer.stop()
    log = Log(database)
    told = list(answer(log.read(0, log.tail())))
    AnswerStore(database, directory.bell("answers")).write(
        StoredAnswer(query, one.instant, one.part, one.rows, one.payload) for one in told
    )
    pushed = {number: next(entry.at for entry in log.read(seq - 1, seq)) for number, seq in acknowledged.items()}
    heard = Heard(
        [
            (one.instant, frozenset(n for n, at in pushed.items() if one.instant - RANGE < at <= one.instant))
            for one in told
        ]
    )
    assert len(told) >= 7 and any(len(numbers) == 3 for _, numbers in heard.told)
    return directory, acknowledged, heard


Scene = tuple[DataDirectory, dict[int, int], Heard]


def verdict(scene: Scene) -> list[str]:
    directory, acknowledged, heard = scene
    return judged(directory.path, acknowledged, heard, patience=0.0).broken


def test_nothing_is_broken(scene: Scene) -> None:
    assert verdict(scene) == []


def lost(scene: Scene) -> None:
    scene[1][4] = 99


def elsewhere(scene: Scene) -> None:
    scene[1][3] += 1


def skipped(scene: Scene) -> None:
    del scene[2].told[2]


def twice(scene: Scene) -> None:
    scene[2].told.insert(2, scene[2].told[2])


def otherwise(scene: Scene) -> None:
    scene[2].told[1] = scene[2].told[1][0], frozenset({77})


def executed(statement: str) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        with Database(scene[0].database).transaction() as connection:
            connection.execute(statement)

    return change


NEWEST = "(SELECT max(position) FROM answers)"


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lost, "1 acknowledged pushes are not in the log, such as 4"),
        (elsewhere, "1 pushes are not where the log said, such as 3"),
        (skipped, "the subscriber was told"),
        (twice, "the subscriber was told"),
        (otherwise, "the subscriber was told something else than what the query says"),
        (
            executed(
                "INSERT INTO log (kind, at, subject, rows, unstamped, payload) SELECT kind, at, subject, rows, "
                "unstamped, payload FROM log WHERE seq = 4"
            ),
            "1 pushes are counted twice, such as 2",
        ),
        (
            executed("INSERT INTO log (kind, at, subject) VALUES ('drop', 1, 'urn:other')"),
            "the stamps of the log go back",
        ),
        (executed("DELETE FROM log WHERE seq = 1"), "the beginning of the log is gone"),
        (executed("DELETE FROM answers WHERE position = 3"), "1 answers of Numbers are missing"),
        (
            executed(
                "INSERT INTO answers (query, instant, part, rows, payload) SELECT query, instant - 1, part, rows, "
                f"payload FROM answers WHERE position = {NEWEST}"
            ),
            "1 answers of Numbers are in no replay",
        ),
        (
            executed(
                "UPDATE answers SET payload = (SELECT payload FROM answers WHERE position = "
                f"{NEWEST}) WHERE position = 2"
            ),
            "1 answers of Numbers are other ones in a replay",
        ),
    ],
)
def test_what_is_broken_is_found(scene: Scene, change: Callable[[Scene], None], sentence: str) -> None:
    change(scene)
    broken = verdict(scene)
    assert any(one.startswith(sentence) for one in broken), broken


def test_an_answer_that_does_not_come(scene: Scene) -> None:
    executed(f"DELETE FROM answers WHERE position = {NEWEST}")(scene)
    assert any(one.startswith("Numbers does not come to") for one in verdict(scene))
    executed("INSERT INTO failures SELECT query, instant, 'it was too much' FROM answers LIMIT 1")(scene)
    assert "Numbers has failed: it was too much" in verdict(scene)


def test_the_table_keeps_other_rows(tmp_path: Path) -> None:
    document = tmp_path / "reliability.md"
    document.write_text(f"# Before\n\n{BEGIN}\n{END}\n\nAfter.\n")
    order = ["first", "second", "third"]
    write({"third": Row("third", "a | b", "seen\nso"), "first": Row("first", "x", "y", ["a law"])}, order, document)
    write({"second": Row("second", "p", "q"), "first": Row("first", "x", "z")}, order, document)
    assert document.read_text() == (
        f"# Before\n\n{BEGIN}\n| fault | injected | observed | laws |\n| --- | --- | --- | --- |\n"
        "| `first` | x | z | hold |\n| `second` | p | q | hold |\n| `third` | a \\| b | seen so | hold |\n"
        f"{END}\n\nAfter.\n"
    )


@pytest.mark.parametrize("after, left", [(None, []), (1000, [1000]), (3000, [1000, 2000, 3000])])
def test_a_subscriber_takes_back_what_is_not_so_any_more(after: int | None, left: list[int]) -> None:
    subscriber = Folding("http://127.0.0.1:1")
    subscriber.told += [(at, frozenset({at})) for at in (1000, 2000, 3000)]
    forgotten = Event("gap", {"query": "Numbers", "after": 1000, "next": 2000, "reason": "forgotten"})
    subscriber.notice(forgotten)
    assert len(subscriber.told) == 3 and subscriber.notices == [forgotten], "that would break a law"
    subscriber.notice(Event("gap", {"query": "Numbers", "after": after, "next": None, "reason": "restored"}))
    assert [at for at, _ in subscriber.told] == left and subscriber.notices == [forgotten]
    assert (len(subscriber.restored), subscriber.taken_back) == (1, 3 - len(left))
