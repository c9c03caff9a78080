"""The backend: what a web process opens once, in its parts.

    settings                            what is allowed, and how much of it
    stores                              what is kept, and the one way into it
    threads                             what goes on between requests
    tokens, sessions                    who may do what
    pool, texts                         children for what users send; texts are read there, those in the log, too,
                                        where they have no compiled form that can be used,
    checked_texts                       and those that are only checked elsewhere
    reader                              from bodies to triples
    holdings                            how much responses hold until they are taken
    pusher                              triples into streams, whoever brings them

    with Backend(settings) as backend:
        create_app(backend)

Each module of routes takes the parts that it needs; `app` gives them.

A data directory belongs to one server at a time, and a server has one web process: whoever opens a backend holds the
directory's lock, or is the child of a process that does.
"""

from __future__ import annotations

import contextlib
from types import TracebackType

from csparql_spark.asking.guarded import Pool
from csparql_spark.asking.guarded.pool import CHECKED_TEXT
from csparql_spark.asking.guarded.texts import Texts
from csparql_spark.disk import DataDirectory
from csparql_spark.disk.bell import Bell
from csparql_spark.language.queries.query_cache import read_elsewhere
from csparql_spark.server.http.access import whose
from csparql_spark.server.http.holdings import Holdings
from csparql_spark.server.http.sessions import Sessions
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources.pushing import Pusher
from csparql_spark.server.sources.reading import BodyReader
from csparql_spark.server.stores import Stores
from csparql_spark.server.threads import Threads
from csparql_spark.store.tokens import Tokens


class Backend:
    def __init__(self, settings: Settings) -> None:
        """Opens the store. Raises `StoreError` if that cannot be done."""
        self.settings = settings
        self.directory = DataDirectory(settings.data).create()
        self.tokens = Tokens(self.directory.path, settings.tokens)
        self.sessions = Sessions(self.directory.path, self.tokens, seconds=settings.login_seconds)
        self.pool = Pool(memory=settings.question_memory, threads=settings.threads, client=whose)
        self.texts, self.checked_texts = Texts(self.pool), Texts(self.pool, CHECKED_TEXT)
        with contextlib.ExitStack() as opened:
            opened.enter_context(read_elsewhere(self.texts.stored))
            self.stores = Stores.of(self.directory, settings)
            self._opened = opened.pop_all()
        self.holdings = Holdings()
        self.reader = BodyReader(self.stores, self.pool)
        self.pusher = Pusher(self.stores, self.reader)
        self.threads = Threads(settings, self.stores, self.pusher, Bell(self.directory.bell("answers")))

    def start(self) -> Backend:
        self.threads.start()
        return self

    def close(self) -> None:
        """Write what was accepted, end the threads."""
        self.texts.stop()
        self.threads.stop()
        self.pool.close()
        self.stores.database.close()
        self._opened.close()

    def __enter__(self) -> Backend:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
