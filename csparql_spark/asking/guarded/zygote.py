"""The zygote: has one thread and all that children need in memory, and does nothing but fork them, and bury them.

    python -m csparql_spark.asking.guarded.zygote --control 3 --lifeline 4

It says on the control socket that it is ready. There come pairs of sockets: one on which a child is to be talked to,
and one on which its death is told (its status, as wait tells it) and demanded: whatever comes there, or its end, has
the child killed. With them comes the page on which the child shows that it is there (see `presence`). Only the zygote
reaps its children, so no number of a process is ever another's.

It ends, with all children, when its lifeline is cut, or the control socket is at its end.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import selectors
import signal
import socket
from dataclasses import dataclass

from csparql_spark.asking.guarded import child, wire, work
from csparql_spark.asking.guarded.presence import Presence
from csparql_spark.lifeline import hold


@dataclass(frozen=True)
class Charge:
    """A child: its number, a descriptor that says when it has ended, and the socket for its life and death."""

    process: int
    ended: int
    guard: socket.socket


class Zygote:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._charges: dict[int, Charge] = {}

    def run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    if not self._fork():
                        return
                elif key.data in self._charges:
                    charge = self._charges[key.data]
                    if key.fd == charge.ended:
                        self._bury(charge)
                    else:
                        self._kill(charge)

    def _fork(self) -> bool:
        """One child more; False if nobody asks for children any more."""
        message, descriptors, _, _ = socket.recv_fds(self._control, 1, 3)
        if not message:
            return False
        talk, guard = (socket.socket(fileno=descriptor) for descriptor in descriptors[:2])
        process = os.fork()
        if process == 0:
            try:
                guard.close()
                self._forget()
                presence = Presence(descriptors[2])
                os.close(descriptors[2])
                child.live(talk, presence)
            finally:
                os._exit(0)
        talk.close()
        os.close(descriptors[2])
        charge = Charge(process, os.pidfd_open(process), guard)
        self._charges[process] = charge
        self._selector.register(charge.ended, selectors.EVENT_READ, process)
        self._selector.register(guard, selectors.EVENT_READ, process)
        return True

    def _forget(self) -> None:
        """Close what is the zygote's alone: in a child."""
        self._selector.close()
        self._control.close()
        for charge in self._charges.values():
            charge.guard.close()
            os.close(charge.ended)

    def _kill(self, charge: Charge) -> None:
        self._selector.unregister(charge.guard)
        os.kill(charge.process, signal.SIGKILL)  # it is not reaped yet: there is no other of this number

    def _bury(self, charge: Charge) -> None:
        _, status = os.waitpid(charge.process, 0)
        del self._charges[charge.process]
        self._selector.unregister(charge.ended)
        os.close(charge.ended)
        with contextlib.suppress(KeyError):  # it was killed
            self._selector.unregister(charge.guard)
        with contextlib.suppress(OSError), charge.guard:  # who does not want to know has closed the other end
            charge.guard.send(wire.STATUS.pack(status))


def main() -> None:
    parser = argparse.ArgumentParser("csparql_spark.asking.guarded.zygote")
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--lifeline", type=int, required=True)
    options = parser.parse_args()
    hold(options.lifeline)
    for number in (signal.SIGINT, signal.SIGTERM):  # it ends with its parent, not beside it
        signal.signal(number, signal.SIG_IGN)
    work.warm_up()
    gc.collect()
    gc.freeze()  # what children share is not written to
    control = socket.socket(fileno=options.control)
    control.send(wire.READY)
    Zygote(control).run()


if __name__ == "__main__":
    main()
