"""The arrival clock: the time that the log stamps.

It is the wall clock made safe for a log: it never goes back, also not across restarts, and when it is ahead of the wall
clock (which somebody has set back) it runs at half speed until the wall clock has caught up, so that instants go on
passing. A wall clock that jumps ahead, or a machine that slept, moves it forward at once.

    clock = ArrivalClock(floor=last_stamp_in_the_log)
    clock.now()                        # epoch ms
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class ArrivalClock:
    def __init__(
        self, floor: int = 0, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._steady = wall, steady
        self._at = max(float(floor), wall() * 1000)
        self._read = steady()
        self._lock = threading.Lock()

    def now(self) -> int:
        with self._lock:
            steady = self._steady()
            elapsed = (steady - self._read) * 1000
            self._read = steady
            self._at = max(self._wall() * 1000, self._at + elapsed / 2)
            return int(self._at)
