"""What is done apart is done in the order of its topic, and by turns."""

from __future__ import annotations

import threading
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.server.sources.backlogs import Backlogs


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=20), st.integers(1, 3))
def test_each_topic_keeps_its_order(topics: list[str], threads: int) -> None:
    done: dict[str, list[int]] = defaultdict(list)
    at_work: set[str] = set()
    all_done = threading.Semaphore(0)

    def work(one: tuple[str, int]) -> None:
        topic, number = one
        assert topic not in at_work
        at_work.add(topic)
        done[topic].append(number)
        at_work.remove(topic)
        all_done.release()

    backlogs = Backlogs(work, threads=threads, name="test").start()
    for number, topic in enumerate(topics):
        backlogs.add(topic, (topic, number))
    for _ in topics:
        assert all_done.acquire(timeout=30)
    backlogs.stop()
    assert len(backlogs) == 0 and not any(backlogs.has(topic) for topic in topics)
    for topic in topics:
        assert done[topic] == [number for number, other in enumerate(topics) if other == topic]


def test_topics_take_turns_and_what_is_not_begun_is_left() -> None:
    gate, begun, done = threading.Event(), threading.Semaphore(0), []

    def work(one: str) -> None:
        begun.release()
        assert gate.wait(30)
        done.append(one)

    backlogs = Backlogs(work, threads=1, name="test").start()
    for one in ("a1", "a2", "a3", "b1"):
        backlogs.add(one[0], one)
    assert begun.acquire(timeout=30) and backlogs.has("a") and backlogs.has("b") and len(backlogs) == 4
    gate.set()
    for _ in range(3):
        assert begun.acquire(timeout=30)
    backlogs.stop()
    assert done == ["a1", "b1", "a2", "a3"]
    gate.clear()
    backlogs = Backlogs(work, threads=1, name="test").start()
    for one in ("a1", "b1"):
        backlogs.add(one[0], one)
    assert begun.acquire(timeout=30)
    stopping = threading.Thread(target=backlogs.stop)
    stopping.start()
    while not backlogs._stopped:
        threading.Event().wait(0.001)
    gate.set()
    stopping.join()
    assert done[4:] == ["a1"] and backlogs.has("b")
