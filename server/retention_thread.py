"""Retention thread: lets the store forget what no registered window can reach any more, and give its room back.

RetentionThread(settings, database, registry, retention, writer).start()      # a round every settings.forget_seconds
"""

from __future__ import annotations

import time

from csparql_spark.disk import Database, StoreError
from csparql_spark.disk.vacuum import give_back
from csparql_spark.log.contract import WritableLog
from csparql_spark.server.dependents import asked_of
from csparql_spark.server.settings import Settings
from csparql_spark.store import Registry
from csparql_spark.store.retention import Retention
from csparql_spark.windows.rule import reach_of
from csparql_spark.worker_thread import Trouble, WorkerThread


class RetentionThread:
    def __init__(
        self, settings: Settings, database: Database, registry: Registry, retention: Retention, log: WritableLog
    ) -> None:
        self._settings, self._database = settings, database
        self._registry, self._retention = registry, retention
        self._log = log
        seconds = settings.forget_seconds
        self._worker = WorkerThread(
            "retention",
            self._round,
            Trouble((StoreError,), "nothing was forgotten this time", seconds),
            pause=lambda: seconds,
        )

    def start(self) -> RetentionThread:
        self._worker.start()
        return self

    def stop(self) -> None:
        self._worker.stop()

    def forget(self) -> int:
        """One round; how many entries and answers went."""
        self._log.forget_keys(int(time.time() * 1000))
        return self._retention.forget(
            keep_log=self._settings.keep_log, reach=self.reach(), keep_answers=self._settings.keep_answers
        )

    def reach(self) -> int:
        """How far back, in ms, the windows of the registered queries reach.

        A window that counts reaches nowhere: how long n triples take is not known, and one slow stream would keep the
        whole log for ever. Nothing is lost by that. What a window holds is in the engine's state from the moment that
        it was read; the log is needed for what was not read yet, and for a while after that for people who look.
        """
        delays = {stream.iri: stream.delay for stream in self._registry.streams()}
        queries = map(asked_of, self._registry.queries())
        return max((reach_of(query.windows, delays) for query in queries if query is not None), default=0)

    def _round(self, _woken: bool) -> None:
        self.forget()
        give_back(self._database, self._worker.stopped.wait)
