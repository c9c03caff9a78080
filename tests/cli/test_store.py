"""The command `store`: what it finds damaged, and what becomes of that."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from csparql_spark.cli import main
from csparql_spark.disk import DataDirectory
from csparql_spark.disk.damage import Damages
from csparql_spark.log.contents import QueryRegistered, content_of, draft_of
from csparql_spark.schedule.failures import Failures
from csparql_spark.store import StoredAnswer, inspection
from tests.store.opened import Opened


def store(*words: str, typed: str = "") -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["store", *words], input=typed)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with four entries and two answers."""
    opened = Opened(tmp_path)
    opened.append("stream", "urn:s", payload=b'{"name": "s", "clock": "arrival", "delay": 0}')
    for content in (b"one", b"two"):
        opened.append("chunk", "urn:s", payload=content * 1000)
    opened.append("register", "q", payload=b'{"text": "", "base": null}')
    opened.answers.write([StoredAnswer(4, instant, 0, 1, b"answer") for instant in (1000, 2000)])
    with opened.database.transaction() as connection:
        connection.execute("UPDATE log SET at = 1700000000000 + seq, head_sum = NULL")
        connection.execute("UPDATE log SET head_sum = NULL")
    opened.close()
    return tmp_path


def damage(data: Path, *statements: str) -> None:
    opened = Opened(data)
    with opened.database.transaction() as connection:
        for statement in statements:
            connection.execute(statement)
    opened.close()


ONE = "UPDATE log SET payload = x'00' WHERE seq = 2"
REGISTRATION = "UPDATE log SET payload = x'00' WHERE seq = 4"
UNKNOWN = "UPDATE log SET head_sum = 1 WHERE seq = 3"
ANSWER = "UPDATE answers SET payload = x'0000' WHERE instant = 2000"
PAYLOAD = "its payload is not what was written"


def test_a_whole_store(data: Path) -> None:
    before = {path.name: path.stat().st_size for path in data.iterdir()}
    assert store("check", "--data", str(data)) == (0, "4 entries and 2 answers were read: all are whole\n", "")
    assert {path.name for path in data.iterdir()} - before.keys() <= {"store.db-wal", "store.db-shm"}


def test_what_is_damaged_is_named(data: Path) -> None:
    damage(data, ONE, UNKNOWN, ANSWER, "UPDATE log SET payload_sum = NULL WHERE seq = 1")
    code, told, error = store("check", "--data", str(data))
    assert (code, error) == (1, "")
    assert (
        told
        == f"""\
PLACE  KIND    OF       AT                   BYTES  WHY
2      chunk   urn:s    2023-11-14 22:13:20  1      {PAYLOAD}
3      ?       ?        2023-11-14 22:13:20  3,000  what it says of itself is not what was written, so every query \
that was there may have had to read it
2      answer  query 4  1970-01-01 00:00:02  2      {PAYLOAD}
4 entries and 2 answers were read: 3 places are damaged; 1 are older than checksums and were not checked
"""
    )
    code, told, _ = store("check", "--data", str(data), "--json")
    found = json.loads(told)
    assert code == 1 and [one.get("seq") for one in found["damaged"]] == [2, 3, None]
    assert found["damaged"][2] == {
        "position": 2,
        "query": 4,
        "at": 2000,
        "size": 2,
        "reason": f"the answer at 2000 is damaged: {PAYLOAD}",
    }
    assert {name: found[name] for name in ("entries", "answers", "unchecked", "skipped", "file")} == {
        "entries": 4,
        "answers": 2,
        "unchecked": 1,
        "skipped": 0,
        "file": [],
    }
    opened = Opened(data)
    assert opened.log._damages.all() == [], "who looks on changes nothing"
    opened.close()


def test_a_server_may_run_while_it_looks(data: Path) -> None:
    with DataDirectory(data).lock():
        opened = Opened(data)
        opened.append("chunk", "urn:s", payload=b"more")
        assert store("check", "--data", str(data))[:2] == (0, "5 entries and 2 answers were read: all are whole\n")
        opened.close()


def test_pages_that_the_database_cannot_read(data: Path) -> None:
    opened = Opened(data)
    for number in range(50):
        opened.append("chunk", "urn:s", payload=b"%02d" % number * 300)
    opened.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    opened.close()
    path = DataDirectory(data).database
    content = path.read_bytes()
    page = content.index(b"25" * 300) // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(page)
        file.write(b"\x5a" * 100)
    code, told, error = store("check", "--data", str(data))
    lines = told.splitlines()
    assert (code, error) == (1, "") and any(line.startswith("the file itself: ") for line in lines)
    lost = [line for line in lines if "database disk image is malformed" in line and line[0].isdigit()]
    assert "30" in {line.split()[0] for line in lost} and 1 <= len(lost) < 10


def test_passing_over(data: Path) -> None:
    damage(data, ONE, UNKNOWN)
    code, told, asked = store("skip", "2", "--data", str(data), typed="n\n")
    assert (code, told) == (1, "") and (
        f"the entry 2 of the stream urn:s is damaged: {PAYLOAD}.\nPassed over, what it said is lost for good.\n"
    ) in asked
    assert "PLACE" in store("check", "--data", str(data))[1]
    for seq in ("2", "3"):
        assert store("skip", seq, "--data", str(data), "--yes")[:2] == (
            0,
            (
                f"the entry {seq} is passed over; queries that have failed because of it are to be deleted and registered "
                "again\n"
            ),
        )
        if seq == "2":
            assert store("check", "--data", str(data))[1].endswith(": 1 place is damaged; 1 was passed over before\n")
    assert store("check", "--data", str(data))[:2] == (
        0,
        "4 entries and 2 answers were read: all are whole; 2 were passed over before\n",
    )
    opened = Opened(data)
    assert [entry.kind for entry in opened.entries()] == ["stream", "skipped", "skipped", "register"]
    assert [one.place for one in Damages(opened.database).all() if one.skipped] == [2, 3]
    opened.close()


def test_that_a_query_has_failed_is_said_again(data: Path) -> None:
    opened = Opened(data)
    opened.answers.write((), [(4, 3000, "too much")])
    Failures(opened.registry, opened.answers, opened.writer).look()
    (failed,) = (entry for entry in opened.entries() if entry.kind == "fail")
    opened.close()
    damage(data, f"UPDATE log SET payload = zeroblob(length(payload)) WHERE seq = {failed.seq}")
    says = f"the entry {failed.seq} that says that the query q has failed is damaged: {PAYLOAD}"
    _, _, asked = store("skip", str(failed.seq), "--data", str(data), typed="n\n")
    assert f"{says}.\nPassed over, the server says it again when it starts.\n" in asked
    opened = Opened(data)
    assert [entry.damage for entry in opened.entries() if entry.kind == "fail"] == [says]
    Failures(opened.registry, opened.answers, opened.writer).look()  # damaged or not, it is there
    assert opened.log.tail() == failed.seq
    opened.close()
    assert store("skip", str(failed.seq), "--data", str(data), "--yes")[0] == 0
    opened = Opened(data)
    Failures(opened.registry, opened.answers, opened.writer).look()
    assert [content_of(entry) for entry in opened.entries() if entry.kind == "fail"] == [content_of(failed)]
    opened.close()


@pytest.mark.parametrize(
    "seq, says",
    [
        ("1", "the entry 1 can be read: only what is damaged is passed over"),
        ("9", "there is no entry 9 in the log of {data}: the newest is 4"),
        (
            "4",
            "the entry 4 that registered the query q is damaged: " + PAYLOAD + ", and cannot be passed over: start the "
            "server, and delete the query and register it again",
        ),
    ],
)
def test_what_is_not_passed_over(data: Path, seq: str, says: str) -> None:
    damage(data, REGISTRATION)
    code, told, error = store("skip", seq, "--data", str(data), "--yes")
    assert (code, told, error.splitlines()[-1]) == (2, "", f"csparql-spark: {says.format(data=data)}")


def test_what_has_replaced_a_query_is_not_passed_over(data: Path) -> None:
    """The version before would be there again."""
    opened = Opened(data)
    replaces = next(query.id for query in opened.registry.queries())
    content = QueryRegistered("SELECT", None, replaces=replaces, origin=replaces)
    seq = opened.writer.append(draft_of(content, "q")).seq
    opened.close()
    damage(data, f"UPDATE log SET payload = x'00' WHERE seq = {seq}")
    code, _, error = store("skip", str(seq), "--data", str(data), "--yes")
    assert (code, error.splitlines()[-1].partition(". ")[2]) == (
        2,
        "It cannot be passed over: it seems to have replaced the query q, whose version before would be there again. "
        "Start the server, delete the query and register it again",
    )


@pytest.mark.parametrize(
    "kind, subject, what", [("drop", "urn:s", "the stream urn:s"), ("unregister", "q", "the query q")]
)
def test_what_has_ended_something_is_not_passed_over(data: Path, kind: str, subject: str, what: str) -> None:
    """It would be there again."""
    opened = Opened(data)
    seq = opened.append(kind, subject).seq
    opened.close()
    damage(data, f"UPDATE log SET rows = 7 WHERE seq = {seq}")
    code, _, error = store("skip", str(seq), "--data", str(data), "--yes")
    assert (code, error.splitlines()[-1]) == (
        2,
        (
            f"csparql-spark: the entry {seq} is damaged: what it says of itself is not what was written, so every query that "
            f"was there may have had to read it. It cannot be passed over: it seems to have deleted {what}, which would be "
            "there again. Delete the queries that have failed because of it and register them again: those that come after "
            "it do not need it"
        ),
    )
    opened = Opened(data)
    assert opened.registry.streams() == [] if kind == "drop" else opened.registry.queries() == []
    opened.close()


def test_not_twice_and_not_while_a_server_runs(data: Path) -> None:
    damage(data, ONE)
    with DataDirectory(data).lock():
        code, _, error = store("skip", "2", "--data", str(data), "--yes")
        assert code == 2 and f"the data directory {data} is in use by another server" in error
    assert store("skip", "2", "--data", str(data), "--yes")[0] == 0
    assert store("skip", "2", "--data", str(data), "--yes") == (
        2,
        "",
        "csparql-spark: the entry 2 is passed over already\n",
    )


@pytest.mark.parametrize("words", [("check",), ("skip", "2")])
def test_a_directory_without_a_store(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, _, error = store(*words, "--data", str(tmp_path))
    assert (code, error) == (
        2,
        f"csparql-spark: there is no {tmp_path / 'store.db'}: name the directory of a server with --data\n",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("check",), ("skip", "2", "--yes")])
def test_a_store_of_another_version(data: Path, words: tuple[str, ...]) -> None:
    """It is not brought up to date by who only asks: there is no way back from that."""
    damage(data, "PRAGMA user_version = 3")
    code, _, error = store(*words, "--data", str(data))
    assert code == 2 and f"{data / 'store.db'} was written by another version of csparql-spark (format 3" in error
    with contextlib.closing(sqlite3.connect(data / "store.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)


def test_a_copy_where_nobody_can_write(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite makes a file beside a database of this kind, also of one that it only reads."""
    (data / "copy").mkdir()
    opened = Opened(data)
    opened.database.fold()
    opened.close()
    (data / "store.db").rename(data / "copy" / "store.db")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    seen = []
    monkeypatch.setattr(
        inspection,
        "_inspected",
        lambda connection: seen.extend(path.name for path in (data / "copy").iterdir()) or inspection.Inspection(),
    )
    assert store("check", "--data", str(data / "copy"))[0] == 0 and seen == ["store.db"]
