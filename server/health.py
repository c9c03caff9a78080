"""Health: whether answers will come, and if not, what is in the way.

    GET /health     {"status": "ok", "engine": {"state": "running", "position": 812, "behind": 0, "lag_ms": 0, …}, …}

`starting`: the engine is not there yet; what is pushed is kept for it. `behind`: it runs, and something has waited for it
for longer than `lag-limit`. `degraded`: it has failed or is gone. The web process itself serves in all of them, so the
response is 200; it is 503 when the store cannot be read.

What waits is an entry of the log that no batch has gone through, or an instant that has passed and that nobody has
written down yet: answers are told before their batch ends, so a server that is `ok` has told all that is due, but for the
last `lag-limit`. Nothing waits on an idle server.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from flask import Blueprint

from csparql_spark.server.backend import Backend
from csparql_spark.server.security import may

HEALTH = ("starting", "ok", "behind", "degraded")


class Backlog(NamedTuple):
    """Up to where the log is answered, how many entries it has after that, and for how long the oldest thing waits."""

    position: int
    entries: int
    lag_ms: int


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/health")
    def health() -> dict[str, object]:
        tail, waiting = backend.log.tail(), backlog(backend)
        engine = engine_of(backend.status.of("engine") or {})
        engine |= {"position": waiting.position, "behind": waiting.entries, "lag_ms": waiting.lag_ms}
        status = status_of(engine, backend.settings.lag_limit)
        if not may("read"):         # whether it lives is no secret; what it does is
            return {"status": status}
        return {"status": status, "engine": engine, "log": {"tail": tail},
                "queries": len(backend.registry.queries()), "streams": len(backend.registry.streams()),
                "subscribers": backend.fanout.subscribers,
                **({"mqtt": backend.mqtt.described()} if backend.mqtt else {})}

    return blueprint


def backlog(backend: Backend) -> Backlog:
    position, now = backend.retention.batch_end(), backend.writer.clock.now()
    tail, since = backend.log.tail(), backend.log.waiting_since(position)
    unread = 0 if since is None else now - since
    return Backlog(position, max(0, tail - position), max(0, unread, backend.ticker.overdue(now)))


def engine_of(told: dict[str, object]) -> dict[str, object]:
    """What the engine said of itself, and whether it is still there to say so."""
    state = told.get("state", "starting")
    if "pid" in told and state in ("starting", "running") and not alive(told["pid"]):
        state = "gone"
    return {**told, "state": state}


def status_of(engine: dict[str, object], lag_limit: int) -> str:
    if engine["state"] != "running":
        return "starting" if engine["state"] == "starting" else "degraded"
    return "ok" if engine["lag_ms"] <= lag_limit else "behind"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True         # it is there, and is not ours
    return True
