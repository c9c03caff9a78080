"""A checkpoint of the engine that is damaged while the server is stopped.

    row = damaged("offsets")
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from bench.faults.row import Row, unless
from bench.faults.scene import Scene
from csparql_spark.store import DataDirectory

INJECTED = {
    "offsets": "the newest file of `offsets/` is cut to nothing",
    "commits": "bytes of the newest file of `commits/` are flipped",
    "state": "all files of `state/` are cut in half",
    "gone": "the whole directory is deleted",
}


def damaged(part: str) -> Row:
    with Scene() as scene:
        scene.begin()
        for _ in range(3):
            scene.answered(4)
        scene.stop()
        checkpoint = DataDirectory(scene.data).checkpoint
        _damage(checkpoint, part)
        scene.again()
        begun = time.time()
        scene.subscriber.reached(int(begun * 1000) + 1500)      # three instants that nobody has answered before
        back = time.time() - begun
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        sentences = [line for line in scene.said().splitlines() if "checkpoint" in line]
        log = (DataDirectory(scene.data).engine / "engine.log").read_text(errors="replace").splitlines()
        sentences += [line for line in log if line.startswith("csparql-spark") and "checkpoint" in line]
        verdict.broken += unless(part == "gone" or bool(sentences), "the engine says nothing of it")
        # What Spark says, in brackets, has ids of its own at each run.
        shown = [line.replace(str(scene.data), "DATA").partition(" ([STREAM_FAILED]")[0] for line in sentences]
        told = (f"Set aside and made again from the log, by itself: “{shown[0]}”" if shown
                else "The state is made again from the log, by itself.")
        injected = f"The server is stopped; of `engine/{checkpoint.name}` {INJECTED[part]}; it is started again"
        return Row.of(f"checkpoint-{part}", injected, f"{told} Three answers later {back:.1f} s had passed.", verdict,
                      seconds=back)


def _damage(checkpoint: Path, part: str) -> None:
    if part == "gone":
        shutil.rmtree(checkpoint)
        return
    found = (path for path in (checkpoint / part).rglob("*") if path.is_file() and not path.name.startswith("."))
    files = sorted(found, key=lambda path: path.stat().st_mtime)
    if part == "offsets":
        files[-1].write_bytes(b"")
    elif part == "commits":
        files[-1].write_bytes(bytes(byte ^ 0xFF for byte in files[-1].read_bytes()))
    else:
        for path in files:
            content = path.read_bytes()
            path.write_bytes(content[:len(content) // 2])
