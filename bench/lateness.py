"""Lateness: how late the answers of a healthy query are beside work that is large, on a whole server.

    healthy   │ │ │ │ ░ ░ ░ ░ │ │ │       an answer is late from its instant until it is in the database
    beside        ├ ten queries that never end, or a background of a million triples under rules

For each kind of work: the worst answer of the healthy query from the moment on that the work is there, until it is
over; how long that took; and, of the ten, after how long the first of them was known to have failed, and the last.

    measure()     # {"worst_s_poisons_2s": …, "first_failed_s_poisons_2s": …, "worst_s_background": …, …}
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from urllib.parse import quote

from bench.server import Server
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.store import AnswerStore, Registry

STEP = 500
WINDOW = "FROM STREAM <streams/s> [RANGE 2s STEP 500ms]"
HEALTHY = f"REGISTER QUERY Healthy AS SELECT ?s {WINDOW} WHERE {{ ?s <urn:now> ?o }}"
DOUBLED = " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(23))
HASHES = ", ".join(f'SHA512(CONCAT(?x23, STR(?s), "{i}"))' for i in range(400))  # minutes
LASTING = f'BIND("abcd" AS ?x0) {DOUBLED} BIND(CONCAT({HASHES}) AS ?h)'
POISONS, LIMITS = 10, (2, 10)  # and the seconds that each may take
TRIPLES = 1_000_000
LEVELS = 12
SUB = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
PATIENCE_SECONDS = 600.0
SETTLED_SECONDS = 5.0


class Watch(threading.Thread):
    """Sees each answer of a query as it comes into the database, and how late it is."""

    def __init__(self, server: Server, name: str) -> None:
        super().__init__(daemon=True)
        directory = DataDirectory(server.data)
        self.database = Database(directory.database)
        self.answers, self.registry = AnswerStore(self.database, directory.bell("answers")), Registry(self.database)
        self._query = self.id(name)
        self._over = threading.Event()
        self.late: list[tuple[float, float]] = []  # when it was seen, and by how many seconds it was late
        self.start()

    def id(self, name: str) -> int:
        record = self.registry.query(name)
        assert record is not None
        return record.id

    def run(self) -> None:
        newest = 0
        while not self._over.wait(0.02):
            instants = self.answers.instants(self._query, newest + 1, 1 << 62, 1000)
            now = time.time()
            self.late += [(now, now - instant / 1000) for instant in instants]
            newest = max(instants, default=newest)

    def worst(self, since: float) -> float:
        self._over.set()
        self.join()
        return max(late for seen, late in self.late if seen >= since)

    def until(self, told: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not told():
            assert time.monotonic() < deadline, "it does not come to an end"
            time.sleep(0.05)


def measure() -> dict[str, float]:
    numbers: dict[str, float] = {}
    for seconds in LIMITS:
        numbers |= {f"{name}_poisons_{seconds}s": value for name, value in _poisons(seconds).items()}
    return numbers | {f"{name}_background": value for name, value in _background(TRIPLES).items()}


def _served(server: Server) -> Watch:
    """A healthy query that answers, over a stream that is pushed into."""
    server.send("PUT", "/streams/s")
    server.send("PUT", "/queries/Healthy", HEALTHY.encode(), "application/sparql-query")
    _push(server, 1)
    server.until("running")
    watch = Watch(server, "Healthy")
    watch.until(lambda: len(watch.late) > 10)
    return watch


def _push(server: Server, number: int) -> None:
    server.send("POST", "/streams/s", f"<urn:s{number}> <urn:now> <urn:x> .".encode(), "application/n-triples")


def _poisons(seconds: int) -> dict[str, float]:
    with Server("--time-limit", f"{seconds}s") as server:
        watch = _served(server)
        for number in range(POISONS):
            text = f"REGISTER QUERY Poison{number} AS SELECT ?s ?h {WINDOW} WHERE {{ ?s <urn:go> ?o {LASTING} }}"
            server.send("PUT", f"/queries/Poison{number}", text.encode(), "application/sparql-query")
        ids = [watch.id(f"Poison{number}") for number in range(POISONS)]
        time.sleep(SETTLED_SECONDS)
        begun = time.time()
        server.send("POST", "/streams/s", b"<urn:s> <urn:go> <urn:x> .", "application/n-triples")
        watch.until(lambda: any(watch.answers.failure(id) for id in ids))
        first = time.time() - begun
        watch.until(lambda: all(watch.answers.failure(id) for id in ids))
        last = time.time() - begun
        time.sleep(SETTLED_SECONDS)
        return {"worst_s": watch.worst(begun), "first_failed_s": first, "last_failed_s": last}


def _background(triples: int) -> dict[str, float]:
    """Each triple follows in as many other forms as there are levels."""
    graph = [f"<urn:p{level}> {SUB} <urn:p{level + 1}> .\n" for level in range(LEVELS)]
    graph += (f"<urn:s{i // 4}> <urn:p{i % LEVELS}> <urn:o{i % 9973}> .\n" for i in range(triples))
    text = (
        f"REGISTER QUERY Large USING ENTAILMENT rho-df AS SELECT ?s ?o FROM <urn:large> {WINDOW} "
        f"WHERE {{ ?s <urn:now> ?x . ?s <urn:p{LEVELS}> ?o }}"
    )
    with Server() as server:
        watch = _served(server)
        server.send("PUT", f"/graphs?graph={quote('urn:large')}", "".join(graph).encode(), "application/n-triples")
        time.sleep(SETTLED_SECONDS)
        begun = time.time()
        server.send("PUT", "/queries/Large", text.encode(), "application/sparql-query")
        _push(server, 2)
        large = watch.id("Large")
        watch.until(lambda: watch.answers.newest_instant(large) or watch.answers.failure(large))
        over = time.time() - begun
        assert watch.answers.failure(large) is None, watch.answers.failure(large)
        time.sleep(SETTLED_SECONDS)
        return {"worst_s": watch.worst(begun), "over_s": over}
