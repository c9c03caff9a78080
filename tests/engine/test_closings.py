"""Backgrounds that are closed beside: nobody can tell from the answers, whatever was ready when, and whoever was killed.

entries   background  register  chunk  tick   tick   chunk  tick
child                 ├───── closes ─────────────┤
group     taken       taken     taken  taken  held   held   ready: all at once, in their order
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.limits import Limits
from csparql_spark.engine import closings, closures
from csparql_spark.engine.background_wait import BackgroundWait
from csparql_spark.engine.closings import Closing, Closings, ForkedClosings
from csparql_spark.engine.group import Group
from csparql_spark.engine.group_state import restore, save
from csparql_spark.engine.held_entries import REPEATED, HeldEntries, packed, unpacked
from csparql_spark.engine.messages import Message, QueryFailure
from csparql_spark.entailment.rules import closed_backgrounds
from csparql_spark.entailment.rules.closed_backgrounds import ClosedBackground
from csparql_spark.log import Entry
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.schedule.routing import DAMAGED, Row, wake
from tests.engine.asked import Asked
from tests.engine.logs import by_hand, entries, law, logs
from tests.engine.naive import Logged
from tests.engine.running import DictState, Worker, in_one_go, routed
from tests.engine.test_laws import Cluster
from tests.examples import examples

SUB = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
SCHEMA = [("<urn:p>", SUB, "<urn:q>"), ("<urn:q>", SUB, "<urn:r>"), ("<urn:a>", "<urn:p>", "<urn:b>")]
OTHER = [("<urn:p>", SUB, "<urn:r>"), ("<urn:c>", "<urn:p>", "<urn:d>")]


class Drawn(Closings):
    """Backgrounds that are ready when the test says so."""

    def __init__(self, ready: Callable[[], bool]) -> None:
        self._ready = ready

    def pending(self, group: str, closing: Closing) -> bool:
        return not self._ready()


class Waiter(Worker):
    """A worker whose groups wait, whatever they are, as if each had a large background."""

    def __init__(self, made: Callable[[], Closings]) -> None:
        super().__init__()
        self._closings = made()

    def work(self, key: str, rows: list[Row], state: DictState) -> list[Message]:
        group = restore(key, state, self.remembered.pop(key, None))
        group.close_by(self._closings)
        told = list(group.feed(sorted(rows, key=lambda row: (row.seq, row.kind == DAMAGED))))
        save(group, state)
        if group.members:
            self.remembered[key] = group
        return told


class WaitingCluster(Cluster):
    def __init__(self, data: st.DataObject) -> None:
        super().__init__(data)
        self.over = False
        ready = st.sampled_from([False, False, True])
        self.workers = [
            Waiter(lambda: Drawn(lambda: self.over or data.draw(ready, label="ready"))) for _ in self.workers
        ]

    def comes_again(self, again: list[Message], first: list[Message], told: list[Message]) -> None:
        told += again  # what waited then may be ready now

    def run(self, log: list[Logged]) -> None:
        super().run(log)
        self.over = True
        for key in list(self.states):
            self.batch(key, [wake(key)])


def any_background(wait: BackgroundWait, member: object) -> Closing:
    return Closing("any", 1, lambda: pytest.fail("nobody closes it"))


@given(logs, st.data())
@law(max_examples=examples(150))
def test_what_is_held_is_answered_as_if_it_had_not_been(log: list[Logged], data: st.DataObject) -> None:
    """Cut into batches anyhow, given to any worker, failing and coming twice. Who is deleted is told nothing more, so
    of those it is a beginning."""
    written, cluster = entries(log), WaitingCluster(data)
    with mock.patch.object(BackgroundWait, "_closing", any_background):
        cluster.run(log)
    expected = by_query(in_one_go(written))
    told = by_query(cluster.told)
    gone = {query for query in expected if deleted(log, query)}
    assert {query: said for query, said in told.items() if query not in gone} == {
        query: said for query, said in expected.items() if query not in gone
    }
    for query in gone:
        assert told.get(query, []) == expected[query][: len(told.get(query, []))]


def by_query(told: dict[str, list[Message]]) -> dict[int, list[Message]]:
    """What each says, once: a batch that was tried again may have told it before, which its store passes over."""
    found: dict[int, list[Message]] = {}
    for one in (one for saying in told.values() for one in saying):
        said = found.setdefault(one.query, [])
        if one not in said:
            said.append(one)
    return found


def deleted(log: list[Logged], query: int) -> bool:
    name = log[query - 1].subject
    return any(entry.kind == "unregister" and entry.subject == name and entry.seq > query for entry in log)


# --- children


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_backgrounds, "_known", {})
    monkeypatch.setattr(closed_backgrounds, "_failed", {})


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[ForkedClosings]:
    made = ForkedClosings(tmp_path / "closed", Limits(), large=1)
    yield made
    for group in list(made._wanted):
        made.release(group)


def asked(*patterns: tuple[str, str, str], rules: str = "rho-df") -> str:
    text = Asked.over("urn:a", 2000, 1000, ("s", "o"), patterns or (("?s", "<urn:r>", "?o"),), graphs=("urn:g",)).text
    return text.replace(" AS ", f" USING ENTAILMENT {rules} AS ", 1)


class Text:
    """A query by its text, for a log."""

    paused = False

    def __init__(self, text: str) -> None:
        self.text = text


def chunk(at: int, *subjects: str) -> tuple:
    return at, "chunk", "urn:a", [((f"<urn:{s}>", "<urn:p>", "<urn:o>"), None) for s in subjects]


def a_log(rules: str = "rho-df") -> list[Entry]:
    return by_hand(
        (0, "background", "urn:g", SCHEMA),
        (0, "register", "q", Text(asked(rules=rules))),
        chunk(500, "x"),
        (1000, "tick", None),
        chunk(1500, "y"),
        (2000, "tick", None),
        (2100, "background", "urn:g", OTHER),
        chunk(2500, "z"),
        (3000, "tick", None),
    )


def ended(made: ForkedClosings) -> None:
    """Wait until its child has ended; it is not reaped."""
    assert made._child is not None
    os.waitid(os.P_PID, made._child.pid, os.WEXITED | os.WNOWAIT)


def told_beside(
    log: list[Entry], made: ForkedClosings, *, meanwhile: Callable[[], None] | None = None
) -> list[Message]:
    """What a group says of a batch in which its background has come; each time that it waits, its child ends."""
    rows = routed(log)
    group = Group(rows[0].group)
    group.limit(Limits())
    group.close_by(made)
    told = list(group.feed(rows))
    assert group.waiting and not told, "the tick at 1000 is answered under the first background"
    for _ in range(10):
        if not group.waiting:
            break
        if meanwhile is not None:
            meanwhile()
        ended(made)
        told += group.feed([wake(group.key)])
    assert not group.waiting and not group.wait.held
    return told


def here(log: list[Entry]) -> list[Message]:
    (told,) = in_one_go(log).values()
    return told


@pytest.fixture
def slow_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """So many children do not come to their end by themselves."""
    mark, worker, closed = tmp_path / "slow", os.getpid(), closures.closed

    def slow(*arguments):
        if os.getpid() != worker and mark.exists() and (left := int(mark.read_text() or 0)):
            mark.write_text(str(left - 1))
            signal.pause()
        return closed(*arguments)

    monkeypatch.setattr(closures, "closed", slow)
    return lambda times: mark.write_text(str(times))


def test_what_a_child_closes_is_what_would_have_been_closed_here(beside: ForkedClosings) -> None:
    log = a_log()
    expected = here(log)
    assert len(expected) == 3
    closed_backgrounds._known.clear()
    assert told_beside(log, beside) == expected
    assert len(closed_backgrounds._known) == 2, "each background by a child, and none here"


def at_work(directory: Path) -> None:
    """The last child that is slow has come so far that no other one will be."""
    while (directory / "slow").read_text() != "0":
        time.sleep(0.001)  # of the processor that it needs


def test_a_child_that_is_killed_in_the_middle_changes_nothing(
    beside: ForkedClosings, slow_at_first: Callable[[int], None], tmp_path: Path
) -> None:
    log = a_log()
    expected = here(log)
    closed_backgrounds._known.clear()
    slow_at_first(1)
    killed = []

    def kill_first() -> None:
        if not killed:
            at_work(tmp_path)
            os.kill(beside._child.pid, signal.SIGKILL)
            killed.append(beside._child.pid)

    assert told_beside(log, beside, meanwhile=kill_first) == expected
    assert killed


def test_who_is_killed_each_time_is_closed_here(beside: ForkedClosings, slow_at_first: Callable[[int], None]) -> None:
    log = a_log()
    expected = here(log)
    closed_backgrounds._known.clear()
    slow_at_first(closings.TRIES)
    assert told_beside(log, beside, meanwhile=lambda: os.kill(beside._child.pid, signal.SIGKILL)) == expected


def test_another_worker_goes_on_where_one_was_killed(
    beside: ForkedClosings, slow_at_first: Callable[[int], None], tmp_path: Path
) -> None:
    """Its state says what it has not answered; the child of the first one is gone with it."""
    log = a_log()
    expected = here(log)
    closed_backgrounds._known.clear()
    slow_at_first(1)
    rows, state = routed(log), DictState()
    first = Waiter(lambda: beside)
    half = len(rows) // 2 + 1
    assert first.work(rows[0].group, rows[:half], state) == []
    at_work(tmp_path)
    for group in list(beside._wanted):
        beside.release(group)  # as its end would
    another = ForkedClosings(tmp_path / "closed", Limits(), large=1)
    second = Waiter(lambda: another)
    told = second.work(rows[0].group, rows[half:], state)
    while (group := second.remembered[rows[0].group]).waiting:
        ended(another)
        told += second.work(rows[0].group, [wake(group.key)], state)
    assert told == expected
    assert {key for key in state.values if key.seq < 0} == set(), "what was taken is stored no more"


def test_what_one_worker_has_found_another_one_reads(beside: ForkedClosings, tmp_path: Path) -> None:
    log = a_log()
    expected = told_beside(log, beside)
    closed_backgrounds._known.clear()
    rows = routed(log)
    group = Group(rows[0].group)
    group.close_by(ForkedClosings(tmp_path / "closed", Limits(), large=1))
    assert [one for row in rows for one in group.feed([row])] == expected


@pytest.mark.parametrize(
    "limits, slow",
    [(Limits(milliseconds=1), "takes longer than 0.0"), (Limits(), "multiplies what it is given")],
    ids=["time", "rules"],
)
def test_what_is_too_much_beside_fails_by_name(limits: Limits, slow: str, tmp_path: Path) -> None:
    """For all of the group at once."""
    many = [(f"<urn:s{i}>", "<urn:p>", f"<urn:o{i % 7}>") for i in range(3000)]
    text = "[all: (?a <urn:p> ?b) (?c <urn:p> ?d) -> (?a <urn:q> ?c)]"
    if "longer" in slow:
        text = "[chain: (?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)]"
        many = [(f"<urn:s{i}>", "<urn:p>", f"<urn:s{i + 1}>") for i in range(600)]
    log = by_hand(
        (0, "rules", "mine", text),
        (0, "background", "urn:g", many),
        (0, "register", "q", Text(asked(rules="mine"))),
        (0, "register", "r", Text(asked(("?s", "<urn:q>", "?o"), rules="mine"))),
        chunk(500, "x"),
        (1000, "tick", None),
    )
    made = ForkedClosings(tmp_path / "closed", limits, large=1)
    rows = routed(log)
    group = Group(rows[0].group)
    group.limit(limits)
    group.close_by(made)
    told = list(group.feed(rows))
    assert group.waiting and told == []
    ended(made)
    told = list(group.feed([wake(group.key)]))
    assert [(one.query, one.instant) for one in told] == [(6, 1000), (7, 1000)]
    assert all(isinstance(one, QueryFailure) and slow in one.reason for one in told), told
    assert not group.waiting and made._child is None


@pytest.mark.parametrize(
    "number, reason",
    [
        (signal.SIGPROF, "what follows from its background under its rules takes longer than 10.0001 s of processor"),
        (signal.SIGALRM, "what follows from its background under its rules takes longer than 100.001 s on the clock"),
        (signal.SIGABRT, "what follows from its background under its rules needs more memory than the 1.0 GiB"),
        (signal.SIGSEGV, "it has ended the process that worked on it (SIGSEGV)"),
    ],
)
def test_how_a_child_ends_says_why(
    number: signal.Signals, reason: str, beside: ForkedClosings, slow_at_first: Callable[[int], None]
) -> None:
    """It is told to all that are due, and not tried again for each."""
    slow_at_first(1)
    rows = routed(a_log())
    group = Group(rows[0].group)
    group.limit(Limits())
    group.close_by(beside)
    assert list(group.feed(rows[:-3])) == [] and group.waiting
    os.kill(beside._child.pid, number)
    ended(beside)
    (failed,) = group.feed([wake(group.key)])
    assert isinstance(failed, QueryFailure) and failed.instant == 1000 and failed.reason.startswith(reason)
    assert beside._child is None and not group.waiting


def test_who_is_deleted_ends_the_child(beside: ForkedClosings, slow_at_first: Callable[[int], None]) -> None:
    slow_at_first(1)
    log = a_log()
    log.append(Entry(len(log) + 1, "unregister", 3100, "q"))
    rows, state, worker = routed(log), DictState(), Waiter(lambda: beside)
    assert worker.work(rows[0].group, rows[:-1], state) == []
    pid = beside._child.pid
    assert worker.work(rows[0].group, rows[-1:], state) == []
    assert beside._child is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert state.kept is None and not state.values


def test_who_is_deleted_before_it_was_taken_never_comes(beside: ForkedClosings) -> None:
    log = by_hand(
        (0, "background", "urn:g", SCHEMA),
        (0, "register", "q", Text(asked())),
        (1000, "tick", None),
        (1100, "register", "r", Text(asked())),
        (1200, "unregister", "r", None),
        (2000, "tick", None),
    )
    told = told_beside_of(log, beside)
    assert [(one.query, one.instant) for one in told] == [(5, 1000), (5, 2000)]


def told_beside_of(log: list[Entry], made: ForkedClosings) -> list[Message]:
    rows, state, worker = routed(log), DictState(), Waiter(lambda: made)
    told = worker.work(rows[0].group, rows, state)
    while worker.remembered[rows[0].group].waiting:
        ended(made)
        told += worker.work(rows[0].group, [wake(rows[0].group)], state)
    return told


def test_small_backgrounds_are_closed_here(tmp_path: Path) -> None:
    made = ForkedClosings(tmp_path / "closed", Limits())
    log = a_log()
    rows = routed(log)
    group = Group(rows[0].group)
    group.close_by(made)
    assert [one for row in rows for one in group.feed([row])] == here(log)
    assert made._child is None


def test_too_much_is_not_held(
    beside: ForkedClosings, slow_at_first: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be held is answered at once, and the background closed here."""
    log = a_log()
    expected = here(log)
    closed_backgrounds._known.clear()
    slow_at_first(9)
    monkeypatch.setattr("csparql_spark.engine.background_wait.MOST_BYTES", 100)
    rows = routed(log)
    group = Group(rows[0].group)
    group.close_by(beside)
    told = [one for row in rows for one in group.feed([row])]
    assert told == expected[: len(told)] and len(told) > 0


# --- held entries

names = st.sampled_from(["urn:a", "urn:b", None])
held = st.builds(
    Row,
    st.just("g"),
    st.just(0),
    st.integers(1, 30),
    st.sampled_from(["chunk", "tick", "background", "rules", "register", "unregister"]),
    st.integers(0, 9),
    names,
    st.one_of(st.none(), st.binary(max_size=9)),
)


@given(st.lists(held, max_size=12))
def test_rows_are_the_same_as_bytes(rows: list[Row]) -> None:
    assert list(unpacked(packed(rows))) == rows


@given(st.lists(st.one_of(held, st.sampled_from(["take", "store", "forget"])), max_size=40))
def test_what_is_stored_of_held_entries_is_what_is_in_it(steps: list) -> None:
    """The twin is a list."""
    kept, twin, stored = HeldEntries(), list[Row](), dict[int, bytes]()
    for step in steps:
        match step:
            case "take":
                if twin:
                    assert kept.take() == twin.pop(0)
            case "forget":
                kept.forget(3)
                twin = [row for row in twin if (row.kind, row.seq) != ("register", 3)]
            case "store":
                stored |= dict(kept.pieces())
                stored = {number: stored[number] for number in range(kept.first, kept.next)}
                again = HeldEntries.restored(stored.values(), kept.first)
                assert list(again) == list(kept) == twin
                assert (again.first, again.next, again.nbytes) == (kept.first, kept.next, kept.nbytes)
            case Row():
                before = len(kept)
                kept.hold(step)
                twin += [step] * (len(kept) - before)
                repeated = step.kind in REPEATED
                here = [(row.kind, row.seq, row.subject) for row in twin]
                assert here.count((step.kind, step.seq, step.subject)) == 1 or not repeated
    assert list(kept) == twin


facts = st.lists(st.tuples(*[st.sampled_from([f"<urn:{name}>" for name in "abcdef"])] * 3), min_size=1, max_size=12)


@given(facts)
def test_a_closed_background_is_the_same_from_a_file(tmp_path_factory: pytest.TempPathFactory, told: list) -> None:
    first, second = TermDictionary(), TermDictionary()
    first.encode(["<urn:unused>", *"xyz"])
    second.encode(["<urn:f>", "<urn:a>"])
    columns = tuple(np.array(first.encode(column)) for column in zip(*told, strict=True))
    path = tmp_path_factory.mktemp("closed") / "one"
    with path.open("wb") as file:
        ClosedBackground.of(columns, first).write(file)
    again = ClosedBackground.read(path).columns(second)
    assert list(zip(*(second.decode(column) for column in again), strict=True)) == told


def test_a_failure_is_forgotten_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(closed_backgrounds.time, "monotonic", lambda: now)
    closed_backgrounds.fail("one", "too much")
    assert closed_backgrounds.failure("one") == "too much" and closed_backgrounds.failure("two") is None
    now += closed_backgrounds.FAILED_SECONDS
    assert closed_backgrounds.failure("one") is None
