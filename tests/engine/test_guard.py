"""What becomes of an evaluation that a worker dies of: workers are children here, which come one after the other until
one of them gets through, as Spark would have it."""

from __future__ import annotations

import json
import mmap
import os
import pickle
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from csparql_spark.answers import confinement, forked
from csparql_spark.answers.forked import apart
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.asking.replay import NO_FAILURES
from csparql_spark.engine import kernel_limits, trials
from csparql_spark.engine.group import Group
from csparql_spark.engine.guard import KernelGuard
from csparql_spark.engine.kernel_limits import SPARE
from csparql_spark.engine.member import Member
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.engine.notes import READING, Ledger, Notes
from csparql_spark.engine.trials import DueEvaluation
from csparql_spark.engine.view_answer import MemberReply
from csparql_spark.engine.views import Views
from csparql_spark.entailment.evaluate.bounds import TooMuchDerived
from csparql_spark.log import Entry
from csparql_spark.log.contents import QueryFailed
from csparql_spark.schedule.routing import to_fail
from tests.engine.asked import Asked
from tests.engine.logs import by_hand
from tests.engine.running import routed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how large a process is")

# Which limit it is must not hang on how fast the machine is: what is to fill the room has far more time than that takes,
# and what is to last fills next to nothing.
LIMITS = Limits(milliseconds=10_000, bytes=64 << 20)
HASTY = Limits(milliseconds=200, bytes=64 << 20)
BRISK = Limits(milliseconds=800, bytes=64 << 20)  # where a text of 20,000 letters is planned: a tenth of a second alone
TRIES = 4
MANY = TRIES + 2  # poisons: if each ended a worker, none would get through
HEALTHY = Asked.over("urn:a", 1000, 1000, ("s",), (("?s", "<urn:p>", "?o"),))


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else the machine does ends nobody here, and who is over its own time keeps nobody waiting."""
    for module in (forked, confinement):
        monkeypatch.setattr(module, "PATIENCE", 1000)
    monkeypatch.setattr(kernel_limits, "GRACE", 0.3)


def doubled(times: int, after: str = "") -> str:
    binds = "".join(f" BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(times))
    return f"?s <urn:p> ?o BIND(STR(?o) AS ?x0){binds}{after}"


def lasting(hashes: int) -> str:
    """Hashes of ten megabytes that are made anew for each, and nobody who could look at the clock in between. What stays
    of it is short: a hundred take seconds, and a few megabytes."""
    text = "STR(?o)"
    for _ in range(4):
        text = f'REPLACE({text}, ".", "{"a" * 40}")'
    return f"?s <urn:p> ?o BIND(CONCAT({', '.join([f'SHA512({text})'] * hashes)}) AS ?n)"


SPACIOUS = doubled(34, " BIND(STRLEN(?x34) AS ?n)")
MEMORY = "its answer needs more memory than the 64 MiB that a query may have"
TIME = "its answer takes longer than 0.2 s of processor time, which is the limit"


def log_of(bodies: dict[str, str], healthy: int = 1, seen: dict[str, str] | None = None) -> list[Entry]:
    """Queries of these bodies beside healthy ones, two pushes, three instants. The first has an empty window. `seen`
    says what else some look at: who looks at something else is in another group."""
    log = by_hand(
        *((0, "register", f"h{i}", HEALTHY) for i in range(healthy)),
        *((0, "register", name, HEALTHY) for name in bodies),
        (1000, "tick", None),
        (1500, "chunk", "urn:a", [(("<urn:s>", "<urn:p>", '"abcd"'), None)]),
        (2000, "tick", None),
        (2500, "chunk", "urn:a", [(("<urn:t>", "<urn:p>", '"efgh"'), None)]),
        (3000, "tick", None),
    )
    for place, entry in enumerate(log):
        if entry.kind == "register" and entry.subject in bodies:
            text = (
                f"REGISTER QUERY {entry.subject} AS SELECT ?s ?n {(seen or {}).get(entry.subject, '')} "
                f"FROM STREAM <urn:a> [RANGE 1s STEP 1s] WHERE {{ {bodies[entry.subject]} }}"
            )
            log[place] = Entry(
                entry.seq, "register", 0, entry.subject, payload=json.dumps({"text": text, "base": None}).encode()
            )
    return log


def in_a_worker(work: Callable[[], list[Message]]) -> tuple[int, list[Message] | None]:
    """How a child ends that does the work, and what it finds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = pickle.dumps(work())
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(found)
            os._exit(0)
        finally:
            os._exit(9)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, pickle.loads(found) if status == 0 else None


def worked(
    log: list[Entry],
    notes: Path,
    limits: Limits = LIMITS,
    most: int = 0,
    failures: Mapping[int, QueryFailed] = NO_FAILURES,
) -> list[Message]:
    """What all groups say in a worker of their own; `failures`: how the log says that queries fail."""
    guard, groups, told = KernelGuard(Notes(notes), limits, most), dict[str, Group](), list[Message]()
    rows = [to_fail(row, failures.get(row.seq)) for row in routed(log)]
    for key in dict.fromkeys(row.group for row in rows):
        group = groups[key] = Group(key)
        group.limit(limits)
        group.guard(guard)
        told += group.feed([row for row in rows if row.group == key])
    return told


def tried(
    log: list[Entry], notes: Path, limits: Limits = LIMITS, failures: Mapping[int, QueryFailed] = NO_FAILURES
) -> tuple[list[int], list[Message]]:
    """How the workers ended that died, and what the first one said that did not."""
    deaths: list[int] = []
    while len(deaths) < TRIES:
        status, told = in_a_worker(lambda: worked(log, notes, limits, failures=failures))
        if told is not None:
            return deaths, told
        deaths.append(status)
    raise AssertionError(f"no worker gets through: {deaths}")


def of(log: list[Entry], name: str) -> int:
    return next(entry.seq for entry in log if entry.subject == name)


def shown(told: list[Message], query: int) -> list[tuple[int, int | str]]:
    """What a query has said: at which instant, how many rows; or why not."""
    return [
        (one.instant, one.rows if isinstance(one, InstantAnswer) else one.reason)
        for one in told
        if not isinstance(one, bytes) and one.query == query
    ]


@pytest.mark.parametrize(
    "body, limits, reason, deaths",
    [
        (SPACIOUS, LIMITS, MEMORY, [1, -signal.SIGABRT]),
        (lasting(120), BRISK, TIME.replace("0.2", "0.8"), [-signal.SIGPROF]),
    ],
    ids=["memory", "time"],
)
def test_a_poison_fails_by_name_at_the_second_try(
    body: str, limits: Limits, reason: str, deaths: list[int], tmp_path: Path
) -> None:
    log = log_of({"poison": body})
    (death,), told = tried(log, tmp_path, limits)
    assert death in deaths
    assert shown(told, of(log, "h0")) == [(1000, 0), (2000, 1), (3000, 1)]
    first, (instant, sentence) = shown(told, of(log, "poison"))
    assert first == (1000, 0) and instant == 2000 and str(sentence).startswith(reason)


RULED = {"slow": "USING ENTAILMENT rho-df"}


def slowed(monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float]) -> None:
    """From now on what these queries say takes so many seconds of the processor, wherever there is something to say."""
    say = Views.say

    def slow(self: Views, member: Member, instant: int, seq: int) -> MemberReply:
        reply = say(self, member, instant, seq)
        if reply.rows:
            until = time.process_time() + seconds.get(member.id, 0.0)
            while time.process_time() < until:
                pass
        return reply

    monkeypatch.setattr(Views, "say", slow)


@pytest.mark.parametrize("wary", [False, True])
@pytest.mark.parametrize("seen", [{}, RULED], ids=["as it is", "under rules"])
def test_what_it_told_before_it_failed_it_tells_again_whatever_that_takes(
    wary: bool, seen: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine with lower limits begins with the log again, of which it has no answers."""
    if wary:
        ledger = Ledger(deaths=[time.time() - 2, time.time() - 1])
        (tmp_path / "ledger.json").write_text(json.dumps(asdict(ledger)))
    log = log_of({"slow": "?s <urn:p> ?o BIND(STR(?o) AS ?n)"}, seen=seen)
    slow = of(log, "slow")
    slowed(monkeypatch, {slow: 1.0})
    deaths, told = tried(log, tmp_path / "before", HASTY)
    assert len(deaths) == 1 and len(shown(told, slow)) == 2  # it is too much here, if nobody knows better
    failure = QueryFailed(slow, 3000, "it was too much there", answered=2000)
    deaths, told = tried(log, tmp_path, HASTY, {slow: failure})
    assert deaths == [] and shown(told, slow) == [(1000, 0), (2000, 1), (3000, "it was too much there")]
    assert shown(told, of(log, "h0")) == [(1000, 0), (2000, 1), (3000, 1)]


def test_what_healthy_queries_say_is_what_they_say_alone(tmp_path: Path) -> None:
    log = log_of({"poison": SPACIOUS}, healthy=3)
    _, told = tried(log, tmp_path)
    alone = [entry for entry in log if entry.subject != "poison"]
    expected = [one for row in [routed(alone)] for one in Group(row[0].group).feed(row)]
    assert [one for one in told if one.query != of(log, "poison")] == expected


def test_many_poisons_kill_two_workers(tmp_path: Path) -> None:
    log = log_of({f"poison{i}": SPACIOUS.replace("STR(?o)", f'CONCAT("{i}", STR(?o))') for i in range(MANY)})
    deaths, told = tried(log, tmp_path)
    assert len(deaths) == 2
    assert shown(told, of(log, "h0")) == [(1000, 0), (2000, 1), (3000, 1)]
    failures = [one for one in told if isinstance(one, QueryFailure)]
    assert sorted(one.query for one in failures) == [of(log, f"poison{i}") for i in range(MANY)]
    assert all(one.instant == 2000 and one.reason.startswith(MEMORY) for one in failures)


def test_poisons_of_many_groups_kill_two_workers(tmp_path: Path) -> None:
    graphs = ["", *(f"FROM <urn:g{i}>" for i in range(MANY - 1))]
    bodies = {f"poison{i}": SPACIOUS for i in range(MANY)}
    log = log_of(bodies, seen=dict(zip(bodies, graphs, strict=True)))
    assert len({row.group for row in routed(log)}) == MANY
    deaths, told = tried(log, tmp_path)
    assert len(deaths) == 2
    assert shown(told, of(log, "h0")) == [(1000, 0), (2000, 1), (3000, 1)]
    assert sorted(one.query for one in told if isinstance(one, QueryFailure)) == [of(log, name) for name in bodies]


def test_one_child_rehearses_all_that_is_due_together(tmp_path: Path) -> None:
    """Three instants: three children, however many queries there are, also where the last of them is a poison."""
    ledger = Ledger(deaths=[time.time() - 2, time.time() - 1])
    (tmp_path / "ledger.json").write_text(json.dumps(asdict(ledger)))
    log = log_of({"poison": SPACIOUS}, healthy=5)
    read = 6  # texts of queries, each by itself

    def work() -> list[Message]:
        children = 0

        def counted(work: Callable[[], bytes], *, seconds: float, room: int) -> bytes:
            nonlocal children
            children += 1
            return apart(work, seconds=seconds, room=room)

        trials.apart = counted
        return [*worked(log, tmp_path), QueryFailure(0, children, "")]

    status, told = in_a_worker(work)
    assert status == 0 and told is not None
    assert told.pop() == QueryFailure(0, read + 3, "")
    for number in range(5):
        assert shown(told, of(log, f"h{number}")) == [(1000, 0), (2000, 1), (3000, 1)]
    assert [one.instant for one in told if isinstance(one, QueryFailure)] == [2000]


def test_ten_that_take_too_long_take_little_of_the_others_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One ends the worker, which is enough to know it by; one has what is left of one and a half limits; then there is a
    twentieth for each, with which all that are healthy come through, whether they were there before or after."""
    bodies = {}
    for i in range(10):
        bodies[f"poison{i}"] = f'?s <urn:p> ?o BIND(CONCAT("{i}", STR(?o)) AS ?n)'
        bodies[f"later{i}"] = f'?s <urn:p> ?o BIND(CONCAT("later {i}", STR(?o)) AS ?n)'
    log = log_of(bodies, healthy=3)
    slowed(monkeypatch, {of(log, name): 1000.0 for name in bodies if name.startswith("poison")})
    deaths, told = tried(log, tmp_path, HASTY)
    assert deaths == [-signal.SIGPROF]
    for name in ("h0", "h1", "h2", *(f"later{i}" for i in range(10))):
        assert shown(told, of(log, name)) == [(1000, 0), (2000, 1), (3000, 1)]
    ends = {name: shown(told, of(log, name)) for name in bodies if name.startswith("poison")}
    assert all(len(end) == 2 and end[0] == (1000, 0) and end[1][0] == 2000 for end in ends.values())
    reasons = [str(end[1][1]) for end in ends.values()]
    whole = [reason for reason in reasons if reason.startswith(TIME)]
    short = [
        re.fullmatch(
            r"its answer takes longer than ([\d.]+) s of processor time, and the server had just ended (\d+) others? that "
            r"needs? too much, for which all wait: register it again",
            reason,
        )
        for reason in reasons
        if reason not in whole
    ]
    assert 1 <= len(whole) <= 3  # one of them in the worker before
    counts = [int(one[2]) for one in short if one is not None]
    assert counts == list(range(10 - len(short), 10))
    assert sum(float(one[1]) <= 0.1 for one in short if one is not None) >= len(short) - 1


def test_who_has_answered_before_is_tried_first(tmp_path: Path) -> None:
    """So it is not the one that is cut short."""
    (tmp_path / "ledger.json").write_text(json.dumps(asdict(Ledger(deaths=[time.time() - 2, time.time() - 1]))))

    def slow() -> None:
        until = time.process_time() + 0.4
        while time.process_time() < until:
            pass

    def work() -> list[Message]:
        notes = Notes(tmp_path)
        guard = KernelGuard(notes, HASTY)
        guard.open({7: SimpleNamespace(answered=1000, failed=None), 8: SimpleNamespace(answered=None, failed=None)})  # type: ignore[dict-item]
        told = guard.rehearse(
            lambda: [
                *(DueEvaluation(id, 2000, 0.0, of_time) for id in (1, 2, 3)),
                *(DueEvaluation(id, 2000, 0.0, slow) for id in (7, 8)),
                DueEvaluation(9, 2000, 0.0, lambda: None),
                DueEvaluation(7, 3000, 0.0, slow),
            ]
        )
        assert [one.member for one in told] == [1, 2, 3, 8], "in the order in which they are found"
        return [QueryFailure(id, 2000, notes.verdict(id, 3000) or "") for id in (1, 2, 3, 7, 8, 9)]

    status, told = in_a_worker(work)
    assert status == 0 and told is not None
    reasons = {one.query: one.reason for one in told}
    assert all(reasons[id].startswith(TIME) for id in (1, 2)) and reasons[7] == reasons[9] == ""
    ended = "its answer takes longer than 0.1 s of processor time, and the server had just ended"
    assert all(reasons[id].startswith(f"{ended} {number} others") for id, number in ((3, 2), (8, 3)))


CLOCK = "its answer takes longer than 2 s on the clock, 10 times the processor time that it may have"
BROKEN = "it has ended the process that worked on it (SIGSEGV): ask for less, or nest it less"


@pytest.mark.parametrize(
    "number, reason",
    [(signal.SIGPROF, TIME), (signal.SIGALRM, CLOCK), (signal.SIGABRT, MEMORY), (signal.SIGSEGV, BROKEN)],
)
def test_how_the_child_of_a_rehearsal_ends_says_why_a_query_fails(
    number: signal.Signals, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "ledger.json").write_text(json.dumps(asdict(Ledger(deaths=[time.time() - 2, time.time() - 1]))))

    def work() -> list[Message]:
        notes = Notes(tmp_path)
        guard = KernelGuard(notes, HASTY)
        guard.open({})
        told = guard.rehearse(
            lambda: [
                DueEvaluation(id, 1000, 0.0, lambda id=id: os.kill(os.getpid(), number) if id == 3 else None)
                for id in (1, 2, 3, 4)
            ]
        )
        assert [one.member for one in told] == [3]
        return [QueryFailure(id, 1000, notes.verdict(id, 1000) or "") for id in (1, 2, 3, 4)]

    status, told = in_a_worker(work)
    assert status == 0 and told is not None
    assert [one.reason[: len(reason)] for one in told] == ["", "", reason, ""]


def test_who_was_only_there_when_a_worker_was_killed_is_innocent(tmp_path: Path) -> None:
    log = log_of({})
    notes = Notes(tmp_path)
    notes.begin(of(log, "h0"), 2000)  # as it stands when somebody kills the worker
    deaths, told = tried(log, tmp_path)
    assert deaths == [] and shown(told, of(log, "h0")) == [(1000, 0), (2000, 1), (3000, 1)]
    notes.read()
    assert not notes.suspected(of(log, "h0")) and notes.deaths == 1


def test_a_verdict_is_told_again_without_a_trial(tmp_path: Path) -> None:
    """The batch may fail for another reason after that. It is told before the others have answered."""
    log = log_of({"poison": SPACIOUS})
    _, told = tried(log, tmp_path)
    deaths, again = tried(log, tmp_path)
    assert deaths == [] and sorted(again) == sorted(told)
    failed = next(place for place, one in enumerate(again) if isinstance(one, QueryFailure))
    assert again[failed].instant == 2000 and all(one.instant < 2000 for one in again[:failed])
    assert any(one.instant == 2000 for one in again[failed + 1 :])


def test_a_verdict_goes_with_its_member(tmp_path: Path) -> None:
    log = log_of({"poison": SPACIOUS})
    tried(log, tmp_path)
    notes = Notes(tmp_path)
    notes.read()
    assert notes.verdict(of(log, "poison"), 2000) is not None
    assert notes.verdict(of(log, "poison"), 1000) is None  # what it has said before, it says again
    notes.forget([of(log, "poison")])
    again = Notes(tmp_path)
    again.read()
    assert again.verdict(of(log, "poison"), 2000) is None


def test_a_damaged_ledger_costs_a_worker_and_no_more(tmp_path: Path) -> None:
    log = log_of({"poison": SPACIOUS})
    (tmp_path / "ledger.json").write_text('{"deaths": [1')
    deaths, told = tried(log, tmp_path)
    assert len(deaths) == 1 and len(shown(told, of(log, "poison"))) == 2


def test_deaths_of_long_ago_make_nobody_wary(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_text(json.dumps({"deaths": [0.0, 1.0], "suspects": {}, "verdicts": {}}))
    notes = Notes(tmp_path)
    notes.read()
    assert notes.deaths == 0
    notes.begin(17, READING)
    notes.read()
    assert notes.deaths == 1 and notes.suspected(17)
    assert Ledger(**json.loads((tmp_path / "ledger.json").read_text())).suspects == {"17": READING}


def test_the_limit_is_gone_after_an_evaluation(tmp_path: Path) -> None:
    def work() -> list[Message]:
        guard = KernelGuard(Notes(tmp_path), LIMITS)
        small = guard.evaluated(1, 1, 0.0, lambda: len(bytes(16 << 20)))
        guard.rest()
        large = bytes(LIMITS.bytes + 2 * SPARE)  # the engine's own
        return [QueryFailure(small, len(large), "")]

    status, told = in_a_worker(work)
    assert (status, told) == (0, [QueryFailure(16 << 20, LIMITS.bytes + 2 * SPARE, "")])


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_no_timer_is_left_where_the_answers_are_not_taken_to_their_end(taken: int, tmp_path: Path) -> None:
    """Whoever writes them has failed: what is done then is the engine's."""
    log = log_of({})

    def armed() -> tuple[bool, ...]:
        timers = (signal.getitimer(signal.ITIMER_PROF), signal.getitimer(signal.ITIMER_REAL))
        lowered = resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY
        return *(left > 0 for left, _ in timers), lowered

    def work() -> list[Message]:
        rows = routed(log)
        group = Group(rows[0].group)
        group.guard(KernelGuard(Notes(tmp_path), LIMITS))
        told = group.feed(rows)
        for _ in range(taken):
            next(told)
        before = armed()
        told.close()
        return [QueryFailure(0, 0, f"{before} {armed()}")]

    status, told = in_a_worker(work)
    assert (status, told) == (0, [QueryFailure(0, 0, "(True, True, True) (False, False, False)")])


def evaluated_by_workers(notes: Path, work: Callable[[], int]) -> tuple[list[int], str]:
    """How the workers ended that evaluated member 7 at instant 1, until one of them got through; and what that said."""

    def batch() -> list[Message]:
        guard = KernelGuard(Notes(notes), HASTY)
        guard.open({})
        try:
            return [QueryFailure(7, guard.evaluated(7, 1, 0.0, work), "")]
        except TooMuch as error:
            return [QueryFailure(7, 0, str(error))]

    deaths: list[int] = []
    while len(deaths) < 2 * TRIES:
        status, told = in_a_worker(batch)
        if told is not None:
            return deaths, told[0].reason or str(told[0].instant)
        deaths.append(status)
    raise AssertionError(f"no worker gets through: {deaths}")


def of_memory() -> int:
    raise MemoryError


def of_rust() -> int:
    os.kill(os.getpid(), signal.SIGABRT)
    raise AssertionError


def of_time() -> int:
    while True:
        pass


@pytest.mark.parametrize(
    "end, reason, death",
    [(of_memory, MEMORY, 1), (of_rust, MEMORY, -signal.SIGABRT), (of_time, TIME, -signal.SIGPROF)],
    ids=["memory", "Rust's memory", "time"],
)
def test_who_comes_through_apart_and_ends_the_worker_again_fails(
    end: Callable[[], int], reason: str, death: int, tmp_path: Path
) -> None:
    deaths, said = evaluated_by_workers(tmp_path, lambda: 1 if forked.confined else end())
    # Time is spent on nobody else, and memory may be.
    assert deaths == [death] * (1 if end is of_time else 2) and said.startswith(reason)


def test_who_is_killed_from_outside_again_and_again_is_innocent(tmp_path: Path) -> None:
    notes = Notes(tmp_path)

    def work() -> int:
        if not forked.confined and len(list(tmp_path.glob("killed*"))) < 5:
            (tmp_path / f"killed{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 1

    assert evaluated_by_workers(tmp_path, work) == ([-signal.SIGKILL] * 5, "1")
    notes.read()
    assert notes.deaths == 5 and not notes.suspected(7) and not notes.guilty()


def test_an_end_of_a_worker_s_own_counts_at_that_instant_alone(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    relapses = []
    for instant in (1, 2, 2, 3):
        notes.begin(7, instant)
        notes.ends_of_memory()
        notes.read()
        relapses.append([(member, ends.instant) for member, ends in notes.guilty()])
    notes.begin(7, 3)
    notes.read()  # somebody has killed this one
    assert relapses == [[], [], [(7, 2)], []] and not notes.guilty()


def of_new_memory(size: int) -> int:
    """Memory that the process has from the system: what it had before, and has free, is no growth."""
    try:
        with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            return len(memory)
    except OSError as error:
        raise MemoryError from error


def test_a_child_has_less_room_than_the_worker(tmp_path: Path) -> None:
    """Who needs what is between the two fails apart, and does not end a second worker."""
    between = LIMITS.bytes + SPARE - trials.MARGIN // 2
    (tmp_path / "ledger.json").write_text(json.dumps(asdict(Ledger(suspects={"7": 1}))))
    deaths, said = evaluated_by_workers(tmp_path, lambda: of_new_memory(between))
    assert deaths == [] and said.startswith(MEMORY)
    innocent = LIMITS.bytes + SPARE - 2 * trials.MARGIN
    notes = Notes(tmp_path)
    notes.read()
    notes.forget([7])
    assert evaluated_by_workers(tmp_path, lambda: of_new_memory(innocent)) == ([], str(innocent))


def test_what_follows_from_too_much_apart_is_too_much_here(tmp_path: Path) -> None:
    """So close to the limit of memory it may come to another one first."""

    def work() -> int:
        if forked.confined:
            raise TooMuchDerived("the rule multiplies")
        raise MemoryError

    assert evaluated_by_workers(tmp_path, work) == ([1], "the rule multiplies")


def test_an_error_that_comes_of_one_of_memory_ends_the_worker(tmp_path: Path) -> None:
    def work() -> list[Message]:
        try:
            bytes(LIMITS.bytes + 2 * SPARE)
        except MemoryError as error:
            raise ValueError("something else") from error
        return []

    status, told = in_a_worker(lambda: KernelGuard(Notes(tmp_path), LIMITS).evaluated(7, 1, 0.0, work))
    assert (status, told) == (1, None)
    notes = Notes(tmp_path)
    notes.read()
    assert notes.suspected(7)
