"""Both logs that there are, the one in SQLite and the one in memory, opened alike; and what is put into them."""

from __future__ import annotations

from pathlib import Path

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Draft, Log, LogWriter, Refused
from csparql_spark.log.contents import InstantPassed, QueryRegistered, StreamMade, draft_of
from csparql_spark.log.contract import ReadableLog, WritableLog
from csparql_spark.log.guards import AnyGuard, Reads
from csparql_spark.log.memory import MemoryLog
from tests.store.opened import Hands

START = 10_000


def reads_of(query: QueryRegistered) -> Reads:
    """The texts of these tests say what they read: "streams urn:a urn:b"."""
    things, *names = query.text.split()
    return Reads(**{things: frozenset(names)})


class InMemory:
    def __init__(self, path: Path, hands: Hands) -> None:
        self._hands = hands
        self.log = MemoryLog(reads_of, hands.clock())
        self.writer: WritableLog = self.log
        self.reader: ReadableLog = self.log

    def reopen(self) -> None:
        """What it holds would be gone with it: only its clock begins again."""
        self.log.clock = self._hands.clock(self.log._floor)

    def close(self) -> None:
        self.log.stop()


class InSqlite:
    def __init__(self, path: Path, hands: Hands) -> None:
        self._directory, self._hands = DataDirectory(path).create(), hands
        self._database = Database(self._directory.database).create()
        self._begin()

    def _begin(self) -> None:
        writer = LogWriter(self._database, self._directory.bell("log"), reads_of)
        writer.clock = self._hands.clock(writer._last)
        self.writer: WritableLog = writer.start()
        self.reader: ReadableLog = Log(self._database)

    def reopen(self) -> None:
        self.writer.stop()
        self._begin()

    def close(self) -> None:
        self.writer.stop()
        self._database.close()


Opened = InMemory | InSqlite


def stream(iri: str, producer: str | None = None) -> Draft:
    return draft_of(StreamMade(iri, "arrival" if producer is None else "derived", 0, producer), iri)


def query(name: str, text: str = "streams", *, paused: bool = False) -> Draft:
    return draft_of(QueryRegistered(text, None, paused), name)


def refusal(log: Opened, guard: AnyGuard) -> Refused | None:
    """Why an entry with the guard does not go in; it is one that changes nothing."""
    try:
        log.writer.append(draft_of(InstantPassed(0), "urn:clock"), guard)
    except Refused as refused:
        return refused
    return None


def holds(log: Opened, guard: AnyGuard) -> bool:
    refused = refusal(log, guard)
    assert refused is None or refused.guard == guard
    return refused is None
