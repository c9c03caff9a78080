"""How far the engine has come: never back, and what is read is answered."""

from __future__ import annotations

from csparql_spark.store import progress

from .opened import Opened


def test_it_only_moves_on(store: Opened) -> None:
    with store.database.transaction() as connection:
        assert (progress.read(connection), progress.answered(connection)) == (0, 0)
        places = []
        for step in ({"batch_end": 4}, {"read": 3}, {"batch_end": 2}, {"read": 9}, {"read": 1, "batch_end": 12}):
            progress.advance(connection, **step)
            places.append((progress.read(connection), progress.answered(connection)))
        assert places == [(0, 4), (3, 4), (3, 4), (9, 9), (9, 12)]
        assert connection.execute("SELECT count(*) FROM engine_progress").fetchone() == (1,)


def test_who_has_never_read_has_come_nowhere(store: Opened) -> None:
    with store.database.transaction() as connection:
        connection.execute("DELETE FROM engine_progress")
        assert (progress.read(connection), progress.answered(connection)) == (0, 0)
        progress.advance(connection, read=2)
        assert (progress.read(connection), progress.answered(connection)) == (2, 2)
