"""A wall clock that jumps, as all Python processes of a server see it; monotonic clocks go on.

For example:

    row = jumped(+3600)
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from bench.faults.row import Row, unless
from bench.faults.scene import Scene
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log

STAY_SECONDS, FOLLOW_SECONDS = 10.0, 60.0
# Loaded by every Python that finds it on its path, before anything else asks what time it is.
SHIFT = """
import time

def shifted(real, unit):
    def now():
        with open({offset!r}) as file:
            return real() + type(unit)(float(file.read() or 0)) * unit
    return now

time.time, time.time_ns = shifted(time.time, 1.0), shifted(time.time_ns, 10**9)
"""


def jumped(seconds: int) -> Row:
    name = "clock-ahead" if seconds > 0 else "clock-back"
    injected = f"The wall clock of the server's Python processes jumps by {seconds / 3600:+.0f} h"
    with tempfile.TemporaryDirectory(prefix="csparql-clock-") as directory:
        offset = Path(directory) / "offset"
        offset.write_text("0")
        (Path(directory) / "sitecustomize.py").write_text(SHIFT.format(offset=str(offset)))
        environment = {"PYTHONPATH": directory}
        with Scene(environment=environment) as scene:
            scene.begin()
            before = _stamp(scene)
            _set(offset, seconds)
            begun = time.monotonic()
            time.sleep(STAY_SECONDS)
            # The ticks of the instants in between are written first, and a busy machine needs a while for thousands.
            while _stamp(scene) - before < 1000 * seconds and time.monotonic() - begun < FOLLOW_SECONDS:
                time.sleep(0.5)
            after, passed = _stamp(scene), 1000 * (time.monotonic() - begun)
            if seconds > 0:
                scene.subscriber.reached(after)
                told = (
                    f"The stamps jump with it ({(after - before) / 1000:.0f} s in {passed / 1000:.0f} s), and the "
                    "instants in between are made up for, all empty but the first: "
                    f"{len(scene.subscriber.told)} instants were told {time.monotonic() - begun:.0f} s after the "
                    "jump."
                )
                broken = unless(after - before >= 1000 * seconds, "the stamps did not follow the clock")
            else:
                rate = (after - before) / passed
                told = (
                    f"No stamp goes back. The log's clock goes on at half speed ({rate:.2f} of the real one) until "
                    "the wall clock has caught up; instants pass that much slower."
                )
                broken = unless(0.3 < rate < 0.75, f"the log's clock runs at {rate:.2f} of the real one")
            scene.answered(4)
            scene.finish()
            verdict = scene.verdict()
            verdict.broken += broken + unless(not scene.refusals(), f"pushes were refused: {scene.refusals()}")
            return Row.of(name, injected, told, verdict)


def _set(offset: Path, seconds: int) -> None:
    """In one step: nobody reads half of it."""
    new = offset.with_suffix(".new")
    new.write_text(str(seconds))
    os.replace(new, offset)


def _stamp(scene: Scene) -> int:
    """The newest stamp of the log."""
    log = Log(Database(DataDirectory(scene.data).database))
    return max(entry.at for entry in log.outline(max(0, log.tail() - 20), 20))
