"""A lifeline: how a process learns that the one that started it is gone, however that one ended.

The parent holds one end of a pipe and never writes; the child gets the other end. When the parent is gone, killed with
-9 too, the kernel closes its end, and the child ends with all the processes of its group.

    reading, writing = os.pipe()               # the parent keeps `writing`, and passes `reading` on
    lifeline.hold(reading)                     # the child
"""

from __future__ import annotations

import os
import signal
import threading


def hold(descriptor: int) -> None:
    """End this process and its process group as soon as the other end is closed."""
    def wait() -> None:
        while os.read(descriptor, 1):
            pass
        os.killpg(0, signal.SIGKILL)
    threading.Thread(target=wait, name="lifeline", daemon=True).start()
