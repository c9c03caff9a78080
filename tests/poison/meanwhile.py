"""Meanwhile: what needs too much is asked of a web process that runs in this one, which serves others all the while, and
stays as small as it was.

    reply = asked_meanwhile(lambda: client.post("/sparql", data=poison), lambda: healthy(client))
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Outcome = TypeVar("Outcome")
MOST_GROWN = 100 << 10  # KiB


def own_memory() -> int:
    """KiB of this process that are nobody else's, the most that there ever were."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


def asked_meanwhile(ask: Callable[[], Outcome], check: Callable[[], None], most: int = MOST_GROWN) -> Outcome:
    """What is told to who asks; others are served before, meanwhile and afterwards, as `check` says, and the process
    grows by no more than `most` KiB."""
    check()
    before = own_memory()
    told: list[Outcome] = []
    asking = threading.Thread(target=lambda: told.append(ask()))
    asking.start()
    while asking.is_alive():
        check()
        asking.join(0.1)
    check()
    assert own_memory() - before < most
    (outcome,) = told
    return outcome
