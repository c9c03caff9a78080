"""Delivery: real sockets whose other ends do not read, or are gone."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.bell import Bell
from csparql_spark.log import LogWriter
from csparql_spark.server.subscribers import delivery
from csparql_spark.server.subscribers.delivery import Delivery
from csparql_spark.server.subscribers.fanout import Fanout
from csparql_spark.server.subscribers.subscription import FIRST, LATEST, Subscription, SubscriptionStart, Wishes
from csparql_spark.store import AnswerStore, StoredAnswer
from csparql_spark.store.registry import QueryRecord
from tests.server.playing import TEXT, Event, number, parsed

BIG = Result.from_rows(("n",), [{"n": '"' + "x" * 50_000 + '"'}])


class House:
    def __init__(self, path: Path, *, heartbeat: float = 30.0, stall: float = 30.0) -> None:
        directory = DataDirectory(path).create()
        self.database = Database(directory.database).create()
        self.store = AnswerStore(self.database, directory.bell("answers"))
        self.writer = LogWriter(self.database, directory.bell("log")).start()
        self.query = self.writer.append(QueryRecord.draft("q", text=TEXT, base=None)).seq
        self.fanout = Fanout(self.database, self.store, Bell(directory.bell("answers")), places=100).start()
        self.delivery = Delivery(self.fanout, heartbeat_seconds=heartbeat, stall_seconds=stall).start()

    def tell(self, *told: int, answers: tuple[Result, ...] = ()) -> None:
        self.store.write(
            [
                StoredAnswer(self.query, instant, 0, 1, answer.to_bytes())
                for instant in told
                for answer in answers or (number(instant),)
            ]
        )

    def reader(self, start: SubscriptionStart = LATEST, *, buffer: int = 1 << 18, **options: object) -> socket.socket:
        ours, theirs = tcp_pair(buffer)
        self.delivery.take(ours, Subscription(self.fanout, ["q"], start, slow_instants=20, **options))
        return theirs

    def close(self) -> None:
        self.fanout.stop()
        self.delivery.stop()
        self.writer.stop()
        self.database.close()


def tcp_pair(buffer: int) -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        theirs = socket.socket()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        theirs.settimeout(20)
        theirs.connect(listening.getsockname())
        return listening.accept()[0], theirs


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "data")
    yield house
    house.close()


def read(connection: socket.socket, until: bytes) -> str:
    """What comes, up to an event in which that is said."""
    said, found = bytearray(), False
    while not (found and said.endswith(b"\n\n")):
        piece = connection.recv(1 << 16)
        assert piece, said[-500:]
        said += piece
        found = found or until in said[-len(piece) - len(until) :]
    return said.decode()


def events(text: str) -> list[Event]:
    return [event for event in parsed(text) if isinstance(event, Event) and event.kind]


def test_answers_arrive(house: House) -> None:
    house.tell(1000)
    with house.reader() as reader:
        assert read(reader, b'"at":1000').startswith("retry: 1000\n\nid: 1\nevent: answer\n")
        house.tell(2000, 3000)
        assert [event.data["at"] for event in events(read(reader, b'"at":3000'))] == [2000, 3000]


def test_who_hangs_up_gives_the_place_back_before_anything_is_said(house: House) -> None:
    reader = house.reader()
    read(reader, b"id: 0")
    assert house.fanout.subscribers == 1
    reader.close()
    while house.fanout.subscribers:
        time.sleep(0)


def test_who_never_reads_costs_the_others_nothing_and_is_sent_home(tmp_path: Path) -> None:
    house = House(tmp_path / "data", heartbeat=0.2, stall=1.0)
    stuck = house.reader(FIRST, buffer=4096)
    with house.reader(FIRST) as good:
        house.tell(*range(1000, 40_000, 1000), answers=(BIG,))
        told = events(read(good, b'"at":39000'))
        assert [event.data["at"] for event in told] == list(range(1000, 40_000, 1000))
        while house.fanout.subscribers > 1:
            read(good, b":\n\n")
    rest = b""
    while piece := stuck.recv(1 << 16):
        rest += piece
    assert b'"at":1000' in rest and b'"at":39000' not in rest, "it had what its socket held"
    stuck.close()
    house.close()


def test_who_reads_too_slowly_is_told_the_gap(house: House, monkeypatch) -> None:
    monkeypatch.setattr(delivery, "PATIENCE_SECONDS", 0.0)
    house.tell(1000)
    with house.reader(FIRST, buffer=4096) as slow:
        read(slow, b'"at":1000')
        while not house.delivery._resting:
            time.sleep(0)
        for instant in range(2000, 60_000, 1000):
            house.tell(instant, answers=(BIG,))
        told = events(read(slow, b'"at":59000'))
    gaps = [event for event in told if event.kind == "gap"]
    assert gaps, "58 instants of 50 kB do not fit into its socket"
    heard = {event.data["at"] for event in told if event.kind == "answer"}
    missed = {instant for gap in gaps for instant in range(gap.data["first"], gap.data["last"] + 1000, 1000)}
    assert heard | missed == set(range(2000, 60_000, 1000)) and not heard & missed
    assert {gap.data["reason"] for gap in gaps} == {"slow"}


def test_signs_of_life(tmp_path: Path) -> None:
    house = House(tmp_path / "data", heartbeat=0.05)
    with house.reader() as reader, house.reader(wishes=Wishes(progress=True)) as other:
        assert read(reader, b":\n\n").endswith("\n\n:\n\n")
        (progress, *_) = events(read(other, b"event: progress"))
        assert progress.id == "0" and progress.data["clock"] > 0
    house.close()


def test_who_talks_too_much_is_sent_home(house: House) -> None:
    with house.reader() as reader:
        read(reader, b"id: 0")
        try:
            reader.sendall(bytes(1 << 20))
            assert reader.recv(1) == b""
        except OSError:
            pass  # it is told so by a reset
    while house.fanout.subscribers:
        time.sleep(0)


def test_at_the_end_all_go_home(tmp_path: Path) -> None:
    house = House(tmp_path / "data")
    readers = [house.reader() for _ in range(5)]
    for reader in readers:
        read(reader, b"id: 0")
    house.close()
    assert [reader.recv(10) for reader in readers] == [b""] * 5
    for reader in readers:
        reader.close()
    assert house.fanout.subscribers == 0
