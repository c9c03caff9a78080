"""Requests: how many small ones the web process answers, over connections that are kept, and how long each takes.

For example:

    measure("health", 10.0)     # {"clients": 16, "requests_per_s": …, "p50_ms": …, "p99_ms": …}
    measure("push", 10.0)       # of one triple each, durable when it is answered
    measure("large", 10.0)      # pushes of a megabyte, one client
    measure("question", 10.0)   # a small one at /sparql, one client
    measure("questions", 10.0)  # of 5 ms each, by themselves (`alone_ms`)

`processor_ms` is what each request has cost all processes of the server, whatever else the machine did: as many
processors' milliseconds a second as there are, divided by that, is more than will ever be answered.
"""

from __future__ import annotations

import os
import re
import select
import socket
import time

import numpy as np

from bench.fanout import WebProcess
from csparql_spark.answers.limits import Limits
from csparql_spark.asking.guarded import work
from csparql_spark.asking.one_shot import Question
from csparql_spark.rdf.formats import RdfFormat, parse_graph

CLIENTS = 16
WARM_SECONDS = 1.0
_LENGTH = re.compile(rb"\r\nContent-Length: ([0-9]+)\r\n")
ONE = b"<urn:a> <urn:p> <urn:b> .\n"
GRAPH = "/graphs?graph=urn:g"
ROOMS = 650
SMALL = "SELECT ?room { <urn:sensor7> <urn:in> ?room }"
LARGER = "SELECT ?floor (COUNT(*) AS ?sensors) { ?sensor <urn:in> ?room . ?room <urn:on> ?floor } GROUP BY ?floor"
QUESTIONS = {"question": SMALL, "questions": LARGER}


def building() -> bytes:
    """A graph over which the larger question takes 5 ms."""
    lines = [f"<urn:sensor{n}> <urn:in> <urn:room{n % ROOMS}> .\n" for n in range(2 * ROOMS)]
    return "".join([*lines, *(f"<urn:room{n}> <urn:on> <urn:floor{n % 10}> .\n" for n in range(ROOMS))]).encode()


def alone(text: str) -> float:
    """Milliseconds of the processor that a question takes where nobody sends it anywhere."""
    graph = parse_graph(building(), RdfFormat.N_TRIPLES, base="urn:g", blank_prefix="b.")
    question, took = Question(text, {"urn:g": graph}), []
    for _ in range(50):
        begun = time.thread_time()
        work.answered(question, Limits(), "application/sparql-results+json")
        took.append(time.thread_time() - begun)
    return 1000 * float(np.median(took))


def processor_seconds(process: int) -> float:
    """Of a process and of all that it has started."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    used = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    for task in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{task}/children") as file:
            used += sum(map(processor_seconds, map(int, file.read().split())))
    return used


def request_of(kind: str) -> bytes:
    if kind == "health":
        return b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    if kind in QUESTIONS:
        return (
            b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\n"
            b"Accept: application/sparql-results+json\r\nContent-Length: %d\r\n\r\n%b"
            % (len(QUESTIONS[kind]), QUESTIONS[kind].encode())
        )
    body = ONE if kind == "push" else ONE * ((1 << 20) // len(ONE))
    return (
        b"POST /streams/s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/n-triples\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )


def measure(kind: str, seconds: float) -> dict[str, object]:
    clients = 1 if kind in ("large", "question") else CLIENTS
    with WebProcess() as web:
        web.send("PUT", "/streams/s")
        web.send("PUT", GRAPH, building(), "application/n-triples")
        request = request_of(kind)
        connections = {}
        with select.epoll() as epoll:
            for _ in range(clients):
                connection = socket.create_connection(("127.0.0.1", web.port), timeout=60)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                epoll.register(connection, select.EPOLLIN)
                connections[connection.fileno()] = [connection, b"", time.perf_counter()]
                connection.sendall(request)
            took, begun, before = [], time.perf_counter() + WARM_SECONDS, None
            while (now := time.perf_counter()) < begun + seconds:
                for fd, _ in epoll.poll(1.0):
                    one = connections[fd]
                    one[1] += one[0].recv(1 << 16)
                    if not whole(one[1]):
                        continue
                    now = time.perf_counter()
                    if now > begun:
                        if before is None:
                            before = processor_seconds(web.process.pid)
                        took.append(now - one[2])
                    one[1], one[2] = b"", now
                    one[0].sendall(request)
        used = processor_seconds(web.process.pid) - before
        for connection, _, _ in connections.values():
            connection.close()
    times = 1000 * np.array(took)
    return {
        "clients": clients,
        "requests": len(took),
        "requests_per_s": len(took) / seconds,
        "p50_ms": float(np.percentile(times, 50)),
        "p99_ms": float(np.percentile(times, 99)),
        "processor_ms": 1000 * used / len(took),
        **({"alone_ms": alone(QUESTIONS[kind])} if kind in QUESTIONS else {}),
    }


def whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if end and not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(answer.decode())
    return bool(end) and len(body) >= int(_LENGTH.search(head + b"\r\n")[1])
