from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from csparql_spark import processor_time
from csparql_spark.answers import confinement, forked
from csparql_spark.answers import limits as limiting
from csparql_spark.answers.limits import Limits
from csparql_spark.engine import member as members
from csparql_spark.engine import view_answer
from csparql_spark.engine.group import Group
from csparql_spark.engine.member import Member
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.engine.view_answer import MemberReply
from csparql_spark.engine.views import Views
from csparql_spark.log import Entry
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand
from tests.engine.running import DictState, Worker, in_one_go, routed, routed_between, said

TODAY = 1_700_000_000_000
SIX_YEARS = 200_000_000_000
ALL = (("?s", "<urn:p>", "?o"),)


def asked(range: int, step: int, stream: str = "urn:e") -> Asked:
    return Asked.over(stream, range, step, ("s",), ALL)


def pushed(at: int, **stamped: int) -> tuple:
    """A chunk for the stream on the event clock (delay 0): subjects and their stamps."""
    return at, "chunk", "urn:e", [((f"<urn:{s}>", "<urn:p>", "<urn:o>"), t) for s, t in stamped.items()]


def relayed(at: int, instant: int) -> tuple:
    """What a query has said at an instant, in the stream that it makes."""
    return at, "chunk", "urn:d", [(("<urn:s>", "<urn:p>", "<urn:o>"), instant)]


def shown(told: list[Message]) -> dict[int, dict[int, str]]:
    """What each query that has not failed says at its instants: the subjects, one after the other."""
    return {
        query: {one.instant: "".join(row["s"][5:-1] for row in one.rows) for _, one in of if one.rows is not None}
        for query, of in said(told).items()
    }


def a_wrong_clock() -> list[Entry]:
    """A producer without the time says 1970, and then it has it. Query 4 answers each second, 5 each six years."""
    return by_hand(
        (0, "register", "q", asked(1000, 1000)),
        (0, "register", "r", asked(SIX_YEARS, SIX_YEARS)),
        pushed(1, a=1, b=TODAY),
        pushed(2, c=TODAY + 1),
        pushed(3, d=TODAY + SIX_YEARS),
    )


SENTENCE = (
    "the clock has moved from 1000 to 1699999999999 at once, which is 1,699,999,999 instants of this query, "
    "and at most 10 are answered at once: delete the query and register it again (over a new stream, if a "
    "wrong timestamp was the reason)"
)


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_clock_that_jumps_too_far_fails_the_query_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch, warm: bool, size: int
) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = a_wrong_clock()
    state, worker, told = DictState(), Worker(), []
    rows = routed_between(log, 3, len(log))
    for start in range(0, len(rows), size):
        told += (worker if warm else Worker()).work("g", rows[start : start + size], state)
    assert [one for one in told if one.query == 4] == [QueryFailure(4, 1000, SENTENCE)]
    assert json.loads(state.kept)["members"]["4"]["failed"] == SENTENCE
    empty = {SIX_YEARS * i: "" for i in range(2, 9)}
    assert shown(told)[5] == {SIX_YEARS: "a"} | empty | {SIX_YEARS * 9: "bc"}


def test_what_only_the_failed_query_could_see_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = by_hand(
        (0, "register", "q", asked(SIX_YEARS, 1000)),
        (0, "register", "r", asked(SIX_YEARS, SIX_YEARS)),
        pushed(1, a=1, b=TODAY),
    )
    state, worker = DictState(), Worker()
    worker.work("g", routed_between(log, 3, len(log)), state)
    (group,) = worker.remembered.values()
    # The failed one is still at 1000, and would hold all since 1970.
    assert group.horizons() == {0: SIX_YEARS * 9 - SIX_YEARS}


@pytest.mark.parametrize("jump, fails", [(10_000, False), (11_000, True)])
def test_as_many_instants_as_may_be_are_answered(monkeypatch: pytest.MonkeyPatch, jump: int, fails: bool) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = by_hand((0, "register", "q", asked(1000, 1000)), pushed(1, a=1, b=jump + 1))
    (told,) = in_one_go(log).values()
    assert [(one.instant, type(one)) for one in told] == (
        [(1000, QueryFailure)] if fails else [(t, InstantAnswer) for t in range(1000, 11_000, 1000)]
    )


def test_it_is_the_jump_that_counts_and_not_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = by_hand((0, "register", "q", asked(1000, 1000)), *(pushed(i, a=10_000 * i + 1) for i in range(6)))
    (told,) = in_one_go(log).values()
    assert [one.part for one in told] == [0] * 50


def test_a_tick_that_jumps_is_told_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = by_hand((0, "register", "q", asked(1000, 1000, "urn:a")), (11_000, "tick", None))
    (told,) = in_one_go(log).values()
    assert told == [
        QueryFailure(
            4,
            1000,
            (
                "the clock has moved from 1000 to 11000 at once, which is 11 instants of this query, and at most 10 are "
                "answered at once: delete the query and register it again (over a new stream, if a wrong timestamp was the "
                "reason)"
            ),
        )
    ]


@pytest.mark.parametrize(
    "limits, reason",
    [
        (Limits(bytes=79), "the 2 elements in its windows need 80 bytes, and a query may have 79 bytes: choose a"),
        (Limits(bytes=85), "the 2 elements in its windows and what follows from them need "),
        (
            Limits(rows=1),
            "the answer has more than 1 rows, which is the limit for one instant: add a LIMIT or a FILTER",
        ),
        (
            Limits(milliseconds=0),
            "its answer takes longer than 0 s of processor time, which is the limit, since the others wait for it",
        ),
    ],
)
def test_what_a_query_may_have(limits: Limits, reason: str) -> None:
    log = by_hand(
        (0, "register", "q", Asked.over("urn:a", 1000, 1000, ("s",), (("?s", "<urn:p>", "?o"),))),
        (500, "chunk", "urn:a", [((f"<urn:{i}>", "<urn:p>", '"1"'), None) for i in range(2)]),
        (1000, "tick", None),
    )
    (told,) = fed(log, limits)
    assert isinstance(told, QueryFailure) and reason in told.reason


HEALTHY = Asked.over("urn:a", 1000, 1000, ("s",), (("?s", "<urn:p>", '"7"'),))
SLOW = "its answer takes longer than 0.3 s of processor time, which is the limit, since the others wait for it: conn"
SURE = "parts of its pattern have nothing in common, and together 215,892,017,999 solutions"


@pytest.mark.parametrize(
    "select, where, reason",
    [
        ("(COUNT(*) AS ?n)", "?a ?b ?c . ?d ?e ?f", SLOW),
        ("(COUNT(*) AS ?n)", "{ ?a ?b ?c } { ?d ?e ?f }", SLOW),
        ("(COUNT(*) AS ?n)", "?a ?b ?c . ?d ?e ?f . ?g ?h ?i", SURE),
        ("(COUNT(*) AS ?n)", "?a ?b ?c OPTIONAL { ?d ?e ?f }", SLOW),
        ("(COUNT(*) AS ?n)", "{ SELECT ?a { ?a ?b ?c } } { SELECT ?d { ?d ?b ?c } }", SLOW),
        (
            "(COUNT(*) AS ?n)",
            "?a ?b ?c FILTER(NOT EXISTS { ?d ?e ?f FILTER(STRLEN(STR(?f)) > STRLEN(STR(?c)) + 9) })",
            SLOW,
        ),
        ("(COUNT(*) AS ?n)", "?a (<urn:near>|<urn:far>)* ?d", SLOW),
        ("?a ?d", "?a ?b ?c . ?d ?e ?f FILTER(STRLEN(STR(?c)) > STRLEN(STR(?f)) + 9)", SLOW),
        ("(COUNT(DISTINCT ?x) AS ?n)", "{ ?a ?b ?c } { ?d ?e ?f } BIND(CONCAT(STR(?a), STR(?d)) AS ?x)", SLOW),
    ],
)
def test_a_bomb_fails_by_name_beside_a_healthy_query(
    select: str, where: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is disguised, and whichever evaluator it is for: it costs the others no more than its time."""
    for module in (limiting, forked, confinement):  # what else the machine does ends nobody here
        monkeypatch.setattr(module, "PATIENCE", 1000)
    text = f"REGISTER QUERY bomb AS SELECT {select} FROM STREAM <urn:a> [RANGE 1s STEP 1s] WHERE {{ {where} }}"
    pushed = [((f"<urn:{i}>", "<urn:p>", f'"{i}"'), None) for i in range(1, 4000)]
    pushed += [((f"<urn:{i}>", "<urn:near>", f"<urn:{i + 1}>"), None) for i in range(2000)]
    log = by_hand(
        (0, "register", "q", HEALTHY),
        (0, "register", "bomb", HEALTHY),
        (500, "chunk", "urn:a", pushed),
        (1000, "tick", None),
        (1500, "chunk", "urn:a", pushed[:9]),
        (2000, "tick", None),
        (3000, "tick", None),
    )
    place = next(i for i, entry in enumerate(log) if entry.subject == "bomb")
    log[place] = Entry(log[place].seq, "register", 0, "bomb", payload=json.dumps({"text": text, "base": None}).encode())
    told = within(600, lambda: fed(log, Limits(milliseconds=300)))
    (failed,) = [one for one in told if one.query == log[place].seq]
    assert isinstance(failed, QueryFailure) and reason in failed.reason, failed
    assert [(one.instant, one.part, one.rows) for one in told if one is not failed] == [
        (1000, 0, 1),
        (2000, 0, 1),
        (3000, 0, 0),
    ]


def test_who_is_in_time_and_keeps_the_others_waiting_for_ever_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer seems to take three seconds. That is nothing for who is asked every four."""
    monkeypatch.setattr(view_answer, "Deadline", lambda limits: SimpleNamespace(soon=False, took=3.0, check=bool))
    log = by_hand(
        (0, "register", "slow", Asked.over("urn:a", 1000, 1000, ("s",), ALL)),
        (0, "register", "healthy", Asked.over("urn:a", 4000, 4000, ("s",), ALL)),
        *[(at, "chunk", "urn:a", [((f"<urn:{at}>", "<urn:p>", '"1"'), None)]) for at in range(500, 9000, 500)],
        (9000, "tick", None),
    )
    told = fed(log, Limits(milliseconds=5_000))
    assert [(one.query, one.instant, type(one)) for one in told] == [
        (4, 1000, InstantAnswer),
        (4, 2000, InstantAnswer),
        (4, 3000, InstantAnswer),
        (5, 4000, InstantAnswer),
        (4, 4000, QueryFailure),
        (5, 8000, InstantAnswer),
    ]
    assert told[4].reason.startswith(
        "its answers take longer than the time between them, and keep the others "
        "waiting for 6 s by now, where 5 s is the limit: "
    )
    in_time = list(Group("key").feed(routed(log)))  # nobody has set a limit: it is a recording
    assert [one.part for one in in_time] == [0] * 11


def fed(log: list[Entry], limits: Limits) -> list[Message]:
    """What the only group says whose queries have these limits."""
    group = Group("key")
    group.limit(limits)
    return list(group.feed(routed(log)))


def within(seconds: float, work: Callable[[], list[Message]]) -> list[Message]:
    """What work returns that must end by itself in time; if it does not, it is left behind, and the test fails."""
    found: list[list[Message]] = []
    worker = threading.Thread(target=lambda: found.append(work()), daemon=True)
    worker.start()
    worker.join(seconds)
    assert found, "it has not ended"
    return found[0]


def behind(log: list[Entry], monkeypatch: pytest.MonkeyPatch, seconds: float, limits: Limits | None) -> list[Message]:
    """What is said where each answer takes so long, on the clock and of the processor."""
    clock, say = 0.0, Views.say

    def slow(self: Views, member: Member, instant: int, seq: int) -> MemberReply:
        nonlocal clock
        clock += seconds
        return say(self, member, instant, seq)

    monkeypatch.setattr(Views, "say", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: clock)
    for name in ("now", "lately"):
        monkeypatch.setattr(processor_time, name, lambda: processor_time.Time(clock, clock))
    rows = routed(log)
    group = Group(rows[0].group)
    if limits is not None:
        group.limit(limits)
    return list(group.feed(rows))


TURNS = Asked((Seen("urn:a", 5, 1, "TRIPLES"),), ("s",), ALL)


def turns(at: int, count: int) -> tuple:
    return at, "chunk", "urn:a", [((f"<urn:{at}:{i}>", "<urn:p>", "<urn:o>"), None) for i in range(count)]


def test_many_turns_at_once_fail_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    log = by_hand((0, "register", "q", TURNS), turns(1000, 600))
    *told, failure = behind(log, monkeypatch, 0.0051, Limits(milliseconds=1_000))
    # The first two are not looked at; then each takes 5.1 ms, and 1 s is the limit: they have all come at 1000.
    assert [one.instant for one in told] == list(range(1000, 1199))
    assert isinstance(failure, QueryFailure) and failure.instant == 1199
    assert failure.reason.startswith("its answers take longer than the time between them, and keep the others waiting")


def test_turns_that_come_faster_than_they_are_answered_fail_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each push makes one turn, a second after the one before, and the others wait for each a second and a half."""
    log = by_hand((0, "register", "q", TURNS), *(turns(1000 * second, 1) for second in range(1, 101)))
    *told, failure = behind(log, monkeypatch, 1.5, Limits(milliseconds=5_000))
    # The first two are not looked at; then each takes half a second too much, and 5 s is the limit.
    assert [one.instant for one in told] == [1000 * second for second in range(1, 14)]
    assert isinstance(failure, QueryFailure) and failure.instant == 14_000
    assert failure.reason.startswith("its answers take longer than the time between them, and keep the others waiting")


def test_pushes_that_come_faster_than_they_are_answered_fail_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stamps of the producer: ten minutes between two pushes, which come a tenth of a second apart.

    arrivals  0.1 s  0.2 s  0.3 s  ...
    stamps    10'    20'    30'    ...      one instant each; its answer takes 1.1 s
    """
    log = by_hand(
        (0, "register", "q", asked(600_000, 600_000)), *(pushed(100 * push, s=600_000 * push) for push in range(1, 101))
    )
    *told, failure = behind(log, monkeypatch, 1.1, Limits(milliseconds=1_000))
    # Before the first there is none; then each takes a second more than there is, and ten limits are too much.
    assert [one.instant for one in told] == [600_000 * push for push in range(1, 13)]
    assert isinstance(failure, QueryFailure) and failure.instant == 13 * 600_000
    assert failure.reason.startswith(
        "its answers take longer than the time between the pushes that make them due, and keep the others waiting for "
        "11 s by now, where 10 s is the limit: push more slowly, "
    )


def test_what_nobody_has_pushed_is_not_counted_by_pushes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query before it has long nothing to say to a derived stream: ticks tell that, which say not when they came."""
    log = by_hand(
        (0, "register", "q", asked(1000, 1000)),
        pushed(100, s=1000),
        *((1000 * second, "tick", "urn:e") for second in range(2, 201)),
        pushed(200_000, s=201_000),
    )
    told = behind(log, monkeypatch, 0.9, Limits(milliseconds=1_000))
    assert [one.instant for one in told if isinstance(one, InstantAnswer)] == list(range(1000, 201_000, 1000))


def test_derived_streams_that_catch_up_are_counted_by_their_instants(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine was down: the query before it says within a second what it would have said in minutes."""
    log = by_hand(
        (0, "stream", "urn:d", ("derived", 0)),
        (0, "register", "q", asked(1000, 1000, "urn:d")),
        *(relayed(900_000 + second, 1000 * second) for second in range(1, 101)),
    )
    told = behind(log, monkeypatch, 0.9, Limits(milliseconds=1_000))
    assert [one.instant for one in told if isinstance(one, InstantAnswer)] == list(range(1000, 101_000, 1000))
    *told, failure = behind(log, monkeypatch, 1.5, Limits(milliseconds=1_000))
    # But who takes longer than the time between them never catches up.
    assert isinstance(failure, QueryFailure) and failure.reason.startswith("its answers take longer than the time betw")
    assert len(told) == 22  # before the first there is none; then each takes half a second more than there is


def test_after_a_silence_there_is_the_time_that_it_has_lasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sensor says nothing for ten minutes: its next push makes all the instants due that have passed meanwhile."""
    log = by_hand(
        (0, "register", "q", asked(1000, 1000)),
        pushed(1_000, s=1_000),
        pushed(601_000, s=601_000),
        pushed(602_000, s=602_000),
    )
    told = behind(log, monkeypatch, 0.9, Limits(milliseconds=1_000))
    assert [one.instant for one in told if isinstance(one, InstantAnswer)] == list(range(1000, 602_000, 1000))


def test_stamps_that_are_ahead_are_as_far_apart_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording whose stamps are of another zone, or of a simulation."""
    log = by_hand((0, "register", "q", asked(1000, 1000)), pushed(500, s=1000, r=901_000))
    told = behind(log, monkeypatch, 0.005, Limits(milliseconds=1_000))
    assert [one.instant for one in told if isinstance(one, InstantAnswer)] == list(range(1000, 901_000, 1000))


@pytest.mark.parametrize(
    "log",
    [
        by_hand((0, "register", "q", TURNS), *(turns(1000 * second, 10) for second in range(1, 101))),
        by_hand((0, "register", "q", asked(3000, 1000, "urn:a")), turns(500, 3), (900_000, "tick", None)),
    ],
    ids=["turns", "hours"],
)
def test_who_catches_up_does_not_fail(log: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    told = behind(log, monkeypatch, 0.005, Limits(milliseconds=200))  # all together take far more than that
    assert told == behind(log, monkeypatch, 0.0, None) and len(told) >= 900


def test_in_a_recording_nobody_waits_for_many_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    log = by_hand((0, "register", "q", TURNS), turns(1000, 600))
    assert len(behind(log, monkeypatch, 0.005, None)) == 600
