"""A disk that is full: the data directory on a small tmpfs, filled to the last block while pushes go on.

For example:

    row = full()                # needs root, to mount
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.faults.row import Row, unless
from bench.faults.scene import Scene

SIZE_MB = 192
FULL_SECONDS = 30.0
BLOCK = 4096


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="csparql-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "csparql-disk", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)
        path.rmdir()


class Ballast(threading.Thread):
    """Takes every block that becomes free, until it is told to give all of them back."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._path, self.over = path, threading.Event()

    def run(self) -> None:
        with self._path.open("wb", buffering=0) as file:
            while not self.over.is_set():
                try:
                    file.write(b"\xff" * (256 * BLOCK))
                except OSError:
                    self._last_blocks(file)
                    self.over.wait(0.01)
        self._path.unlink()

    @staticmethod
    def _last_blocks(file) -> None:
        with contextlib.suppress(OSError):
            while True:
                file.write(b"\xff" * BLOCK)


def full() -> Row:
    injected = (
        f"The data directory on a tmpfs of {SIZE_MB} MB, filled to the last block for {FULL_SECONDS:.0f} s, then freed"
    )
    if os.geteuid():
        return Row(
            "disk-full",
            injected,
            "SKIPPED: to mount a small disk needs root.",
            ["not run: to mount a small disk needs root"],
        )
    with small_disk() as disk:
        data = disk / "data"
        data.mkdir()
        with Scene(data=str(data)) as scene:
            scene.begin()
            ballast = Ballast(disk / "ballast")
            ballast.start()
            begun = time.monotonic()
            while not scene.refusals() and time.monotonic() - begun < 120:
                time.sleep(0.1)
            time.sleep(FULL_SECONDS)
            served = scene.client.health()["status"]
            refused = scene.refusals()
            ballast.over.set()
            ballast.join()
            back = scene.answered(3)
            scene.answered(4)
            before = sum(len(pusher.acknowledged) for pusher in scene.pushers)
            scene.finish()
            verdict = scene.verdict()
            sentence = scene.sentences().get("store-full", "")
            verdict.broken += unless(set(refused) == {(507, "store-full")}, f"pushes were told {dict(refused)}")
            verdict.broken += unless(before > 0, "no push was acknowledged")
            told = (
                f"{refused[507, 'store-full']} pushes were told 507: “{sentence}” GET /health went on ({served}). "
                f"When there was room, three answers later {back:.1f} s had passed, without help."
            )
            return Row.of("disk-full", injected, told, verdict, seconds=back, refused=sum(refused.values()))
