from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.disk import Database, StoreError
from csparql_spark.disk.bell import Bell
from csparql_spark.disk.errors import DatabaseFault
from csparql_spark.log import Draft, Entry, LogWriter, Refused
from csparql_spark.log.guards import AnyGuard, Present, unknown
from csparql_spark.log.sqlite.decisions import Decisions
from tests.examples import examples
from tests.store.opened import Hands, Opened

HOUR = 3_600_000


def together(*works: Callable[[], object]) -> list[object]:
    """What the works return or raise, each done in a thread of its own."""
    outcomes: list[object] = [None] * len(works)

    def run(place: int, work: Callable[[], object]) -> None:
        try:
            outcomes[place] = work()
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def until_queued(writer: LogWriter, count: int) -> bool:
    pause = threading.Event()
    while writer._queue.qsize() < count:
        pause.wait(0.001)
    return True


class Watched(Decisions):
    """Decisions that run what a test has put in the place of a guard, in the middle of the transaction."""

    def refusal(
        self, connection: sqlite3.Connection, guard: AnyGuard | Callable[[sqlite3.Connection], None]
    ) -> Refused | None:
        return guard(connection) if callable(guard) else super().refusal(connection, guard)


def watched(store: Opened) -> LogWriter:
    writer = store.writer
    writer._decisions = Watched(unknown)
    return writer


class Gate:
    """A guard that holds the writer up until `waiting` more entries queue, so that they share a transaction."""

    def __init__(self, writer: LogWriter, waiting: int) -> None:
        self._writer, self._waiting = writer, waiting
        self.reached = threading.Event()

    def __call__(self, connection: sqlite3.Connection) -> None:
        self.reached.set()
        until_queued(self._writer, self._waiting)


class Counted(Database):
    """A database that counts transactions."""

    transactions = 0

    def transaction(self, *, durable: bool = True):
        self.transactions += 1
        return super().transaction(durable=durable)


def test_an_entry_is_returned_as_it_is_stored(store: Opened) -> None:
    draft = Draft("chunk", "urn:s", b"\x00payload", rows=3, first=-5, last=1 << 40, unstamped=1)
    entry = store.writer.append(draft)
    assert entry == Entry(1, "chunk", entry.at, "urn:s", 3, -5, 1 << 40, 1, b"\x00payload")
    assert store.entries() == [entry]


def test_many_threads_append_and_every_entry_is_there_in_one_order(store: Opened) -> None:
    def push(name: int) -> Callable[[], list[Entry]]:
        return lambda: [store.append("chunk", f"urn:{name}", payload=f"{name}/{i}".encode()) for i in range(20)]

    acknowledged = together(*(push(name) for name in range(12)))
    elsewhere = Opened(store.directory.path)  # another connection, as another process has
    entries = elsewhere.entries()
    elsewhere.close()
    assert sorted(itertools.chain(*acknowledged), key=lambda entry: entry.seq) == entries
    assert [entry.seq for entry in entries] == list(range(1, 241))
    assert all(before.at <= after.at for before, after in zip(entries, entries[1:]))
    for name in range(12):  # nobody's own entries overtake each other
        payloads = [entry.payload for entry in entries if entry.subject == f"urn:{name}"]
        assert payloads == [f"{name}/{i}".encode() for i in range(20)]


def test_entries_that_wait_share_a_transaction(store: Opened) -> None:
    store.database = Counted(store.directory.database)
    writer = watched(store)
    gate = Gate(writer, 30)
    outcomes = together(
        lambda: writer.append(Draft("chunk", "first"), gate),
        *[lambda: gate.reached.wait() and writer.append(Draft("chunk", "urn:s"))] * 30,
    )
    assert sorted(entry.seq for entry in outcomes) == list(range(1, 32))
    assert store.database.transactions == 2


def test_a_refused_entry_leaves_no_trace_and_the_others_of_its_group_go_in(store: Opened) -> None:
    writer = watched(store)
    gate = Gate(writer, 20)

    refuse = Present("streams", "urn:s")

    def push(i: int) -> Callable[[], Entry]:
        return lambda: gate.reached.wait() and writer.append(Draft("chunk", f"urn:{i}"), refuse if i % 3 == 0 else None)

    outcomes = together(lambda: writer.append(Draft("chunk", "first"), gate), *(push(i) for i in range(20)))[1:]
    assert [i for i, outcome in enumerate(outcomes) if isinstance(outcome, Refused)] == list(range(0, 20, 3))
    assert {outcome.guard for outcome in outcomes if isinstance(outcome, Refused)} == {refuse}
    kept = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
    assert sorted(kept, key=lambda entry: entry.seq) == store.entries()[1:]
    assert [entry.seq for entry in store.entries()] == list(range(1, 15))  # no hole where a refused one stood


def test_a_guard_sees_the_log_as_it_is_before_its_entry(store: Opened) -> None:
    writer = watched(store)
    gate = Gate(writer, 10)
    seen: list[tuple[int, str]] = []

    def push(i: int) -> Callable[[], Entry]:
        def guard(connection: sqlite3.Connection) -> None:
            seen.append((connection.execute("SELECT count(*) FROM log").fetchone()[0], f"urn:{i}"))

        return lambda: gate.reached.wait() and writer.append(Draft("chunk", f"urn:{i}"), guard)

    together(lambda: writer.append(Draft("chunk", "first"), gate), *(push(i) for i in range(10)))
    assert seen == [(entry.seq - 1, entry.subject) for entry in store.entries()[1:]]


def test_when_the_disk_is_full_each_is_told_why_and_the_log_goes_on(store: Opened) -> None:
    writer = watched(store)
    first = store.append("chunk", "urn:s")

    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA max_page_count = 30")

    def empty(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA max_page_count = 1000000")

    with pytest.raises(StoreError) as caught:
        writer.append(Draft("chunk", "urn:s", bytes(1_000_000)), fill)
    assert str(caught.value) == (
        "the log could not be written (database or disk is full): nothing of this request was kept"
    )
    second = writer.append(Draft("chunk", "urn:s", bytes(1_000_000)), empty)
    assert store.entries() == [first, second]
    assert second.at >= first.at


def test_what_is_queued_is_written_before_it_stops(store: Opened) -> None:
    writer = watched(store)
    gate = Gate(writer, 6)  # five entries, and the word to stop
    outcomes = together(
        lambda: writer.append(Draft("chunk", "first"), gate),
        *[lambda: gate.reached.wait() and writer.append(Draft("chunk", "urn:s"))] * 5,
        lambda: gate.reached.wait() and until_queued(writer, 5) and writer.stop(),
    )
    store._writer = None
    assert [entry.seq for entry in sorted(outcomes[:6], key=lambda entry: entry.seq)] == [1, 2, 3, 4, 5, 6]
    assert len(store.entries()) == 6


def test_a_listener_is_rung_after_the_commit(store: Opened) -> None:
    bell = Bell(store.directory.bell("log"))
    bell.wait(0)  # from now on it listens
    store.append("chunk", "urn:s")
    store.stop()  # it rings after it has acknowledged
    assert bell.wait(0)
    bell.close()


# --- ticks and time


def test_a_tick_says_that_nothing_later_is_stamped_earlier(store: Opened) -> None:
    """
    wall     10 000              10 000             10 000
    log      chunk at 10 000     tick at 12 000     chunk at 12 001
    """
    writer = store.reopen(Hands(10_000))
    assert writer.append(Draft("chunk", "urn:s")).at == 10_000
    assert writer.append(Draft("tick", at=12_000)).at == 12_000
    assert writer.append(Draft("chunk", "urn:s")).at == 12_001


def test_a_tick_of_the_past_is_moved_to_what_has_passed_for_certain(store: Opened) -> None:
    writer = store.reopen(Hands(10_000))
    assert writer.append(Draft("chunk", "urn:s")).at == 10_000
    assert writer.append(Draft("tick", at=3000)).at == 9999  # the next entry may be stamped 10 000 too
    assert writer.append(Draft("chunk", "urn:s")).at == 10_000


def test_a_tick_of_an_event_clock_says_nothing_of_arrival(store: Opened) -> None:
    hands = Hands(10_000)
    writer = store.reopen(hands)
    assert writer.append(Draft("tick", "urn:s", at=99_000)).at == 99_000
    assert writer.append(Draft("chunk", "urn:s")).at == 10_000
    assert writer.append(Draft("tick", "urn:s", at=-7)).at == -7
    writer = store.reopen(hands)
    assert writer.append(Draft("chunk", "urn:s")).at == 10_000


@pytest.mark.parametrize(
    "last, later",
    [(Draft("chunk", "urn:s"), HOUR), (Draft("tick", at=HOUR), HOUR + 1), (Draft("tick", at=2 * HOUR), 2 * HOUR + 1)],
)
def test_stamps_do_not_go_back_when_the_wall_clock_was_set_back_while_nobody_wrote(
    store: Opened, last: Draft, later: int
) -> None:
    store.reopen(Hands(HOUR)).append(last)
    writer = store.reopen(Hands(0))
    assert writer.append(Draft("tick", "urn:e", at=5)).at == 5  # what is said of event clocks holds no stamp
    writer = store.reopen(Hands(0))
    assert writer.append(Draft("chunk", "urn:s")).at == later


steps = st.lists(
    max_size=14,
    elements=st.one_of(
        st.tuples(st.just("push"), st.just(0)),
        st.tuples(st.just("tick"), st.integers(-2000, 2000)),  # relative to the clock
        st.tuples(st.just("event tick"), st.integers(-2000, 20_000)),
        st.tuples(st.just("pass"), st.integers(0, 500)),
        st.tuples(st.just("jump"), st.sampled_from([-HOUR, -700, -1, 1, 700, HOUR])),
        st.tuples(st.just("reopen"), st.just(0)),
    ),
)


@given(steps)
@settings(max_examples=examples(40), deadline=None)
def test_order_and_stamps_never_go_back(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]) -> None:
    store = Opened(tmp_path_factory.mktemp("store"))
    hands = Hands(10 * HOUR)
    writer = store.reopen(hands)
    told: list[Entry] = []
    for step, amount in steps:
        match step:
            case "push":
                told.append(writer.append(Draft("chunk", "urn:s")))
            case "tick":
                told.append(writer.append(Draft("tick", at=writer.clock.now() + amount)))
            case "event tick":
                told.append(writer.append(Draft("tick", "urn:s", at=amount)))
            case "pass":
                hands.forward(amount)
            case "jump":
                hands.wall += amount
            case "reopen":
                writer = store.reopen(hands)
    assert store.entries() == told
    store.close()
    assert [entry.seq for entry in told] == list(range(1, len(told) + 1))
    arrival = [entry for entry in told if not (entry.kind == "tick" and entry.subject)]
    for before, after in itertools.pairwise(arrival):
        assert after.at >= before.at - (after.kind == "tick")  # a tick may stand one before what has just arrived
    for place, tick in enumerate(arrival):
        if tick.kind == "tick":
            assert all(entry.at > tick.at for entry in arrival[place + 1 :] if entry.kind != "tick")


def test_it_refuses_a_database_that_has_no_log(tmp_path: Path) -> None:
    with pytest.raises(DatabaseFault, match="no such table: log"):
        LogWriter(Database(tmp_path / "other.db"), tmp_path / "log.bell")
