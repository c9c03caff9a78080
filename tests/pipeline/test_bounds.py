from __future__ import annotations

import json

import pytest

from csparql_spark.pipeline import member as members
from csparql_spark.pipeline import views
from csparql_spark.pipeline.group import FAILURE, Told
from csparql_spark.store import Entry

from .logs import by_hand
from .asked import Asked
from .running import DictState, Worker, in_one_go, routed_between, said

TODAY = 1_700_000_000_000
SIX_YEARS = 200_000_000_000
ALL = (("?s", "<urn:p>", "?o"),)


def asked(range: int, step: int, stream: str = "urn:e") -> Asked:
    return Asked.over(stream, range, step, ("s",), ALL)


def pushed(at: int, **stamped: int) -> tuple:
    """A chunk for the stream on the event clock (delay 0): subjects and their stamps."""
    return at, "chunk", "urn:e", [((f"<urn:{s}>", "<urn:p>", "<urn:o>"), t) for s, t in stamped.items()]


def shown(told: list[Told]) -> dict[int, dict[int, str]]:
    """What each query that has not failed says at its instants: the subjects, one after the other."""
    return {query: {one.instant: "".join(row["s"][5:-1] for row in one.rows) for _, one in of if one.rows is not None}
            for query, of in said(told).items()}


def a_wrong_clock() -> list[Entry]:
    """A producer without the time says 1970, and then it has it. Query 4 answers each second, 5 each six years."""
    return by_hand((0, "register", "q", asked(1000, 1000)), (0, "register", "r", asked(SIX_YEARS, SIX_YEARS)),
                   pushed(1, a=1, b=TODAY), pushed(2, c=TODAY + 1), pushed(3, d=TODAY + SIX_YEARS))


SENTENCE = ("the clock has moved from 1000 to 1699999999999 at once, which is 1,699,999,999 instants of this query, "
            "and at most 10 are answered at once: delete the query and register it again (over a new stream, if a "
            "wrong timestamp was the reason)")


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_clock_that_jumps_too_far_fails_the_query_and_nobody_else(monkeypatch: pytest.MonkeyPatch, warm: bool,
                                                                    size: int) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = a_wrong_clock()
    state, worker, told = DictState(), Worker(), []
    rows = routed_between(log, 3, len(log))
    for start in range(0, len(rows), size):
        told += (worker if warm else Worker()).work("g", rows[start:start + size], state)
    assert [one for one in told if one.query == 4] == [Told(4, 1000, FAILURE, 0, SENTENCE.encode())]
    assert json.loads(state.kept)["members"]["4"]["failed"] == SENTENCE
    empty = {SIX_YEARS * i: "" for i in range(2, 9)}
    assert shown(told)[5] == {SIX_YEARS: "a"} | empty | {SIX_YEARS * 9: "bc"}


def test_what_only_the_failed_query_could_see_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = by_hand((0, "register", "q", asked(SIX_YEARS, 1000)), (0, "register", "r", asked(SIX_YEARS, SIX_YEARS)),
                  pushed(1, a=1, b=TODAY))
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
    assert [(one.instant, one.part) for one in told] == (
        [(1000, FAILURE)] if fails else [(t, 0) for t in range(1000, 11_000, 1000)])


def test_it_is_the_jump_that_counts_and_not_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = by_hand((0, "register", "q", asked(1000, 1000)), *(pushed(i, a=10_000 * i + 1) for i in range(6)))
    (told,) = in_one_go(log).values()
    assert [one.part for one in told] == [0] * 50


def test_a_tick_that_jumps_is_told_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST_INSTANTS", 10)
    log = by_hand((0, "register", "q", asked(1000, 1000, "urn:a")), (11_000, "tick", None))
    (told,) = in_one_go(log).values()
    assert told == [Told(4, 1000, FAILURE, 0, (
        b"the clock has moved from 1000 to 11000 at once, which is 11 instants of this query, and at most 10 are "
        b"answered at once: delete the query and register it again (over a new stream, if a wrong timestamp was the "
        b"reason)"))]


def test_a_bomb_fails_by_name_beside_a_healthy_query() -> None:
    """Patterns that have nothing in common: 5,000 × 5,000 solutions to count."""
    bomb = {"text": "REGISTER QUERY bomb AS SELECT (COUNT(*) AS ?n) FROM STREAM <urn:a> [RANGE 1s STEP 1s] "
                    "WHERE { ?a ?b ?c . ?d ?e ?f }", "base": None}
    log = by_hand((0, "register", "q", Asked.over("urn:a", 1000, 1000, ("s",), (("?s", "<urn:p>", '"7"'),))),
                  (0, "register", "bomb", Asked.over("urn:a", 1000, 1000, ("s",), (("?s", "<urn:p>", "?o"),))),
                  (500, "chunk", "urn:a", [((f"<urn:{i}>", "<urn:p>", f'"{i}"'), None) for i in range(5000)]),
                  (1000, "tick", None))
    log[4] = Entry(5, "register", 0, "bomb", payload=json.dumps(bomb).encode())
    told = {one.query: one for said in in_one_go(log).values() for one in said}
    assert told[5].part == FAILURE and b"together 25,000,000 solutions: 4,000,000 are gone through" in told[5].payload
    assert (told[4].part, told[4].rows) == (0, 1)


@pytest.mark.parametrize("bound, value, reason", [
    ("MOST_SEEN", 1, b"its windows hold 2 elements, and 1 are looked at, at most"),
    ("MOST_SECONDS", -1.0, b"its answer took 0 s, and -1 s are the limit")])
def test_what_a_query_may_have(monkeypatch: pytest.MonkeyPatch, bound: str, value: float, reason: bytes) -> None:
    monkeypatch.setattr(views, bound, value)
    log = by_hand((0, "register", "q", Asked.over("urn:a", 1000, 1000, ("s",), (("?s", "<urn:p>", "?o"),))),
                  (500, "chunk", "urn:a", [((f"<urn:{i}>", "<urn:p>", '"1"'), None) for i in range(2)]), (1000, "tick", None))
    (told,) = [one for said in in_one_go(log).values() for one in said]
    assert told.part == FAILURE and reason in told.payload
