"""An index that says something else than what it is made of is noticed at a start, and made anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from csparql_spark.disk import Database, StoreError, database
from csparql_spark.disk.damage import Damaged, Damages
from csparql_spark.log import Entry
from csparql_spark.store.indexes import made_anew
from csparql_spark.store.inspection import inspect
from tests.disk.test_damage import on_disk

from .opened import Opened

SUBJECT = b"urn:some-stream"


def filled(store: Opened) -> list[Entry]:
    return [store.append("chunk", SUBJECT.decode(), payload=b"x" * 3000, first=i, last=i) for i in range(40)]


def flip(path: Path, *, index: bool) -> None:
    """One bit of the name in the index, where names stand close together, or in a row, where the payload follows."""
    content = path.read_bytes()
    places = [found.start() for found in re.finditer(SUBJECT, content)]
    place = next(
        place
        for place in places
        if (b"xxx" not in content[place : place + 60]) is index
        and (not index or SUBJECT in content[place + 1 : place + 60])
    )
    with path.open("r+b") as file:
        file.seek(place + 4)
        file.write(bytes([content[place + 4] ^ 0x40]))


def test_an_index_that_is_damaged_is_made_anew(store: Opened) -> None:
    entries, said = filled(store), []
    path = on_disk(store)
    assert not made_anew(Database(path), pytest.fail) and inspect(path).whole
    flip(path, index=True)
    again = Opened(path.parent)
    with pytest.raises(Damaged, match="the entry 40 is damaged"):  # it is not
        list(again.log.chunks(SUBJECT.decode(), low=-1, high=99, after=0))
    assert again.entries() == entries
    assert "log_chunks" in inspect(path).pages[0] and not inspect(path).damaged
    assert made_anew(again.database, said.append)
    assert len(said) == 1 and said[0].startswith(f"an index of {path} was damaged (") and "log_chunks" in said[0]
    assert list(again.log.chunks(SUBJECT.decode(), low=-1, high=99, after=0)) == entries
    assert inspect(path).whole and not made_anew(again.database, pytest.fail)
    assert Damages(again.database).all() == []
    again.close()


def test_an_entry_that_is_damaged_is_missed_where_it_was_also_when_the_index_is_made_anew(store: Opened) -> None:
    filled(store)
    path = on_disk(store)
    flip(path, index=False)
    again, said = Opened(path.parent), []
    assert made_anew(again.database, said.append) and said
    with pytest.raises(Damaged, match="the entry 1 is damaged: what it says of itself"):
        list(again.log.chunks(SUBJECT.decode(), low=-1, high=99, after=0))
    again.close()


def test_a_large_file_is_not_looked_through(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(store)
    path = on_disk(store)
    flip(path, index=True)
    monkeypatch.setattr(database, "CHECKED_BYTES", path.stat().st_size - 1)
    assert not made_anew(Database(path), pytest.fail)


def test_a_file_whose_schema_is_no_text_is_refused_with_a_sentence(store: Opened) -> None:
    filled(store)
    path = on_disk(store)
    content = path.read_bytes()
    place = content.index(b"CREATE TABLE log")
    path.write_bytes(content[: place + 7] + b"\xa0" + content[place + 8 :])
    with pytest.raises(StoreError, match="cannot be opened as a database"):
        Database(path).create()
    with pytest.raises(StoreError, match="cannot be read as a database"):
        inspect(path)


def spoilt(store: Opened, before: bytes, after: bytes) -> Path:
    """Its file, with another text in its schema, which SQLite does not mind."""
    filled(store)
    path = on_disk(store)
    content = path.read_bytes()
    assert content.count(before) == 1 and len(before) == len(after)
    path.write_bytes(content.replace(before, after))
    return path


@pytest.mark.parametrize(
    "before, after, what",
    [
        (b"IN ('pause', 'resume')", b"IN ('pausf', 'resume')", "view queries"),
        (b"(subject, seq) WHERE kind = 'chunk'", b"(subject, seq) WHERE kind = 'chunj'", "index log_chunks"),
        (b"reason    TEXT    NOT NULL\n)", b"reasom    TEXT    NOT NULL\n)", "table failures"),
    ],
    ids=["view", "index", "table"],
)
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_a_schema_that_is_damaged_is_refused_with_a_sentence(
    store: Opened, monkeypatch: pytest.MonkeyPatch, before: bytes, after: bytes, what: str, large: bool
) -> None:
    path = spoilt(store, before, after)
    monkeypatch.setattr(database, "CHECKED_BYTES", path.stat().st_size - large)
    with pytest.raises(StoreError) as caught:
        made_anew(Database(path).create(), pytest.fail)
    assert str(caught.value).startswith(f"{path} is damaged (the {what} is not as it was made): put back a copy")
    assert inspect(path).pages[0] == f"the {what} is not as it was made"


def test_a_file_is_looked_through_once(store: Opened) -> None:
    filled(store)
    other, statements = Database(on_disk(store)).create(), []
    other.connection.set_trace_callback(statements.append)
    assert not made_anew(other, pytest.fail)
    assert [statement for statement in statements if "_check" in statement] == ["PRAGMA integrity_check(1)"]


def test_damage_that_is_not_of_an_index_is_no_matter_of_indexes(store: Opened) -> None:
    filled(store)
    path = on_disk(store)
    with path.open("r+b") as file:
        file.seek(-10 * 4096, 2)
        file.write(b"Z" * 10 * 4096)
    with pytest.raises(StoreError) as caught:
        made_anew(Database(path), pytest.fail)
    assert str(caught.value).startswith(f"{path} is damaged (")
    assert "and delete store.db-wal and store.db-shm beside it" in str(caught.value)
