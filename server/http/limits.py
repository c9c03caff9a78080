"""Limits: what one connection may take of time and memory, and what who takes more is told.

    limits = ConnectionLimits(connections=10_000, each=2_500, head_seconds=10.0)
    limits.overdue(connection, now)         # a Problem, or SILENT: nobody is told anything; None while there is time
    limits.too_slow(connection, now, done)  # whether a body, or a response of which so much is done, is given up

What began fast has to go on: the rate is that of the last minute or so (twice the silence that is allowed), and what
was done before does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from csparql_spark.server.http.addresses import Proxies
from csparql_spark.server.http.problems import Problem

if TYPE_CHECKING:
    from csparql_spark.server.http.connections import Connection

BODY_BYTES = 512 << 20  # of bodies that are not answered
SILENT = object()


@dataclass(frozen=True)
class ConnectionLimits:
    connections: int = 10_000
    each: int = 2_500  # of one client
    head_seconds: float = 10.0  # for a whole head
    idle_seconds: float = 30.0  # of silence; and until a rate counts
    slowest_rate: int = 1000  # bytes a second, of bodies and of responses
    body_bytes: int = BODY_BYTES
    proxies: Proxies = Proxies(())

    def overdue(self, connection: Connection, now: float) -> Problem | object | None:
        """Whether what a connection should say has not come in time."""
        if connection.head is not None:
            return (
                Problem(
                    "timeout",
                    "The body came too slowly, or stopped: nothing was kept. Send it again, at "
                    f"{self.slowest_rate} bytes a second at least.",
                )
                if self.too_slow(connection, now, connection.body.size)
                else None
            )
        if connection.buffer:
            return (
                Problem("timeout", f"The head of the request was not there after {self.head_seconds:g} seconds.")
                if now - connection.begun >= self.head_seconds
                else None
            )
        if connection.served:
            return SILENT if now - connection.moved >= self.idle_seconds else None
        return SILENT if now - connection.begun >= self.head_seconds else None

    def too_slow(self, connection: Connection, now: float, done: int) -> bool:
        since = now - connection.begun
        if now - connection.moved >= self.idle_seconds or done - connection.first < self.slowest_rate * (
            since - self.idle_seconds
        ):
            return True
        if since >= 2 * self.idle_seconds:
            connection.begun, connection.first = now, done
        return False

    def all_taken(self) -> Problem:
        return _later("busy", f"All {self.connections} connections that this server keeps are taken: try again later.")

    def share_taken(self) -> Problem:
        return _later(
            "too-many-connections",
            f"Your address holds {self.each} connections, which is the most that one "
            "may: close some, or use one for several requests.",
            limit=self.each,
        )

    def bodies_taken(self) -> Problem:
        return _later(
            "busy",
            "The server holds as much of bodies as it can until they are answered: nothing of this "
            "one was kept. Send it again later.",
        )


def _later(code: str, detail: str, **members: object) -> Problem:
    return Problem(code, detail, headers={"Retry-After": "5"}, **members)
