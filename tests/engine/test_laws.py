"""The laws: answers are what the naive twin says of the log, and nothing of how they were made can be seen in them."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.limits import Limits
from csparql_spark.engine import views
from csparql_spark.engine.messages import Message, QueryFailure
from tests.engine import naive
from tests.engine.logs import entries, law, logs
from tests.engine.naive import Logged, Said
from tests.engine.running import SPO, DictState, Worker, in_one_go, matched_anew, routed_between, said
from tests.examples import examples


def expected(log: list[Logged], limit: int = 1_000_000) -> dict[int, list[tuple[tuple[str, ...], Said]]]:
    variables = {
        entry.seq: entry.value.variables if entry.value.made is None else SPO
        for entry in log
        if entry.kind == "register"
    }
    return {
        query: [(() if one.rows is None else variables[query], one) for one in saying]
        for query, saying in naive.answers(log, limit).items()
        if saying
    }


def everything(told: dict[str, list[Message]]) -> list[Message]:
    return [one for saying in told.values() for one in saying]


@given(logs)
@law(max_examples=examples(80))
def test_answers_are_what_the_log_says(log: list[Logged]) -> None:
    """By either evaluator."""
    wanted = expected(log)
    assert said(everything(in_one_go(entries(log)))) == wanted
    with matched_anew():
        assert said(everything(in_one_go(entries(log)))) == wanted


class Cluster:
    """Three workers and a state store; batches are cut, given to any worker, fail and come twice as `data` decides."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self.workers = [Worker() for _ in range(3)]
        self.states: dict[str, DictState] = {}
        self.told: dict[str, list[Message]] = {}

    def run(self, log: list[Logged]) -> None:
        written = entries(log)
        start = 0
        while start < len(written):
            end = min(
                len(written), start + self._data.draw(st.sampled_from([1, 1, 2, 3, 6]), label="entries in the batch")
            )
            rows = routed_between(written, start, end)
            for key in dict.fromkeys(row.group for row in rows):
                self.batch(key, [row for row in rows if row.group == key])
            start = end

    def batch(self, key: str, rows: list) -> None:
        state, told = self.states.setdefault(key, DictState()), self.told.setdefault(key, [])
        what = self._data.draw(
            st.sampled_from(["", "", "", "fails", "fails half-way", "comes twice", "cold"]), label="the batch"
        )
        if what == "fails":  # its worker has done it, and what it kept is lost: it is ahead
            self.worker().work(key, rows, state.copy())
        if what == "fails half-way":
            worker = self.worker()
            worker.work(key, rows[: len(rows) // 2], state.copy())
            worker.remembered.pop(key, None)
        if what == "cold":
            for worker in self.workers:
                worker.remembered.clear()
        new = self.worker().work(key, rows, state)
        told += new
        if what == "comes twice":
            self.comes_again(self.worker().work(key, rows, state), new, told)

    def comes_again(self, again: list[Message], first: list[Message], told: list[Message]) -> None:
        """A batch has come a second time."""
        assert again in ([], first)

    def worker(self) -> Worker:
        return self.workers[self._data.draw(st.integers(0, 2), label="worker")]


@given(logs, st.data())
@law(max_examples=examples(100))
def test_batches_and_workers_cannot_be_seen_in_the_answers(log: list[Logged], data: st.DataObject) -> None:
    cluster = Cluster(data)
    cluster.run(log)
    assert {key: told for key, told in cluster.told.items() if told} == {
        key: told for key, told in in_one_go(entries(log)).items() if told
    }


@given(logs, st.data())
@law(max_examples=examples(60))
def test_a_failing_query_hurts_nobody_else_and_does_not_come_back(log: list[Logged], data: st.DataObject) -> None:
    cluster = Cluster(data)
    with mock.patch.object(views, "LIMITS", Limits(rows=2)):
        cluster.run(log)
        told = everything(cluster.told)
        assert sorted(told) == sorted(everything(in_one_go(entries(log))))
    assert said(told) == expected(log, limit=2)
    reasons = {one.reason for one in told if isinstance(one, QueryFailure)}
    assert reasons <= {"the answer has more than 2 rows, which is the limit for one instant: add a LIMIT or a FILTER"}
