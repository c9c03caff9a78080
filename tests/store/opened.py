"""A store in a directory of its own, with a writer that starts when it is first used, and a clock moved by hand."""

from __future__ import annotations

from pathlib import Path

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Draft, Entry, Log, LogWriter
from csparql_spark.log.clock import ArrivalClock
from csparql_spark.log.guards import AnyGuard
from csparql_spark.store import AnswerStore, Registry, Status
from csparql_spark.store.retention import Retention


class Hands:
    """The hands of a clock: `wall` (epoch ms) and `steady` (ms since some start) stand still until they are moved."""

    def __init__(self, wall: float = 0) -> None:
        self.wall, self.steady = wall, 0.0

    def forward(self, ms: float) -> None:
        self.wall += ms
        self.steady += ms

    def clock(self, floor: int = 0) -> ArrivalClock:
        return ArrivalClock(floor, wall=lambda: self.wall / 1000, steady=lambda: self.steady / 1000)


class Opened:
    def __init__(self, path: Path) -> None:
        self.directory = DataDirectory(path).create()
        self.database = Database(self.directory.database).create()
        self.log = Log(self.database)
        self.registry = Registry(self.database)
        self.retention = Retention(self.database)
        self.answers = AnswerStore(self.database, self.directory.bell("answers"))
        self.status = Status(self.database)
        self._writer: LogWriter | None = None

    @property
    def writer(self) -> LogWriter:
        if self._writer is None:
            self._writer = LogWriter(self.database, self.directory.bell("log")).start()
        return self._writer

    def reopen(self, hands: Hands | None = None) -> LogWriter:
        """Another writer of the same log, as after a restart; with `hands`, its clock is read from them."""
        self.stop()
        self._writer = LogWriter(self.database, self.directory.bell("log"))
        if hands is not None:
            self._writer.clock = hands.clock(self._writer._last)
        return self._writer.start()

    def append(self, kind: str, subject: str | None = None, guard: AnyGuard | None = None, **fields: object) -> Entry:
        return self.writer.append(Draft(kind, subject, **fields), guard)

    def entries(self) -> list[Entry]:
        return list(self.log.read(0, self.log.tail()))

    def put(
        self, kind: str, at: int, subject: str | None = None, *, last: int | None = None, payload: bytes | None = None
    ) -> int:
        """An entry just as it is said here, past the writer; its seq."""
        with self.database.transaction() as connection:
            return connection.execute(
                "INSERT INTO log (kind, at, subject, last, payload) VALUES (?, ?, ?, ?, ?)",
                (kind, at, subject, last, payload),
            ).lastrowid

    def stop(self) -> None:
        if self._writer is not None:
            self._writer.stop()
            self._writer = None

    def close(self) -> None:
        self.stop()
        self.database.close()
