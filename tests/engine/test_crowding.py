"""Which query fails where there is too much in a worker: the one that most is held for, once, and nobody in its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.asking.replay import NO_FAILURES
from csparql_spark.engine import crowding
from csparql_spark.engine.group import Group
from csparql_spark.engine.guard import EvaluationGuard
from csparql_spark.engine.messages import QueryFailure
from csparql_spark.log import Entry
from csparql_spark.log.contents import QueryFailed
from csparql_spark.schedule.routing import to_fail
from tests.engine.asked import Asked
from tests.engine.logs import by_hand
from tests.engine.running import routed
from tests.engine.test_guard import HEALTHY, LIMITS, in_a_worker, of, shown, worked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how large a process is")


class CrowdedGuard(EvaluationGuard):
    """There is too much in the process at these looks, of which there is one after each answer."""

    def __init__(self, *looks: int) -> None:
        self.looks, self.look = looks, 0

    @property
    def is_full(self) -> bool:
        return True

    def crowded(self, group: str, held: Callable[[], int]) -> TooMuch | None:
        self.look += 1
        return TooMuch("most is held for it") if self.look in self.looks and held() else None


def windows(*seconds: int) -> list[Entry]:
    """Queries over the last so many seconds of a stream, with ten elements in each of three seconds."""
    pushed = [
        (
            1000 * second + 500,
            "chunk",
            "urn:a",
            [((f"<urn:{second}:{i}>", "<urn:p>", "<urn:o>"), None) for i in range(10)],
        )
        for second in range(3)
    ]
    return by_hand(
        *(
            (0, "register", f"q{place}", Asked.over("urn:a", 1000 * size, 3000, ("s",), (("?s", "<urn:p>", "?o"),)))
            for place, size in enumerate(seconds)
        ),
        *pushed,
        (3000, "tick", None),
        (6000, "tick", None),
    )


def failed(
    log: list[Entry], guard: EvaluationGuard, limits: Limits = LIMITS, failures: Mapping[int, QueryFailed] = NO_FAILURES
) -> list[tuple[str | None, int]]:
    """Who fails, and when."""
    group = Group("g")
    group.guard(guard)
    group.limit(limits)
    names = {entry.seq: entry.subject for entry in log}
    told = group.feed([to_fail(row, failures.get(row.seq)) for row in routed(log)])
    return [(names[one.query], one.instant) for one in told if isinstance(one, QueryFailure)]


def test_what_queries_have_in_common_is_divided_among_them() -> None:
    """Four look at all three seconds, one at two of them, and another at one: each time two looks are too many."""
    assert failed(windows(3, 3, 3, 3, 2, 1), CrowdedGuard(6, 7)) == [("q4", 3000), ("q5", 3000)]
    assert failed(windows(3, 2, 1), CrowdedGuard(3, 4)) == [("q0", 3000), ("q1", 3000)]


def test_who_is_known_to_fail_fails_there_and_nobody_in_its_place() -> None:
    log = windows(3, 2, 1)
    query = of(log, "q0")
    later = {query: QueryFailed(query, 6000, "as it did", answered=3000)}
    assert failed(log, CrowdedGuard(3), failures=later) == [("q0", 6000)]
    assert failed(log, CrowdedGuard(3)) == [("q0", 3000)]


def test_who_has_failed_does_not_fail_again() -> None:
    """It held most at the instant before, and needs too much at this one."""
    log = windows(3, 2, 1)
    *_, tick = log
    more = [((f"<urn:more{i}>", "<urn:p>", "<urn:o>"), None) for i in range(40)]
    *_, chunk = by_hand((3500, "chunk", "urn:a", more))
    log = [*log[:-1], replace(chunk, seq=tick.seq), replace(tick, seq=tick.seq + 1)]
    limits = Limits(rows=30)
    assert failed(log, EvaluationGuard(), limits) == [("q0", 6000)]
    assert failed(log, CrowdedGuard(4), limits) == [("q0", 6000), ("q1", 6000)]


def narrow(name: str) -> tuple:
    return 0, "register", name, Asked.over("urn:a", 10, 1000, ("s",), (("?s", "<urn:p>", "?o"),))


@pytest.mark.parametrize("most, fails", [(1, True), (1 << 40, False)])
def test_where_all_is_too_much_the_one_fails_that_most_is_held_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: int, fails: bool
) -> None:
    """And not the one that is asked last; what is held for the others is little, and they go on."""
    monkeypatch.setattr(crowding, "LEAST", 20_000)
    log = by_hand(
        narrow("first"),
        (0, "register", "large", HEALTHY),
        narrow("last"),
        (500, "chunk", "urn:a", [((f"<urn:{i}>", "<urn:p>", f'"{i}"'), None) for i in range(1000)]),
        (1000, "tick", None),
        (2000, "tick", None),
    )
    status, told = in_a_worker(lambda: worked(log, tmp_path, LIMITS, most))
    assert status == 0 and told is not None
    for name in ("first", "last"):
        assert shown(told, of(log, name)) == [(1000, 0), (2000, 0)]
    first, (instant, said) = shown(told, of(log, "large"))
    assert first == (1000, 1000)
    if fails:
        assert instant == 1000 and re.match(
            r"the queries of this server need [\d.,]+ MiB together, and may have 1 bytes \(worker-memory\): most is held "
            r"for this one, \d+ KiB; choose",
            str(said),
        )
    else:
        assert (instant, said) == (2000, 0)
