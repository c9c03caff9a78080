from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given

from csparql_spark.log import Entry
from csparql_spark.schedule.early_batches import LATEST_MS, LEAD_MS, MOST_ENTRIES, MOST_ROWS, EarlyBatches
from csparql_spark.schedule.routing import Router
from csparql_spark.schedule.ticker import Ticker
from csparql_spark.store import QueryRecord, StreamRecord
from tests.engine.asked import Asked
from tests.engine.logs import by_hand, entries, law, logs
from tests.engine.naive import Logged
from tests.engine.running import router_of
from tests.examples import examples

NOW = 10_000


def asked(stream: str = "urn:a", step: int = 1000) -> Asked:
    return Asked.over(stream, 1000, step, ("s",), (("?s", "?p", "?o"),))


def router(*queries: Asked) -> Router:
    """Of a log in which these queries are registered."""
    log = by_hand(*((0, "register", f"q{i}", query) for i, query in enumerate(queries)))
    router = router_of(log)
    for entry in log:
        router.route(entry)
    return router


def tick(at: int, subject: str | None = None) -> Entry:
    return Entry(99, "tick", at, subject)


def chunk(rows: int = 1, at: int = NOW) -> Entry:
    return Entry(98, "chunk", at, "urn:a", rows)


def first_begun(early: EarlyBatches, since: int, until: int) -> tuple[int, int] | None:
    """When a batch is begun for a tick, asked at each ms, and for which."""
    found = ((now, early.tick([], now)) for now in range(since, until))
    return next(((now, next_one) for now, next_one in found if next_one is not None), None)


def test_a_batch_is_begun_a_little_before_the_instant() -> None:
    """
    STEP 1 s    10000 ……………………… 11000 - LEAD ├─────┤ 11000
    batch                                   begun for 11000
    """
    assert first_begun(EarlyBatches(router(asked())), NOW + 1, 13_000) == (11_000 - LEAD_MS, 11_000)


def test_and_once_for_each() -> None:
    early = EarlyBatches(router(asked()))
    begun = [first_begun(early, NOW + 1, 14_500) for _ in range(3)]
    assert begun == [(time - LEAD_MS, time) for time in (11_000, 12_000, 13_000)]


def test_all_steps_count() -> None:
    """
    STEP 400    10000  10400     10800     11200
    STEP 1 s    10000                 11000
    """
    early = EarlyBatches(router(asked(step=400), asked(step=1000)))
    assert [first_begun(early, NOW + 1, 11_300)[1] for _ in range(4)] == [10_400, 10_800, 11_000, 11_200]


@pytest.mark.parametrize("queries", [(), (asked("urn:e"),), (asked("urn:e"), asked("urn:f"))])
def test_without_arrival_clock_there_is_nothing_to_foresee(queries: tuple[Asked, ...]) -> None:
    early = EarlyBatches(router(*queries))
    assert early.pause(NOW) is None
    assert first_begun(early, NOW, NOW + 3000) is None


def test_who_is_paused_has_no_instants_and_who_comes_has() -> None:
    log = by_hand(
        (0, "register", "q", asked()),
        (0, "pause", "q"),
        (0, "resume", "q"),
        (0, "register", "r", asked(step=300)),
        (0, "unregister", "q"),
    )
    registered, paused, resumed, another, gone = [entry for entry in log if entry.kind != "stream"]
    known = router_of(log)
    early = EarlyBatches(known)
    assert early.pause(NOW + 1) is None
    told = []
    for entry in (registered, paused, resumed, another, gone):
        known.route(entry)
        told.append(early.pause(NOW + 1))
    assert told == [999 - LEAD_MS, None, 999 - LEAD_MS, 199 - LEAD_MS, 199 - LEAD_MS]
    # 10200 is a multiple of 300; 11000 is none, and nobody is left who waits for it
    assert [first_begun(early, NOW + 1, 12_000)[1] for _ in range(4)] == [10_200, 10_500, 10_800, 11_100]


def test_the_pause_ends_where_a_batch_may_begin() -> None:
    early = EarlyBatches(router(asked()))
    assert early.pause(NOW + 1) == 999 - LEAD_MS
    assert early.pause(11_000 - LEAD_MS) == 0
    assert early.pause(10_950) == 0
    assert early.tick([], 10_950) == 11_000
    assert early.pause(10_951) == 1049 - LEAD_MS


def test_where_an_instant_has_passed_it_is_answered_first() -> None:
    """
    10000      10930            11000
               tick 10800 has just come: no batch is begun for 11000 before that is read
    """
    early = EarlyBatches(router(asked(step=200)))
    assert early.tick([chunk(), tick(10_800)], 10_930) is None
    assert early.tick([chunk()], 10_931) == 11_000


def test_a_tick_that_is_about_to_come_is_still_waited_for() -> None:
    """
    tick 10000          11000  11003
                               it is not there yet; the writer is a little late
    """
    early = EarlyBatches(router(asked()))
    early.see([tick(10_000)])
    assert early.tick([], 11_003) == 11_000
    early.see([tick(11_000)])
    assert early.tick([], 11_004) is None
    assert first_begun(early, 11_004, 12_500) == (12_000 - LEAD_MS, 12_000)


def test_ticks_that_do_not_come_are_given_up() -> None:
    early = EarlyBatches(router(asked()))
    early.see([tick(5000)])
    assert early.tick([], 6000 + LATEST_MS) == 6000
    early = EarlyBatches(router(asked()))
    early.see([tick(5000)])
    assert early.tick([], 6001 + LATEST_MS) is None
    assert first_begun(early, 6001 + LATEST_MS, 9000) == (7000 - LEAD_MS, 7000)


def test_a_clock_that_is_ahead_of_the_wall_is_believed() -> None:
    """The arrival clock never goes back, and wall clocks do: what it has passed is passed."""
    early = EarlyBatches(router(asked()))
    early.see([tick(3_600_000)])
    assert first_begun(early, NOW, NOW + 3000) is None


def test_ticks_of_other_clocks_say_nothing() -> None:
    early = EarlyBatches(router(asked()))
    assert not early.see([tick(11_000, "urn:e"), chunk()])
    assert early.tick([tick(11_000, "urn:e")], 10_950) == 11_000


@pytest.mark.parametrize("waiting", [[chunk()] * (MOST_ENTRIES + 1), [chunk(MOST_ROWS), chunk()]])
def test_who_is_behind_does_not_look_ahead(waiting: list[Entry]) -> None:
    early = EarlyBatches(router(asked()))
    assert early.tick(waiting, 10_950) is None
    assert early.tick(waiting[1:], 10_950) == 11_000


class Registered:
    """What a log has registered, as the ticker asks for it."""

    def __init__(self) -> None:
        self._streams: dict[str, StreamRecord] = {}
        self._queries: dict[str, QueryRecord] = {}
        self._touched: set[int] = set()

    def take(self, entry: Entry) -> None:
        match entry.kind:
            case "stream":
                made = json.loads(entry.payload)
                self._streams[entry.subject] = StreamRecord(
                    entry.seq, entry.subject, 0, made["name"], made["clock"], made["delay"]
                )
            case "register":
                made = json.loads(entry.payload)
                self._queries[entry.subject] = QueryRecord(
                    entry.seq, entry.subject, 0, made["text"], made["base"], made.get("paused", False)
                )
            case "unregister":
                del self._queries[entry.subject]
            case "pause" | "resume":
                known = self._queries[entry.subject]
                self._queries[entry.subject] = dataclasses.replace(known, paused=entry.kind == "pause")
                self._touched.add(known.id)

    def streams(self) -> list[StreamRecord]:
        return list(self._streams.values())

    def queries(self, after: int = 0) -> list[QueryRecord]:
        return [query for query in self._queries.values() if query.id > after]

    def pauses(self) -> dict[int, bool | None]:
        return {query.id: query.paused if query.id in self._touched else None for query in self._queries.values()}


@given(logs)
@law(max_examples=examples(50))
def test_what_is_foreseen_is_what_the_ticker_writes(log: list[Logged]) -> None:
    """Whatever is registered, paused and deleted: the same instants."""
    known, registered = router_of(entries(log)), Registered()
    early, ticker = EarlyBatches(known), Ticker(registered, None)
    for entry in entries(log):
        known.route(entry)
        registered.take(entry)
        assert early._arrival_grid() == ticker.instants()
