"""The backend: what a web process opens once, in its parts.

    settings                            what is allowed, and how much of it
    stores                              what is kept, and the one way into it
    threads                             what goes on between requests
    tokens, sessions                    who may do what
    pusher                              triples into streams, whoever brings them
    pool                                children for what users send

    with Backend(settings) as backend:
        create_app(backend)

Each module of routes takes the parts that it needs; `app` gives them.

A data directory belongs to one server at a time, and a server has one web process: whoever opens a backend holds the
directory's lock, or is the child of a process that does.
"""

from __future__ import annotations

from types import TracebackType

from csparql_spark.asking.guarded import Pool
from csparql_spark.disk import DataDirectory
from csparql_spark.disk.bell import Bell
from csparql_spark.server.http.sessions import Sessions
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources.pushing import Pusher
from csparql_spark.server.stores import Stores
from csparql_spark.server.threads import Threads
from csparql_spark.store.tokens import Tokens

WAITING = 4  # of so many threads one may wait for a child of each kind


class Backend:
    def __init__(self, settings: Settings) -> None:
        """Opens the store. Raises `StoreError` if that cannot be done."""
        self.settings = settings
        self.directory = DataDirectory(settings.data).create()
        self.tokens = Tokens(self.directory.path, settings.tokens)
        self.sessions = Sessions(self.directory.path, self.tokens, seconds=settings.login_seconds)
        self.stores = Stores.of(self.directory, settings)
        self.pusher = Pusher(self.stores)
        self.pool = Pool(memory=settings.question_memory, waiting=max(1, settings.threads // WAITING))
        self.threads = Threads(settings, self.stores, self.pusher, Bell(self.directory.bell("answers")))

    def start(self) -> Backend:
        self.threads.start()
        return self

    def close(self) -> None:
        """Write what was accepted, end the threads."""
        self.threads.stop()
        self.pool.close()
        self.stores.database.close()

    def __enter__(self) -> Backend:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
