"""How far the answers of a query are in the log: each query for itself, and gone with it."""

from __future__ import annotations

from csparql_spark.log.sqlite.relays import NEWEST, forget_relays, relay, relayed_to
from csparql_spark.store import QueryRecord
from tests.store.opened import Opened


def test_each_query_has_its_own(store: Opened) -> None:
    with store.database.transaction() as connection:
        assert relayed_to(connection, 17) is None
        relay(connection, 17, -5)
        relay(connection, 1, 3)
        relay(connection, 17, 1000)
        assert [relayed_to(connection, query) for query in (17, 1, 2)] == [1000, 3, None]
        newest = [connection.execute(f"SELECT {NEWEST}", {"query": query}).fetchone() for query in (17, 1, 2)]
        assert newest == [(1000,), (3,), (None,)]


def test_it_goes_with_its_query(store: Opened) -> None:
    query = store.writer.append(QueryRecord.draft("q", text="", base=None)).seq
    with store.database.transaction() as connection:
        for id in (query, query + 1):
            relay(connection, id, 7)
        forget_relays(connection)
        assert connection.execute("SELECT query, instant FROM relayed").fetchall() == [(query, 7)]
