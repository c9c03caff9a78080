"""The ramp: more and more, step by step, until it breaks; then back to the first step until it is well again.

    ramp(stage, [Step(100, 5000), Step(100, 10_000), …], lines, seconds=60)

Each step is a line, and so is what broke it, with what a user sees: how pushes are answered, what `GET /health` says,
what stands in the console's status bar, and what `GET /queries/{name}/timeline` says.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from bench.load.breaking import LATE_MS, broken, recovered
from bench.load.lines import Lines
from bench.load.stage import Stage

LOOK_SECONDS = 20.0  # what is judged are the last ones of a step
EVERY = 10.0
RECOVERY_SECONDS = 600.0
RECOVERED_SECONDS = 5.0


class Step(NamedTuple):
    queries: int
    rate: float


def ramp(stage: Stage, steps: Sequence[Step], lines: Lines, seconds: float) -> dict[str, object]:
    """What the summary says of it."""
    told: dict[str, object] = {"kept_queries": 0, "kept_rate": 0, "broke": None}
    normal = 0.0
    for step in steps:
        reason, median = _climb(stage, step, lines, seconds)
        if reason is not None:
            told |= {"broke": reason, "broke_queries": step.queries, "broke_rate": step.rate, "seen": seen(stage)}
            lines.say("ramp-broken", queries=step.queries, rate=step.rate, reason=reason, **told["seen"])
            break
        told |= {"kept_queries": step.queries, "kept_rate": step.rate}
        normal = normal or median
    told["normal_p50_ms"] = normal
    told["recovered_after_s"] = _recover(stage, steps[0], lines, normal)
    return told


def _climb(stage: Stage, step: Step, lines: Lines, seconds: float) -> tuple[str | None, float]:
    """Why a step broke it, if it did; the median latency."""
    begun, look = time.monotonic(), min(LOOK_SECONDS, seconds / 2)
    stage.delete(step.queries)
    stage.register(step.queries)
    registered = time.monotonic() - begun
    stage.pushing.rate = step.rate
    begun, reason = time.monotonic(), None
    while (left := seconds - (time.monotonic() - begun)) > 0 and reason is None:
        time.sleep(min(EVERY, left))
        lines.say("ramp-series", rate=step.rate, second=time.monotonic() - begun, **stage.line(EVERY))
        if time.monotonic() - begun >= look:
            reason = _reason(stage, step, look)
    latencies = sorted(stage.watch.latencies(look))
    median = latencies[len(latencies) // 2] if latencies else 0.0
    if reason is None and median > LATE_MS:  # it may be catching up with what it was to register
        reason = f"answers come {median / 1000:.1f} s after their instants when the step ends"
    lines.say(
        "ramp-step", queries=step.queries, rate=step.rate, register_s=registered, broke=reason, **stage.watch.told(look)
    )
    return reason, median


def _reason(stage: Stage, step: Step, look: float) -> str | None:
    stage.watch.look()
    if failed := stage.failed():
        return f"{len(failed)} queries have failed, such as {failed[0]}"
    newest = stage.watch.newest()
    lag = 1000 * time.time() - newest if newest else 1000 * look
    return broken(stage.watch.latencies(look), lag, stage.watch.pushed(look), offered=step.rate, seconds=look)


def _recover(stage: Stage, step: Step, lines: Lines, normal: float) -> float | None:
    """Back at the first step: the seconds until answers come as they did then; None if they do not."""
    begun = time.monotonic()
    stage.pushing.rate = step.rate
    stage.delete(step.queries)
    said = begun
    while time.monotonic() - begun < RECOVERY_SECONDS:
        time.sleep(1.0)
        stage.watch.look()
        if time.monotonic() - begun > RECOVERED_SECONDS and recovered(stage.watch.latencies(RECOVERED_SECONDS), normal):
            return time.monotonic() - begun
        if time.monotonic() - said > EVERY:
            said = time.monotonic()
            lines.say("ramp-series", rate=step.rate, recovering=time.monotonic() - begun, **stage.line(EVERY))
    return None


def seen(stage: Stage) -> dict[str, object]:
    """What a user sees of it."""
    health = stage.health()
    failed = stage.failed()
    try:
        says = stage.server.send("GET", f"/queries/{stage.crowd[0].name}/timeline")["says"]
    except (OSError, RuntimeError) as error:
        says = f"no answer: {error}"
    return {
        "health": health,
        "console": console(health),
        "timeline": says,
        "failed": failed[:5],
        "pushes": {str(status or "no answer"): count for status, count in stage.watch.statuses.items()},
        "sentences": {str(status or "no answer"): said for status, said in stage.watch.sentences.items()},
    }


def console(health: dict[str, object]) -> str:
    """The console's status bar, in its words."""
    engine = health.get("engine")
    if not isinstance(engine, dict):
        return "server does not answer"
    behind = ", behind" if health["status"] == "behind" else ""
    state = "starting" if health["status"] == "starting" else engine["state"]
    return f"engine {state}{behind} · lag {engine['lag_ms'] / 1000:.1f} s · {engine['behind']} entries behind"
