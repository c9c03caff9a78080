from __future__ import annotations

import pytest

from csparql_spark.log import Entry
from csparql_spark.schedule.due import BatchLimits, Due
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand
from tests.engine.running import router_of

LIMITS = BatchLimits(batch_rows=100, large_rows=40, hold_ms=1000)


def asked(stream: str, step: int = 1000) -> Asked:
    return Asked.over(stream, 1000, step, ("s",), (("?s", "?p", "?o"),))


def due(*queries: Asked, limits: BatchLimits = LIMITS) -> Due:
    """For a log in which these queries are registered."""
    log = by_hand(*((0, "register", f"q{i}", query) for i, query in enumerate(queries)))
    router = router_of(log)
    for entry in log:
        router.route(entry)
    return Due(router, limits)


def chunk(seq: int, at: int = 10_000, rows: int = 1, stream: str = "urn:a", last: int | None = None) -> Entry:
    return Entry(seq, "chunk", at, stream, rows, last, last)


def test_of_nothing_nothing_is_due() -> None:
    assert due(asked("urn:a")).end(7, [], 10_000) == 7
    assert due(asked("urn:a")).end(7, [], 10_000, finish=True) == 7


def test_small_tails_are_held() -> None:
    outline = [chunk(8), chunk(9), chunk(10)]
    assert due(asked("urn:a")).end(7, outline, 10_999) == 7


def test_an_old_tail_goes() -> None:
    outline = [chunk(8), chunk(9, 10_900)]
    assert due(asked("urn:a")).end(7, outline, 11_000) == 9


def test_a_tail_that_is_stamped_ahead_of_the_clock_goes() -> None:
    """The clock was set back by an hour, or a bit of the stamp has flipped: nothing would let it go for as long."""
    assert due(asked("urn:a")).end(7, [chunk(8, 10_999)], 10_000) == 7
    assert due(asked("urn:a")).end(7, [chunk(8, 3_610_000), chunk(9, 3_610_001)], 10_000) == 9


def test_a_large_tail_goes() -> None:
    assert due(asked("urn:a")).end(7, [chunk(8, rows=20), chunk(9, rows=19)], 10_000) == 7
    assert due(asked("urn:a")).end(7, [chunk(8, rows=20), chunk(9, rows=20)], 10_000) == 9


def test_full_batches_grow_while_they_are_quick() -> None:
    """
    begun at s  10.0    10.1    10.3    10.7     11.7      13.7      15.7      18.7
    triples      100 ──▶ 200 ──▶ 400 ──▶ 450 ───▶ 450 ────▶ 220 ────▶ 110 ────▶ 100
    took ms      100     200     400     1000     2000      2000      3000
    """
    limits = BatchLimits(batch_rows=100, most_rows=450, full_ms=1000, large_rows=40)
    outline = [chunk(8 + n, rows=10) for n in range(1000)]
    batches, start, scheduled = [], 7, due(asked("urn:a"), limits=limits)
    for now in (10_000, 10_100, 10_300, 10_700, 11_700, 13_700, 15_700, 18_700):
        end = scheduled.end(start, [entry for entry in outline if entry.seq > start], now)
        batches.append((end - start) * 10)
        start = end
    assert batches == [100, 200, 400, 450, 450, 220, 110, 100]


def test_a_batch_that_follows_no_full_one_is_as_large_as_any() -> None:
    outline = [chunk(8 + n, rows=10) for n in range(100)]
    for start, now in ((17, 10_001), (16, 10_050), (17, 10_000), (17, 9_000)):
        scheduled = due(asked("urn:a"))
        assert scheduled.end(7, outline, 10_000) == 17
        rest = [entry for entry in outline if entry.seq > start]
        doubled = (start, now) == (17, 10_001)
        assert scheduled.end(start, rest, now) == start + (20 if doubled else 10)
        assert scheduled.end(start + 50, rest[50:], now + 1) == start + 60  # another one was in between


def test_whatever_is_left_goes_in_the_end() -> None:
    assert due(asked("urn:a")).end(7, [chunk(8), chunk(9)], 10_000, finish=True) == 9


@pytest.mark.parametrize("kind", ["tick", "register", "unregister", "background"])
def test_what_can_be_answered_is_never_held(kind: str) -> None:
    outline = [chunk(8), Entry(9, kind, 10_000, None if kind == "tick" else "x"), chunk(10)]
    assert due(asked("urn:a")).end(7, outline, 10_000) == 10


@pytest.mark.parametrize("kind", ["stream", "drop"])
def test_what_nobody_waits_for_is_held(kind: str) -> None:
    assert due(asked("urn:a")).end(7, [Entry(8, kind, 10_000, "x")], 10_000) == 7


def test_a_large_backlog_goes_in_steps() -> None:
    """
    rows    60   30   20   10   90   250   1   tick
    batch  ├───── 90 ┤
                     ├─ 30 ──┤
                             ├90┤
                                ├ 250 ┤            a single chunk may be larger than a batch
                                      ├────┤
    """
    backlog = [
        chunk(8, 0, 60),
        chunk(9, 0, 30),
        chunk(10, 0, 20),
        chunk(11, 0, 10),
        chunk(12, 0, 90),
        chunk(13, 0, 250),
        chunk(14, 0),
        Entry(15, "tick", 0),
    ]
    cuts, start = [], 7
    judge = due(asked("urn:a"))
    for _ in range(5):
        start = judge.end(start, [entry for entry in backlog if entry.seq > start], 10_000)
        cuts.append(start)
    assert cuts == [9, 11, 12, 13, 15]


def test_entries_without_rows_do_not_fill_a_batch() -> None:
    outline = [Entry(seq, "tick", 0) for seq in range(8, 500)]
    assert due(asked("urn:a")).end(7, outline, 10_000) == 499


# --- event clocks: a chunk may show that an instant has passed


def test_a_chunk_that_passes_an_instant_goes() -> None:
    """
    stamps (delay 0)   1500     1999     2000        2001          2900     3001
                                         (2000 may be stamped again)
    instants                             2000 …………… ┤ passed                ┤ 3000 passed
    """
    judge = due(asked("urn:e"))
    assert judge.end(7, [chunk(8, stream="urn:e", last=1500)], 10_000) == 8  # nothing is known of before
    held = [chunk(9, stream="urn:e", last=1999)]
    assert judge.end(8, held, 10_000) == 8
    held.append(chunk(10, stream="urn:e", last=2000))
    assert judge.end(8, held, 10_000) == 8
    held.append(chunk(11, stream="urn:e", last=2001))
    assert judge.end(8, held, 10_000) == 11
    assert judge.end(11, [chunk(12, stream="urn:e", last=2900)], 10_000) == 11
    assert judge.end(11, [chunk(12, stream="urn:e", last=2900), chunk(13, stream="urn:e", last=3001)], 10_000) == 13


def test_the_delay_is_waited_for() -> None:
    judge = due(asked("urn:f"))  # delay 4
    assert judge.end(7, [chunk(8, stream="urn:f", last=1500)], 10_000) == 8
    assert judge.end(8, [chunk(9, stream="urn:f", last=2004)], 10_000) == 8
    assert judge.end(8, [chunk(9, stream="urn:f", last=2004), chunk(10, stream="urn:f", last=2005)], 10_000) == 10


def test_late_chunks_are_held() -> None:
    judge = due(asked("urn:e"))
    judge.end(7, [chunk(8, stream="urn:e", last=5500)], 10_000)
    assert judge.end(8, [chunk(9, stream="urn:e", last=1500), chunk(10, stream="urn:e", last=5600)], 10_000) == 8


def test_each_query_has_its_instants_and_each_stream_its_clock() -> None:
    judge = due(asked("urn:e", 1000), asked("urn:e", 300), asked("urn:f", 10))
    judge.end(7, [chunk(8, stream="urn:e", last=1001), chunk(9, stream="urn:f", last=1)], 10_000)
    judge.end(9, [chunk(10, stream="urn:f", last=2)], 10_000)
    assert judge.end(10, [chunk(11, stream="urn:e", last=1200)], 10_000) == 10
    assert judge.end(10, [chunk(11, stream="urn:e", last=1201)], 10_000) == 11  # 1200 of the second


def test_a_stream_that_nobody_reads_is_held() -> None:
    judge = due(asked("urn:a"))
    judge.end(7, [chunk(8, stream="urn:e", last=1000)], 10_000)
    assert judge.end(8, [chunk(9, stream="urn:e", last=99_000)], 10_000) == 8


def test_chunks_without_stamps_are_held() -> None:
    judge = due(asked("urn:e"))
    assert judge.end(7, [chunk(8, stream="urn:e")], 10_000) == 7


# --- windows that count: each push may make an instant, on whichever clock


def counting(stream: str = "urn:a", *windows: Seen, every: int | None = None) -> Asked:
    return Asked((Seen(stream, 9, 3, "TRIPLES"), *windows), ("s",), (("?s", "?p", "?o"),), every=every)


@pytest.mark.parametrize("stream", ["urn:a", "urn:e", "urn:f"])
def test_what_is_counted_goes(stream: str) -> None:
    judge = due(counting(stream), asked("urn:a"))
    assert judge.end(7, [chunk(8, stream=stream, last=10_000)], 10_000) == 8
    assert judge.end(8, [chunk(9, stream=stream, last=10_000)], 10_000) == 9


def test_what_others_count_is_held() -> None:
    assert due(counting("urn:e"), asked("urn:a")).end(7, [chunk(8, last=10_000)], 10_000) == 7


def test_a_window_of_time_beside_it_changes_nothing() -> None:
    judge = due(counting("urn:a", Seen("urn:b", 1000, 1000)))
    assert judge.end(7, [chunk(8, last=10_000)], 10_000) == 8
    assert judge.end(8, [chunk(9, stream="urn:b", last=10_000)], 10_000) == 9


def test_with_every_the_instants_are_known_and_small_tails_are_held() -> None:
    assert due(counting(every=1000)).end(7, [chunk(8, last=10_000)], 10_000) == 7
    judge = due(counting("urn:e", every=1000))
    judge.end(7, [chunk(8, stream="urn:e", last=1500)], 10_000)
    assert judge.end(8, [chunk(9, stream="urn:e", last=2000)], 10_000) == 8
    assert judge.end(8, [chunk(9, stream="urn:e", last=2001)], 10_000) == 9


def test_catching_up_goes_in_steps_of_so_many_answers() -> None:
    """Ticks at 1000, 2000, …; three queries of STEP 1 s: a batch of about 6 answers ends with the second tick that
    makes three due."""
    limits = BatchLimits(batch_rows=100, batch_answers=6, large_rows=40, hold_ms=1000)
    held = due(asked("urn:a"), asked("urn:b"), asked("urn:c"), limits=limits)
    outline = [Entry(8 + tick, "tick", 1000 * (tick + 1)) for tick in range(7)]
    ends, start = [], 7
    while start < outline[-1].seq:
        start = held.end(start, [entry for entry in outline if entry.seq > start], 10_000)
        ends.append(start)
    assert ends == [10, 12, 14]
    assert due(asked("urn:a", step=5000), limits=limits).end(7, outline, 10_000) == outline[-1].seq


def test_what_is_read_already_is_due_no_more() -> None:
    limits = BatchLimits(batch_rows=100, batch_answers=2, large_rows=40, hold_ms=1000)
    judge = due(asked("urn:a"), asked("urn:e"), limits=limits)
    judge.pass_over([Entry(8, "tick", 1000), chunk(9, stream="urn:e", last=1500), Entry(10, "tick", 5000)])
    assert judge.end(10, [chunk(11, stream="urn:e", last=2000)], 10_000) == 10
    assert judge.end(10, [chunk(11, stream="urn:e", last=2001)], 10_000) == 11
    # 6000 makes two answers due, and not twelve: the next tick is in the same batch as long as there are fewer than two
    assert judge.end(11, [Entry(12, "tick", 5900), Entry(13, "tick", 6000), Entry(14, "tick", 7000)], 10_000) == 13
