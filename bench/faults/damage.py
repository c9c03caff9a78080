"""A checkpoint of the engine that is damaged while the server is stopped, or deleted while it is at work.

For example:

    row = damaged("offsets")
    row = deleted("engine")
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from bench.faults.row import Row, unless
from bench.faults.scene import Scene
from csparql_spark.disk import DataDirectory


def damaged(part: str) -> Row:
    with Scene() as scene:
        scene.begin()
        for _ in range(3):
            scene.answered(4)
        scene.stop()
        checkpoint = DataDirectory(scene.data).checkpoint
        injected, damage = DAMAGES[part]
        damage(checkpoint)
        scene.again()
        begun = time.time()
        scene.subscriber.reached(int(begun * 1000) + 1500)  # three instants that nobody has answered before
        back = time.time() - begun
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        shown = _said(scene)
        verdict.broken += unless(part in UNNOTICED or bool(shown), "the engine says nothing of it")
        told = (
            f"Set aside and made again from the log, by itself: “{shown[0]}”"
            if shown
            else "The last batch is run again, by itself."
            if part == "commits-gone"
            else "The state is made again from the log, by itself."
        )
        injected = f"The server is stopped; of `engine/{checkpoint.name}` {injected}; it is started again"
        return Row.of(
            f"checkpoint-{part}",
            injected,
            f"{told} Three answers later {back:.1f} s had passed.",
            verdict,
            seconds=back,
        )


def deleted(what: str) -> Row:
    """Delete a part of the data directory under the eyes of a server; then kill the engine, which has it still in
    mind."""
    took = []
    with Scene() as scene:
        scene.begin()
        scene.answered(4)
        path = Path(scene.data) / what
        # Files come while it is emptied.
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        took.append(scene.answered(6))
        scene.kill("engine")
        took.append(scene.answered(6))
        scene.finish()
        verdict = scene.verdict()
        shown = _said(scene)
        told = f" “{shown[0]}”" if shown else ""
        return Row.of(
            "",
            f"`rm -r DATA/{what}` while the server is at work; then kill -9 of the engine",
            f"Six answers later {took[0]:.1f} s had passed, and after the kill {took[1]:.1f} s.{told}",
            verdict,
            seconds=max(took),
        )


def _said(scene: Scene) -> list[str]:
    """What the server and its engine say of the checkpoint."""
    log = DataDirectory(scene.data).engine / "engine.log"
    lines = scene.said().splitlines() + log.read_text(errors="replace").splitlines()
    # What Spark says, in brackets, has ids of its own at each run.
    return [
        line.replace(str(scene.data), "DATA").partition(" ([STREAM_FAILED]")[0]
        for line in lines
        if line.startswith("csparql-spark") and "checkpoint" in line
    ]


def _files(checkpoint: Path, part: str) -> list[Path]:
    """The oldest first."""
    found = (path for path in (checkpoint / part).rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(found, key=lambda path: path.stat().st_mtime)


def _cut(path: Path) -> None:
    path.write_bytes(b"")


def _flip(path: Path) -> None:
    path.write_bytes(bytes(byte ^ 0xFF for byte in path.read_bytes()))


def _halve(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _each(paths: list[Path], damage: Callable[[Path], None]) -> None:
    for path in paths:
        damage(path)


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "offsets": ("the newest file of `offsets/` is cut to nothing", lambda at: _cut(_files(at, "offsets")[-1])),
    "offsets-gone": ("`offsets/` is deleted", lambda at: shutil.rmtree(at / "offsets")),
    "commits": ("bytes of the newest file of `commits/` are flipped", lambda at: _flip(_files(at, "commits")[-1])),
    "commits-gone": ("`commits/` is deleted", lambda at: shutil.rmtree(at / "commits")),
    "state": ("all files of `state/` are cut in half", lambda at: _each(_files(at, "state"), _halve)),
    "state-empty": ("all files of `state/` are cut to nothing", lambda at: _each(_files(at, "state"), _cut)),
    "state-gone": ("`state/` is deleted", lambda at: shutil.rmtree(at / "state")),
    "metadata": ("`metadata` is cut to nothing", lambda at: _cut(at / "metadata")),
    "metadata-gone": ("`metadata` is deleted", lambda at: (at / "metadata").unlink()),
    "gone": ("the whole directory is deleted", shutil.rmtree),
}
UNNOTICED = ("gone", "commits-gone")  # the rest means the same without it
