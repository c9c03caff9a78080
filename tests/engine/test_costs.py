"""What answers cost: it is told beside them, once, and changes none of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from csparql_spark.engine import costs
from csparql_spark.engine.group import Group
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand
from tests.engine.running import matched_anew, routed

P = (("?s", "<urn:p>", "?o"),)


def asked(stream: str = "urn:a", patterns: tuple = P) -> Asked:
    return Asked.over(stream, 2000, 1000, ("s",), patterns)


def chunk(at: int, *subjects: str, stream: str = "urn:a", stamp: int | None = None) -> tuple:
    return at, "chunk", stream, [((f"<urn:{s}>", "<urn:p>", "<urn:o>"), stamp) for s in subjects]


def tick(at: int, stream: str | None = None) -> tuple:
    return at, "tick", stream


def fed(group: Group, *lines: tuple) -> list[dict]:
    """Feed a log; what it has cost."""
    for row in routed(by_hand(*lines)):
        list(group.feed([row]))
    return measured(group)


def measured(group: Group) -> list[dict]:
    costs = group.costs()
    return [] if costs is None else json.loads(costs.payload)


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Each evaluation takes 50 µs. Plans are told when this clock says so."""
    took, now = iter(range(0, 10**12, 50_000)), [1000.0]
    monkeypatch.setattr("csparql_spark.engine.due_answers.time.perf_counter_ns", lambda: next(took))
    monkeypatch.setattr(costs.time, "monotonic", lambda: now[0])
    yield now


def told(one: dict, *names: str) -> tuple:
    return tuple(one[name] for name in names)


def test_what_was_answered_is_told_once() -> None:
    group = Group("g")
    (one,) = fed(group, (0, "register", "q", asked()), chunk(500, "a", "b"), tick(1000), chunk(1500, "c"), tick(2000))
    assert told(one, "query", "instant", "instants", "rows", "last_rows") == (4, 2000, 2, 5, 3)
    assert told(one, "elements", "late") == (3, 0)
    assert one["due"] == [1000, 2000]
    assert one["micros"] > one["last_micros"] >= 50 and one["state"] > 3 * 40
    assert measured(group) == []


def test_nobody_has_answered() -> None:
    assert fed(Group("g"), (0, "register", "q", asked()), chunk(500, "a")) == []


def test_a_query_that_fails_or_is_deleted_costs_nothing_more() -> None:
    group = Group("g")
    rows = routed(by_hand((0, "register", "q", asked()), chunk(500, "a"), tick(1000), (1100, "unregister", "q", None)))
    for row in rows:
        list(group.feed([row]))
    (one,) = measured(group)
    assert told(one, "query", "instants", "elements", "state") == (4, 1, 0, 0)


def test_on_the_event_clock_an_instant_is_due_when_that_came_which_moved_the_clock() -> None:
    lines = [
        (0, "register", "q", asked("urn:e")),
        chunk(70, "a", stream="urn:e", stamp=500),
        chunk(80, "b", stream="urn:e", stamp=1500),
        chunk(90, "c", stream="urn:e", stamp=1400),
        chunk(95, "d", stream="urn:e", stamp=3500),
    ]
    (one,) = fed(Group("g"), *lines)
    assert told(one, "instant", "due", "late") == (3000, [80, 95, 95], 1)
    (one,) = fed(Group("g"), *lines[:2], tick(5000, "urn:e"))  # somebody says what time it is, and not when
    assert told(one, "instants", "due") == (5, [None] * 5)


def test_of_many_instants_at_once_the_latency_of_the_newest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MOST_DUE", 4)
    (one,) = fed(Group("g"), (0, "register", "q", asked()), tick(11_000))
    assert told(one, "instants", "due") == (11, [8000, 9000, 10_000, 11_000])


def test_the_plan_of_a_maintained_answer_with_what_it_gave() -> None:
    two = (("?s", "<urn:p>", "?o"), ("?o", "<urn:p>", "?x"))
    (one,) = fed(Group("g"), (0, "register", "q", asked(patterns=two)), chunk(500, "a", "o"), tick(1000))
    scan = one["nodes"]
    while "parts" in scan:
        assert scan["rows"] == 2 and scan["micros"] >= 50
        (scan,) = scan["parts"]
    first, second = map(" ".join, two)
    assert told(scan, "node", "rows", "kept", "join_order") == (
        "scan",
        2,
        2,
        [["?0 <urn:p> ?1", "?1 <urn:p> ?2"], ["?1 <urn:p> ?2", "?0 <urn:p> ?1"]],
    ) or told(scan, "node", "rows", "kept", "join_order") == ("scan", 2, 2, [[first, second], [second, first]])
    assert scan["bytes"] == 2 * 16


def test_plans_are_told_now_and_then(ticking: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Few at once, and each query's in its turn."""
    monkeypatch.setattr(costs, "MOST_TREES", 2)
    group, names = Group("g"), "qrs"
    fed(group, *((0, "register", name, asked()) for name in names), tick(1000))
    ticked = routed(
        by_hand(*((0, "register", name, asked()) for name in names), *(tick(1000 * n) for n in range(1, 9)))
    )[len(names) + 1 :]
    seen = []
    for row in ticked:
        ticking[0] += 1.0
        list(group.feed([row]))
        seen.append([one["query"] for one in measured(group) if "nodes" in one])
    assert seen == [[6], [], [], [], [4, 5], [6], []]


def test_an_answer_of_the_other_evaluator_has_no_plan() -> None:
    counting = Asked((Seen("urn:a", 2, 1, "TRIPLES"),), ("s",), P)
    with matched_anew():
        (one,) = fed(Group("g"), (0, "register", "q", counting), chunk(500, "a", "b", "c"))
    assert "nodes" not in one and told(one, "instants", "elements") == (3, 2)
