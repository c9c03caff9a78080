"""The door: connections are accepted while there are places, and who cannot stay is told why, without a thread.

    door = Door(listening, limits, enter=front.enter, refuse=front.refuse, drop_idle=front.drop_idle)
    door.accept()                   # all that wait, up to a number; false: the system has no descriptors left
    door.places.taken

Who is turned away has a place of another kind for the moment in which that is said; when these are taken, too, the
connection is closed without a word.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from csparql_spark.server.http.addresses import share
from csparql_spark.server.http.limits import ConnectionLimits
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.http.shares import Places
from csparql_spark.server.http.wire import Line

if TYPE_CHECKING:
    from csparql_spark.server.http.connections import Connection

# Of a peer, as the system tells it: of IPv6 it has two members more.
Address = tuple[str, int] | tuple[str, int, int, int]
AT_ONCE = 64
# What the network has against a connection before it is accepted: the next one may be good.
LOST = (
    errno.EPROTO,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENOPROTOOPT,
    errno.EOPNOTSUPP,
    errno.ENONET,
    errno.EPERM,
)
MOST_TURNED_AWAY = 500


class Door:
    def __init__(
        self,
        listening: socket.socket,
        limits: ConnectionLimits,
        *,
        enter: Callable[[Line, Address], Connection],
        refuse: Callable[[Connection, Problem], None],
        drop_idle: Callable[[], bool],
    ) -> None:
        """`drop_idle` closes connections that can be spared, and says whether there were any."""
        self._listening, self._limits = listening, limits
        self._enter, self._refuse, self._drop_idle = enter, refuse, drop_idle
        self.places = Places(limits.connections, limits.each)
        self._turned_away = Places(MOST_TURNED_AWAY, MOST_TURNED_AWAY)

    def accept(self) -> bool:
        for _ in range(AT_ONCE):
            try:
                accepted, address = self._listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return True
            except OSError as error:
                if error.errno in LOST:
                    continue
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                return self._drop_idle()
            self._place(accepted, address)
        return True

    def _place(self, accepted: socket.socket, address: Address) -> None:
        place = self.places.enter() or (self.places.enter() if self._drop_idle() else None)
        if place is None:
            self._turn_away(accepted, address, self._limits.all_taken())
        elif not self._limits.proxies.trusted(address[0]) and not place.belong(share(address[0])):
            place.leave()
            self._turn_away(accepted, address, self._limits.share_taken())
        else:
            self._enter(Line.of(accepted, place), address)

    def _turn_away(self, accepted: socket.socket, address: tuple, problem: Problem) -> None:
        place = self._turned_away.enter()
        if place is None:
            accepted.close()
        else:
            self._refuse(self._enter(Line.of(accepted, place), address), problem)
