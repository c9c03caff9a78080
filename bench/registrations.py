"""The price of a registration: over HTTP, and at a start over a log that has thousands of them.

    PUT ─▶ log ─┬─▶ the web process: which queries there are, what each of them reads
                ├─▶ the ticker: when an instant is due
                └─▶ the source ─▶ rows ─▶ groups

The queries are those of `many`, over windows of ten minutes, so that what is measured is to have them and not to answer
them. Two more are registered last, one in each group, with a STEP of a second: when both have answered, all that came
before them has been routed, and is with its group. The engine starts without a checkpoint.

    measure(10_000, 100)       # {"registrations_per_s": …, "routed_s": …, "route_s": …, "ticker_s": …, "bytes": …}
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from unittest import mock
from urllib.parse import quote

from bench import many
from bench.crowd import lines
from bench.server import Server
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.language.queries import query_cache
from csparql_spark.language.queries.query_cache import MOST_BYTES, Readings, read
from csparql_spark.log import Log, LogWriter
from csparql_spark.schedule.routing import Router
from csparql_spark.schedule.ticker import Ticker
from csparql_spark.store import Registry

CLIENTS = 8
LONGEST_SECONDS = 600
LAST = ("last-plain", "last-rho")


def text(number: int, texts: int, stream: str) -> str:
    """The text of a registration: one of so many, apart from its name."""
    shape, under = number % texts, "USING ENTAILMENT rho-df " if number % 2 else ""
    return (
        f"REGISTER QUERY q{number} AS SELECT ?sensor ?room ?value FROM <{many.KB}> "
        f"FROM STREAM <{stream}> [RANGE 10m STEP 10m] {under}"
        f"WHERE {{ ?sensor a <urn:Kind{shape % many.SHAPES}> ; <urn:value> ?value ; <urn:room> ?room "
        f"FILTER(?value > {shape}) }}"
    )


def last(name: str, stream: str) -> str:
    under = "USING ENTAILMENT rho-df " if name == LAST[1] else ""
    return (
        f"SELECT ?sensor FROM <{many.KB}> FROM STREAM <{stream}> [RANGE 1s STEP 1s] {under}"
        "WHERE { ?sensor <urn:value> ?value }"
    )


def measure(count: int, texts: int) -> dict[str, object]:
    data = tempfile.mkdtemp(prefix="csparql-bench-")
    try:
        told = _registered(data, count, texts)
        told |= _cold(data)
        return told | _parts(data) | {"registrations": count, "texts": texts}
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _registered(data: str, count: int, texts: int) -> dict[str, object]:
    """Register all of them over HTTP, from several clients."""
    with Server("--most-queries", str(count + len(LAST)), data=data) as server:
        stream = server.send("PUT", "/streams/readings")["iri"]
        server.send("PUT", f"/graphs?graph={quote(many.KB, safe='')}", lines(many.facts()), "application/n-triples")
        server.until("running")
        begun, failed = time.monotonic(), []

        def work(first: int) -> None:
            connection = server.connect()
            for number in range(first, count, CLIENTS):
                connection.request(
                    "PUT",
                    f"/queries/q{number}",
                    text(number, texts, stream),
                    {"Content-Type": "application/sparql-query"},
                )
                response = connection.getresponse()
                told = response.read()
                if response.status != 201:
                    failed.append(told.decode())
                    return

        clients = [threading.Thread(target=work, args=(first,)) for first in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        if failed:
            raise RuntimeError(failed[0])
        took = time.monotonic() - begun
        for name in LAST:
            server.send("PUT", f"/queries/{name}", last(name, stream).encode(), "application/sparql-query")
        return {"registrations_per_s": count / took, "register_ms": 1000 * took / count}


def _cold(data: str) -> dict[str, float]:
    """Start over the log alone: seconds until HTTP answers, until the engine runs, and from then until all is
    routed."""
    shutil.rmtree(DataDirectory(data).engine)
    database = Database(DataDirectory(data).database)
    ids = [Registry(database).query(name).id for name in LAST]
    before = [_newest(database, id) for id in ids]
    with Server(data=data) as server:
        while True:
            try:
                server.send("GET", "/health")
                break
            except OSError:
                time.sleep(0.02)
        web = time.monotonic() - server.started
        running = server.until("running")
        while any(_newest(database, id) <= newest for id, newest in zip(ids, before, strict=True)):
            if time.monotonic() - server.started > LONGEST_SECONDS:
                raise RuntimeError(f"the last registrations had no answer after {LONGEST_SECONDS} s")
            time.sleep(0.02)
        return {
            "http_s": web,
            "engine_s": running,
            "routed_s": time.monotonic() - server.started - running,
            "memory_mb": server.memory_mb(),
        }


def _newest(database: Database, query: int) -> int:
    return database.connection.execute(
        "SELECT coalesce(max(position), 0) FROM answers WHERE query = ?", (query,)
    ).fetchone()[0]


def _parts(data: str) -> dict[str, float]:
    """What parts of a start take alone, in this process: each of them begins with nothing."""
    directory = DataDirectory(data)
    database = Database(directory.database)
    log, registry = Log(database), Registry(database)
    (stored,) = database.connection.execute("SELECT avg(length(payload)) FROM log WHERE kind = 'register'").fetchone()
    router = Router(lambda graph: log.last(graph, "background", router.seq))
    ticker = Ticker(registry, LogWriter(database, directory.bell("log")))
    return {
        "bytes": stored,
        "route_s": _seconds(lambda: list(_rows(router, log))),
        "ticker_s": _seconds(ticker.instants),
        "listing_s": _seconds(registry.queries),
        "reading_s": _seconds(lambda: [read(one.text, one.base, one.compiled) for one in registry.queries()]),
    }


def _rows(router: Router, log: Log) -> Iterator[object]:
    sent: set[tuple[str, int]] = set()
    for entry in log.read(0, log.tail()):
        yield from router.route(entry, sent)


def _seconds(work: Callable[[], object]) -> float:
    with mock.patch.object(query_cache, "_readings", Readings(300, MOST_BYTES)):
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun
