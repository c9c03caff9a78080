"""Replaying: after the end, every answer once more from the log, without Spark, and the two compared byte by byte.

The log is read in pieces of some seconds, which are fed whole to fresh groups: other cuts than those of the batches
that Spark made. Two processes share the groups.

    found = replayed(data, until=1700000060000)
    found.answers, found.broken         # 118_240, ["q17 at 1700000004000: the answer is missing"]

Up to the instant `until` no answer may be missing; what was told after that must be right, too. Answers that no replay
gives are named as well. `failed` has the queries that went over a limit: from that instant on they say nothing.
`spelled` gives the digest of each event, for who compares what subscribers were told.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.load.folding import digest_of
from bench.load.listening import digest
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import Message, QueryFailure
from csparql_spark.log import Entry, Log
from csparql_spark.schedule.routing import Router, Row
from csparql_spark.server.subscribers.changes import order_of
from csparql_spark.server.subscribers.instants import envelope, windows_of
from csparql_spark.store import AnswerStore, QueryRecord, StoredAnswer
from csparql_spark.store.chains import ChainReader

PIECE_MS = 5000  # of the log, fed at once
PIECE_ENTRIES = 20_000
MOST_NAMED = 100
NICE = 5
_processes = multiprocessing.get_context("spawn")


@dataclass
class Found:
    answers: int = 0
    rows: int = 0
    broken: list[str] = field(default_factory=list)
    failed: dict[str, tuple[int, str]] = field(default_factory=dict)  # by query: since when, and why
    spelled: dict[tuple[str, int], str] = field(default_factory=dict)

    def add(self, other: Found) -> None:
        self.answers += other.answers
        self.rows += other.rows
        self.broken += other.broken[:MOST_NAMED]
        self.failed |= other.failed
        self.spelled |= other.spelled


def replayed(
    data: Path, *, until: int, heard: Collection[str] = (), processes: int = 2, as_folded: bool = False
) -> Found:
    """Of all queries that were ever registered. `heard`: the names of those whose events are to be spelled, too, or,
    `as_folded`, told as a fold of changes holds them; `processes`: that share the groups; 0: this one has them all."""
    if not processes:
        return Share(data, until, heard, lambda group: True, as_folded=as_folded).found()
    found = Found()
    with _processes.Pool(processes, initializer=os.nice, initargs=(NICE,)) as pool:
        for share in pool.starmap(
            _share, [(str(data), until, frozenset(heard), part, processes, as_folded) for part in range(processes)]
        ):
            found.add(share)
    return found


def _share(data: str, until: int, heard: frozenset[str], part: int, parts: int, as_folded: bool) -> Found:
    def mine(group: str) -> bool:
        return zlib.crc32(group.encode()) % parts == part

    return Share(Path(data), until, heard, mine, as_folded=as_folded).found()


class Share:
    """The groups that one process replays."""

    def __init__(
        self, data: Path, until: int, heard: Collection[str], mine: Callable[[str], bool], *, as_folded: bool
    ) -> None:
        self._as_folded = as_folded
        self._database = Database(DataDirectory(data).database)
        self._until, self._heard, self._mine = until, heard, mine
        self._queries: dict[int, QueryRecord] = {}  # of my groups
        self._store = AnswerStore(self._database, DataDirectory(data).bell("answers"))
        self._readers: dict[int, ChainReader] = {}
        self._counted: dict[int, int] = {}  # of each, the answers that are stored and in the replay
        self._found = Found()
        self._failures = {
            query: (instant, reason)
            for query, instant, reason in self._database.connection.execute(
                "SELECT query, instant, reason FROM failures"
            )
        }

    def found(self) -> Found:
        groups: dict[str, Group] = {}
        for piece in self._pieces():
            for key, rows in piece.items():
                for told in groups.setdefault(key, Group(key)).feed(rows):
                    self._compare(told)
        for id, query in self._queries.items():
            self._left_over(id, query)
            if id in self._failures:
                self._found.failed[query.name] = self._failures[id]
        return self._found

    def _pieces(self) -> Iterator[dict[str, list[Row]]]:
        """The rows of some seconds of the log, by group."""
        held: dict[str, Entry] = {}
        router, log = Router(held.get), Log(self._database)
        piece: dict[str, list[Row]] = {}
        began, entries = None, 0
        for entry in log.read(0, log.tail()):
            if entry.kind == "background":
                held[entry.subject] = entry
            for row in router.route(entry):
                if self._mine(row.group):
                    if row.kind == "register":
                        made = json.loads(entry.payload)
                        self._queries[entry.seq] = QueryRecord(
                            entry.seq, entry.subject, entry.at, made["text"], made["base"]
                        )
                    piece.setdefault(row.group, []).append(row)
            began, entries = began or entry.at, entries + 1
            if entry.at - began >= PIECE_MS or entries >= PIECE_ENTRIES:
                yield piece
                piece, began, entries = {}, None, 0
        yield piece

    def _compare(self, told: Message) -> None:
        query = self._queries[told.query]
        if isinstance(told, QueryFailure):
            self._break(f"{query.name} at {told.instant}: it fails in a replay: {told.reason}")
            return
        if told.query in self._failures and told.instant >= self._failures[told.query][0]:
            return
        self._found.answers += 1
        self._found.rows += told.rows
        stored = [one.payload for one in self._reader(told.query).at(told.instant) if one.part == told.part]
        if not stored and told.instant <= self._until:
            self._break(f"{query.name} at {told.instant}: the answer is missing")
        if stored:
            self._counted[told.query] = self._counted.get(told.query, 0) + 1
        if stored and stored[0] != told.payload:
            self._break(f"{query.name} at {told.instant}: the answer is another one in a replay")
        if query.name in self._heard and told.part == 0:
            windows = windows_of(query, told.instant)
            answer = StoredAnswer(told.query, told.instant, told.part, told.rows, told.payload)
            whole = envelope(query.name, [answer], windows)
            spelled = digest_of(json.loads(whole), listed=order_of(query).listed) if self._as_folded else digest(whole)
            self._found.spelled[query.name, told.instant] = spelled

    def _reader(self, query: int) -> ChainReader:
        """Goes on from the answer before, as the replay does."""
        if query not in self._readers:
            self._readers[query] = self._store.reader(query)
        return self._readers[query]

    def _left_over(self, id: int, query: QueryRecord) -> None:
        (count,) = self._database.connection.execute("SELECT count(*) FROM answers WHERE query = ?", (id,)).fetchone()
        if more := count - self._counted.get(id, 0):
            self._break(f"{query.name}: {more} answers are in no replay")

    def _break(self, sentence: str) -> None:
        self._found.broken.append(sentence)
