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
import time
from collections.abc import Iterable, Iterator

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.store import AnswerStore, StoredAnswer

SLICE_SECONDS = 0.02  # answers wait for others so long: a transaction has its price


class AnswerWriter:
    """It is sent to workers; what it writes to is opened there, once in each process."""

    def __init__(self, data: str) -> None:
        self._data = data

    def through(self, messages: Iterable[Message]) -> Iterator[QueryFailure]:
        """Write what is told; the failures come through, too."""
        waiting: list[StoredAnswer] = []
        begun = 0.0
        for message in messages:
            if not isinstance(message, InstantAnswer):
                _answers(self._data).write(waiting, [message])
                waiting = []
                yield message
                continue
            now = time.monotonic()
            if not waiting:
                begun = now
            waiting.append(StoredAnswer(*message[:5]))
            if now - begun >= SLICE_SECONDS:
                _answers(self._data).write(waiting)
                waiting = []
        if waiting:
            _answers(self._data).write(waiting)


@functools.cache
def _answers(data: str) -> AnswerStore:
    directory = DataDirectory(data)
    return AnswerStore(Database(directory.database), directory.bell("answers"))
