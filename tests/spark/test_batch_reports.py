"""The sink: failures, and what answers have cost, from a batch into the store."""

from __future__ import annotations

import json
from unittest import mock

import pyarrow as pa
import pytest

from csparql_spark.engine.messages import BatchCosts, QueryFailure
from csparql_spark.spark.batch_reports import BatchReports, costs_in
from csparql_spark.spark.report_rows import ReportRow, report_of, row_of
from csparql_spark.spark.stages import Stages
from csparql_spark.store import AnswerStore
from csparql_spark.store.measures import Cost, Measures
from csparql_spark.store.witness import NAME, Witness
from tests.store.opened import Opened

COST = Cost(
    query=7,
    instant=1000,
    instants=1,
    rows=1,
    last_rows=1,
    micros=30,
    last_micros=30,
    elements=5,
    late=0,
    state=80,
    due=[1000],
)


class Batch:
    """A data frame of Spark, as far as the sink looks at it."""

    def __init__(self, *rows: tuple) -> None:
        self._rows = rows

    def toArrow(self) -> pa.Table:
        schema = pa.schema(
            [
                ("query", pa.int64()),
                ("instant", pa.int64()),
                ("part", pa.int32()),
                ("rows", pa.int64()),
                ("payload", pa.binary()),
            ]
        )
        columns = zip(*self._rows) if self._rows else [[]] * 5
        return pa.table([pa.array(column, field.type) for column, field in zip(columns, schema)], schema=schema)


@pytest.mark.parametrize("report", [QueryFailure(8, 1000, "trop élevé"), BatchCosts(b"[]")])
def test_a_report_comes_back_from_its_row(report: QueryFailure | BatchCosts) -> None:
    assert report_of(row_of(report)) == report


def test_a_row_of_another_kind_is_no_report() -> None:
    with pytest.raises(ValueError, match="a row of the kind 0 is no report"):
        report_of(ReportRow(8, 1000, 0, 1, b"x"))


def cost(*costs: Cost, told_at: int = 1250) -> tuple:
    return row_of(BatchCosts(json.dumps([one._asdict() for one in costs]).encode()), at=told_at)


def counted(store: Opened, measures: Measures) -> AnswerStore:
    """Its answers, whose costs are written."""
    return AnswerStore(store.database, store.directory.bell("answers"), measures)


def test_each_kind_of_row_goes_where_it_belongs(store: Opened) -> None:
    measures, stages = Measures(store.database), Stages(store.status)
    BatchReports(counted(store, measures), stages)(
        Batch(row_of(QueryFailure(8, 1000, "too many")), cost(COST), cost(COST._replace(query=9), told_at=1100)), 3
    )
    assert store.answers.failure(8) == (1000, "too many")
    point = measures.newest(7)
    assert (point.instant, point.rows, point.elements, point.state) == (1000, 1, 5, 80)
    assert (point.latency, measures.newest(9).latency) == (250, 100)  # until its answers were told


def test_the_first_failure_stands(store: Opened) -> None:
    sink = BatchReports(store.answers)
    sink(Batch(row_of(QueryFailure(8, 1000, "too many"))), 3)
    sink(Batch(row_of(QueryFailure(8, 2000, "too slow"))), 4)
    assert store.answers.failure(8) == (1000, "too many")


def test_who_waits_for_answers_hears_of_failures_and_not_of_costs(store: Opened) -> None:
    sink = BatchReports(counted(store, Measures(store.database)))
    store.answers.wait(0)
    sink(Batch(cost(COST)), 3)
    assert not store.answers.wait(0)
    sink(Batch(cost(COST), row_of(QueryFailure(8, 1000, "too many"))), 4)
    assert store.answers.wait(0)


def test_without_anybody_who_wants_to_know_failures_are_written_all_the_same(store: Opened) -> None:
    BatchReports(store.answers)(Batch(row_of(QueryFailure(8, 1000, "too many")), cost(COST)), 3)
    assert store.answers.failure(8) and Measures(store.database).newest(7) is None


def test_a_cost_that_cannot_be_read_holds_up_nobody(store: Opened, capsys: pytest.CaptureFixture) -> None:
    for query, payload in enumerate((b"{", b'[{"query": 7}]', b"[1]")):
        batch = Batch(row_of(QueryFailure(query, 1000, "too many")), row_of(BatchCosts(payload), at=1000), cost(COST))
        BatchReports(counted(store, Measures(store.database)))(batch, 3)
        assert "what a batch has cost cannot be read: " in capsys.readouterr().err
        assert store.answers.failure(query)
    assert Measures(store.database).newest(7).totals.instants == 3
    assert costs_in(cost(COST)[-1]) == [COST]


def test_a_batch_that_could_not_be_written_is_not_counted(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = Measures(store.database)
    sink, batch = BatchReports(counted(store, measures)), Batch(row_of(QueryFailure(8, 1000, "too many")), cost(COST))
    write = measures.write

    def full(*told: object, **more: object) -> None:
        write(*told, **more)
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(measures, "write", full)
        with pytest.raises(OSError, match="no space left"):
            sink(batch, 3)
    assert (store.answers.failure(8), measures.newest(7)) == (None, None)
    sink(batch, 3)
    assert store.answers.failure(8) and measures.newest(7).totals.instants == 1


def test_the_end_of_a_batch_is_noted_also_where_it_says_nothing(store: Opened) -> None:
    ends = {3: 7, 4: 9, 5: None}
    sink = BatchReports(store.answers, batches=mock.Mock(end=ends.get))
    for batch, end in ((3, 7), (4, 9), (5, 9)):
        sink(Batch(), batch)
        assert store.retention.batch_end() == end
    sink(Batch(row_of(QueryFailure(8, 1000, "too many"))), 3)
    assert store.retention.batch_end() == 9, "a batch is run again"
    store.retention.advance(12)
    assert (store.retention.position(), store.retention.batch_end()) == (12, 12)


def test_a_batch_that_cannot_be_witnessed_does_not_end(store: Opened) -> None:
    """So that Spark does not note that it has, and the checkpoint knows no more than its witness."""
    witness, stages = Witness(store.directory, store.database), Stages(store.status)
    sink = BatchReports(store.answers, stages=stages, witness=witness)
    store.put("chunk", 1000)
    store.directory.checkpoint.mkdir()
    sink(Batch(), 3)
    assert json.loads((store.directory.checkpoint / NAME).read_text())["seq"] == 1
    store.put("chunk", 1001)
    with mock.patch.object(witness, "write", side_effect=OSError("no space left")):
        with pytest.raises(OSError, match="no space left"):
            sink(Batch(), 4)
    assert stages._sunk == 3
