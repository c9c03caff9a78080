"""A wakeup: how a thread that waits for many connections is interrupted by other threads.

For example:

    wakeup = Wakeup()
    selector.register(wakeup, EVENT_READ)       # the thread that waits
    wakeup.ring()                               # any other one, as often as it likes
    wakeup.heard()                              # the one that waited: from now on it can be rung again
"""

from __future__ import annotations

import socket


class Wakeup:
    def __init__(self) -> None:
        self._heard, self._rung = socket.socketpair()
        for end in (self._heard, self._rung):
            end.setblocking(False)

    def fileno(self) -> int:
        return self._heard.fileno()

    def ring(self) -> None:
        try:
            self._rung.send(b"!")
        except BlockingIOError:
            return  # it rings already
        except OSError:
            return  # it is closed: nobody waits any more

    def heard(self) -> None:
        self._heard.recv(4096)

    def close(self) -> None:
        self._heard.close()
        self._rung.close()
