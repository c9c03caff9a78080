"""Backlogs: what takes long is done apart, one after the other for each topic, while other topics go on.

    backlogs = Backlogs(work, threads=2, name="mqtt-slow").start()
    backlogs.add("city/rome/temp", message)         # behind those of its topic that are there
    backlogs.has("city/rome/temp")                  # until the last of them is done
    backlogs.stop()                                 # what is not begun is left

Topics take turns. Invariants: of a topic one is worked on at a time, in the order in which they were added; a topic
that somebody has found without a backlog has none until the same thread adds to it. How much there is, bounds whoever
adds.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

END_SECONDS = 5.0  # for what is worked on when it is stopped

_T = TypeVar("_T")


class Backlogs(Generic[_T]):
    def __init__(self, work: Callable[[_T], None], *, threads: int, name: str) -> None:
        """`work` raises nothing."""
        self._work = work
        self._topics: dict[str, deque[_T]] = {}
        self._ready: deque[str] = deque()  # topics of which none is worked on
        self._change = threading.Condition()
        self._stopped = False
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for _ in range(threads)]

    def start(self) -> Backlogs[_T]:
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        with self._change:
            self._stopped = True
            self._change.notify_all()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def __len__(self) -> int:
        with self._change:
            return sum(map(len, self._topics.values()))

    def has(self, topic: str) -> bool:
        with self._change:
            return topic in self._topics

    def add(self, topic: str, one: _T) -> None:
        with self._change:
            waiting = self._topics.get(topic)
            if waiting is None:
                self._topics[topic] = deque([one])
                self._ready.append(topic)
                self._change.notify()
            else:
                waiting.append(one)

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._stopped or self._ready)
                if self._stopped:
                    return
                topic = self._ready.popleft()
                one = self._topics[topic][0]
            self._work(one)
            with self._change:
                waiting = self._topics[topic]
                waiting.popleft()
                if waiting:
                    self._ready.append(topic)
                    self._change.notify()
                else:
                    del self._topics[topic]
