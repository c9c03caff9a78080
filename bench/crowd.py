"""A crowd of queries on a whole server: registered over HTTP, answered by Spark, each instant until its last answer.

    push ─▶ log ─▶ tick (all windows close at t) ─▶ micro-batch ─▶ the last of all queries' answers in the store
                          └──────────────── measured ──────────────────────────────┘

The queries are those of `many`. An instant is *met* when each query has answered it in the end, and *late* when the
last answer came more than one STEP after it.

    measure(1000, 60)      # {"queries": 1000, "p50_ms": …, "late": 0, "missed": 0, …}
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from urllib.parse import quote

import numpy as np

from bench import many
from bench.server import Server
from csparql_spark.disk import Database, DataDirectory

WARM_SECONDS, LONGEST_SECONDS = 20, 90
PUSHES_A_SECOND = 20


class Pusher(threading.Thread):
    """A thousand triples a second."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._server, self._ended = server, threading.Event()

    def run(self) -> None:
        connection, dice, due = self._server.connect(), np.random.default_rng(7), time.monotonic()
        while not self._ended.is_set():
            connection.request(
                "POST",
                "/streams/readings",
                lines(many.readings(500 // PUSHES_A_SECOND, dice)),
                {"Content-Type": "application/n-triples"},
            )
            connection.getresponse().read()
            due += 1 / PUSHES_A_SECOND
            time.sleep(max(0.0, due - time.monotonic()))

    def stop(self) -> None:
        self._ended.set()
        self.join()


class Seen:
    """When each instant had how many answers, from the answer store."""

    def __init__(self, data: str, queries: int) -> None:
        self._database = Database(DataDirectory(Path(data)).database)
        self._queries = queries
        self._position = 0
        self.answers: dict[int, int] = {}
        self.whole: dict[int, float] = {}  # when the last answer of an instant was there, epoch ms

    def look(self) -> None:
        found = self._database.connection.execute(
            "SELECT instant, count(*), max(position) FROM answers WHERE position > ? GROUP BY instant",
            (self._position,),
        ).fetchall()
        now = 1000 * time.time()
        for instant, count, position in found:
            self._position = max(self._position, position)
            self.answers[instant] = self.answers.get(instant, 0) + count
            if self.answers[instant] == self._queries:
                self.whole[instant] = now

    def failed(self) -> int:
        return self._database.connection.execute("SELECT count(*) FROM failures").fetchone()[0]


def _warm(seen: Seen) -> int:
    """Wait until the engine keeps up, or it is clear that it never will; return the next instant."""
    begun = time.monotonic()
    while True:
        seen.look()
        took, now = time.monotonic() - begun, 1000 * time.time()
        behind = now - max(seen.whole, default=0)
        if took > LONGEST_SECONDS or took > WARM_SECONDS and behind < 2 * many.SECOND:
            return many.SECOND * (1 + int(now / many.SECOND))
        time.sleep(0.05)


def lines(triples: list[many.Triple]) -> bytes:
    return "".join(f"{' '.join(triple)} .\n" for triple in triples).encode()


def measure(queries: int, seconds: int = 60) -> dict[str, object]:
    with Server() as server:
        stream = server.send("PUT", "/streams/readings")["iri"]
        graph = quote(many.KB, safe="")
        server.send("PUT", f"/graphs?graph={graph}", lines(many.facts()), "application/n-triples")
        server.until("running")
        begun = time.monotonic()
        connection = server.connect()
        for number in range(queries):
            connection.request(
                "PUT", f"/queries/q{number}", many.text(number, stream), {"Content-Type": "application/sparql-query"}
            )
            response = connection.getresponse()
            told = response.read()
            if response.status != 201:
                raise RuntimeError(told.decode())
        registered = time.monotonic() - begun
        pusher, seen = Pusher(server), Seen(server.data, queries)
        pusher.start()
        start = _warm(seen)
        end = start + many.SECOND * seconds
        used, busy = server.cpu_seconds(), 0.0
        while (
            1000 * time.time() < end + LONGEST_SECONDS * many.SECOND
            and len(seen.whole.keys() & set(range(start, end, many.SECOND))) < seconds
        ):
            seen.look()
            time.sleep(0.01)
            if 1000 * time.time() < end:
                busy = server.cpu_seconds() - used
        pusher.stop()
        took = np.array(
            [seen.whole[instant] - instant for instant in range(start, end, many.SECOND) if instant in seen.whole]
        )
        told = {
            "queries": queries,
            "instants": seconds,
            "register_ms": 1000 * registered / queries,
            "missed": seconds - len(took),
            "late": int((took > many.SECOND).sum()),
            "failed": seen.failed(),
            "cores": busy / seconds,
        }
        if len(took):
            told |= {f"p{percent}_ms": float(np.percentile(took, percent)) for percent in (50, 90, 99)}
            told["max_ms"] = float(took.max())
        return told
