"""The sink: answers, failures and what they have cost, from a batch into the store."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from csparql_spark.pipeline.group import FAILURE, MEASURES
from csparql_spark.spark.sink import AnswerSink, costs_in
from csparql_spark.spark.stages import Stages
from csparql_spark.store import StoredAnswer
from csparql_spark.store.measures import Cost, Measures

from ..store.opened import Opened

COST = Cost(query=7, instant=1000, instants=1, rows=1, last_rows=1, micros=30, last_micros=30, elements=5, late=0,
            state=80, due=[1000])


class Batch:
    """A data frame of Spark, as far as the sink looks at it."""

    def __init__(self, *rows: tuple) -> None:
        self._rows = rows

    def toArrow(self) -> pa.Table:
        schema = pa.schema([("query", pa.int64()), ("instant", pa.int64()), ("part", pa.int32()), ("rows", pa.int64()),
                            ("payload", pa.binary())])
        columns = zip(*self._rows) if self._rows else [[]] * 5
        return pa.table([pa.array(column, field.type) for column, field in zip(columns, schema)], schema=schema)


def cost(*costs: Cost) -> tuple:
    return 0, 0, MEASURES, 0, json.dumps([one._asdict() for one in costs]).encode()


def test_each_kind_of_row_goes_where_it_belongs(store: Opened) -> None:
    measures, stages = Measures(store.database), Stages(store.status)
    AnswerSink(store.answers, measures, stages)(Batch((7, 1000, 0, 1, b"x"), (8, 1000, FAILURE, 0, b"too many"),
                                                      cost(COST)), 3)
    assert store.answers.latest(7) == [StoredAnswer(7, 1000, 0, 1, b"x", 1)]
    assert store.answers.failure(8) == (1000, "too many")
    point = measures.newest(7)
    assert (point.instant, point.rows, point.elements, point.state) == (1000, 1, 5, 80)
    assert point.latency > 1e12                     # ms since 1970, more or less


def test_without_anybody_who_wants_to_know_answers_are_written_all_the_same(store: Opened) -> None:
    AnswerSink(store.answers)(Batch((7, 1000, 0, 1, b"x"), cost(COST)), 3)
    assert len(store.answers.latest(7)) == 1 and Measures(store.database).newest(7) is None


def test_a_cost_that_cannot_be_read_holds_up_nobody(store: Opened, capsys: pytest.CaptureFixture) -> None:
    for payload in (b"{", b'[{"query": 7}]', b"[1]"):
        batch = Batch((7, 1000, 0, 1, b"x"), (0, 0, MEASURES, 0, payload))
        AnswerSink(store.answers, Measures(store.database))(batch, 3)
        assert "what a batch has cost cannot be read: " in capsys.readouterr().err
    assert len(store.answers.latest(7)) == 1
    assert costs_in([cost(COST)[-1]]) == [COST]


def test_a_batch_that_could_not_be_written_is_not_counted(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = Measures(store.database)
    sink, batch = AnswerSink(store.answers, measures), Batch((7, 1000, 0, 1, b"x"), cost(COST))
    write = measures.write

    def full(*told: object, **more: object) -> None:
        write(*told, **more)
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(measures, "write", full)
        with pytest.raises(OSError, match="no space left"):
            sink(batch, 3)
    assert (store.answers.latest(7), measures.newest(7)) == ([], None)
    sink(batch, 3)
    assert (len(store.answers.latest(7)), measures.newest(7).totals.instants) == (1, 1)
