from __future__ import annotations

import threading

import pytest

from csparql_spark.store import StoredAnswer
from csparql_spark.store.order import forget

from .opened import Opened


def answer(query: int, instant: int, part: int = 0, payload: bytes = b"x", position: int = 0) -> StoredAnswer:
    return StoredAnswer(query, instant, part, len(payload), payload, position)


def test_nothing_was_told(store: Opened) -> None:
    answers = store.answers
    assert answers.latest(1) == answers.at(1, 5) == answers.after(1, 0, 10) == []
    assert answers.bounds(1) is None and answers.failure(1) is None
    assert answers.queries_since(0) == (0, set()) and answers.queries_since(7) == (7, set())


def test_answers_come_back_in_the_order_of_their_instants_and_parts(store: Opened) -> None:
    answers = store.answers
    answers.write([answer(1, 2000, 1), answer(2, 9000), answer(1, 2000, 0), answer(1, -1000, 0, b"")])
    answers.write([answer(1, 3000)])
    minus, two = answer(1, -1000, 0, b"", 1), answer(1, 2000, 0, b"x", 2)
    and_a_half, three = answer(1, 2000, 1, b"x", 3), answer(1, 3000, 0, b"x", 5)
    assert answers.after(1, -5000, 10) == [minus, two, and_a_half, three]
    assert answers.after(1, -1000, 10) == [two, and_a_half, three]
    assert answers.after(1, -5000, 2) == [minus, two]
    assert answers.at(1, 2000) == [two, and_a_half]
    assert answers.latest(1) == [three] and answers.latest(2) == [answer(2, 9000, 0, b"x", 4)]
    assert answers.bounds(1) == (-1000, 3000) and answers.bounds(2) == (9000, 9000)


def test_all_parts_of_the_newest_instant(store: Opened) -> None:
    store.answers.write([answer(1, 1000), answer(1, 2000, 1, b"b"), answer(1, 2000, 0, b"a"), answer(2, 5000)])
    assert [kept.payload for kept in store.answers.latest(1)] == [b"a", b"b"]


def test_the_first_answer_stands(store: Opened) -> None:
    answers = store.answers
    answers.write([answer(1, 1000, 0, b"first")])
    answers.write([answer(1, 1000, 0, b"second!"), answer(1, 1000, 1, b"another part"), answer(1, 2000, 0, b"new")])
    assert [(kept.instant, kept.part, kept.rows, kept.payload) for kept in answers.after(1, 0, 10)] == [
        (1000, 0, 5, b"first"),
        (1000, 1, 12, b"another part"),
        (2000, 0, 3, b"new"),
    ]


def test_a_batch_that_is_written_again_tells_nothing(store: Opened) -> None:
    batch = [answer(query, instant) for query in (1, 2) for instant in (1000, 2000)]
    store.answers.write(batch)
    position = store.answers.queries_since(0)[0]
    store.answers.write(batch)
    assert store.answers.queries_since(position) == (position, set())
    assert store.answers.queries_since(0) == (position, {1, 2})


def test_queries_since(store: Opened) -> None:
    answers = store.answers
    answers.write([answer(1, 1000), answer(2, 1000)])
    first, queries = answers.queries_since(0)
    assert (first, queries) == (2, {1, 2})
    answers.write([answer(2, 2000), answer(3, 1000), answer(2, 3000)])
    assert answers.queries_since(first) == (5, {2, 3})
    assert answers.queries_since(4) == (5, {2})


def test_positions_only_ever_grow(store: Opened) -> None:
    store.answers.write([answer(1, 1000), answer(1, 2000)])
    position = store.answers.queries_since(0)[0]
    with store.database.transaction() as connection:
        connection.execute("DELETE FROM answers")
    store.answers.write([answer(1, 3000)])
    assert store.answers.queries_since(position) == (position + 1, {1})


def test_a_failure_is_told_with_its_batch_and_the_first_one_stands(store: Opened) -> None:
    store.answers.write([answer(2, 1000)], [(1, 1000, "it was too large")])
    store.answers.write([], [(1, 2000, "another reason")])
    assert store.answers.failure(1) == (1000, "it was too large")
    assert store.answers.failure(2) is None and len(store.answers.latest(2)) == 1


def test_a_batch_is_written_whole_or_not_at_all(store: Opened) -> None:
    def broken():
        yield answer(1, 1000)
        raise KeyError

    with pytest.raises(KeyError):
        store.answers.write(broken())
    assert store.answers.latest(1) == []


def test_who_waits_is_woken_by_answers(store: Opened) -> None:
    store.answers.wait(0)  # from now on it listens
    heard = []
    thread = threading.Thread(target=lambda: heard.append(store.answers.wait(60)))
    thread.start()
    elsewhere = Opened(store.directory.path)
    elsewhere.answers.write([answer(1, 1000)])
    thread.join()
    elsewhere.close()
    assert heard == [True] and store.answers.queries_since(0) == (1, {1})


def test_what_is_forgotten_is_not_told_again(store: Opened) -> None:
    answers, batch = store.answers, [answer(1, instant) for instant in (1000, 2000, 3000)]
    assert answers.newest_instant(1) is None
    answers.write([*batch, answer(2, 500)])
    with store.database.transaction() as connection:
        forget(connection, 1, "query = 1 AND instant <= 2000", {})
    assert answers.newest_instant(1) == 3000
    position = answers.queries_since(0)[0]
    answers.write([*batch, answer(1, 4000), answer(2, 1500)])
    assert answers.queries_since(position)[1] == {1, 2}
    assert [kept.instant for kept in answers.after(1, 0, 10)] == [3000, 4000]
    with store.database.transaction() as connection:
        forget(connection, 1, "query = 1", {})
    assert answers.newest_instant(1) == 4000 and answers.newest_instant(2) == 1500
