"""Forgetting: lets the store forget what no registered window can reach any more.

    Forgetter(settings, registry, retention).start()      # a round every settings.forget_seconds
"""

from __future__ import annotations

import sqlite3
import sys
import threading

from csparql_spark.language import LanguageError
from csparql_spark.language.durations import LONGEST
from csparql_spark.pipeline.admission import read
from csparql_spark.store import Registry, StoreError
from csparql_spark.store.retention import Retention

from csparql_spark.server.settings import Settings


class Forgetter:
    def __init__(self, settings: Settings, registry: Registry, retention: Retention) -> None:
        self._settings, self._registry, self._retention = settings, registry, retention
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="forgetter", daemon=True)

    def start(self) -> Forgetter:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def forget(self) -> int:
        """One round; how many entries and answers went."""
        return self._retention.forget(keep_log=self._settings.keep_log, reach=self.reach(),
                                      keep_answers=self._settings.keep_answers)

    def reach(self) -> int:
        """How far back, in ms, the windows of the registered queries reach."""
        delays = {stream.iri: stream.delay for stream in self._registry.streams()}
        reaches = [0]
        for record in self._registry.queries():
            try:
                windows = read(record.text, record.base).windows
            except LanguageError:
                continue        # the engine has failed it: it reads nothing
            # How long n triples take is not known: their window may reach back for ever.
            reaches += (LONGEST if window.range is None else window.range + delays.get(window.stream, 0)
                        for window in windows)
        return max(reaches)

    def _run(self) -> None:
        while not self._stop.wait(self._settings.forget_seconds):
            try:
                self.forget()
            except (sqlite3.Error, StoreError) as error:
                print(f"csparql-spark: nothing was forgotten this time: {error}", file=sys.stderr, flush=True)
