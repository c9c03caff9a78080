"""The log as a streaming source: offsets are places in the log, rows are entries addressed to their groups.

`latestOffset` decides when a batch is due (see `schedule.due`). While nothing is, it sleeps on the log's bell, so that
an idle engine costs next to nothing and a due one starts at once. Rows carry whole chunks, never single triples.

An offset is {"seq": 41}, or {"seq": 41, "tick": 9000} of a batch that is begun before it is known where it ends (see
`schedule.early_batches`): with the first tick after 41 that says that 9000 has passed. Its reader waits for that.
{"seq": 41, "wake": 9000} ends a batch without entries, which was begun at 9000 because some group waits for its
background (see `store.waiting_groups`): each of these is given a row in every batch, so that it looks whether that is
there.

Spark calls `latestOffset`, `partitions` and `commit` in one long-lived Python process on the driver, and `read` in
workers: each of them keeps a router of its own, which it moves along the log.

    spark.dataSource.register(LogSource)
    spark.readStream.format("csparql-log").option("data", "data").load()
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.bell import Bell
from csparql_spark.disk.errors import DatabaseBusy, DatabaseFull
from csparql_spark.log import Entry, Log
from csparql_spark.log.contents import QueryFailed
from csparql_spark.pulse import JOB, Pulse
from csparql_spark.schedule.due import BatchLimits, Due
from csparql_spark.schedule.early_batches import LATEST_MS, LEAD_MS, EarlyBatches
from csparql_spark.schedule.routing import DAMAGED, Router, Row, failures_of, to_fail, wake
from csparql_spark.store import AnswerStore
from csparql_spark.store.batch_ends import Ends
from csparql_spark.store.retention import Retention
from csparql_spark.store.waiting_groups import WaitingGroups

SCHEMA = "group string, shard int, seq long, kind string, at long, subject string, payload binary"
ARROW = pa.schema(
    [
        ("group", pa.string()),
        ("shard", pa.int32()),
        ("seq", pa.int64()),
        ("kind", pa.string()),
        ("at", pa.int64()),
        ("subject", pa.string()),
        ("payload", pa.binary()),
    ]
)

LOOK_SECONDS = 1.0  # how long a call sleeps at most before it tells Spark that there is nothing
AWAKE_SECONDS = 0.02  # and how long who waits for a tick: a ring may be lost
WAKE_SECONDS = 0.25  # between two batches for groups that wait
LEAST_MS = 5  # between two looks at what can be foreseen
# So many entries are one batch at most: an engine that is killed takes its batch again, from the beginning.
OUTLINE_ENTRIES = 4000
BATCH_BYTES = 16 << 20

# The newest entry of a log always stays.
AHEAD = "the checkpoint is ahead of the log"


class AheadOfLog(Exception):
    """The checkpoint is that of another log."""


class Span(InputPartition):
    """The entries after `start`, up to and including `end`; with a `tick`, up to where such a batch ends."""

    def __init__(self, start: int, end: int, tick: int | None = None) -> None:
        super().__init__((start, end, tick))
        self.start, self.end, self.tick = start, end, tick


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
        self._last: int | None = None  # with trigger(availableNow): where to stop

    def initialOffset(self) -> dict[str, int]:
        return {"seq": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._opened.log.tail()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        opened = self._opened
        opened.pulse.beat()
        after = opened.reached(start)
        opened.pass_over(start["seq"], after)
        deadline = time.monotonic() + LOOK_SECONDS
        while True:
            outline = opened.log.outline(after, OUTLINE_ENTRIES)
            if not outline and after > (tail := opened.log.tail()):
                raise AheadOfLog(_ahead(after, tail))
            if self._last is not None:
                outline = [entry for entry in outline if entry.seq <= self._last]
            tail = outline[-1].seq if outline else after
            opened.follow(tail)
            now = _now()
            if self._last is None and (tick := opened.early.tick(outline, now)) is not None:
                return {"seq": tail, "tick": tick}
            if outline and (end := opened.due.end(after, outline, now, finish=self._last is not None)) > after:
                return {"seq": end}
            if self._last is None and opened.must_wake():
                return {"seq": after, "wake": now}
            left = deadline - time.monotonic()
            if self._last is not None or left <= 0:
                return start
            left = min(left, opened.until_wake)
            # A held tail must be looked at again when it has become old, also if nobody rings; and so must the clock.
            if (until := opened.early.pause(now)) is not None:
                left = min(left, max(until, LEAST_MS) / 1000)
            opened.bell.wait(min(left, 0.1) if outline else left)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Span]:
        return [Span(self._opened.reached(start), end["seq"], end.get("tick"))]

    # It is given the partitions that it has made.
    def read(self, partition: Span) -> Iterator[pa.RecordBatch]:  # type: ignore[override]  # see above
        opened, after = self._opened, partition.start
        opened.follow(after)
        sent: set[tuple[str, int]] = set()
        rows, size = opened.lost() + [wake(group) for group in opened.waiting.groups()], 0
        for upto in opened.stretches(partition):
            for entry in opened.pulse.along(opened.log.read(after, upto)):
                for row in opened.router.route(entry, sent):
                    if row.kind == "register":
                        row = opened.informed(row)
                    rows.append(row)
                    size += len(row.payload or b"")
                if size > BATCH_BYTES:
                    yield _batch(rows)
                    rows, size = [], 0
            if rows:
                yield _batch(rows)
                rows, size = [], 0
            after = upto

    def commit(self, end: dict[str, int]) -> None:
        reached = self._opened.reached(end)
        self._opened.retention.advance(reached)
        self._opened.ends.forget(reached)

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

    def __getstate__(self) -> dict[str, object]:  # attributes by their names, as pickle has them
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
        self.ends = Ends(self.database)
        self.waiting = WaitingGroups(self.database)
        self.bell = Bell(directory.bell("log"))
        self.pulse = Pulse(directory.bell("life-engine"), JOB)
        self._restart()

    @classmethod
    def of(cls, data: str) -> Opened:
        if data not in cls._known:
            cls._known[data] = cls(data)
        return cls._known[data]

    def _restart(self) -> None:
        self.router = Router(self._background)
        self.due = Due(self.router, BatchLimits())
        self.early = EarlyBatches(self.router)
        self._passed_over = 0
        self._woken = -math.inf
        self._lost: list[Row] = []

    def _background(self, graph: str) -> Entry | None:
        return self.log.last_as_is(graph, "background", self.router.seq)

    def reached(self, offset: dict[str, int]) -> int:
        """The place up to which a batch has read that has ended with an offset."""
        if "tick" not in offset:
            return offset["seq"]
        place = self.ends.of(offset["seq"], offset["tick"])
        if place is None:
            raise AheadOfLog(_ahead(offset["seq"], self.log.tail()))
        return place

    def stretches(self, span: Span) -> Iterator[int]:
        """The places up to which a span can be read, one after the other, as soon as they are known."""
        yield span.end
        if span.tick is None:
            return
        # Bounded also where the clock of the machine is set back meanwhile.
        deadline = time.monotonic() + (min(span.tick - _now(), LEAD_MS) + LATEST_MS) / 1000
        while (end := self.ends.of(span.end, span.tick)) is None:
            self.pulse.beat()
            left = deadline - time.monotonic()
            if left > 0:
                self.bell.wait(min(left, AWAKE_SECONDS))
                continue
            try:
                end = self.ends.settle(span.end, span.tick)
                break
            except (DatabaseBusy, DatabaseFull):
                # Nothing comes into the log then, either.
                deadline = time.monotonic() + LATEST_MS / 1000
        yield end

    def informed(self, row: Row) -> Row:
        """A registration, with what the query has said already: it has, where the engine starts from the log again, or
        takes again a batch whose answers were written. Then it need not begin at its beginning. How it fails the log
        says; the database, as long as that is not there yet."""
        answered, failure = self.answers.newest_instant(row.seq), self.answers.failure(row.seq)
        row = to_fail(row, said := self._failure(row))
        if answered is None and failure is None:
            return row
        reason = None if failure is None else failure[1]
        if said is not None:
            # Told up to its end, it need not come there once more.
            is_told = said.answered is None or answered is not None and answered >= said.answered
            reason = said.reason if is_told and failure is not None else None
        before = {"answered": answered, **({} if reason is None else {"failed": reason})}
        return row._replace(payload=json.dumps({**json.loads(row.payload or b""), **before}).encode())

    def must_wake(self) -> bool:
        """Whether a group waits that has not been given a row of late."""
        now = time.monotonic()
        if now - self._woken < WAKE_SECONDS or not self.waiting.groups():
            return False
        self._woken = now
        return True

    @property
    def until_wake(self) -> float:
        """For how many seconds nobody need be woken."""
        return WAKE_SECONDS if self.waiting.groups() else LOOK_SECONDS

    def _failure(self, row: Row) -> QueryFailed | None:
        """How the log says that the query of a registration fails, wherever it says so."""
        upto = self.log.tail()
        while (entry := self.log.last_as_is(row.subject or "", "fail", upto)) is not None and entry.seq > row.seq:
            if (failure := failures_of([entry]).get(row.seq)) is not None:
                return failure
            upto = entry.seq - 1  # of a later version
        return None

    def pass_over(self, after: int, upto: int) -> None:
        """What came into a batch after it was begun is due no more."""
        if self._passed_over < upto and after < upto:
            self._passed_over = upto
            outline = [entry for entry in self.log.outline(after, OUTLINE_ENTRIES) if entry.seq <= upto]
            self.due.pass_over(outline)
            self.early.see(outline)

    def follow(self, seq: int) -> None:
        """Bring the router to where the log stands after `seq`."""
        if self.router.seq == seq:
            return
        if self.router.seq > seq:  # Spark runs a batch again
            self._restart()
        for entry in self.log.registrations(self.router.seq, seq):
            # A registration that was damaged after it was read is told all the same: its query says nothing any more.
            if entry.kind == "register" and entry.damage is not None:
                self._lost += [row for row in self.router.route(entry) if row.kind == DAMAGED]
            else:
                self.router.follow(entry)
        self.router.seq = seq

    def lost(self) -> list[Row]:
        """What is to be told of registrations that were passed on the way here."""
        lost, self._lost = self._lost, []
        return [row for one in lost for row in self.router.everywhere(one)]


def _now() -> int:
    return int(time.time() * 1000)


def _ahead(reached: int, tail: int) -> str:
    return f"{AHEAD} (it has read up to {reached}, and the log ends at {tail}: somebody has put back a copy)"


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, ARROW, strict=True)], schema=ARROW
    )
