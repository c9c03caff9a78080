"""Places go round among kinds and clients, and no crowd keeps others out of the queue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.asking.guarded.lanes import Full, Lane, Turn


def entered(lane: Lane, kind: str, client: str, part: str = "") -> Turn:
    turn = lane.enter(kind, client, part)
    assert turn is not None
    return turn


def test_a_place_goes_to_the_kind_and_then_to_the_client_that_has_the_fewest() -> None:
    lane = Lane(places=3, waiting=4)
    assert [lane.enter(*one) for one in (("why", "a"), ("why", "b"), ("sparql", "a"))] == [None, None, None]
    turns = [entered(lane, *one) for one in (("why", "a"), ("sparql", "a"), ("sparql", "b"))]
    lane.leave("why", "b")  # one of each kind works, both for a
    assert [turn.told.is_set() for turn in turns] == [False, False, True]
    lane.leave("sparql", "a")
    assert [turn.told.is_set() for turn in turns] == [True, False, True]
    lane.leave("sparql", "b")
    assert [turn.told.is_set() for turn in turns] == [True, True, True]
    assert not any(turn.sent_home for turn in turns)


def test_one_place_is_shared_by_time_among_clients_and_what_they_do() -> None:
    """Clients a and b, a with two streams: a body of a takes ten seconds, those of b and of the other stream one."""
    lane = Lane(places=1, waiting=40)
    lane.enter("body", "a", "slow")
    waiting = [entered(lane, "body", *one) for one in [("a", "slow")] * 4 + [("a", "other")] * 4 + [("b", "s")] * 12]
    took, order, now = {"slow": 10.0, "other": 1.0, "s": 1.0}, [], ("a", "slow")
    while True:
        lane.leave("body", *now, took[now[1]])
        told = [turn for turn in waiting if turn.told.is_set()]
        if not told:
            break
        (turn,) = told
        waiting.remove(turn)
        now = turn.client, turn.part
        order.append(turn.part)
    # b has its ten seconds first; then they take turns, a with the stream that has had nothing yet.
    assert order == [*["s"] * 10, *["other", "s"] * 2, "other", "other", *["slow"] * 4]
    assert not lane.used, "nobody waits any more"


def test_the_last_of_a_crowd_makes_room_for_others() -> None:
    lane = Lane(places=1, waiting=3)
    lane.enter("why", "a")
    crowd = [entered(lane, "why", "a") for _ in range(3)]
    with pytest.raises(Full):
        lane.enter("why", "a")
    other = entered(lane, "why", "b")
    assert [turn.sent_home for turn in crowd] == [False, False, True] and lane.queue == [*crowd[:2], other]
    with pytest.raises(Full):  # b would have as many as a
        lane.enter("why", "b")
    third = entered(lane, "sparql", "b")  # of a kind of which nobody waits
    assert other.sent_home and lane.queue == [*crowd[:2], third]


@given(
    st.integers(1, 3),
    st.integers(1, 5),
    st.lists(st.tuples(st.booleans(), st.sampled_from("xyz"), st.sampled_from("abc"))),
)
def test_as_many_work_and_wait_as_may_and_nobody_is_forgotten(
    places: int, waiting: int, steps: list[tuple[bool, str, str]]
) -> None:
    lane, working, queue = Lane(places, waiting), [], []
    for comes, kind, client in steps:
        if comes:
            try:
                turn = lane.enter(kind, client)
            except Full:
                assert len(lane.queue) == waiting
                continue
            if turn is None:
                assert not lane.queue
                working.append((kind, client))
            else:
                queue.append(turn)
        elif working:
            lane.leave(*working.pop())
        working += [(turn.kind, turn.client) for turn in queue if turn.told.is_set() and not turn.sent_home]
        queue = [turn for turn in queue if not turn.told.is_set()]
        assert lane.queue == queue and len(queue) <= waiting
        assert len(working) <= places and (len(working) == places or not queue)
        assert sorted(lane.kinds.elements()) == sorted(kind for kind, _ in working)
        assert sorted(lane.clients.elements()) == sorted(client for _, client in working)
