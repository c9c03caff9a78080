"""The log as a streaming source: offsets are places in the log, rows are entries addressed to their groups.

`latestOffset` decides when a batch is due (see `pipeline.due`). While nothing is, it sleeps on the log's bell, so that
an idle engine costs next to nothing and a due one starts at once. Rows carry whole chunks, never single triples.

Spark calls `latestOffset`, `partitions` and `commit` in one long-lived Python process on the driver, and `read` in
workers: each of them keeps a router of its own, which it moves along the log.

    spark.dataSource.register(LogSource)
    spark.readStream.format("csparql-log").option("data", "data").load()
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from csparql_spark.pipeline.due import Due, Limits
from csparql_spark.pipeline.routing import Router, Row
from csparql_spark.store import AnswerStore, Database, DataDirectory, Log
from csparql_spark.store.bell import Bell
from csparql_spark.store.retention import Retention

SCHEMA = "group string, shard int, seq long, kind string, at long, subject string, payload binary"
ARROW = pa.schema([("group", pa.string()), ("shard", pa.int32()), ("seq", pa.int64()), ("kind", pa.string()),
                   ("at", pa.int64()), ("subject", pa.string()), ("payload", pa.binary())])

LOOK_SECONDS = 1.0           # how long a call sleeps at most before it tells Spark that there is nothing
# So many entries are one batch at most: an engine that is killed takes its batch again, from the beginning.
OUTLINE_ENTRIES = 4000
BATCH_BYTES = 16 << 20

# The newest entry of a log always stays.
AHEAD = "the checkpoint is ahead of the log"


class AheadOfLog(Exception):
    """The checkpoint is that of another log."""


class Span(InputPartition):
    """The entries after `start`, up to and including `end`."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__((start, end))
        self.start, self.end = start, end


class LogSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "csparql-log"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return LogReader(self.options["data"])


class LogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, data: str) -> None:
        self._data = data
        self._open: Opened | None = None
        self._last: int | None = None        # with trigger(availableNow): where to stop

    def initialOffset(self) -> dict[str, int]:
        return {"seq": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._opened.log.tail()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        opened, after = self._opened, start["seq"]
        deadline = time.monotonic() + LOOK_SECONDS
        while True:
            outline = opened.log.outline(after, OUTLINE_ENTRIES)
            if not outline and after > (tail := opened.log.tail()):
                raise AheadOfLog(f"{AHEAD} (it has read up to {after}, and the log ends at {tail}: somebody has put "
                                 "back a copy)")
            if self._last is not None:
                outline = [entry for entry in outline if entry.seq <= self._last]
            if outline:
                opened.follow(outline[-1].seq)
                end = opened.due.end(after, outline, int(time.time() * 1000), finish=self._last is not None)
                if end > after:
                    return {"seq": end}
            left = deadline - time.monotonic()
            if self._last is not None or left <= 0:
                return start
            # A held tail must be looked at again when it has become old, also if nobody rings.
            opened.bell.wait(min(left, 0.1) if outline else left)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Span]:
        return [Span(start["seq"], end["seq"])]

    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:
        opened = self._opened
        opened.follow(partition.start)
        rows: list[Row] = []
        size = 0
        for entry in opened.log.read(partition.start, partition.end):
            for row in opened.router.route(entry):
                if row.kind == "register":
                    row = opened.informed(row)
                rows.append(row)
                size += len(row.payload or b"")
            if size > BATCH_BYTES:
                yield _batch(rows)
                rows, size = [], 0
        if rows:
            yield _batch(rows)

    def commit(self, end: dict[str, int]) -> None:
        self._opened.retention.advance(end["seq"])

    def stop(self) -> None:
        if self._open is not None:
            self._open.bell.close()
            self._open.database.close()
            self._open = None

    @property
    def _opened(self) -> Opened:
        if self._open is None:
            self._open = Opened.of(self._data)
        return self._open

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_open": None}


class Opened:
    """What a process needs to read the log; opened once in each process for each data directory."""

    _known: dict[str, Opened] = {}

    def __init__(self, data: str) -> None:
        directory = DataDirectory(data)
        self.database = Database(directory.database)
        self.log = Log(self.database)
        self.answers = AnswerStore(self.database, directory.bell("answers"))
        self.retention = Retention(self.database)
        self.bell = Bell(directory.bell("log"))
        self._restart()

    @classmethod
    def of(cls, data: str) -> Opened:
        if data not in cls._known:
            cls._known[data] = cls(data)
        return cls._known[data]

    def _restart(self) -> None:
        self.router = Router(lambda graph: self.log.last(graph, "background", self.router.seq))
        self.due = Due(self.router, Limits())

    def informed(self, row: Row) -> Row:
        """A registration, with what the query has said already: it has, where the engine starts from the log again, or
        takes again a batch whose answers were written. Then it need not begin at its beginning."""
        answered, failure = self.answers.newest_told(row.seq), self.answers.failure(row.seq)
        if answered is None and failure is None:
            return row
        said = {"answered": answered, **({"failed": failure[1]} if failure else {})}
        return row._replace(payload=json.dumps({**json.loads(row.payload), **said}).encode())

    def follow(self, seq: int) -> None:
        """Bring the router to where the log stands after `seq`."""
        if self.router.seq > seq:          # Spark runs a batch again
            self._restart()
        for entry in self.log.registrations(self.router.seq, seq):
            self.router.route(entry)
        self.router.seq = seq


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch([pa.array(column, field.type) for column, field in zip(columns, ARROW, strict=True)],
                           schema=ARROW)
