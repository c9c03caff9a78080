"""Stores: what a data directory keeps, each thing with the one who reads and writes it, over one database.

    stores = Stores.of(directory, settings)
    stores.registry.query("HotRooms")           # what is registered
    stores.writer.append(draft)                 # the only way into the log
    stores.names.stream_iri("temp")             # what it is called: IRIs and URLs start from one base
    stores.now()                                # the clock of the log

Invariant: nothing here runs by itself but the writer, which `threads` starts first and ends last.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.damage import Damages
from csparql_spark.log import Log, LogWriter
from csparql_spark.server.dependents import reads_of
from csparql_spark.server.http.names import ResourceNames
from csparql_spark.server.settings import Settings
from csparql_spark.store import AnswerStore, Registry, Status
from csparql_spark.store.measures import Measures
from csparql_spark.store.observers import ObserverStore
from csparql_spark.store.retention import Retention
from csparql_spark.store.waiting_groups import WaitingGroups


@dataclass(frozen=True)
class Stores:
    names: ResourceNames
    database: Database
    log: Log
    writer: LogWriter
    registry: Registry
    answers: AnswerStore
    measures: Measures
    observers: ObserverStore
    retention: Retention
    damages: Damages
    status: Status
    waiting: WaitingGroups
    # Labels of blank nodes are never used twice, by this process or by another one.
    _process: str = field(default_factory=lambda: os.urandom(6).hex())
    _requests: Iterator[int] = field(default_factory=itertools.count)

    @classmethod
    def of(cls, directory: DataDirectory, settings: Settings) -> Stores:
        """Raises `StoreError` if the database cannot be opened."""
        database = Database(directory.database).create()
        return cls(
            names=ResourceNames(settings.base),
            database=database,
            log=Log(database),
            writer=LogWriter(database, directory.bell("log"), reads_of),
            registry=Registry(database),
            answers=AnswerStore(database, directory.bell("answers")),
            measures=Measures(database),
            observers=ObserverStore(database).create(),
            retention=Retention(database),
            damages=Damages(database),
            status=Status(database),
            waiting=WaitingGroups(database),
        )

    def now(self) -> int:
        """What the log would stamp an entry with."""
        return self.writer.now()

    def blank_prefix(self) -> str:
        """What the labels of one request's blank nodes begin with."""
        return f"{self._process}.{next(self._requests)}."
