"""Starting and resting: how long until the server answers, and what it costs when nothing happens."""

from __future__ import annotations

import time

from bench.server import Server

QUERY = "REGISTER QUERY Quiet AS SELECT ?s FROM STREAM <{stream}> [RANGE 10s STEP 10s] WHERE {{ ?s a <urn:Sensor> }}"


def start_up() -> dict[str, float]:
    """Seconds from the command to: HTTP answers, the engine runs, the first answer arrives at a subscriber."""
    with Server("--demo") as server:
        web = _http(server)
        running = server.until("running")
        for _came, answer in server.events("Speeds", "beginning"):
            if answer["at"]:
                return {"http_s": web, "engine_s": running, "first_answer_s": time.monotonic() - server.started}
    raise RuntimeError("the demo gave no answer")


def idle(seconds: int) -> dict[str, float]:
    """Share of one core, and memory, with one query of STEP 10 s over a silent stream."""
    with Server() as server:
        stream = server.send("PUT", "/streams/silent")["iri"]
        server.send("PUT", "/queries/Quiet", QUERY.format(stream=stream).encode(), "application/sparql-query")
        server.until("running")
        time.sleep(30)
        before, start = server.cpu_seconds(), time.monotonic()
        time.sleep(seconds)
        return {
            "core_percent": 100 * (server.cpu_seconds() - before) / (time.monotonic() - start),
            "memory_mb": server.memory_mb(),
        }


def _http(server: Server) -> float:
    while True:
        try:
            server.send("GET", "/health")
            return time.monotonic() - server.started
        except OSError:
            time.sleep(0.02)
