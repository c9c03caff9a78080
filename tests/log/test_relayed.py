"""How far the answers of a query are in the log: later instants only, and each query for itself."""

from __future__ import annotations

from csparql_spark.log.sqlite import relayed
from csparql_spark.store import QueryRecord
from tests.store.opened import Opened


def test_it_only_moves_on(store: Opened) -> None:
    with store.database.transaction() as connection:
        assert relayed.instant(connection, 17) is None
        assert [relayed.advance(connection, 17, at) for at in (-5, -5, 1000, 999, 1001)] == [True, False, True, False, True]
        assert relayed.advance(connection, 1, 3)
        assert [relayed.instant(connection, query) for query in (17, 1, 2)] == [1001, 3, None]


def test_it_goes_with_its_query(store: Opened) -> None:
    query = store.writer.append(QueryRecord.draft("q", text="", base=None)).seq
    with store.database.transaction() as connection:
        for id in (query, query + 1):
            relayed.advance(connection, id, 7)
        relayed.forget(connection)
        assert connection.execute("SELECT query, instant FROM relayed").fetchall() == [(query, 7)]
