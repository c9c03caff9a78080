from __future__ import annotations

import itertools
import json
from unittest import mock

import pytest

from csparql_spark.answers.limits import Limits
from csparql_spark.engine import views
from csparql_spark.engine.group_state import restore
from csparql_spark.engine.messages import Message, QueryFailure
from csparql_spark.engine.state_keys import StateKey, ValueKind
from csparql_spark.log import Entry
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand
from tests.engine.naive import Said
from tests.engine.running import DictState, Worker, in_one_go, routed_between, said

ALL = (("?s", "<urn:p>", "?o"),)


def triple(s: object, o: object = "o") -> tuple[str, str, str]:
    return f"<urn:{s}>", "<urn:p>", f"<urn:{o}>"


def chunk(at: int, *subjects: object, stream: str = "urn:a") -> tuple:
    return at, "chunk", stream, [(triple(s), None) for s in subjects]


def asked(range: int = 1000, step: int = 1000, graphs: tuple[str, ...] = (), stream: str = "urn:a") -> Asked:
    return Asked.over(stream, range, step, ("s",), ALL, graphs=graphs)


def work(log: list[Entry], worker: Worker, start: int, end: int, state: DictState) -> list[Message]:
    """Give the entries after `start`, up to `end`, to the worker; all of them are for one group."""
    rows = routed_between(log, start, end, set())
    (key,) = {row.group for row in rows}
    return worker.work(key, rows, state)


def subjects(told: list[Message]) -> list[tuple[int, list[str]]]:
    return [(one.instant, [row["s"][5:-1] for row in one.rows]) for of in said(told).values() for _, one in of]


class Counting(DictState):
    """A state that counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[StateKey] = []
        self.written: list[StateKey] = []

    def get(self, name: StateKey) -> bytes:
        self.got.append(name)
        return super().get(name)

    def put(self, name: StateKey, value: bytes) -> None:
        self.written.append(name)
        super().put(name, value)

    def calls(self) -> tuple[list[StateKey], list[StateKey]]:
        got, written, self.got, self.written = self.got, self.written, [], []
        return got, written


def test_a_warm_worker_reads_nothing_and_one_behind_reads_what_it_lacks() -> None:
    log = by_hand((0, "register", "q", asked(range=9000)), *(chunk(1000 * i + 500, f"s{i}") for i in range(6)))
    state, first, second = Counting(), Worker(), Worker()
    work(log, first, 3, 5, state)
    assert state.calls() == ([], [StateKey(5, 0), StateKey.registration(4)])
    work(log, first, 5, 6, state)
    assert state.calls() == ([], [StateKey(6, 0)])
    work(log, second, 6, 8, state)  # cold: the member and both slides
    assert state.calls() == ([StateKey.registration(4), StateKey(5, 0), StateKey(6, 0)], [StateKey(8, 0)])
    assert subjects(work(log, first, 8, 9, state))[-1] == (4000, ["s0", "s1", "s2", "s3"])
    assert state.calls() == ([StateKey(8, 0)], [StateKey(9, 0)])  # behind: one slide of two chunks


def test_slides_are_cut_at_registrations() -> None:
    """A member made in the middle of a batch sees what came after it, also when it comes back from what was kept."""
    log = by_hand(
        (0, "register", "q", asked(5000, 1000)),
        chunk(100, "a"),
        chunk(200, "b"),
        (300, "register", "r", asked(5000, 1000)),
        chunk(400, "c"),
        chunk(500, "d"),
        (1000, "tick", None),
    )
    state = DictState()
    work(log, Worker(), 3, 9, state)
    assert sorted(state.values) == [StateKey.registration(4), StateKey(6, 0), StateKey.registration(7), StateKey(9, 0)]
    assert subjects(work(log, Worker(), 9, 10, state)) == [(1000, ["a", "b", "c", "d"]), (1000, ["c", "d"])]


def test_background_that_came_to_another_worker_is_not_missed() -> None:
    log = by_hand(
        (0, "background", "urn:g", [triple("old")]),
        (0, "register", "q", asked(graphs=("urn:g",))),
        chunk(500, "x"),
        (600, "background", "urn:g", [triple("new")]),
        (1000, "tick", None),
    )
    state, first, second = DictState(), Worker(), Worker()
    work(log, first, 3, 6, state)
    work(log, second, 6, 7, state)
    assert subjects(work(log, first, 7, 8, state)) == [(1000, ["new", "x"])]


def test_a_group_that_ended_and_began_again_is_not_the_one_remembered() -> None:
    """In its first life the stream has the number 0 and the graph 1; in its second one it is the other way round."""
    query = asked(graphs=("urn:g",))
    log = by_hand(
        (0, "register", "q", query),
        chunk(100, "x"),
        (200, "background", "urn:g", [triple("always")]),
        (300, "unregister", "q", None),
        (400, "register", "r", query),
        chunk(500, "y"),
        (1000, "tick", None),
    )
    state, first, second = DictState(), Worker(), Worker()
    work(log, first, 3, 6, state)
    work(log, second, 6, 7, state)
    assert state.kept is None and not state.values
    work(log, second, 7, 9, state)
    assert subjects(work(log, first, 9, 10, state)) == [(1000, ["always", "y"])]


def test_a_worker_that_is_ahead_starts_cold() -> None:
    log = by_hand((0, "register", "q", asked(5000, 1000)), chunk(500, "a"), chunk(1500, "b"), chunk(2500, "c"))
    state, worker = DictState(), Worker()
    work(log, worker, 3, 5, state)
    lost = work(log, worker, 5, 6, state.copy())  # its batch failed after this
    assert subjects(lost) == [(1000, ["a"])]
    assert work(log, worker, 5, 6, state) == lost
    assert subjects(work(log, worker, 6, 7, state)) == [(2000, ["a", "b"])]


def test_a_batch_that_comes_again_says_nothing_new() -> None:
    log = by_hand((0, "register", "q", asked()), chunk(500, "a"), chunk(1500, "b"))
    state, worker = DictState(), Worker()
    assert subjects(work(log, worker, 3, 6, state)) == [(1000, ["a"])]
    before = state.copy()
    for again in (worker, Worker()):
        assert work(log, again, 3, 6, state) == []
        assert (summary(state), state.values) == (summary(before), before.values)


def summary(state: DictState) -> dict[str, object]:
    """All that it says but who has stored it."""
    said = json.loads(state.kept or b"")
    assert said.pop("save")
    return said


def test_who_has_done_a_batch_that_another_has_stored_goes_on_from_what_is_stored() -> None:
    """The first worker's batch fails when all is done. The other one comes cold, and stores a whole answer where the
    first would have stored what has changed.

        batches      1      2      2      3      4
        first        ●      ✗             ●
        others                     ●             ●
    """
    query = Asked.over("urn:a", 9000, 1000, ("s",), ALL, output="ISTREAM")
    many = chunk(500, *range(9))
    log = by_hand(
        (0, "register", "q", query), many, *(chunk(1000 * at + 500, name) for at, name in enumerate("abcde", 1))
    )
    state, first = DictState(), Worker()
    told = work(log, first, 3, 7, state)
    lost = work(log, first, 7, 8, state.copy())
    assert work(log, Worker(), 7, 8, state) == lost
    told += lost + work(log, first, 8, 9, state) + work(log, Worker(), 9, 10, state)
    assert subjects(told) == [(1000, [*"012345678"]), (2000, ["a"]), (3000, ["b"]), (4000, ["c"]), (5000, ["d"])]


def test_nothing_is_kept_of_a_group_without_members() -> None:
    log = by_hand(
        (0, "register", "q", asked(graphs=("urn:g",))),
        chunk(500, "a"),
        (600, "background", "urn:g", [triple("b")]),
        (700, "unregister", "q", None),
    )
    state, worker = DictState(), Worker()
    work(log, worker, 3, 6, state)
    assert sorted(state.values) == [StateKey.registration(4), StateKey(5, 0), StateKey(6, 1)]
    work(log, worker, 6, 7, state)
    assert state.kept is None and not state.values and not worker.remembered


def test_a_query_that_failed_stays_failed() -> None:
    log = by_hand(
        (0, "register", "q", asked()),
        (0, "register", "r", Asked.over("urn:a", 1000, 1000, ("p",), (("?s", "?p", "?o"),), distinct=True)),
        chunk(500, "a", "b", "c"),
        chunk(1500, "d"),
        chunk(2500, "e"),
        chunk(3500, "f"),
    )
    state = DictState()
    with mock.patch.object(views, "LIMITS", Limits(rows=2)):
        failing = work(log, Worker(), 3, 7, state)
    assert [tuple(one) for one in failing if isinstance(one, QueryFailure)] == [
        (4, 1000, "the answer has more than 2 rows, which is the limit for one instant: add a LIMIT or a FILTER")
    ]
    for start, worker in ((7, Worker()), (8, Worker())):
        assert {one.query for one in work(log, worker, start, start + 1, state)} == {5}
        assert restore("any", state).members[4].failed is not None


def test_late_elements_are_counted_across_workers() -> None:
    log = by_hand(
        (0, "register", "q", asked(stream="urn:e")),
        (1, "chunk", "urn:e", [(triple("a"), 1000)]),
        (2, "chunk", "urn:e", [(triple("b"), 999), (triple("c"), 1000)]),
        (3, "chunk", "urn:e", [(triple("d"), 998), (triple("e"), 5)]),
    )
    state = DictState()
    for start in range(3, 7):
        work(log, Worker(), start, start + 1, state)
    # 1000 has been seen, so that 999 has passed, and 1000 itself has not.
    assert json.loads(state.kept)["members"]["4"]["progress"]["late"] == 3


def forgotten_words(state: DictState, id: int) -> None:
    """What is kept of a registration is from a version that could read more."""
    told = json.loads(state.values[StateKey.registration(id)])
    state.values[StateKey.registration(id)] = json.dumps(
        {**told, "text": "SELECT nothing", "compiled": {"version": 0}}
    ).encode()


def test_a_kept_query_that_cannot_be_read_any_more_fails_once_and_nobody_else() -> None:
    log = by_hand(
        (0, "register", "q", asked(2000)),
        (0, "register", "r", asked(3000)),
        chunk(500, "a"),
        chunk(1500, "b"),
        chunk(2500, "c"),
        chunk(3500, "d"),
    )
    state = DictState()
    work(log, Worker(), 3, 7, state)
    forgotten_words(state, 4)
    tried = state.copy()
    worker = Worker()
    told = work(log, worker, 7, 8, state)
    assert isinstance(told[0], QueryFailure) and told[0][:2] == (4, 0)
    assert told[0].reason.startswith("the query cannot be read: line 1, column 8: ")
    assert [one.query for one in told[1:]] == [5] and subjects(told[1:]) == [(2000, ["a", "b"])]
    assert next(iter(worker.remembered.values())).members.keys() == {5}
    assert json.loads(state.kept)["members"].keys() == {"5"} and StateKey.registration(4) not in state.values
    assert work(log, Worker(), 7, 8, tried) == told  # Spark runs the batch again: the same words
    for other in (worker, Worker()):
        later = work(log, other, 8, 9, state.copy())
        assert [one.query for one in later] == [5] and subjects(later) == [(3000, ["a", "b", "c"])]


def test_a_group_of_which_no_query_can_be_read_leaves_nothing() -> None:
    log = by_hand((0, "register", "q", asked()), chunk(500, "a"), chunk(1500, "b"), chunk(2500, "c"))
    state = DictState()
    work(log, Worker(), 3, 5, state)
    forgotten_words(state, 4)
    (failure,) = work(log, Worker(), 5, 6, state)
    assert isinstance(failure, QueryFailure) and failure[:2] == (4, 0)
    assert state.kept is None and not state.values
    assert work(log, Worker(), 6, 7, state) == []


def test_what_is_kept_stays_small_however_long_it_runs() -> None:
    """
        q   RANGE 3s STEP 1s      r   RANGE 5s STEP 5s      a chunk of three each 200 ms, in batches of five, for 5 min

    What can still be seen is at most 5 s and one step of 5 s old: fifty chunks, ten slides; and some that is not
    forgotten yet.
    """
    query = asked(5000, 5000, ("urn:g",))
    lines = [
        (0, "background", "urn:g", [triple("g")]),
        (0, "register", "q", asked(3000, 1000, ("urn:g",))),
        (0, "register", "r", query),
    ]
    lines += [chunk(200 * i + 100, *(f"s{i}x{j}" for j in range(3))) for i in range(1500)]
    log = by_hand(*lines)
    state, workers = DictState(), [Worker(), Worker()]
    rows = routed_between(log, 0, len(log))
    told = 0
    for batch, start in enumerate(range(0, len(rows), 5)):
        told += len(workers[batch // 7 % 2].work("g", rows[start : start + 5], state))
        assert len(state.values) <= 3 + 11 and len(state.kept) < 1500
        for worker in workers:
            for group in worker.remembered.values():
                assert len(group.content) <= 2 * 3 * 51 + 30 and len(group.content.dictionary) <= 2 * 160 + 1024 + 200
                assert len(group._views.live()) <= 2 and len(group.fresh) == 1 and not group.new_graphs
    # What is kept is what can still be seen.
    group = max(itertools.chain(*(worker.remembered.values() for worker in workers)), key=lambda group: group.seq)
    horizons = group.horizons()
    assert group.stored.keys() == state.values.keys()
    assert all(newest > horizons[name.stream] for name, newest in group.stored.items() if newest is not None)
    assert sum(newest is None for newest in group.stored.values()) == 3
    assert told == 299 + 59


def test_cuts_cannot_be_seen_in_a_long_run_either() -> None:
    lines = [(0, "register", "q", asked(3000, 1000)), (0, "register", "r", asked(1000, 4000))]
    lines += [chunk(200 * i + 100, *(f"s{i % 7}x{j}" for j in range(i % 4))) for i in range(300)]
    lines.insert(150, (29_900, "register", "s", asked(8000, 500)))
    log = by_hand(*lines)
    ((key, expected),) = in_one_go(log).items()
    for size in (1, 4, 37, 1000):
        state, workers, told = DictState(), [Worker(), Worker(), Worker()], []
        rows = routed_between(log, 0, len(log))
        for batch, start in enumerate(range(0, len(rows), size)):
            told += workers[batch * batch % 3].work(key, rows[start : start + size], state)
        assert told == expected
    assert all(isinstance(one, Said) and one.rows is not None for of in said(expected).values() for _, one in of)


# --- queries that count, and queries that tell what has changed


def counting(size: int, step: int, unit: str = "TRIPLES", **more: object) -> Asked:
    return Asked((Seen("urn:a", size, step, unit),), ("s",), ALL, **more)


@pytest.mark.parametrize("warm", [True, False])
def test_counts_go_on_where_they_were(warm: bool) -> None:
    """
    RANGE TRIPLES 3 STEP 2      a b│c d│e f│        each entry is a batch, and each has a worker of its own if cold
    """
    log = by_hand((0, "register", "q", counting(3, 2)), *(chunk(10 * i, s) for i, s in enumerate("abcdef", 1)))
    state, worker, told = DictState(), Worker(), []
    for start in range(3, len(log)):
        told += work(log, worker if warm else Worker(), start, start + 1, state)
    assert subjects(told) == [(20, ["a", "b"]), (40, ["b", "c", "d"]), (60, ["d", "e", "f"])]
    # What no turn will see again is gone: the next one sees f and two more.
    assert {name for name in state.values if name.stream >= 0} <= {StateKey(8, 0), StateKey(9, 0), StateKey(10, 0)}


def test_late_elements_that_may_be_seen_are_kept_however_old_they_are() -> None:
    log = by_hand(
        (0, "register", "q", Asked((Seen("urn:e", 2, 1, "TRIPLES"),), ("s",), ALL)),
        *((i, "chunk", "urn:e", [(triple(s), t)]) for i, (s, t) in enumerate([("a", 900), ("b", 5), ("c", 950)])),
    )
    state, told = DictState(), []
    for start in range(3, len(log)):
        told += work(log, Worker(), start, start + 1, state)
    assert subjects(told) == [(900, ["a"]), (901, ["a", "b"]), (950, ["b", "c"])]


def test_one_old_stamp_does_not_keep_all_that_came_before() -> None:
    """
    RANGE TRIPLES 4 STEP 2       a producer without the time says 1970, again and again, between those that have it
    """
    log = by_hand(
        (0, "register", "q", Asked((Seen("urn:e", 4, 2, "TRIPLES"),), ("s",), ALL)),
        *((i, "chunk", "urn:e", [(triple(i), 1 if i % 3 else 1_000_000 + i)]) for i in range(300)),
    )
    state, worker, told = DictState(), Worker(), []
    for start in range(3, len(log)):
        told += work(log, worker if start % 10 else Worker(), start, start + 1, state)
        assert len(state.values) <= 1 + 6
    assert len(told) == 150 and subjects(told)[-1][1] == ["296", "297", "298", "299"]
    assert len(next(iter(worker.remembered.values())).content) <= 2 * 6


def test_pushes_are_told_apart_by_who_comes_cold() -> None:
    """
    ELEMENTS 2 STEP 1      {a b}  {c}  {d}         all stamped 10, and in one batch: they stay three
    """
    log = by_hand(
        (0, "register", "q", counting(2, 1, "ELEMENTS")),
        chunk(10, "a", "b"),
        chunk(10, "c"),
        chunk(10, "d"),
        chunk(20, "e"),
    )
    state = DictState()
    assert subjects(work(log, Worker(), 3, 7, state)) == [(10, ["a", "b"]), (11, ["a", "b", "c"]), (12, ["c", "d"])]
    assert subjects(work(log, Worker(), 7, 8, state)) == [(20, ["d", "e"])]


def test_turns_that_wait_for_a_clock_are_kept() -> None:
    """
    stream a   TRIPLES 1           x│            at 15: it waits for the other clock
    stream e   RANGE 20 STEP 20       y          at 12, 20
    """
    query = Asked((Seen("urn:a", 1, 1, "TRIPLES"), Seen("urn:e", 20, 20)), ("s",), ALL)
    log = by_hand(
        (0, "register", "q", query),
        (11, "chunk", "urn:e", [(triple("y"), 12)]),
        chunk(15, "x"),
        (30, "chunk", "urn:e", [(triple("z"), 21)]),
        (31, "tick", None),
    )
    state, told = DictState(), []
    for start in range(3, len(log)):
        told.append(subjects(work(log, Worker(), start, start + 1, state)))
    assert told == [[], [], [], [(15, ["x"]), (20, ["x", "y"])], []]


def test_what_was_answered_before_comes_back_and_is_written_when_it_has_changed() -> None:
    """
    RANGE 3s STEP 1s, ISTREAM       a──│──b──│─────│──c──│
    new                                a     b           c
    """
    query = Asked.over("urn:a", 3000, 1000, ("s",), ALL, output="ISTREAM")
    log = by_hand(
        (0, "register", "q", query),
        chunk(500, "a"),
        chunk(1500, "b"),
        (2000, "tick", None),
        (2500, "tick", None),
        chunk(2600, "c"),
        (3000, "tick", None),
        (4000, "tick", None),
    )
    state, told, written = Counting(), [], []
    for start in range(3, len(log)):
        told += work(log, Worker(), start, start + 1, state)
        written.append(StateKey.last_answer(4) in state.calls()[1])
    assert subjects(told) == [(1000, ["a"]), (2000, ["b"]), (3000, ["c"]), (4000, [])]
    assert written == [False, False, True, True, False, False, True, True]


def test_a_worker_that_is_behind_compares_with_the_newest_answer() -> None:
    query = Asked.over("urn:a", 9000, 1000, ("s",), ALL, output="ISTREAM")
    log = by_hand((0, "register", "q", query), *(chunk(1000 * i + 500, s) for i, s in enumerate("abcd")))
    state, first, second = DictState(), Worker(), Worker()
    told = [
        subjects(work(log, worker, start, start + 1, state))
        for start, worker in zip(range(3, 8), (first, first, second, second, first))
    ]
    assert told == [[], [], [(1000, ["a"])], [(2000, ["b"])], [(3000, ["c"])]]


def test_what_was_answered_before_goes_with_its_query() -> None:
    query = Asked.over("urn:a", 1000, 1000, ("s",), ALL, output="DSTREAM")
    log = by_hand(
        (0, "register", "q", query),
        (0, "register", "r", query),
        (0, "register", "s", asked()),
        chunk(500, "a"),
        (1000, "tick", None),
        (1100, "unregister", "q", None),
        chunk(1200, "a", "b", "c"),
        (2000, "tick", None),
    )
    state, worker = DictState(), Worker()

    def before() -> set[int]:
        return {name.seq for name in state.values if name.kind is ValueKind.LAST_ANSWER}

    work(log, worker, 3, 8, state)
    assert before() == {4, 5}
    work(log, worker, 8, 9, state)
    assert before() == {5}
    with mock.patch.object(views, "LIMITS", Limits(rows=2)):
        told = work(log, worker, 9, 11, state)
    assert all(isinstance(one, QueryFailure) for one in told) and sorted(one.query for one in told) == [5, 6]
    assert before() == set()
    assert restore("any", state).members[5].before is None
