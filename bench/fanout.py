"""Fan-out: from the commit of an answer to the moment when the last of many subscribers has it.

The web process runs as it does under a user; this process plays the engine, which commits an answer a second, and all
of the subscribers, each a real connection. A reader stands for the clients that do not keep up: it never reads.

    measure(500, 1_000)      # {"subscribers": 500, "p50_ms": …, "p99_ms": …, "kb_each": …, "cpu_percent": …}

`p50_ms`, `p99_ms`: of the times until the last subscriber has an answer; `each_p50_ms` of all subscribers' own times.
`kb_each`: by how much the web process has grown for each subscriber, once answers have gone out; the kernel's buffers
of its sockets are not in it.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np

from csparql_spark.answers.bindings import Result
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.store import AnswerStore, StoredAnswer

TEXT = "REGISTER QUERY q AS SELECT ?s FROM STREAM <streams/s> [RANGE 2s STEP 1s] WHERE { ?s ?p ?o }"
WARM_UP = 3
ROW = 92  # bytes of a row with one literal in an event, about


class WebProcess:
    """The server without an engine."""

    def __init__(self, *options: str) -> None:
        self.data = tempfile.mkdtemp(prefix="csparql-bench-")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "csparql_spark.server.process", "--data", self.data, "--port", "0", *options],
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        first = self.process.stderr.readline()
        self.port = int(re.search(r"http://[^ ]*:(\d+)", first).group(1))

    def __enter__(self) -> WebProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stderr.close()
        shutil.rmtree(self.data, ignore_errors=True)

    def send(self, method: str, path: str, body: bytes = b"", kind: str = "text/plain") -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(
                f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            answer = connection.recv(1 << 16)
        if b" 20" not in answer[:13]:
            raise RuntimeError(f"{method} {path}: {answer.decode()}")

    def subscribe(self, path: str) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
        head = b""
        while b"retry: " not in head:
            head += connection.recv(1 << 16)
            if b"\r\n" in head and b" 200 " not in head[:20]:
                raise RuntimeError(head.decode())
        return connection

    def memory(self) -> int:
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))


def sized(instant: int, size: int) -> Result:
    """An answer whose event has about that many bytes."""
    return Result.from_rows(("n",), [{"n": f'"{row:040d}"'} for row in range(max(1, size // ROW))])


def measure(
    subscribers: int,
    size: int,
    answers: int = 30,
    *,
    every: float = 1.0,
    stuck: int = 5,
    path: str = "/queries/q/answers",
) -> dict[str, object]:
    with WebProcess("--subscribers", str(subscribers + stuck + 1)) as web:
        web.send("PUT", "/streams/s?clock=event")
        web.send("PUT", "/queries/q", TEXT.encode())
        store, query = opened(web.data)
        store.write([StoredAnswer(query, 1000, 0, 1, sized(1000, size).to_bytes())])
        web.subscribe(path).close()
        before = web.memory()
        idle = [web.subscribe(path) for _ in range(stuck)]
        with selectors.DefaultSelector() as selector:
            for number in range(subscribers):
                connection = web.subscribe(f"{path}{'&' if '?' in path else '?'}from=latest")
                connection.setblocking(False)
                selector.register(connection, selectors.EVENT_READ, number)
            drain(selector, 1.0)
            took, begun, used = [], time.monotonic(), 0.0
            for number in range(WARM_UP + answers):
                if number == WARM_UP:
                    begun, used = time.monotonic(), web.cpu_seconds()
                instant, next_one = 2000 + 1000 * number, time.monotonic() + every
                told = [StoredAnswer(query, instant, 0, 1, sized(instant, size).to_bytes())]
                store.write(told)
                arrived = arrivals(selector, subscribers, instant, time.monotonic())
                if number >= WARM_UP:
                    took.append(arrived)
                drain(selector, max(0.0, next_one - time.monotonic()))
            spent, passed = web.cpu_seconds() - used, time.monotonic() - begun
            grown, threads = web.memory() - before, web.threads()
            for key in list(selector.get_map().values()):
                key.fileobj.close()
        for connection in idle:
            connection.close()
    times = 1000 * np.array(took)
    last = times.max(axis=1)
    return {
        "subscribers": subscribers,
        "answer_bytes": size,
        "answers": answers,
        "stuck": stuck,
        "p50_ms": float(np.percentile(last, 50)),
        "p99_ms": float(np.percentile(last, 99)),
        "slowest_ms": float(last.max()),
        "each_p50_ms": float(np.percentile(times, 50)),
        "kb_each": grown / 1000 / (subscribers + stuck),
        "threads": threads,
        "cpu_percent": 100 * spent / passed,
    }


def opened(data: str) -> tuple[AnswerStore, int]:
    """The store of the process, and the id of its query."""
    directory = DataDirectory(data)
    database = Database(directory.database)
    (query,) = database.connection.execute("SELECT id FROM queries").fetchone()
    return AnswerStore(database, directory.bell("answers")), query


def arrivals(selector: selectors.BaseSelector, subscribers: int, instant: int, told: float) -> list[float]:
    """When each subscriber had the whole answer of the instant, in seconds since it was told."""
    mark, times, rest = f'"at":{instant}'.encode(), [], {}
    deadline = told + 60
    while len(times) < subscribers:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{subscribers - len(times)} subscribers have no answer after a minute")
        for key, _ in selector.select(1.0):
            piece = rest.pop(key.data, b"") + key.fileobj.recv(1 << 18)
            if b"\n\n" in piece.partition(mark)[2]:
                times.append(time.monotonic() - told)
            else:
                rest[key.data] = piece
    return times


def drain(selector: selectors.BaseSelector, seconds: float) -> None:
    """Read what comes until the time is over."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            key.fileobj.recv(1 << 18)
