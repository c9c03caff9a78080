"""The backend: what a web process opens once, and the threads that go with it.

    data directory ─ database ─┬─ writer (the only way into the log) ─ ticker
                               ├─ registry, log, answers ─ fan-out ─┬─ relay (back into the log)
                               │                                    └─ webhooks (to observers elsewhere)
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
from collections.abc import Collection
from types import TracebackType

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.bell import Bell
from csparql_spark.disk.damage import Damages
from csparql_spark.log import Log, LogWriter
from csparql_spark.log.sqlite.repeats import Repeats
from csparql_spark.schedule.relay import Relay
from csparql_spark.schedule.ticker import Ticker
from csparql_spark.server.http.names import ResourceNames
from csparql_spark.server.http.sessions import Sessions
from csparql_spark.server.retention_thread import Forgetter
from csparql_spark.server.settings import Settings
from csparql_spark.server.sinks.outgoing_calls import Allowed
from csparql_spark.server.sinks.webhooks import Webhooks
from csparql_spark.server.sources.mqtt import Mqtt
from csparql_spark.server.sources.pushing import Pusher
from csparql_spark.server.subscribers.delivery import Delivery
from csparql_spark.server.subscribers.fanout import Fanout
from csparql_spark.store import AnswerStore, Registry, Status
from csparql_spark.store.observers import ObserverStore
from csparql_spark.store.retention import Retention
from csparql_spark.store.tokens import Tokens


class Backend:
    def __init__(self, settings: Settings) -> None:
        """Opens the store. Raises `StoreError` if that cannot be done."""
        self.settings = settings
        self.names = ResourceNames(settings.base)
        self.directory = DataDirectory(settings.data).create()
        self.tokens = Tokens(self.directory.path, settings.tokens)
        self.sessions = Sessions(self.directory.path, self.tokens, seconds=settings.login_seconds)
        self.database = Database(self.directory.database).create()
        self.log = Log(self.database)
        self.registry = Registry(self.database)
        bell = self.directory.bell("answers")
        self.answers = AnswerStore(self.database, bell)
        self.status = Status(self.database)
        self.retention = Retention(self.database)
        self.damages = Damages(self.database)
        self.repeats = Repeats(self.database)
        self.writer = LogWriter(self.database, self.directory.bell("log"))
        self.pusher = Pusher(self)
        self.ticker = Ticker(self.registry, self.writer)
        self.relay = Relay(self.registry, self.answers, self.writer)
        self.fanout = Fanout(self.database, self.answers, Bell(bell), places=settings.subscribers, heard=self._heard)
        self.delivery = Delivery(self.fanout, heartbeat_seconds=settings.heartbeat_seconds,
                                 stall_seconds=settings.stall_seconds)
        self.observers = ObserverStore(self.database).create()
        self.webhooks = Webhooks(self.observers, self.registry, self.log, self.answers, self.fanout.order,
                                 Allowed(settings.webhooks), now=self.writer.clock.now)
        self.forgetter = Forgetter(settings, self.database, self.registry, self.retention, self.repeats)
        self.mqtt = Mqtt(self) if settings.mqtt else None
        self._open = contextlib.ExitStack()
        # Labels of blank nodes are never used twice, by this process or by another one.
        self._process, self._pushes = os.urandom(6).hex(), itertools.count()

    def start(self) -> Backend:
        # The relay and the webhooks look at all answers when they start; the fan-out tells them of those that came
        # after its own start.
        for part in (self.writer, self.ticker, self.fanout, self.delivery, self.relay, self.webhooks, self.forgetter,
                     *([self.mqtt] if self.mqtt else [])):
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

    def _heard(self, queries: Collection[int]) -> None:
        self.relay.told(queries)
        self.webhooks.told(queries)

    def blank_prefix(self) -> str:
        return f"{self._process}.{next(self._pushes)}."
