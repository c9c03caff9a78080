"""Pausing: which instants are answered, what their windows hold, and what is kept meanwhile.

The laws draw pauses, too.
"""

from __future__ import annotations

import pytest

from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import Message
from csparql_spark.schedule.routing import Router
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand
from tests.engine.running import DictState, Worker, in_one_go, routed, said

P = (("?s", "<urn:p>", "?o"),)
FIRST = 4  # the place of the first entry that is written by hand


def asked(range: int = 3000, step: int = 1000, stream: str = "urn:a", **more: object) -> Asked:
    return Asked.over(stream, range, step, ("s",), P, **more)


def counting(size: int, step: int, **more: object) -> Asked:
    return Asked((Seen("urn:a", size, step, "TRIPLES"),), ("s",), P, **more)


def chunk(at: int, *subjects: str, stamp: int | None = None, stream: str = "urn:a") -> tuple:
    return at, "chunk", stream, [((f"<urn:{s}>", "<urn:p>", "<urn:o>"), stamp) for s in subjects]


def tick(at: int) -> tuple:
    return at, "tick", None


def pause(at: int, name: str = "q", id: int = FIRST) -> tuple:
    return at, "pause", name, id


def resume(at: int, name: str = "q", id: int = FIRST) -> tuple:
    return at, "resume", name, id


def told(*lines: tuple) -> dict[int, list[tuple[int, str]]]:
    """What each query says: instants, and the subjects in a row."""
    everything: list[Message] = [one for saying in in_one_go(by_hand(*lines)).values() for one in saying]
    return {
        query: [(one.instant, "".join(row["s"][5:-1] for row in one.rows)) for _, one in saying]
        for query, saying in said(everything).items()
    }


def test_what_passes_is_not_answered_and_what_arrives_is_seen() -> None:
    assert told(
        (0, "register", "q", asked()),
        (0, "register", "r", asked()),
        chunk(500, "a"),
        tick(1000),
        pause(1500),
        chunk(1600, "b"),
        tick(2000),
        chunk(2500, "c"),
        tick(3000),
        resume(3500),
        tick(4000),
        tick(5000),
    ) == {
        4: [(1000, "a"), (4000, "bc"), (5000, "c")],
        5: [(1000, "a"), (2000, "ab"), (3000, "abc"), (4000, "bc"), (5000, "c")],
    }


def test_entries_that_pause_and_resume_tell_the_time() -> None:
    """Nobody need tick for a paused query: what has passed by the clock when it is paused is answered, and what has
    when it is resumed is not, however late the next tick is. An instant that is just now has not passed."""
    assert told((0, "register", "q", asked()), chunk(500, "a"), pause(2500), resume(1_000_000), tick(1_000_500)) == {
        4: [(1000, "a"), (2000, "a"), (1_000_000, "")]
    }
    assert told((0, "register", "q", asked()), chunk(500, "a"), pause(2000), resume(5000), tick(5000)) == {
        4: [(1000, "a"), (5000, "")]
    }


def test_registered_paused() -> None:
    assert told(
        (0, "register", "q", asked(paused=True)),
        chunk(500, "a"),
        tick(2000),
        chunk(2100, "b"),
        resume(2500),
        tick(3000),
        tick(4000),
    ) == {4: [(3000, "ab"), (4000, "b")]}


def test_on_the_event_clock_stamps_tell_what_has_passed() -> None:
    assert told(
        (0, "register", "q", asked(stream="urn:e")),
        chunk(9, "a", stamp=1500, stream="urn:e"),
        chunk(9, "b", stamp=3500, stream="urn:e"),
        pause(10),
        chunk(11, "c", stamp=6500, stream="urn:e"),
        resume(12),
        chunk(13, "d", stamp=8500, stream="urn:e"),
    ) == {4: [(2000, "a"), (3000, "a"), (7000, "c"), (8000, "c")]}


@pytest.mark.parametrize(
    "output, expected", [("ISTREAM", [(1000, "a"), (4000, "bc")]), ("DSTREAM", [(1000, ""), (4000, "a")])]
)
def test_what_has_changed_has_changed_since_the_last_instant_that_was_answered(
    output: str, expected: list[tuple[int, str]]
) -> None:
    assert told(
        (0, "register", "q", asked(output=output)),
        chunk(500, "a"),
        tick(1000),
        pause(1500),
        chunk(1600, "b"),
        tick(3000),
        chunk(3100, "c"),
        resume(3500),
        tick(4000),
    ) == {4: expected}


def test_windows_that_count_go_on_counting() -> None:
    """Turns pass as instants do; the next one comes when as many have arrived as always, and shows the last ones."""
    assert told(
        (0, "register", "q", counting(3, 2)),
        chunk(500, "a", "b"),
        pause(600),
        chunk(700, "c", "d", "e"),
        resume(800),
        chunk(900, "f"),
        chunk(950, "g", "h"),
    ) == {4: [(500, "ab"), (900, "def"), (950, "fgh")]}


def test_a_turn_comes_after_what_was_passed_over() -> None:
    """Late elements turn a window, after it was paused: its instants go on, and never go back."""
    both = Asked((Seen("urn:e", 1000, 1000), Seen("urn:e", 2, 3, "TRIPLES")), ("s",), P)
    said = told(
        (0, "register", "q", both),
        chunk(9, "a", stamp=1500, stream="urn:e"),
        pause(10),
        chunk(11, "b", stamp=6500, stream="urn:e"),
        resume(12),
        chunk(13, "c", "d", stamp=3000, stream="urn:e"),
        chunk(14, "e", stamp=9500, stream="urn:e"),
    )
    assert [instant for instant, _ in said[4]] == [6001, 7000, 8000, 9000]


def test_a_pause_and_a_resume_of_another_query_of_that_name_are_nothing_to_it() -> None:
    assert told(
        (0, "register", "q", asked()),
        pause(100),
        (200, "unregister", "q", None),
        (300, "register", "q", asked()),
        chunk(500, "a"),
        tick(1000),
    ) == {7: [(1000, "a")]}


def test_a_paused_query_holds_no_more_than_its_windows() -> None:
    """What would be seen at no instant after it goes on is forgotten, and what was derived is, too."""
    lines = [
        (0, "register", "q", asked()),
        *(chunk(at, f"a{at}") for at in range(100, 9000, 100)),
        tick(9000),
        pause(9100),
        *(chunk(at, f"a{at}") for at in range(9200, 90_000, 100)),
    ]
    group = Group("g")
    for row in routed(by_hand(*lines)):
        list(group.feed([row]))
    assert len(group.content) < 200
    assert not group._views.live()


def test_a_member_comes_back_paused_from_what_is_kept_before_there_was_pausing() -> None:
    log = by_hand((0, "register", "q", asked()), chunk(500, "a"), tick(1000), tick(2000))
    rows, state = routed(log), DictState()
    Worker().work("g", rows[:2], state)
    state.kept = state.kept.replace(b'"paused": false, ', b"")
    assert b"paused" not in state.kept
    assert [one.instant for one in Worker().work("g", rows[2:], state)] == [1000, 2000]


def test_the_router_knows_who_is_paused_and_forgets_with_the_query() -> None:
    router = Router()
    log = by_hand((0, "register", "q", asked()), pause(1), resume(2), pause(3), (4, "unregister", "q", None), pause(5))
    seen = []
    for entry in log:
        rows = router.route(entry)
        seen.append((len(rows), "q" in router.queries and router.queries["q"].paused))
    assert seen[3:] == [(1, False), (1, True), (1, False), (1, True), (1, False), (0, False)]
