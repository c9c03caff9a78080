"""A server under measurement: started as a user starts it, in a directory of its own, and stopped without a trace.

For example:

    with Server() as server:
        server.put("/streams/temp")
        server.cpu_seconds()
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import IO

START_SECONDS = 180.0


class Server:
    def __init__(
        self,
        *options: str,
        data: str | None = None,
        environment: dict[str, str] | None = None,
        log: IO[str] | None = None,
    ) -> None:
        """In the directory `data`, which stays, or in one of its own, which goes with it. `environment`: besides ours;
        `log`: where stderr goes."""
        self._lasting = data is not None
        self.data = data or tempfile.mkdtemp(prefix="csparql-bench-")
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "csparql_spark", "serve", "--port", "0", "--data", self.data, *options],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
        first = self.process.stdout.readline()
        self.port = int(re.search(r"http://[^ ]*:(\d+)", first).group(1))

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        if not self._lasting:
            shutil.rmtree(self.data, ignore_errors=True)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def send(self, method: str, path: str, body: bytes = b"", media_type: str = "text/plain") -> dict[str, object]:
        connection = self.connect()
        try:
            connection.request(method, path, body, {"Content-Type": media_type})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {content.decode()}")
        return json.loads(content) if content else {}

    def until(self, state: str) -> float:
        """Wait until the engine says `state`; return the seconds since the start."""
        while time.monotonic() - self.started < START_SECONDS:
            try:
                if self.send("GET", "/health")["engine"]["state"] == state:
                    return time.monotonic() - self.started
            except OSError:
                pass  # the web process is not there yet
            time.sleep(0.05)
        raise RuntimeError(f"the engine was not {state} after {START_SECONDS:.0f} s")

    def events(self, query: str, start: str = "latest") -> Iterator[tuple[float, dict[str, object]]]:
        """The answers of a query as they come, each with its time of arrival (epoch ms)."""
        connection = self.connect()
        connection.request("GET", f"/queries/{query}/answers?from={start}", headers={"Accept": "text/event-stream"})
        response = connection.getresponse()
        while line := response.readline():
            if line.startswith(b"data:"):
                yield time.time() * 1000, json.loads(line[5:])

    def processes(self) -> dict[int, str]:
        """All processes of the server, with what they are."""
        parents, names = {}, {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat") as file:
                    head, _, tail = file.read().rpartition(")")
                parents[int(entry)] = int(tail.split()[1])
                names[int(entry)] = head.partition("(")[2]
            except OSError:
                continue  # it has ended meanwhile
        tree, grown = {self.process.pid}, 0
        while grown != len(tree):
            grown = len(tree)
            tree |= {pid for pid, parent in parents.items() if parent in tree}
        return {pid: names[pid] for pid in tree if pid in names}

    def cpu_seconds(self) -> float:
        """The processor time that all processes of the server have used so far."""
        ticks = 0
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
            except OSError:
                continue
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        total = 0
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/statm") as file:
                    total += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except OSError:
                continue
        return total / 1e6
