"""Requests: how many small ones the web process answers, over connections that are kept, and how long each takes.

For example:

    measure("health", 10.0)     # {"clients": 16, "requests_per_s": …, "p50_ms": …, "p99_ms": …}
    measure("push", 10.0)       # of one triple each, durable when it is answered
    measure("large", 10.0)      # pushes of a megabyte, one client
"""

from __future__ import annotations

import re
import select
import socket
import time

import numpy as np

from bench.fanout import WebProcess

CLIENTS = 16
WARM_SECONDS = 1.0
_LENGTH = re.compile(rb"\r\nContent-Length: ([0-9]+)\r\n")
ONE = b"<urn:a> <urn:p> <urn:b> .\n"


def request_of(kind: str) -> bytes:
    if kind == "health":
        return b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = ONE if kind == "push" else ONE * ((1 << 20) // len(ONE))
    return (
        b"POST /streams/s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/n-triples\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )


def measure(kind: str, seconds: float) -> dict[str, object]:
    clients = 1 if kind == "large" else CLIENTS
    with WebProcess() as web:
        web.send("PUT", "/streams/s")
        request = request_of(kind)
        connections = {}
        with select.epoll() as epoll:
            for _ in range(clients):
                connection = socket.create_connection(("127.0.0.1", web.port), timeout=60)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                epoll.register(connection, select.EPOLLIN)
                connections[connection.fileno()] = [connection, b"", time.perf_counter()]
                connection.sendall(request)
            took, begun = [], time.perf_counter() + WARM_SECONDS
            while (now := time.perf_counter()) < begun + seconds:
                for fd, _ in epoll.poll(1.0):
                    one = connections[fd]
                    one[1] += one[0].recv(1 << 16)
                    if not whole(one[1]):
                        continue
                    now = time.perf_counter()
                    if now > begun:
                        took.append(now - one[2])
                    one[1], one[2] = b"", now
                    one[0].sendall(request)
        for connection, _, _ in connections.values():
            connection.close()
    times = 1000 * np.array(took)
    return {
        "clients": clients,
        "requests": len(took),
        "requests_per_s": len(took) / seconds,
        "p50_ms": float(np.percentile(times, 50)),
        "p99_ms": float(np.percentile(times, 99)),
    }


def whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if end and not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(answer.decode())
    return bool(end) and len(body) >= int(_LENGTH.search(head + b"\r\n")[1])
