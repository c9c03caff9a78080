"""What is damaged on the disk is found where it is read, told by name, and is in nobody else's way."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.disk.checksum import AnswerHead, EntryHead, answer_sum, head_sum, payload_sum
from csparql_spark.disk.damage import Damaged
from csparql_spark.log import Entry, LogWriter
from csparql_spark.store import QueryRecord, StoredAnswer, StreamRecord
from tests.store.opened import Opened

PAYLOAD = "is damaged: its payload is not what was written"
HEAD = (
    "is damaged: what it says of itself is not what was written, so every query that was there may have had to read it"
)


def change(store: Opened, seq: int, **columns: object) -> None:
    """As the disk would change it: what was written of its checksums stays."""
    with store.database.transaction() as connection:
        for name, value in columns.items():
            connection.execute(f"UPDATE log SET {name} = ? WHERE seq = ?", (value, seq))


def flip(path: Path, content: bytes, by: int = 0x01) -> None:
    """Flip bits of the middle byte of the only place in a file that has such a content."""
    found = path.read_bytes()
    assert found.count(content) == 1
    with path.open("r+b") as file:
        place = found.index(content) + len(content) // 2
        file.seek(place)
        file.write(bytes([found[place] ^ by]))


def on_disk(store: Opened) -> Path:
    """The file, with everything in it; nobody has it open."""
    store.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    return store.directory.database


@settings(deadline=None)
@given(st.binary(max_size=300), st.sampled_from([1, 3000]), st.integers(0, 1 << 20), st.integers(0, 7))
def test_a_checksum_sees_each_bit(piece: bytes, times: int, place: int, bit: int) -> None:
    content = piece * times
    assert -(1 << 63) <= payload_sum(content) < 1 << 63 and payload_sum(content) == payload_sum(bytes(content))
    if content:
        place %= len(content)
        other = bytearray(content)
        other[place] ^= 1 << bit
        sums = [payload_sum(bytes(one)) for one in (content, other)]
        assert sums[0] >> 32 != sums[1] >> 32, "CRC-32 sees each bit"
        if place < len(content) // 8 * 8:
            assert sums[0] & 0xFFFFFFFF != sums[1] & 0xFFFFFFFF, "and so does what is beside it"
        assert answer_sum(AnswerHead(1, 2, 3, 4), bytes(other)) != answer_sum(AnswerHead(1, 2, 3, 4), content)
    assert (
        len(
            {
                answer_sum(AnswerHead(*numbers), content)
                for numbers in (
                    (1, 2, 3, 4),
                    (2, 2, 3, 4),
                    (1, 1, 3, 4),
                    (1, 2, 2, 4),
                    (1, 2, 3, 3),
                    (12, 3, 4, 0),
                    (1, 23, 4, 0),
                )
            }
        )
        == 7
    )


def test_nothing_is_not_the_same_as_an_empty_payload() -> None:
    assert payload_sum(None) != payload_sum(b"")
    assert head_sum(EntryHead("chunk", 1, None, 0, None, None, 0)) != head_sum(
        EntryHead("chunk", 1, "None", 0, None, None, 0)
    )


def test_what_is_whole_is_read_as_it_was_written(store: Opened) -> None:
    entries = [
        store.append("chunk", "urn:s", payload=b"x" * 9000, rows=2, first=5, last=7, unstamped=1),
        store.append("tick", at=20),
        store.append("drop", "urn:é\ud7ff"),
    ]
    assert store.entries() == entries and store.log.payload(1) == b"x" * 9000
    sums = store.database.connection.execute("SELECT head_sum, payload_sum FROM log WHERE seq = 1").fetchone()
    assert sums == (head_sum(EntryHead("chunk", entries[0].at, "urn:s", 2, 5, 7, 1)), payload_sum(b"x" * 9000))


@pytest.mark.parametrize(
    "column, value",
    [
        ("kind", "chunl"),
        ("kind", None),
        ("at", 9),
        ("at", "9x"),
        ("subject", "urn:t"),
        ("subject", b"urn:\xff"),
        ("rows", 3),
        ("first", None),
        ("last", 1 << 60),
        ("unstamped", 2),
        ("head_sum", 7),
    ],
)
def test_an_entry_whose_head_is_damaged(store: Opened, column: str, value: object) -> None:
    before = store.append("chunk", "urn:s", payload=b"before")
    entry = store.append("chunk", "urn:s", payload=b"x", rows=2, first=5, last=7, unstamped=1)
    after = store.append("chunk", "urn:s", payload=b"after")
    if value is None and column == "kind":
        value = ""
    change(store, entry.seq, **{column: value})
    told = f"the entry 2 {HEAD}"
    assert store.entries() == [before, Entry(2, "damaged", before.at, damage=told), after]
    assert [one.seq for one in store.log.outline(0, 9)] == [1, 2, 3]
    with pytest.raises(Damaged) as caught:  # it may have been one of them
        list(store.log.chunks("urn:s", low=0, high=1 << 62, after=1))
    assert str(caught.value) == told
    assert list(store.log.chunks("urn:s", low=0, high=1 << 62, after=2)) == [after]


@pytest.mark.parametrize(
    "kind, of",
    [
        ("chunk", "of the stream urn:s"),
        ("background", "that set the graph urn:s"),
        ("rules", "that set the rule set urn:s"),
        ("register", "that registered the query urn:s"),
        ("stream", "that made the stream urn:s"),
    ],
)
def test_an_entry_whose_payload_is_damaged(store: Opened, kind: str, of: str) -> None:
    entry = store.append(kind, "urn:s", payload=b"what was written", rows=2)
    after = store.append("chunk", "urn:t", payload=b"after")
    change(store, 1, payload=b"what was writtan")
    told = f"the entry 1 {of} {PAYLOAD}"
    damaged = Entry(1, kind, entry.at, "urn:s", 2 if kind != "register" else 0, damage=told)
    assert store.entries() == [damaged, after] and store.log.one(1) == store.log.last_as_is("urn:s", kind, 9) == damaged
    for read in (lambda: store.log.last("urn:s", kind, 9), lambda: store.log.payload(1)):
        with pytest.raises(Damaged) as caught:
            read()
        assert str(caught.value) == told
    assert store.log.payload(2) == b"after"
    found = [
        (one.what, one.place, one.kind, one.subject, one.at, one.reason, one.skipped)
        for one in store.log._damages.all()
    ]
    assert found == [("entry", 1, kind, "urn:s", entry.at, told, None)]


@pytest.mark.parametrize("kind", ["drop", "unregister", "pause", "resume", "tick"])
def test_nobody_needs_the_payload_of_what_its_head_says(store: Opened, kind: str) -> None:
    entry = store.append(kind, "urn:s", payload=b"what was written", at=4)
    change(store, 1, payload=b"what was writtan")
    (read,) = store.entries()
    assert (read.kind, read.subject, read.at, read.damage) == (kind, "urn:s", entry.at, None)


def test_readers_of_a_stream_that_do_not_come_by_are_not_told(store: Opened) -> None:
    early = store.append("chunk", "urn:s", payload=b"early", first=1, last=1)
    store.append("chunk", "urn:s", payload=b"lost", first=5, last=5)
    late = store.append("chunk", "urn:s", payload=b"late", first=9, last=9)
    change(store, 2, payload=b"lust")
    assert list(store.log.chunks("urn:s", low=0, high=2, after=0)) == [early]
    assert next(store.log.recent("urn:s")) == late
    with pytest.raises(Damaged):
        list(store.log.chunks("urn:s", low=0, high=9, after=0))


def test_an_answer_that_a_stream_is_without(store: Opened) -> None:
    early = store.append("chunk", "urn:d", payload=b"early", first=1000, last=1000)
    store.append("damaged", "urn:d", payload=b"the answer is lost", first=2000, last=2000)
    late = store.append("chunk", "urn:d", payload=b"late", first=3000, last=3000)
    other = store.append("chunk", "urn:e", payload=b"other", first=2000, last=2000)
    assert list(store.log.chunks("urn:d", low=0, high=1000, after=0)) == [early]
    assert list(store.log.chunks("urn:d", low=0, high=3000, after=2)) == [late]
    assert list(store.log.chunks("urn:e", low=0, high=3000, after=0)) == list(store.log.recent("urn:e")) == [other]
    recent = store.log.recent("urn:d")
    assert next(recent) == late and list(store.log.recent("urn:d", after=2)) == [late]
    for read in (lambda: list(store.log.chunks("urn:d", low=1000, high=2000, after=0)), lambda: next(recent)):
        with pytest.raises(Damaged) as caught:
            read()
        assert str(caught.value) == "the answer is lost"


def test_an_entry_that_may_have_been_one_of_the_newest_of_a_stream(store: Opened) -> None:
    store.append("chunk", "urn:s", payload=b"early")
    store.append("chunk", "urn:t", payload=b"lost")
    late = store.append("chunk", "urn:s", payload=b"late")
    change(store, 2, subject="urn:x")
    store.entries()
    recent = store.log.recent("urn:s")
    assert next(recent) == late and list(store.log.recent("urn:s", after=2)) == [late]
    with pytest.raises(Damaged) as caught:
        next(recent)
    assert str(caught.value) == f"the entry 2 {HEAD}"
    with pytest.raises(Damaged):
        list(store.log.recent("urn:nothing"))


@pytest.mark.parametrize("columns", [{"at": 1 << 50, "last": None}, {"first": 1 << 50}, {"last": -1, "at": 0}])
def test_stamps_that_are_damaged_hide_no_entry_from_who_asks_for_a_time(store: Opened, columns: dict) -> None:
    store.append("chunk", "urn:s", payload=b"early", first=1, last=1)
    entry = store.append("chunk", "urn:s", payload=b"lost", first=5, last=5)
    change(store, entry.seq, **columns)
    with pytest.raises(Damaged, match=f"the entry {entry.seq} {HEAD}"):
        store.log.chunks("urn:s", low=3, high=9, after=0)
    assert list(store.log.chunks("urn:s", low=3, high=9, after=entry.seq)) == []


def test_it_is_said_once_whoever_finds_it(store: Opened, capfd: pytest.CaptureFixture[str]) -> None:
    store.append("chunk", "urn:s", payload=b"lost")
    change(store, 1, payload=b"lust")
    for _ in range(2):
        other = Opened(store.directory.path)
        for _ in range(2):
            assert [entry.damage for entry in other.entries()] == [f"the entry 1 of the stream urn:s {PAYLOAD}"]
        other.close()
    assert capfd.readouterr().err == (
        f"csparql-spark: the entry 1 of the stream urn:s {PAYLOAD} ({store.directory.database}); `csparql-spark store "
        "check` finds all that is damaged\n"
    )


def test_it_can_be_found_where_it_cannot_be_noted(store: Opened) -> None:
    store.append("chunk", "urn:s", payload=b"lost")
    change(store, 1, payload=b"lust")
    with store.database.transaction():
        assert store.entries()[0].damage is not None
    assert store.log._damages.all() == []
    assert store.entries()[0].damage is not None and len(store.log._damages.all()) == 1


def test_what_was_written_before_there_were_checksums_is_not_checked(store: Opened) -> None:
    store.append("chunk", "urn:s", payload=b"old")
    change(store, 1, head_sum=None, payload_sum=None, payload=b"odd")
    assert [entry.payload for entry in store.entries()] == [b"odd"]


def test_a_bit_in_the_file(store: Opened) -> None:
    whole = [store.append("chunk", "urn:s", payload=bytes([65 + i]) * 40 + b"y" * 20_000) for i in range(3)]
    path = on_disk(store)
    flip(path, b"B" * 40)
    again = Opened(path.parent)
    assert again.entries() == [
        whole[0],
        Entry(2, "chunk", whole[1].at, "urn:s", damage=f"the entry 2 of the stream urn:s {PAYLOAD}"),
        whole[2],
    ]
    again.close()


def test_a_page_of_an_entry_that_the_database_cannot_read(store: Opened) -> None:
    """Where the pages of a payload hang together is damaged, too: SQLite says so of the whole statement."""
    whole = [store.append("chunk", "urn:s", payload=bytes([65 + i]) * 20_000) for i in range(3)]
    path = on_disk(store)
    content = path.read_bytes()
    page = next(place for place in range(0, len(content), 4096) if content[place + 4 : place + 4096] == b"B" * 4092)
    with path.open("r+b") as file:
        file.seek(page)
        file.write(b"\xff\xff\xff\xf0")
    again = Opened(path.parent)
    read = again.entries()
    assert [read[0], read[2]] == [whole[0], whole[2]]
    assert (read[1].seq, read[1].kind, read[1].subject) == (2, "damaged", None)
    assert read[1].damage.startswith("the entry 2 is damaged: database disk image is malformed; what it says of itself")
    assert [entry.seq for entry in again.log.outline(0, 9)] == [1, 2, 3]
    again.close()


def test_a_page_of_many_entries_that_the_database_cannot_read(store: Opened) -> None:
    whole = [store.append("chunk", "urn:s", payload=b"%03d" % i * 300) for i in range(12)]
    path = on_disk(store)
    content = path.read_bytes()
    page = content.index(b"002" * 300) // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(page)
        file.write(b"\x5a" * 100)
    again = Opened(path.parent)
    read = again.entries()
    lost = [entry.seq for entry in read if entry.damage is not None]
    assert 3 in lost and 1 <= len(lost) < 6 and all(entry.kind == "damaged" for entry in read if entry.seq in lost)
    assert [entry for entry in read if entry.seq not in lost] == [e for e in whole if e.seq not in lost]
    assert [entry.seq for entry in again.log.outline(0, 99)] == list(range(1, 13))
    again.close()


def test_a_registration_and_a_stream(store: Opened) -> None:
    store.writer.append(StreamRecord.draft("urn:s", name="s", clock="event", delay=5))
    store.writer.append(QueryRecord.draft("q", text="SELECT", base="urn:b", paused=True))
    (stream,), (query,) = store.registry.streams(), store.registry.queries()
    change(store, 1, payload=b'{"name": "s", "clock": "event", "delay": 9}')
    change(store, 2, payload=b"\xff\xff")
    assert store.registry.streams() == [StreamRecord(1, "urn:s", stream.created, "urn:s", "arrival", 0, damaged=True)]
    assert store.registry.stream("urn:s") == store.registry.streams()[0]
    assert store.registry.queries() == [QueryRecord(2, "q", query.registered, "", None, damaged=True)]
    assert store.registry.query("q") == store.registry.queries()[0]


def test_a_stamp_of_the_far_future_neither_moves_the_clock_nor_forgets(store: Opened) -> None:
    entries = [store.append("chunk", "urn:s", payload=b"x") for _ in range(4)]
    store.retention.advance(4)
    change(store, 4, at=1 << 60)
    assert LogWriter(store.database, store.directory.bell("log"))._last == entries[2].at
    assert store.retention.forget(keep_log=600_000, reach=0, keep_answers=10) == 0
    assert len(store.entries()) == 4


@pytest.mark.parametrize("stamp", [1 << 60, "9x", ""])
def test_a_stamp_that_is_damaged_says_nothing_of_how_long_it_waits(store: Opened, stamp: object) -> None:
    before, _ = (store.append("chunk", "urn:s", payload=b"x") for _ in range(2))
    change(store, 2, at=stamp)
    assert store.log.waiting_since(1) == before.at
    change(store, 1, at="9x")
    assert store.log.waiting_since(0) is None
    late = store.append("chunk", "urn:s", payload=b"x")
    assert store.log.waiting_since(0) == late.at


def test_stamps_of_a_producer_of_the_far_future_do_not_forget(store: Opened) -> None:
    store.put("chunk", 1000, "urn:s", last=100)
    with store.database.transaction() as connection:
        connection.execute(
            "UPDATE log SET head_sum = ?", (head_sum(EntryHead("chunk", 1000, "urn:s", 0, None, 100, 0)),)
        )
    store.put("stream", 1, "urn:s", payload=b'{"name": "s", "clock": "event", "delay": 0}')
    store.put("chunk", 1_000_000, "urn:s", last=150)
    store.put("tick", 1_000_001)
    store.retention.advance(4)
    change(store, 3, last=1 << 60, head_sum=1)
    assert [entry.damage is None for entry in store.entries()] == [True, True, False, True]
    assert store.retention.forget(keep_log=1000, reach=60, keep_answers=10) == 0


def test_what_is_forgotten_is_not_damaged_any_more(store: Opened) -> None:
    store.put("stream", 1, "urn:s", payload=b'{"name": "s", "clock": "arrival", "delay": 0}')
    for at in (10, 20):
        store.put("chunk", at, "urn:s", payload=b"x")
    store.put("skipped", 25)
    store.put("damaged", 30, "urn:s", payload=b"an answer is lost")
    store.put("chunk", 1_000_000, "urn:s", payload=b"x")
    change(store, 2, payload_sum=5)
    assert [entry.damage for entry in store.entries()] == [
        None,
        f"the entry 2 of the stream urn:s {PAYLOAD}",
        None,
        None,
        "an answer is lost",
        None,
    ]
    store.retention.advance(6)
    assert store.retention.forget(keep_log=1000, reach=0, keep_answers=10) == 4
    assert [entry.seq for entry in store.entries()] == [1, 6] and store.log._damages.all() == []


ANSWER = "is damaged: its payload is not what was written"


def test_an_answer(store: Opened) -> None:
    store.answers.write([StoredAnswer(7, instant, 0, 1, b"%d" % instant) for instant in (10, 20, 30)])
    with store.database.transaction() as connection:
        connection.execute("UPDATE answers SET payload = ? WHERE instant = 20", (b"21",))
    read = store.answers.after(7, 0, 9)
    assert [(one.instant, one.payload, one.damage) for one in read] == [
        (10, b"10", None),
        (20, b"", f"the answer at 20 {ANSWER}"),
        (30, b"30", None),
    ]
    assert [(one.what, one.place, one.subject, one.at) for one in store.log._damages.all()] == [("answer", 2, "7", 20)]
    assert store.answers.at(7, 20) == read[1:2] and store.answers.latest(7) == read[2:]


@pytest.mark.parametrize(
    "column, value", [("rows", "7x"), ("rows", 1.5), ("rows", b"x"), ("part", "x"), ("payload", "text"), ("payload", 7)]
)
def test_an_answer_whose_numbers_are_none(store: Opened, column: str, value: object) -> None:
    store.answers.write([StoredAnswer(7, 1000, 0, 1, b"what was said")])
    with store.database.transaction() as connection:
        connection.execute(f"UPDATE answers SET {column} = ?", (value,))
    (read,) = store.answers.at(7, 1000)
    assert (read.query, read.instant, read.payload, read.position) == (7, 1000, b"", 1)
    assert read.damage == f"the answer at 1000 {PAYLOAD}"


def test_an_answer_that_the_database_cannot_read(store: Opened) -> None:
    said = {instant: Random(instant).randbytes(20_000) for instant in (1, 2, 3)}  # nothing makes it shorter
    store.answers.write([StoredAnswer(7, instant, 0, 1, payload) for instant, payload in said.items()])
    path = on_disk(store)
    content = path.read_bytes()
    page = next(place for place in range(0, len(content), 4096) if content[place + 4 : place + 4096] in said[2])
    with path.open("r+b") as file:
        file.seek(page)
        file.write(b"\xff\xff\xff\xf0")
    again = Opened(path.parent)
    assert [(one.instant, len(one.payload), one.damage) for one in again.answers.after(7, 0, 9)] == [
        (1, 20_000, None),
        (2, 0, "the answer at 2 is damaged: database disk image is malformed"),
        (3, 20_000, None),
    ]
    again.close()


def test_passing_over_an_entry(store: Opened) -> None:
    entries = [store.append("chunk", "urn:s", payload=b"x" * 9000, rows=i) for i in range(3)]
    change(store, 3, payload=b"y")
    assert store.entries()[2].damage is not None
    (damage,) = store.log._damages.all()
    store.log._damages.skip(damage)
    for _ in range(2):
        assert store.entries() == [*entries[:2], Entry(3, "skipped", entries[2].at)] and store.log.tail() == 3
        (kept,) = store.log._damages.all()
        assert kept.skipped is not None and kept.reason == damage.reason
        store.close()
        store = Opened(store.directory.path)
    after = store.append("chunk", "urn:s", payload=b"z")
    assert after.seq == 4 and list(store.log.chunks("urn:s", low=0, high=1 << 62, after=0)) == [*entries[:2], after]
    store.close()
