"""Answer writer: answers go into the answer store while a group is still at work, not with the end of its batch.

    group   answers ── answers ── answers ──│ state, task, batch: all that Spark has to finish
    store        └ told      └ told      └ told

Nobody need wait for what Spark writes down: answers are a function of the log and are keyed, so a batch that is run
again tells the same again, and the first stands. That a query has failed is told at once, behind what it has said
before: others in the batch may take long, and whoever asks for it need not wait for them. It goes on to the sink, too.

Invariant: when a group has been gone through, all of its answers are in the store.

    writer = AnswerWriter("data")
    failures = list(writer.through(group.feed(rows)))
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterable, Iterator, Sequence

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.store import AnswerStore, StoredAnswer
from csparql_spark.store.answer_batch import AnswerBatch

# Answers wait for others so long: a transaction has its price. The first of a group are told soon; where they are many,
# each waits for all before it anyway.
SLICE_SECONDS, LONGEST_SLICE_SECONDS = 0.02, 0.08


class AnswerWriter:
    """It is sent to workers; what it writes to is opened there, once in each process. A group asks it which answers are
    to be told as changes: that hangs on what is stored, and on what waits to be."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._waiting: AnswerBatch | None = None
        self._process: int | None = None  # in which somebody goes through messages

    def wants_change(self, query: int, instant: int, since: int, rows: int, changed: int) -> bool:
        """Whether the answer of a query at an instant, of so many rows, is stored as a change of so many rows from that
        of the instant `since`. In a child, in which it is tried whether that can be made, nothing is stored, and the
        database is left alone."""
        if self._process is not None and self._process != os.getpid():
            return False
        waiting = _answers(self._data).batch() if self._waiting is None else self._waiting
        return waiting.wants_change(query, instant, since, rows, changed)

    def through(self, messages: Iterable[Message]) -> Iterator[QueryFailure]:
        """Write what is told; the failures come through, too."""
        try:
            yield from self._through(messages)
        finally:
            self._waiting = self._process = None

    def _through(self, messages: Iterable[Message]) -> Iterator[QueryFailure]:
        store = _answers(self._data)
        self._process = os.getpid()
        self._waiting, begun, slice_ = store.batch(), 0.0, SLICE_SECONDS
        for message in messages:
            if not isinstance(message, InstantAnswer):
                self._write(store, [message])
                yield message
                continue
            now = time.monotonic()
            if not self._waiting:
                begun = now
            self._waiting.add(_stored(message))
            if now - begun >= slice_:
                self._write(store)
                slice_ = min(2 * slice_, LONGEST_SLICE_SECONDS)
        if self._waiting:
            self._write(store)

    def _write(self, store: AnswerStore, failures: Sequence[QueryFailure] = ()) -> None:
        assert self._waiting is not None  # somebody is going through messages
        store.write(self._waiting, failures)
        self._waiting = store.batch()


def _stored(told: InstantAnswer) -> StoredAnswer:
    query, instant, part, rows, payload, since, listed = told
    return StoredAnswer(query, instant, part, rows, payload, since=since, listed=listed)


@functools.cache
def _answers(data: str) -> AnswerStore:
    directory = DataDirectory(data)
    return AnswerStore(Database(directory.database), directory.bell("answers"))
