"""Forgetting: how far back windows reach, and what goes when."""

from __future__ import annotations

import dataclasses
import threading

from csparql_spark.disk.errors import DatabaseFault
from csparql_spark.server.backend import Backend
from csparql_spark.server.retention_thread import RetentionThread
from csparql_spark.store.registry import QueryRecord
from tests.server.playing import BASE, Engine, registered


def test_reach_is_the_longest_range_and_delay(client, backend: Backend) -> None:
    assert backend.threads.retention_thread.reach() == 0
    registered(client)
    assert backend.threads.retention_thread.reach() == 2000
    client.put("/streams/late?clock=event&delay=10s")
    client.put("/queries/late", data="SELECT ?s FROM STREAM <streams/late> [RANGE 5s] { ?s ?p ?o }")
    assert backend.threads.retention_thread.reach() == 15_000
    client.delete("/queries/late")
    assert backend.threads.retention_thread.reach() == 2000


def test_a_window_that_counts_does_not_keep_the_log(client, backend: Backend) -> None:
    """What it holds is in the engine's state, however long ago it came."""
    registered(client)
    text = f"SELECT ?s FROM STREAM <{BASE}/streams/s> [RANGE TRIPLES 5] {{ ?s ?p ?o }}"
    backend.stores.writer.append(QueryRecord.draft("n", text=text, base=None))
    assert backend.threads.retention_thread.reach() == 2000
    client.delete("/queries/q")
    assert backend.threads.retention_thread.reach() == 0


def test_a_query_that_cannot_be_read_reaches_nothing(client, backend: Backend) -> None:
    backend.stores.writer.append(QueryRecord.draft("old", text="SELEKT", base=None))
    assert backend.threads.retention_thread.reach() == 0
    told = client.get("/queries/old").json
    assert (told["form"], told["streams"], told["windows"]) == (None, [], [])


def test_a_round(client, backend: Backend, engine: Engine) -> None:
    query = registered(client)
    engine.count(query, *range(1000, 6000, 1000))
    stores = backend.stores
    retention_thread = RetentionThread(
        dataclasses.replace(backend.settings, keep_answers=2),
        stores.database,
        stores.registry,
        stores.retention,
        stores.writer,
    )
    assert retention_thread.forget() == 3
    assert backend.stores.answers.bounds(query) == (4000, 5000)
    client.delete("/queries/q")
    retention_thread.forget()
    assert backend.stores.answers.bounds(query) is None


def test_rounds_come_by_themselves_and_a_failed_one_is_not_the_last(backend: Backend, capsys) -> None:
    class Retention:
        def __init__(self) -> None:
            self.rounds = 0
            self.enough = threading.Event()

        def forget(self, **_: int) -> int:
            self.rounds += 1
            if self.rounds == 1:
                raise DatabaseFault("disk I/O error")
            self.enough.set()
            return 0

    retention = Retention()
    often = dataclasses.replace(backend.settings, forget_seconds=0.001)
    stores = backend.stores
    retention_thread = RetentionThread(often, stores.database, stores.registry, retention, stores.writer).start()
    assert retention.enough.wait(20)
    retention_thread.stop()
    assert capsys.readouterr().err == "csparql-spark: nothing was forgotten this time: disk I/O error\n"
