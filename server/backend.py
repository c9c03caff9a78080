"""The backend: what a web process opens once, and the threads that go with it.

    data directory ─ database ─┬─ writer (the only way into the log) ─ ticker
                               ├─ registry, log, answers ─ fan-out ─ relay (back into the log)
                               └─ retention ─ forgetter

    with Backend(settings) as backend:
        create_app(backend)

A data directory belongs to one server at a time, and a server has one web process: whoever opens a backend holds the
directory's lock, or is the child of a process that does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from types import TracebackType

from csparql_spark.pipeline.relay import Relay
from csparql_spark.pipeline.ticker import Ticker
from csparql_spark.store import AnswerStore, Database, DataDirectory, Log, LogWriter, Registry, Status
from csparql_spark.store.bell import Bell
from csparql_spark.store.retention import Retention

from csparql_spark.server.fanout import Fanout
from csparql_spark.server.forgetting import Forgetter
from csparql_spark.server.names import Names
from csparql_spark.server.settings import Settings


class Backend:
    def __init__(self, settings: Settings) -> None:
        """Opens the store. Raises `StoreError` if that cannot be done."""
        self.settings = settings
        self.names = Names(settings.base)
        self.directory = DataDirectory(settings.data).create()
        self.database = Database(self.directory.database).create()
        self.log = Log(self.database)
        self.registry = Registry(self.database)
        bell = self.directory.bell("answers")
        self.answers = AnswerStore(self.database, bell)
        self.status = Status(self.database)
        self.retention = Retention(self.database)
        self.writer = LogWriter(self.database, self.directory.bell("log"))
        self.ticker = Ticker(self.registry, self.writer)
        self.relay = Relay(self.registry, self.answers, self.writer)
        self.fanout = Fanout(self.answers, Bell(bell), places=settings.subscribers, heard=self.relay.told)
        self.forgetter = Forgetter(settings, self.registry, self.retention)
        self._open = contextlib.ExitStack()
        # Labels of blank nodes are never used twice, by this process or by another one.
        self._process, self._pushes = os.urandom(6).hex(), itertools.count()

    def start(self) -> Backend:
        # The relay looks at all answers when it starts; the fan-out tells it of those that came after its own start.
        for part in (self.writer, self.ticker, self.fanout, self.relay, self.forgetter):
            part.start()
            self._open.callback(part.stop)
        return self

    def close(self) -> None:
        """Write what was accepted, end the threads."""
        self._open.close()
        self.database.close()

    def __enter__(self) -> Backend:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def blank_prefix(self) -> str:
        return f"{self._process}.{next(self._pushes)}."
