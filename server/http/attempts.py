"""Attempts: who tells wrong tokens must wait. Tokens cannot be found by trying; this keeps the trying quiet.

For example:

    attempts = Attempts()
    attempts.failed("192.0.2.7")
    attempts.wait("192.0.2.7")          # seconds until the next attempt counts; 0 for almost all
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

FREE = 10  # wrong tokens within a minute, of one address
SPAN_SECONDS = 60.0
ADDRESSES = 10_000  # those that were wrong last are remembered


class Attempts:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()  # address → how many, since when

    def failed(self, address: str) -> None:
        with self._lock:
            count, since = self._wrong.pop(address, (0, 0.0))
            if not count or self._now() - since >= SPAN_SECONDS:
                count, since = 0, self._now()
            self._wrong[address] = (count + 1, since)
            while len(self._wrong) > ADDRESSES:
                self._wrong.popitem(last=False)

    def wait(self, address: str) -> int:
        with self._lock:
            count, since = self._wrong.get(address, (0, 0.0))
            return max(0, math.ceil(since + SPAN_SECONDS - self._now())) if count >= FREE else 0
