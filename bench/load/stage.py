"""A stage: a server with its crowd of queries, the process that pushes, and the process that listens.

    with Stage(queries=100, subscribers=50) as stage:
        stage.pushing.rate = 10_000
        stage.line(10)              # numbers of the last ten seconds
        stage.rest()                # no more pushes; wait until everything is answered and told
    verdict(stage)                  # the server has ended, and what it left behind is checked

Nothing is forgotten while it lasts, since all of it is checked afterwards. Everything is in one directory, which goes
with the stage unless it was given.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from bench.load.listening import Listening, Seat
from bench.load.pushing import Pushing
from bench.load.queries import Asked, crowd
from bench.load.roles import Meter
from bench.load.sizes import sizes
from bench.load.traffic import KB, STREAMS, background
from bench.load.watching import Watch
from bench.server import Server

KEPT = ("--keep-log", "10d", "--keep-answers", "1000000", "--forget-seconds", "86400")
PATIENCE_SECONDS = 600.0
LONGEST_STEP = 2000  # ms


class Stage:
    def __init__(self, queries: int, subscribers: int, directory: Path | None = None, *, changes: bool = False) -> None:
        """`changes`: subscribers ask for them."""
        self._lasting = directory is not None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="csparql-load-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.data, self.pushes, self.told = (self.directory / name for name in ("data", "pushes.tsv", "told.tsv"))
        self.changes = self.directory / "changes.tsv" if changes else None
        self._count, self.subscribers = queries, subscribers
        self.crowd: list[Asked] = []
        self.until = 0  # the instant up to which everything must be answered
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Stage:
        with contextlib.ExitStack() as opened:
            log = opened.enter_context((self.directory / "server.log").open("w"))
            self.server = opened.enter_context(Server(*KEPT, data=str(self.data), log=log))
            for stream in STREAMS:
                self.server.send("PUT", f"/streams/{stream}")
            self.server.send("PUT", f"/graphs?graph={quote(KB, safe='')}", background(), "application/n-triples")
            self.server.until("running")
            self.register(self._count)
            seats = [Seat(asked.name, asked.step) for asked in seated(self.crowd, self.subscribers)]
            self.listening = opened.enter_context(Listening(self.server.port, seats, self.told, self.changes))
            self.pushing = opened.enter_context(Pushing(self.server.port, self.pushes))
            self.watch = Watch(self.pushes, self.told)
            self.meter = Meter(self.server, {"pusher": self.pushing.pid, "subscribers": self.listening.pid})
            self._open = opened.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.__exit__(*exception)

    def close(self) -> None:
        """What is left goes."""
        if not self._lasting:
            shutil.rmtree(self.directory, ignore_errors=True)

    def register(self, count: int) -> None:
        """Register more queries, up to so many."""
        for asked in crowd(count)[len(self.crowd) :]:
            self.server.send("PUT", f"/queries/{asked.name}", asked.text.encode(), "application/sparql-query")
            self.crowd.append(asked)

    def delete(self, count: int) -> None:
        """Delete the newest queries, down to so many."""
        for asked in self.crowd[count:]:
            self.server.send("DELETE", f"/queries/{asked.name}")
        del self.crowd[count:]

    def line(self, seconds: float) -> dict[str, object]:
        """Numbers of the last seconds, and of now."""
        self.watch.look()
        memory, health = self.meter.memory(), self.health()
        return {
            **self.watch.told(seconds),
            "queries": len(self.crowd),
            "all_mb": sum(memory.values()),
            **{f"{role}_mb": mb for role, mb in sorted(memory.items())},
            "measure": self.meter.measure,
            "cpu_s": self.meter.cpu(),
            **sizes(self.data),
            "health": health.get("status"),
            "lag_ms": health.get("engine", {}).get("lag_ms"),
            "wrong": len(self.watch.wrong),
        }

    def health(self) -> dict[str, object]:
        try:
            return self.server.send("GET", "/health")
        except (OSError, RuntimeError) as error:
            return {"status": f"no answer: {error}"}

    def failed(self) -> list[str]:
        """The queries that have failed, with their reasons."""
        with contextlib.closing(sqlite3.connect(self.data / "store.db", timeout=30)) as connection:
            rows = connection.execute("SELECT queries.name, reason FROM failures JOIN queries ON id = query").fetchall()
        return [f"{name}: {reason}" for name, reason in rows]

    def rest(self) -> float:
        """No more pushes; wait until everything is answered and told. The seconds that it took."""
        self.pushing.rate = 0
        self.pushing.__exit__()
        begun = time.monotonic()
        # Of each query the last instant before now.
        self.until = int(1000 * time.time()) // LONGEST_STEP * LONGEST_STEP
        while self._answered() < self.until or self._told() < self.until:
            if time.monotonic() - begun > PATIENCE_SECONDS:
                break  # what is missing will be named
            time.sleep(0.5)
        return time.monotonic() - begun

    def _told(self) -> int:
        self.watch.look()
        return self.watch.behind()

    def _answered(self) -> int:
        """The instant that all queries have answered."""
        with contextlib.closing(sqlite3.connect(self.data / "store.db", timeout=30)) as connection:
            reached = connection.execute(
                "SELECT min((SELECT coalesce(max(instant), 0) FROM answers WHERE query = queries.id)) FROM queries "
                "WHERE id NOT IN (SELECT query FROM failures)"
            ).fetchone()[0]
        return reached or 0


def seated(crowd: list[Asked], subscribers: int) -> list[Asked]:
    """Whom each subscriber hears: they are spread over the queries."""
    return [
        crowd[number * len(crowd) // subscribers] if subscribers <= len(crowd) else crowd[number % len(crowd)]
        for number in range(subscribers)
    ]
