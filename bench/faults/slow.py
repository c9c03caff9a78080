"""Slow clients by the thousand: heads and bodies that trickle, responses that nobody reads, and a healthy client.

    row = slow("heads", 2000)           # a byte of a head every `EVERY_SECONDS`, on each connection
    row = slow("bodies", 2000)          # … of a body: of small and of large ones
    row = slow("readers", 500)          # … is read of a large response

The healthy client asks GET /health and pushes a triple, again and again, before the slow ones are there and while they
are; those that are sent home come back at once. They are a process of their own: `python -m bench.faults.slow heads
2000 PORT`, which prints a line when all are connected.
"""

from __future__ import annotations

import errno
import http.client
import itertools
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.fanout import WebProcess
from bench.faults.row import Row, unless

EVERY_SECONDS = 3.0
MEASURED_SECONDS = 20.0
PAUSE_SECONDS = 0.01
LARGE_BYTES = 4_000_000
MOST_GROWTH_MS = 100
MOST_GROWTH_MB = {"heads": 100, "bodies": 150, "readers": 400}
ONE = b"<urn:a> <urn:p> <urn:b> .\n"
PUSH = (
    "POST /streams/s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/n-triples\r\nContent-Length: {}\r\n\r\n"
)
# What each says at once, by turns, and what it goes on saying, byte by byte.
BEGINNINGS = {
    "heads": [b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "],
    "bodies": [PUSH.format(length).encode() for length in (50_000, 50_000_000)],
    "readers": [b"GET /console/large.js HTTP/1.1\r\nHost: localhost\r\n\r\n"],
}


def slow(kind: str, count: int) -> Row:
    with tempfile.TemporaryDirectory() as directory, WebProcess("--web", directory) as web:
        web.send("PUT", "/streams/s")
        # What costs nothing to make: it is the reading that is measured.
        (Path(directory) / "dist").mkdir()
        (Path(directory) / "dist" / "large.js").write_bytes(bytes(LARGE_BYTES))
        _asked(web.port, 2.0)
        before, memory = _asked(web.port, MEASURED_SECONDS), web.memory()
        crowd = subprocess.Popen(
            [sys.executable, "-m", "bench.faults.slow", kind, str(count), str(web.port)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            crowd.stdout.readline()
            during, grown = _asked(web.port, MEASURED_SECONDS), (web.memory() - memory) / 1e6
            threads = web.threads()
        finally:
            crowd.kill()
            crowd.wait()
            crowd.stdout.close()
    broken, numbers, said = [], {"grown_mb": grown, "threads": threads}, []
    for name in ("GET /health", "push"):
        was, now = (
            np.percentile(1000 * np.array(times[name]), (50, 99)) if times[name] else (np.inf, np.inf)
            for times in (before, during)
        )
        numbers |= {f"{name} p99 before": was[1], f"{name} p99 during": now[1]}
        said.append(f"{name}: p50 {was[0]:.1f} ms before, {now[0]:.1f} during; p99 {was[1]:.1f} and {now[1]:.1f} ms")
        broken += unless(now[1] - was[1] < MOST_GROWTH_MS, f"the p99 of {name} grew by {now[1] - was[1]:.0f} ms")
    broken += unless(not during["lost"], f"{len(during['lost'])} requests of the healthy client were not answered")
    broken += unless(grown < MOST_GROWTH_MB[kind], f"the web process grew by {grown:.0f} MB")
    what = {
        "heads": "that each send a byte of a request's head",
        "bodies": "that each send a byte of a push's body, of 50 KB or 50 MB",
        "readers": f"that each read a byte of a response of {LARGE_BYTES / 1e6:.0f} MB",
    }[kind]
    return Row(
        f"slow-{kind}",
        f"{count:,} connections {what} every {EVERY_SECONDS:.0f} s",
        f"{'; '.join(said)}. The web process grew by {max(0.0, grown):.0f} MB.",
        broken,
        numbers,
    )


def _asked(port: int, seconds: float) -> dict[str, list[float]]:
    """How long requests of a healthy client took; a request that is not answered in 10 s is lost."""
    times: dict[str, list[float]] = {"GET /health": [], "push": [], "lost": []}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    end = time.monotonic() + seconds
    for turn in itertools.count():
        begun = time.monotonic()
        if begun > end:
            break
        try:
            if turn % 2:
                connection.request("POST", "/streams/s", ONE, {"Content-Type": "application/n-triples"})
            else:
                connection.request("GET", "/health")
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                raise http.client.HTTPException(str(response.status))
            times["push" if turn % 2 else "GET /health"].append(time.monotonic() - begun)
        except (OSError, http.client.HTTPException):
            times["lost"].append(time.monotonic() - begun)
            connection.close()
        time.sleep(PAUSE_SECONDS)  # a rate is what is asked
    connection.close()
    return times


class Crowd:
    """The slow clients."""

    def __init__(self, kind: str, port: int) -> None:
        self._kind, self._port = kind, port
        self._beginnings = itertools.cycle(BEGINNINGS[kind])
        self._open: dict[int, socket.socket] = {}

    def run(self, count: int) -> None:
        due = time.monotonic()
        while len(self._open) < count:
            self._come()
        print("all are there", flush=True)
        while True:
            due += EVERY_SECONDS
            pause = EVERY_SECONDS / count
            for number, connection in enumerate(list(self._open.values())):
                self._trickle(connection)
                time.sleep(max(0.0, due - EVERY_SECONDS + pause * number - time.monotonic()))
            while len(self._open) < count:
                self._come()
            time.sleep(max(0.0, due - time.monotonic()))

    def _come(self) -> None:
        connection = socket.socket()
        if self._kind == "readers":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", self._port))
        connection.sendall(next(self._beginnings))
        connection.setblocking(False)
        self._open[connection.fileno()] = connection

    def _trickle(self, connection: socket.socket) -> None:
        """One byte; who is sent home is forgotten."""
        try:
            if self._kind == "readers":
                if connection.recv(1):
                    return
            else:
                connection.send(b"a")
                if connection.recv(4096):  # what it is told is that it is too slow
                    self._leave(connection)
                    return
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise
        self._leave(connection)

    def _leave(self, connection: socket.socket) -> None:
        self._open.pop(connection.fileno(), None)
        connection.close()


def main(kind: str, count: str, port: str) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = int(count) + 64
    if hard != resource.RLIM_INFINITY and hard < wanted:
        sys.exit(f"{count} connections need {wanted} descriptors, and the system gives {hard}: raise `ulimit -n`")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    os.nice(5)  # they have nothing to hurry for
    Crowd(kind, int(port)).run(int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
