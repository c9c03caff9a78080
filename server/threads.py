"""Threads: what goes on between requests, started in one order and ended in the opposite one.

Who wakes whom:

    log writer ─ ticker                 instants become due
    fan-out ─┬─ delivery                answers go to subscribers
             ├─ relay                   … back into the log, as chunks of derived streams; and failures
             └─ webhooks                … to observers elsewhere
    retention thread                    the store forgets
    mqtt                                messages of a broker come in, if one is named

    threads = Threads(settings, stores, pusher, bell)
    threads.start()
    threads.queries_changed()           # who waits for instants, and who hears answers, look again
    threads.stop()
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Protocol

from csparql_spark.disk.bell import Bell
from csparql_spark.schedule.relay import Relay
from csparql_spark.schedule.ticker import Ticker
from csparql_spark.server.retention_thread import RetentionThread
from csparql_spark.server.settings import Settings
from csparql_spark.server.sinks.outgoing_calls import Allowed
from csparql_spark.server.sinks.webhooks import Webhooks
from csparql_spark.server.sources.mqtt import Mqtt
from csparql_spark.server.sources.pushing import Pusher
from csparql_spark.server.stores import Stores
from csparql_spark.server.subscribers.delivery import Delivery
from csparql_spark.server.subscribers.fanout import Fanout


class Startable(Protocol):
    def start(self) -> object: ...

    def stop(self) -> None: ...


class Threads:
    def __init__(self, settings: Settings, stores: Stores, pusher: Pusher, bell: Bell) -> None:
        """`bell` rings when there are answers. Raises `BadUrl` for a setting that names no place to call."""
        self.ticker = Ticker(stores.registry, stores.writer)
        self.relay = Relay(stores.registry, stores.answers, stores.writer)
        self.fanout = Fanout(stores.database, stores.answers, bell, places=settings.subscribers, heard=self._answered)
        self.delivery = Delivery(
            self.fanout, heartbeat_seconds=settings.heartbeat_seconds, stall_seconds=settings.stall_seconds
        )
        self.webhooks = Webhooks(stores, self.fanout.order, Allowed(settings.webhooks))
        self.retention_thread = RetentionThread(
            settings, stores.database, stores.registry, stores.retention, stores.writer
        )
        self.mqtt = Mqtt(settings, stores, pusher) if settings.mqtt else None
        # The relay and the webhooks look at all answers when they start; the fan-out tells them of those that came
        # after its own start.
        self._in_order: list[Startable] = [
            stores.writer,
            self.ticker,
            self.fanout,
            self.delivery,
            self.relay,
            self.webhooks,
            self.retention_thread,
            *([self.mqtt] if self.mqtt else []),
        ]
        self._running = contextlib.ExitStack()

    def start(self) -> None:
        for thread in self._in_order:
            thread.start()
            self._running.callback(thread.stop)

    def stop(self) -> None:
        """Write what was accepted, and end."""
        self._running.close()

    def queries_changed(self) -> None:
        """A query was registered, deleted, paused or resumed."""
        self.ticker.changed()
        self.fanout.changed()

    def streams_changed(self) -> None:
        """There is another stream, or one less."""
        self.ticker.changed()
        if self.mqtt is not None:
            self.mqtt.changed()

    def _answered(self, queries: Collection[int]) -> None:
        self.relay.answered(queries)
        self.webhooks.notify(queries)
