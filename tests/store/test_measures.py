"""What queries cost: points that are kept, sums that go on."""

from __future__ import annotations

import pytest

from csparql_spark.store import QueryRecord, measures
from csparql_spark.store.measures import BUCKETS, Cost, Measures, Point, Totals

from .opened import Opened

COST = Cost(
    query=17,
    instant=5000,
    instants=1,
    rows=2,
    last_rows=2,
    micros=300,
    last_micros=300,
    elements=7,
    late=1,
    state=999,
    due=[5000],
)


def write(store: Opened, writing: Measures, *costs: Cost, at: float = 5040.0) -> None:
    with store.database.transaction() as connection:
        writing.write(connection, costs, at=at)


def test_nothing_was_measured_yet(store: Opened) -> None:
    reading = Measures(store.database)
    assert (reading.points(17), reading.newest(17), reading.plan(17)) == ([], None, None)


def test_a_point_and_what_points_sum_up_to(store: Opened) -> None:
    writing = Measures(store.database)
    more = COST._replace(instant=7000, instants=2, rows=5, last_rows=1, micros=800, last_micros=100, due=[6000, 7000])
    write(store, writing, COST)
    write(store, writing, more, COST._replace(query=18, due=[None]), at=7600.0)
    counts = [0] * (len(BUCKETS) + 1)
    counts[BUCKETS.index(0.05)] = 1
    first = Point(17, 1, 5040, 5000, 40.0, 300, 1, 2, 7, 1, 999, Totals(1, 2, 300, 0.04, tuple(counts)))
    counts[BUCKETS.index(1.0)] = 1
    counts[BUCKETS.index(2.5)] = 1
    second = Point(17, 2, 7600, 7000, 600.0, 100, 2, 1, 7, 1, 999, Totals(3, 7, 1100, 2.24, tuple(counts)))
    reading = Measures(store.database)
    assert reading.points(17) == [first, second]
    assert reading.points(17, 1) == [second] and reading.newest(17) == second
    assert (reading.newest(18).latency, reading.newest(18).totals) == (None, Totals(1, 2, 300, 0.0))


@pytest.mark.parametrize("ms, bucket", [(-3, 0), (5, 0), (5.1, 1), (60_000, -2), (60_001, -1)])
def test_latencies_by_bucket(store: Opened, ms: float, bucket: int) -> None:
    write(store, Measures(store.database), COST, at=5000 + ms)
    latencies = Measures(store.database).newest(17).totals.latencies
    assert sum(latencies) == latencies[bucket] == 1


def test_the_newest_points_are_kept_and_the_sums_of_all(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_POINTS", 20)
    for number in range(1, 101):
        # The sums outlive the process that writes.
        write(store, Measures(store.database), COST._replace(instant=1000 * number))
    points = Measures(store.database).points(17)
    assert [point.instant for point in points] == [1000 * number for number in range(81, 101)]
    assert points[-1].totals.instants == 100 and points[-1].totals.rows == 200
    kept = store.database.connection.execute("SELECT count(*) FROM measures").fetchone()[0]
    assert 20 <= kept < 20 + measures.SWEEP


def test_what_is_undone_was_never_counted(store: Opened) -> None:
    writing = Measures(store.database)
    write(store, writing, COST)
    with pytest.raises(KeyError), store.database.transaction() as connection:
        writing.write(connection, [COST], at=6000.0)
        raise KeyError
    writing.forgotten()
    write(store, writing, COST)
    assert [point.totals.instants for point in writing.points(17)] == [1, 2]


def test_the_sums_of_few_queries_are_remembered(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_KNOWN", 3)
    writing = Measures(store.database)
    for _ in range(3):
        write(store, writing, *(COST._replace(query=query) for query in range(8)))
    assert [writing.newest(query).totals.instants for query in range(8)] == [3] * 8


def test_the_plan_as_it_was_told_last(store: Opened) -> None:
    writing = Measures(store.database)
    write(store, writing, COST._replace(nodes={"node": "scan"}))
    write(store, writing, COST._replace(instant=6000))
    assert writing.plan(17) == {"instant": 5000, "plan": {"node": "scan"}}


def test_they_go_with_their_query(store: Opened) -> None:
    live = store.writer.append(QueryRecord.draft("q", text="", base=None)).seq
    gone = store.writer.append(QueryRecord.draft("r", text="", base=None)).seq
    store.append("unregister", "r")
    writing = Measures(store.database)
    write(store, writing, *(COST._replace(query=query, nodes={}) for query in (live, gone)))
    store.retention.forget(keep_log=0, reach=0, keep_answers=10)
    assert (writing.newest(live).number, writing.plan(live)["plan"]) == (1, {})
    assert (writing.newest(gone), writing.plan(gone)) == (None, None)
