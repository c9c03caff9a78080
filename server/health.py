"""Health: whether answers will come, and if not, what is in the way.

    GET /health     {"status": "ok", "engine": {"state": "running", "position": 812, "behind": 0, "lag_ms": 0, …}, …}

`starting`: the engine is not there yet; what is pushed is kept for it. `degraded`: it has failed or is gone, or is far
behind. The web process itself serves in all three, so the response is 200; it is 503 when the store cannot be read.
"""

from __future__ import annotations

import os

from flask import Blueprint

from csparql_spark.server.backend import Backend
from csparql_spark.server.security import may

UNREAD = 20         # entries that are looked at for one that is stamped by the arrival clock


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/health")
    def health() -> dict[str, object]:
        tail, position = backend.log.tail(), backend.retention.position()
        engine = engine_of(backend.status.of("engine") or {})
        # A tick of a stream's own clock is stamped with that clock, and tells nothing of ours.
        unread = [entry for entry in backend.log.outline(position, UNREAD) if entry.kind != "tick" or not entry.subject]
        lag = max(0, backend.writer.clock.now() - unread[0].at) if unread else 0
        engine |= {"position": position, "behind": max(0, tail - position), "lag_ms": lag}
        if not may("read"):         # whether it lives is no secret; what it does is
            return {"status": status_of(engine, backend.settings.lag_limit)}
        return {"status": status_of(engine, backend.settings.lag_limit), "engine": engine, "log": {"tail": tail},
                "queries": len(backend.registry.queries()), "streams": len(backend.registry.streams()),
                "subscribers": backend.fanout.subscribers,
                **({"mqtt": backend.mqtt.described()} if backend.mqtt else {})}

    return blueprint


def engine_of(told: dict[str, object]) -> dict[str, object]:
    """What the engine said of itself, and whether it is still there to say so."""
    state = told.get("state", "starting")
    if "pid" in told and state in ("starting", "running") and not alive(told["pid"]):
        state = "gone"
    return {**told, "state": state}


def status_of(engine: dict[str, object], lag_limit: int) -> str:
    if engine["state"] == "starting":
        return "starting"
    return "ok" if engine["state"] == "running" and engine["lag_ms"] <= lag_limit else "degraded"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True         # it is there, and is not ours
    return True
