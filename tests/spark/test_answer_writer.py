"""Answers that are told while a group is at work: into a store, once each, whatever fails."""

from __future__ import annotations

import itertools
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pandas
import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from csparql_spark.engine import view_answer
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.log import Entry
from csparql_spark.schedule.routing import Row
from csparql_spark.spark import answer_writer
from csparql_spark.spark import processor as processors
from csparql_spark.spark.answer_writer import AnswerWriter
from csparql_spark.spark.processor import GroupProcessor
from csparql_spark.store import AnswerStore, StoredAnswer, answer_batch, keyframes
from tests.engine.logs import entries, law, logs
from tests.engine.naive import Logged
from tests.engine.running import in_one_go, routed_between
from tests.examples import examples
from tests.spark.test_processor import Handle
from tests.store.opened import Opened

pytestmark = pytest.mark.usefixtures("new_worker")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(answer_writer, "time", clock)
    return clock


@pytest.fixture
def writer(store: Opened) -> AnswerWriter:
    return pickle.loads(pickle.dumps(AnswerWriter(str(store.directory.path))))


def answer(query: int, instant: int, payload: bytes = b"x") -> Message:
    return InstantAnswer(query, instant, 0, 1, payload)


def stored(store: Opened) -> list[tuple[int, int]]:
    rows = store.database.connection.execute("SELECT query, instant FROM answers ORDER BY position")
    return rows.fetchall()


def test_answers_go_into_the_store_and_the_rest_comes_through(
    store: Opened, writer: AnswerWriter, clock: Clock
) -> None:
    failed = QueryFailure(8, 1000, "too many")
    assert list(writer.through(iter([answer(7, 1000), failed, answer(9, 1000)]))) == [failed]
    assert stored(store) == [(7, 1000), (9, 1000)]
    assert store.answers.latest(7) == [StoredAnswer(7, 1000, 0, 1, b"x", 1)]


def test_a_failure_is_told_at_once_behind_what_was_said_before(
    store: Opened, writer: AnswerWriter, clock: Clock
) -> None:
    """While others in the batch are at work, and also should that fail."""
    told = []

    def group() -> Iterator[Message]:
        yield answer(8, 1000)
        yield answer(7, 1000)
        yield QueryFailure(8, 2000, "too many")
        told.append((store.answers.failure(8), stored(store)))
        yield answer(8, 3000)
        yield answer(7, 2000)

    store.answers.wait(0)
    assert list(writer.through(group())) == [QueryFailure(8, 2000, "too many")]
    assert told == [((2000, "too many"), [(7, 1000), (8, 1000)])]
    assert store.answers.wait(0)
    assert stored(store) == [(7, 1000), (8, 1000), (7, 2000)], "it says no more"


def test_of_nothing_nothing_is_written(store: Opened, writer: AnswerWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnswerStore, "write", None)
    assert list(writer.through(iter([]))) == []


def test_they_are_told_while_the_group_is_at_work(store: Opened, writer: AnswerWriter, clock: Clock) -> None:
    """
    ms         0    5    19   21          30   51   71           80   150  161           170
    made       q1   q2   q3   q4          q5   q6   q7           q8   q9   q10           (all)
    told                      q1 to q4              q5 to q7               q8 to q10
    """
    seen = []

    def group() -> Iterator[Message]:
        for query, ms in enumerate((0, 5, 19, 21, 30, 51, 71, 80, 150, 161, 170), 1):
            clock.now = 100 + ms / 1000
            seen.append(len(stored(store)))
            if query < 11:
                yield answer(query, 1000)

    store.answers.wait(0)
    assert list(writer.through(group())) == []
    assert seen == [0, 0, 0, 0, 4, 4, 4, 7, 7, 7, 10]
    assert store.answers.wait(0)


def test_the_first_answer_stands(store: Opened, writer: AnswerWriter, clock: Clock) -> None:
    list(writer.through(iter([answer(7, 1000, b"first")])))
    list(writer.through(iter([answer(7, 1000, b"second"), answer(7, 2000)])))
    assert [one.payload for one in store.answers.after(7, 0, 10)] == [b"first", b"x"]


class Fails(Exception):
    pass


@given(logs, st.data())
@law(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_batch_that_fails_and_is_run_again_tells_the_same(
    store: Opened, log: list[Logged], data: st.DataObject
) -> None:
    """Whatever has been told of it before it failed, and whoever runs it again."""
    written = entries(log)
    run_in_batches(store, written, data)
    expected = {one[:5] for told in in_one_go(written).values() for one in told if isinstance(one, InstantAnswer)}
    queries = store.database.connection.execute("SELECT DISTINCT query FROM answers").fetchall()
    read = [one for (query,) in queries for one in store.answers.after(query, -1 << 62, 1 << 40)]
    found = [(one.query, one.instant, one.part, one.rows, one.payload) for one in read]
    assert len(found) == len(expected) and set(found) == expected


@given(logs, st.data())
@law(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_stored_hangs_neither_on_batches_nor_on_workers(
    store: Opened, log: list[Logged], data: st.DataObject
) -> None:
    """Also where answers are handed over as changes, by whoever was there before; and by whoever was not, and whose
    wholes are compared: the rows are those of wholes that come one by one."""
    with ExitStack() as patches:
        for module, name in itertools.product((keyframes, view_answer, answer_batch), ("LEAST_ROWS", "LEAST_COMPARED")):
            if hasattr(module, name):
                patches.enter_context(mock.patch.object(module, name, 1))
        # Three changes and a keyframe, however small they are.
        often = mock.patch.object(keyframes, "most_changed", lambda newest, rows: 99 if newest.changes < 3 else -1)
        patches.enter_context(often)
        written = entries(log)
        run_in_batches(store, written, data)
        told = [one for some in in_one_go(written).values() for one in some if isinstance(one, InstantAnswer)]
        assert all(one.since is None for one in told)
        with tempfile.TemporaryDirectory() as path:
            other = Opened(Path(path))
            for one in sorted(told, key=lambda one: one.instant):
                other.answers.write([answer_writer._stored(one)])
            assert stored_rows(store) == stored_rows(other)
            event("some are changes" if any(row[5] for row in stored_rows(other)) else "all are whole")
            other.close()


def stored_rows(store: Opened) -> list[tuple]:
    return store.database.connection.execute(
        "SELECT query, instant, part, rows, payload, since, frame, weight, size, checksum FROM answers "
        "ORDER BY query, instant, part"
    ).fetchall()


def run_in_batches(store: Opened, written: list[Entry], data: st.DataObject) -> None:
    with store.database.transaction() as connection:
        connection.execute("DELETE FROM answers")
    processors._remembered.clear()
    answer_writer._answers.cache_clear()  # what it knew is not there any more
    writer = AnswerWriter(str(store.directory.path))
    handles: dict[str, Handle] = {}
    cuts = sorted(data.draw(st.lists(st.integers(1, len(written)), max_size=4), label="cuts"))
    for start, end in zip([0, *cuts], [*cuts, len(written)]):
        rows = routed_between(written, start, end)
        for key in dict.fromkeys(row.group for row in rows):
            batch = [row for row in rows if row.group == key]
            handle = handles.setdefault(key, Handle())
            if data.draw(st.booleans(), label="fails"):
                most = data.draw(st.integers(0, 5), label="after so many answers")
                with pytest.raises(Fails):
                    run(Failing(writer, most), handle, key, batch)
                if data.draw(st.booleans(), label="in another worker"):
                    processors._remembered.clear()
                    answer_writer._answers.cache_clear()
            run(writer, handle, key, batch)


class Failing:
    """Tells so many answers, or all, and then the batch fails."""

    def __init__(self, writer: AnswerWriter, most: int) -> None:
        self._answer_writer, self._most = writer, most
        self.wants_change = writer.wants_change

    def through(self, told: Iterator[Message]) -> Iterator[Message]:
        count = 0

        def some() -> Iterator[Message]:
            nonlocal count
            for one in told:
                if count == self._most:
                    return
                count += isinstance(one, InstantAnswer)
                yield one

        yield from self._answer_writer.through(some())
        raise Fails


def run(writer: object, handle: Handle, key: str, rows: list[Row]) -> None:
    processor = GroupProcessor("job", writer)
    processor.init(handle)
    list(processor.handleInputRows((key, 0), iter([pandas.DataFrame(rows, columns=Row._fields)]), None))
