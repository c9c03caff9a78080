"""Latency: from the close of a window to the arrival of its answer at an SSE subscriber.

For example:

    push ─▶ log ─▶ tick (window closes at t) ─▶ micro-batch ─▶ answer store ─▶ SSE
                          └──────────── measured ────────────────────────────▶┘
"""

from __future__ import annotations

import itertools
import threading
import time

from bench.server import Server

QUERY = """PREFIX s: <http://example.org/sensors#>
REGISTER QUERY Readings AS SELECT ?sensor ?value FROM STREAM <{stream}> [RANGE 2s STEP 1s]
WHERE {{ ?reading s:madeBy ?sensor ; s:level s:High ; s:value ?value }}"""
WARM_SECONDS = 15
PUSHES_A_SECOND = 20


def body(count: int, start: int) -> bytes:
    """Readings of three triples each, one in ten of them high."""
    lines = []
    for number in range(start, start + count // 3):
        reading = f"<http://example.org/readings/{number}> <http://example.org/sensors#"
        lines.append(
            f"{reading}madeBy> <http://example.org/sensor/{number % 500}> .\n"
            f"{reading}level> <http://example.org/sensors#{'High' if number % 10 == 0 else 'Low'}> .\n"
            f'{reading}value> "{number % 997 / 10}"^^<http://www.w3.org/2001/XMLSchema#decimal> .'
        )
    return "\n".join(lines).encode()


def measure(rate: int, seconds: int) -> dict[str, float]:
    """Percentiles of the latency in ms, at `rate` triples a second."""
    with Server() as server:
        stream = server.send("PUT", "/streams/readings")["iri"]
        server.send("PUT", "/queries/Readings", QUERY.format(stream=stream).encode(), "application/sparql-query")
        server.until("running")
        stop = threading.Event()

        def push() -> None:
            connection = server.connect()
            size = rate // PUSHES_A_SECOND
            due = time.monotonic()
            for number in itertools.count():
                if stop.is_set():
                    return
                connection.request(
                    "POST", "/streams/readings", body(size, number * size), {"Content-Type": "application/n-triples"}
                )
                response = connection.getresponse()
                response.read()
                due += 1 / PUSHES_A_SECOND
                time.sleep(max(0.0, due - time.monotonic()))

        pusher = threading.Thread(target=push, daemon=True)
        pusher.start()
        delays, rows = [], []
        begun = None
        for came, answer in server.events("Readings"):
            begun = begun or time.monotonic()
            if time.monotonic() - begun > WARM_SECONDS:
                delays.append(came - answer["at"])
                rows.append(len(answer["results"]["results"]["bindings"]))
            if time.monotonic() - begun > WARM_SECONDS + seconds:
                break
        stop.set()
        pusher.join()
        delays.sort()
        return {
            "instants": len(delays),
            "rows": sum(rows) / len(rows),
            "p50_ms": delays[len(delays) // 2],
            "p90_ms": delays[int(len(delays) * 0.9)],
            "p99_ms": delays[int(len(delays) * 0.99)],
            "max_ms": delays[-1],
        }
