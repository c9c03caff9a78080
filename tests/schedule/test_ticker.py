from __future__ import annotations

import dataclasses
import queue
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.disk import StoreError
from csparql_spark.log import Draft, Entry
from csparql_spark.schedule.ticker import Ticker
from csparql_spark.store import QueryRecord, StreamRecord
from csparql_spark.windows.grid import Grid

HOUR = 3_600_000


class Registry:
    def __init__(self) -> None:
        self.made: dict[str, StreamRecord] = {}
        self.registered: dict[str, QueryRecord] = {}
        self.touched: set[int] = set()
        self.places = 0

    def stream(self, iri: str, clock: str = "arrival") -> None:
        self.made[iri] = StreamRecord(1, iri, 0, iri, clock, 0)

    def query(self, name: str, step: int, stream: str = "urn:a", unit: str = "ms") -> None:
        window = f"[RANGE 1h STEP {step}{unit}]"
        self.text(name, f"REGISTER QUERY q AS SELECT ?s FROM STREAM <{stream}> {window} WHERE {{ ?s ?p ?o }}")

    def text(self, name: str, text: str) -> None:
        self.places += 1  # no two registrations have the same
        self.registered[name] = QueryRecord(self.places, name, 0, text, None)

    def streams(self) -> list[StreamRecord]:
        return list(self.made.values())

    def queries(self, after: int = 0) -> list[QueryRecord]:
        return [query for query in self.registered.values() if query.id > after]

    def pauses(self) -> dict[int, bool | None]:
        return {query.id: None if query.id not in self.touched else query.paused for query in self.registered.values()}

    def pause(self, name: str, paused: bool) -> None:
        query = self.registered[name]
        self.registered[name] = dataclasses.replace(query, paused=paused)
        self.touched.add(query.id)


class Writer:
    """A log that only takes ticks, and its clock: it moves by `pace` ms whenever it is read, and by hand."""

    def __init__(self, now: int, pace: int = 0) -> None:
        self.clock = self
        self.at, self.pace = now, pace
        self.ticks: queue.SimpleQueue[Draft] = queue.SimpleQueue()
        self.read = threading.Semaphore(0)
        self.trouble: list[Exception] = []

    def now(self) -> int:
        self.at += self.pace
        self.read.release()
        return self.at

    def append(self, draft: Draft) -> Entry:
        if self.trouble:
            raise self.trouble.pop()
        self.ticks.put(draft)
        return Entry(1, "tick", draft.at)

    def next(self) -> int:
        draft = self.ticks.get(timeout=60)
        assert (draft.kind, draft.subject, draft.payload) == ("tick", None, None)
        return draft.at


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    registry.stream("urn:a")
    registry.stream("urn:e", "event")
    return registry


@pytest.fixture(autouse=True)
def short_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.schedule.ticker.LOOK_SECONDS", 0.001)


@pytest.fixture
def started() -> Callable[[Registry, Writer], Ticker]:
    tickers: list[Ticker] = []

    def start(registry: Registry, writer: Writer) -> Ticker:
        tickers.append(Ticker(registry, writer).start())
        return tickers[-1]

    yield start
    for ticker in tickers:
        ticker.stop()


def test_a_tick_is_written_for_every_instant_once_it_has_passed(registry: Registry, started: Callable) -> None:
    """
    instants   ┼────────┼─────────────┼────────┼──        of STEP 20ms and STEP 50ms
    clock      moves by 3 ms whenever it is looked at
    ticks       ┤        ┤             ┤        ┤         at the latest time that has passed
    """
    registry.query("q", 20)
    registry.query("r", 50)
    writer = Writer(1000, 3)
    started(registry, writer)
    grid, ticks = Grid((20, 50)), [writer.next() for _ in range(30)]
    for before, tick in zip(ticks, ticks[1:]):
        instant = grid.after(before)
        # How often it looks at the clock until the instant has come is its own affair; it does not miss one.
        assert instant <= tick < grid.after(instant)


def test_it_reads_the_registry_again_when_that_has_changed(registry: Registry, started: Callable) -> None:
    writer = Writer(10 * HOUR + 5)
    ticker = started(registry, writer)
    writer.read.acquire(timeout=60)  # it has begun, without a query
    registry.query("q", 1, unit="h")
    ticker.changed()
    writer.at = 11 * HOUR + 7
    ticker.changed()
    assert writer.next() == 11 * HOUR + 6
    registry.query("r", 10, unit="m")
    writer.at = 11 * HOUR + 11 * 60_000
    ticker.changed()
    assert writer.next() == 11 * HOUR + 11 * 60_000 - 1


def test_an_instant_is_overdue_while_no_tick_can_be_written(
    registry: Registry, started: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csparql_spark.schedule.ticker.RETRY_SECONDS", 0.001)
    writer = Writer(10 * HOUR + 5)
    ticker = started(registry, writer)
    assert ticker.overdue(20 * HOUR) == 0, "nobody waits for anything"
    writer.trouble = [StoreError("the disk is full")] * 10**6
    registry.query("q", 1, unit="h")
    ticker.changed()
    while ticker.overdue(11 * HOUR + 1001) != 1000:  # it has looked at what there is
        writer.read.acquire(timeout=60)
    assert ticker.overdue(11 * HOUR) == 0, "the instant has not passed"
    writer.at = 11 * HOUR + 3001
    ticker.changed()
    for _ in range(6):
        writer.read.acquire(timeout=60)  # it has tried, and failed, and tries again
    assert ticker.overdue(writer.at) == 3000
    writer.trouble = []
    assert writer.next() == 11 * HOUR + 3000
    while ticker.overdue(writer.at):
        writer.read.acquire(timeout=60)


def test_who_comes_later_has_waited_for_no_instant_before(
    registry: Registry, started: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csparql_spark.schedule.ticker.RETRY_SECONDS", 0.001)
    registry.query("q", 1, unit="h")
    writer = Writer(10 * HOUR + 5)
    ticker = started(registry, writer)
    assert writer.next() == 10 * HOUR + 4
    writer.at = half = 10 * HOUR + 30 * 60_000
    writer.trouble = [StoreError("the disk is full")] * 10**6
    registry.query("often", 1)
    ticker.changed()
    while ticker.overdue(half + 5001) == 0:  # it has looked at what there is
        writer.read.acquire(timeout=60)
    assert ticker.overdue(half + 5001) == 5000


def test_an_instant_has_passed_when_the_clock_reads_one_more(registry: Registry, started: Callable) -> None:
    registry.query("q", 1, unit="h")
    writer = Writer(10 * HOUR - 1000)
    ticker = started(registry, writer)
    assert writer.next() == 10 * HOUR - 1001  # what passed while nobody was there
    for at in (10 * HOUR, 10 * HOUR + 1):
        writer.at = at
        while writer.read.acquire(blocking=False):
            pass
        ticker.changed()
        for _ in range(2):
            writer.read.acquire(timeout=60)  # it has looked, and decides: a wrong tick would come first
    assert writer.next() == 10 * HOUR


def test_instants_that_passed_while_nobody_was_there_are_made_up_for_at_once(
    registry: Registry, started: Callable
) -> None:
    """A server was down at 12:00 and comes back at 12:01: a query of STEP 1h is not answered at 13:00 only."""
    registry.query("q", 1, unit="h")
    writer = Writer(12 * HOUR + 60_000)
    started(registry, writer)
    assert writer.next() == 12 * HOUR + 60_000 - 1


def test_a_clock_that_jumps_is_noticed_while_it_sleeps(registry: Registry, started: Callable) -> None:
    registry.query("q", 100 * 366, unit="d")  # far longer than a thread can sleep
    registry.query("r", 1, unit="h")
    writer = Writer(10 * HOUR + 5)
    started(registry, writer)
    assert writer.next() == 10 * HOUR + 4
    writer.at = 17 * HOUR + 5  # the machine slept
    assert writer.next() == 17 * HOUR + 4


@pytest.mark.parametrize("queries", [[], ["urn:e"]])
def test_without_a_query_on_the_arrival_clock_it_writes_nothing(registry: Registry, queries: list[str]) -> None:
    for stream in queries:
        registry.query(stream, 10, stream)
    writer = Writer(1000, 1000)
    ticker = Ticker(registry, writer).start()
    for _ in range(3):
        writer.read.acquire(timeout=60)
        ticker.changed()
    ticker.stop()
    assert writer.ticks.empty()


COUNTS = "SELECT ?s FROM STREAM <urn:a> [RANGE TRIPLES 5] {more} WHERE {{ ?s ?p ?o }}"


def test_a_query_whose_windows_all_count_needs_no_ticks(registry: Registry) -> None:
    registry.text("q", COUNTS.format(more="FROM STREAM <urn:e> [RANGE TRIPLES 9 STEP 2]"))
    assert Ticker(registry, Writer(1000)).instants() is None


def test_beside_a_window_of_time_or_with_every_it_needs_them(registry: Registry) -> None:
    registry.text("q", COUNTS.format(more="FROM STREAM <urn:e> [RANGE 10s STEP 4s] FROM STREAM <urn:a> [RANGE 6s]"))
    registry.text("r", "REGISTER QUERY r COMPUTE EVERY 5s AS " + COUNTS.format(more=""))
    assert Ticker(registry, Writer(1000)).instants() == Grid((4000, 5000, 6000))


def test_a_query_that_is_paused_needs_no_ticks(registry: Registry) -> None:
    registry.query("q", 10)
    registry.query("r", 25)
    registry.pause("q", True)
    assert Ticker(registry, Writer(1000)).instants() == Grid((25,))
    registry.pause("r", True)
    assert Ticker(registry, Writer(1000)).instants() is None


def test_a_query_that_is_gone_needs_no_ticks(registry: Registry) -> None:
    registry.query("q", 10)
    writer = Writer(1000, 100)
    ticker = Ticker(registry, writer).start()
    writer.next()
    registry.registered.clear()
    ticker.changed()
    ticker.stop()
    assert ticker.instants() is None


def test_a_text_that_cannot_be_read_stops_nobody_elses_ticks(registry: Registry, started: Callable) -> None:
    registry.text("bad", "SELECT nothing")
    registry.query("q", 10)
    writer = Writer(1000, 100)
    started(registry, writer)
    assert writer.next() < writer.next()


def test_a_log_that_cannot_be_written_is_tried_again(
    registry: Registry, started: Callable, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("csparql_spark.schedule.ticker.RETRY_SECONDS", 0)
    registry.query("q", 10)
    writer = Writer(1000, 100)
    writer.trouble = [StoreError("the disk is full"), StoreError("the disk is full")]
    started(registry, writer)
    assert writer.next() > 1200
    assert capfd.readouterr().err == "csparql-spark: no tick was written: the disk is full\n"


def test_it_stops_while_it_sleeps(registry: Registry) -> None:
    ticker = Ticker(registry, Writer(1000)).start()
    ticker.stop()
    assert "ticker" not in {thread.name for thread in threading.enumerate()}


changes = st.tuples(
    st.sampled_from(["made", "begun paused", "gone", "paused", "resumed", "clock"]),
    st.sampled_from(["q", "r", "s"]),
    st.sampled_from([20, 50, 70]),
)


@given(st.lists(changes, max_size=12))
def test_what_is_known_already_is_what_is_found_anew(log: list[tuple[str, str, int]]) -> None:
    registry = Registry()
    registry.stream("urn:a")
    registry.stream("urn:e", "event")
    ticker = Ticker(registry, Writer(1000))
    for what, name, step in log:
        if what == "clock":
            registry.stream("urn:e", "arrival" if step == 20 else "event")
        elif what in ("made", "begun paused"):
            registry.query(name, step, "urn:a" if step == 20 else "urn:e")
            if what == "begun paused":
                registry.registered[name] = dataclasses.replace(registry.registered[name], paused=True)
        elif name in registry.registered and what == "gone":
            del registry.registered[name]
        elif name in registry.registered:
            registry.pause(name, what == "paused")
        assert ticker.instants() == Ticker(registry, Writer(1000)).instants()
