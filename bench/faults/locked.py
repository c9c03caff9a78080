"""The database, locked by another program that writes into it and does not end.

For example:

    row = locked(60)
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from bench.faults.row import Row, unless
from bench.faults.scene import Scene


def locked(seconds: float) -> Row:
    with Scene() as scene:
        scene.begin()
        other = sqlite3.connect(Path(scene.data) / "store.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        time.sleep(seconds)  # what is injected is a time
        served = scene.client.health()["status"]  # who only reads is not kept waiting
        other.execute("ROLLBACK")
        other.close()
        back = scene.answered(3)
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        verdict.broken += unless(not scene.refusals(), f"pushes were refused: {scene.refusals()}")
        injected = f"Another program holds BEGIN EXCLUSIVE on store.db for {seconds:.0f} s"
        told = (
            "Pushes waited, or were told 503 with Retry-After and sent again by the client: none was refused for "
            f"good, the longest took {scene.longest():.1f} s. GET /health went on ({served}). Three answers later "
            f"{back:.1f} s had passed."
        )
        return Row.of(f"lock-{seconds:.0f}s", injected, told, verdict, seconds=back, longest=scene.longest())
