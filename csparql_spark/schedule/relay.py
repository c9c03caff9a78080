"""The relay: what REGISTER STREAM queries say goes back into the log, as chunks of the streams that they make.

    engine ─▶ answers ─▶ relay ─▶ log ─▶ the queries that read the stream

An answer at t becomes one chunk, whose triples are stamped t; an empty one becomes a tick: t has passed, and nothing
was said. So a consumer answers t after its producers have, and never before. In the place of an answer that is damaged
on the disk, or larger than what goes into a stream at once, the log says so, and the queries that would have had to
read it fail. So no more than one answer is in memory, and no answer without a bound.

Where a query is replaced, its stream stays: what the version before has said goes first, to its end, and then what the
next one says. Whether there is more of it to come the engine knows, so somebody looks again.

Invariant: each answer is relayed once, in order. How far a query is relayed is written in the transaction that writes
the entry, so both are durable or neither; whoever relays after a restart goes on behind it. An answer of a query that
is deleted meanwhile is not relayed: its stream goes with it. That a query has failed goes into the log after its
answers (see `failures`).

    relay = Relay(registry, answers, writer).start()
    relay.answered({17})          # these queries have new answers, or some have failed
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from csparql_spark.answers.limits import size as in_words
from csparql_spark.disk import StoreError
from csparql_spark.log import Draft, Refused, contents
from csparql_spark.log.contents import ElementsLost, InstantPassed, TriplesPushed
from csparql_spark.log.contract import WritableLog
from csparql_spark.log.entries import Relayed
from csparql_spark.log.guards import Once
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.quads import split
from csparql_spark.schedule.failures import Failures
from csparql_spark.store import AnswerStore, Registry, StoredAnswer, StreamRecord
from csparql_spark.store.chains import TooManyBytes
from csparql_spark.worker_thread import Trouble, WorkerThread

RETRY_SECONDS = 1.0
LOOK_SECONDS = 0.05  # until it is asked again whether a version that is over has said all; each time twice as long,
MOST_LOOK_SECONDS = 1.0  # up to this
PAGE_INSTANTS = 16
LARGEST = 64 << 20  # bytes of an answer: to make a chunk of it takes some times as much
BEGINNING, END = -(1 << 62), 1 << 62


class Relay:
    def __init__(self, registry: Registry, answers: AnswerStore, writer: WritableLog) -> None:
        self._registry, self._answers, self._writer = registry, answers, writer
        self._lock = threading.Lock()
        self._waiting: set[int] | None = None  # None: look at all
        self._failures = Failures(registry, answers, writer)
        self._given_up: set[int] = set()  # versions whose answers cannot be read
        self._relayed: set[int] = set()  # versions that are over, and all of whose answers are in the log
        self._unfinished: set[int] = set()  # versions that are over, and of which there may be more
        self._looks = 0  # since these are the same
        self._worker = WorkerThread(
            "relay",
            self._work,
            Trouble((StoreError,), "derived streams wait, the store fails", RETRY_SECONDS),
            pause=self._pause,
        )

    def start(self) -> Relay:
        self._worker.wake()
        self._worker.start()
        return self

    def answered(self, queries: Collection[int]) -> None:
        """These queries have new answers, or some have failed."""
        with self._lock:
            if self._waiting is not None:
                self._waiting.update(queries)
        self._worker.wake()

    def stop(self) -> None:
        self._worker.stop()

    def _pause(self) -> float | None:
        """Seconds until it looks again, if nobody wakes it."""
        return min(MOST_LOOK_SECONDS, LOOK_SECONDS * 2 ** min(self._looks, 10)) if self._unfinished else None

    def _work(self, woken: bool) -> None:
        with self._lock:
            queries, self._waiting = self._waiting, set()
        unfinished = set(self._unfinished)
        queries = None if queries is None else queries | self._unfinished
        try:
            if queries is None or queries:
                self._look(queries)
            self._failures.look()
        except StoreError:
            with self._lock:
                self._waiting = None
            raise
        if self._unfinished != unfinished:
            self._looks = 0
        elif not woken:
            self._looks += 1

    def _look(self, queries: Collection[int] | None) -> None:
        there: set[int] = set()
        for stream in self._registry.streams():
            if stream.producer is None:
                continue
            versions = self._registry.ends(stream.producer)
            there.update(id for id, _ in versions)
            if queries is None or any(id in queries for id, _ in versions):
                self._relay_versions(stream, versions)
        self._relayed &= there
        self._unfinished &= there

    def _relay_versions(self, stream: StreamRecord, versions: list[tuple[int, int | None]]) -> None:
        """Relay what the versions of a query have said since they were looked at last, one after the other."""
        for version, ended in versions:
            self._unfinished.discard(version)
            if version in self._relayed or version in self._given_up:
                continue
            complete = ended is not None and self._answers.is_complete(version, ended)
            try:
                self._relay(version, stream)
            except ValueError as error:  # its own misfortune: the other streams go on
                self._given_up.add(version)
                print(
                    f"csparql-spark: the stream <{stream.iri}> ends, an answer of {stream.producer} cannot be read: "
                    f"{error}",
                    file=sys.stderr,
                    flush=True,
                )
                continue
            if complete:
                self._relayed.add(version)
            elif ended is not None:
                self._unfinished.add(version)
                return

    def _relay(self, version: int, stream: StreamRecord) -> None:
        """Relay what a version has said since it was looked at last."""
        while instants := self._following(version):
            for instant in instants:
                if self._worker.stopped.is_set():
                    return
                try:
                    self._writer.append(
                        replace(self._draft(version, stream.iri, instant), beside=Relayed(version, instant)),
                        Once(version, stream.id, instant),
                    )
                except Refused:
                    return  # the query is gone

    def _following(self, query: int) -> list[int]:
        """The next instants that are not relayed."""
        newest = self._writer.relayed_to(query)
        return self._answers.instants(query, BEGINNING if newest is None else newest + 1, END, PAGE_INSTANTS)

    def _draft(self, query: int, stream: str, instant: int) -> Draft:
        """The entry that puts what is stored of an answer into a stream. Raises `ValueError` if it is no answer."""
        try:
            parts = self._answers.within(query, instant, LARGEST)
        except TooManyBytes as large:
            return _lost(
                f"an answer of {in_words(large.size)} is more than the {in_words(LARGEST)} that go into a stream at "
                "once",
                stream,
                instant,
            )
        return draft_of(query, stream, instant, parts)


def draft_of(query: int, stream: str, instant: int, parts: Collection[StoredAnswer]) -> Draft:
    """The entry that puts an answer into a stream; one that says that it is lost, if it is damaged. Raises `ValueError`
    if it is no answer."""
    for part in parts:
        if part.damage is not None:
            return _lost(part.damage, stream, instant)
    lines = b"".join(part.result.ntriples or b"" for part in parts)
    if not lines:
        return contents.draft_of(InstantPassed(instant), stream)
    chunk = chunk_of(query, instant, lines)
    return contents.draft_of(TriplesPushed(chunk.to_ipc(), len(chunk), first=instant, last=instant), stream)


def _lost(reason: str, stream: str, instant: int) -> Draft:
    return contents.draft_of(
        ElementsLost(f"{reason}, and the stream {stream} is without it", first=instant, last=instant), stream
    )


def chunk_of(query: int, instant: int, lines: bytes) -> Chunk:
    """The triples of an answer's lines, stamped with the instant at which they were said. Blank nodes of the data stay
    what they are; those that a template has made are new ones at each instant."""
    quads = split(lines)
    terms = pc.replace_substring_regex(quads.terms, "^_:(r[0-9]+x[0-9]+)$", f"_:d{query}.{instant}.\\1")
    return Chunk.from_columns(terms, quads.s, quads.p, quads.o, np.full(len(quads.s), instant, dtype=np.int64))
