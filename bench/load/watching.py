"""Watching: what the pushing and the listening process have written down lately.

For example:

    watch = Watch(pushes, told)
    watch.look()
    watch.latencies(20)         # ms from instant to subscriber, of what came in the last 20 s
    watch.pushed(20)            # the pushes that began in the last 20 s
    watch.newest()              # the instant that half of the subscribers have reached
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.load.listening import Heard, told
from bench.load.pushing import NO_ANSWER, Push, push_of

KEPT_SECONDS = 130.0
PERCENTS = (50, 90, 99)


class Watch:
    def __init__(self, pushes: Path, heard: Path) -> None:
        self._pushes, self._heard = pushes, heard
        self._pushed_to = self._heard_to = 0
        self._recent: deque[Heard] = deque()
        self._recently: deque[Push] = deque()
        self._reached: dict[int, int] = {}  # by subscriber
        self.wrong: list[str] = []
        self.statuses: Counter[int] = Counter()
        self.sentences: dict[int, str] = {}  # by status: one of them
        self.triples = self.answers = 0
        for path in (pushes, heard):
            path.touch()

    def look(self) -> None:
        heard, wrong, self._heard_to = told(self._heard, self._heard_to)
        self.wrong += wrong
        self.answers += len(heard)
        self._recent += heard
        for one in heard:
            self._reached[one.subscriber] = max(one.instant, self._reached.get(one.subscriber, one.instant))
        with self._pushes.open("rb") as file:
            file.seek(self._pushed_to)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._pushed_to += len(line)
                push = push_of(line.decode())
                self._recently.append(push)
                self.statuses[push.status] += 1
                if push.status == 200:
                    self.triples += push.rows
                else:
                    self.sentences[push.status] = push.said
        horizon = time.time() - KEPT_SECONDS
        while self._recent and self._recent[0].instant + self._recent[0].ms < 1000 * horizon:
            self._recent.popleft()
        while self._recently and self._recently[0].begun < horizon:
            self._recently.popleft()

    def latencies(self, seconds: float) -> list[float]:
        since = 1000 * (time.time() - seconds)
        return [one.ms for one in self._recent if one.instant + one.ms >= since]

    def pushed(self, seconds: float) -> list[Push]:
        since = time.time() - seconds
        return [push for push in self._recently if push.begun >= since]

    def newest(self) -> int | None:
        return int(statistics.median(self._reached.values())) if self._reached else None

    def behind(self) -> int:
        """The subscriber who has heard least, by the instant that it has reached."""
        return min(self._reached.values(), default=0)

    def told(self, seconds: float) -> dict[str, object]:
        """Numbers of the last seconds, for a line."""
        pushes = self.pushed(seconds)
        taken = [push for push in pushes if push.status == 200]
        refused = Counter(push.status or "no answer" for push in pushes if push.status != 200)
        return {
            "answers": len(self.latencies(seconds)),
            **percentiles(self.latencies(seconds)),
            "triples_per_s": sum(push.rows for push in taken) / seconds,
            **percentiles([push.ms for push in taken], "push_"),
            "refused": {str(k): n for k, n in refused.items()},
        }

    def unanswered(self) -> int:
        return self.statuses[NO_ANSWER]


def percentiles(values: Sequence[float], name: str = "") -> dict[str, float]:
    if not len(values):
        return {}
    return {f"{name}p{percent}_ms": float(np.percentile(values, percent)) for percent in PERCENTS}
