"""Subscribers that do not read, or hardly.

For example:

    row = reader(0)             # takes nothing
    row = reader(1)             # a byte a second
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

from bench.faults.row import Row, unless
from bench.faults.scene import PATIENCE_SECONDS, Scene

STALL_SECONDS = 5.0
READERS = 20
MOST_GROWTH_MB = 40


def reader(rate: int) -> Row:
    """`READERS` subscribers who take `rate` bytes a second, beside one who reads."""
    with Scene("--stall-seconds", str(STALL_SECONDS), pushers=4, pause=0.005) as scene:
        scene.begin()
        readers = [_connected(scene.server.port) for _ in range(READERS)]
        while scene.client.health()["subscribers"] <= READERS:
            time.sleep(0.05)  # their requests are under way
        (web,) = scene.processes("web")
        before, begun = _resident(web), time.monotonic()
        while (left := scene.client.health()["subscribers"] - 1) and time.monotonic() - begun < PATIENCE_SECONDS:
            for one in readers:
                _take(one, rate)
            time.sleep(1.0)  # a rate is what is injected
        took, grown = time.monotonic() - begun, _resident(web) - before
        for one in readers:
            one.close()
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        verdict.broken += unless(not left, f"{left} of them hold their places after {took:.0f} s")
        verdict.broken += unless(grown < MOST_GROWTH_MB, f"the web process has grown by {grown:.0f} MB")
        what = "never read" if not rate else f"read {rate} byte a second"
        return Row.of(
            "reader-none" if not rate else "reader-slow",
            f"{READERS} subscribers that {what}, --stall-seconds {STALL_SECONDS:.0f}",
            f"All were sent home within {took:.0f} s; the web process grew by {max(0.0, grown):.0f} MB; "
            "the subscriber beside them noticed nothing.",
            verdict,
            seconds=took,
            grown_mb=grown,
        )


def _connected(port: int) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(
        b"GET /queries/Numbers/answers?from=beginning HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
    )
    connection.setblocking(False)
    return connection


def _take(connection: socket.socket, count: int) -> None:
    try:
        if count:
            connection.recv(count)
    except OSError:
        return  # nothing there, or sent home


def _resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
