"""A copy that is put back while the server is stopped: of the database alone, or of the whole data directory.

What was acknowledged after the copy was taken is lost with it; everything else must hold, for the log that is there
now, although pushes begin at once after the start, and bring it past the place up to which the engine had read:

    log       ●●●●●● copy ●●●●●●●● stop           the engine has read all of it
              ●●●●●● ○○○○○○○○○○○○○○○○○○ …          put back, and grown before the engine looks

    row = restored(whole=False)
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

from bench.faults.row import Row, unless
from bench.faults.scene import Pusher, Scene, Subscriber
from csparql_spark.client import Event
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log
from csparql_spark.store.witness import NAME

LOST_ANSWERS = 12  # instants between the copy and the stop
AGAIN_PAUSE = 0.005


class Folding(Subscriber):
    """Takes a gap at its word: what it was told after that is not so any more."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.restored: list[Event] = []
        self.taken_back = 0

    def notice(self, event: Event) -> None:
        if event.kind != "gap" or event.data["reason"] != "restored":
            super().notice(event)
            return
        with self.grown:
            self.restored.append(event)
            so = [one for one in self.told if one[0] <= (event.data["after"] or 0)]
            self.taken_back += len(self.told) - len(so)
            self.told[:] = so


def restored(whole: bool) -> Row:
    name = "restore-directory" if whole else "restore-database"
    with Scene() as scene, tempfile.TemporaryDirectory(prefix="csparql-copy-") as copies:
        copy, data = Path(copies) / "copy", Path(scene.data)
        subscriber = scene.subscriber = Folding(scene.url)
        scene.begin()
        scene.answered(6)
        if whole:
            scene.finish()
            scene.stop()
            shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.bell", "server.lock"))
            scene.again()
            _push(scene, 2, 0.03)
        else:
            _back_up(data, copy)
        kept = _tail(copy)
        scene.answered(LOST_ANSWERS)
        scene.finish()
        _until_read(data)
        scene.stop()
        lost, read = _tail(data), _read(data)
        _put_back(copy, data, whole)
        gone = 0
        for pusher in scene.pushers:
            so = {number: seq for number, seq in pusher.acknowledged.items() if seq <= kept}
            gone += len(pusher.acknowledged) - len(so)
            pusher.acknowledged = so
        begun = time.time()
        scene.again()
        _push(scene, 4, AGAIN_PAUSE)
        grown = _grown(scene, data)
        scene.subscriber.reached(int(begun * 1000) + 1500)
        back = time.time() - begun
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        sentences = [
            line.removeprefix("csparql-spark: ").replace(str(data), "DATA")
            for line in scene.said().splitlines()
            if "set aside" in line
        ]
        verdict.broken += unless(
            len(subscriber.restored) == 1,
            f"the subscriber was told {len(subscriber.restored)} times that a copy was put back",
        )
        verdict.broken += unless(bool(sentences) != whole, f"the server says of it: {sentences}")
        verdict.broken += unless(whole or grown > read, f"the log did not grow past {read} before the engine looked")
        what = "the whole data directory" if whole else "store.db"
        injected = (
            f"A copy of {what} is put back while the server is stopped: {lost - kept} entries and {gone} "
            f"acknowledged pushes are lost with it. It is started, and 4 producers push at once"
        )
        noticed = f"Noticed before anything was accepted: “{sentences[0]}”." if sentences else "The checkpoint fits."
        told = (
            f"{noticed} The engine had read {read} entries, {kept} were put back, and {grown} were there when it "
            f"ran again. The subscriber was told by a `gap` that {subscriber.taken_back} answers are not so any "
            f"more, and then what is; three new answers later {back:.1f} s had passed."
        )
        return Row.of(name, injected, told, verdict, seconds=back, taken_back=subscriber.taken_back)


def _push(scene: Scene, count: int, pause: float) -> None:
    """Other producers, of other numbers."""
    first = max(number for pusher in scene.pushers for number in pusher.acknowledged) // 1_000_000 + 10
    fresh = [Pusher(scene.url, 1_000_000 * (first + number), pause) for number in range(count)]
    scene.pushers = [*scene.pushers, *fresh]
    for pusher in fresh:
        pusher.start()


def _back_up(data: Path, copy: Path) -> None:
    copy.mkdir()
    with (
        contextlib.closing(sqlite3.connect(DataDirectory(data).database)) as source,
        contextlib.closing(sqlite3.connect(copy / "store.db")) as target,
    ):
        source.backup(target)


def _put_back(copy: Path, data: Path, whole: bool) -> None:
    if whole:
        shutil.rmtree(data)
        shutil.copytree(copy, data)
        return
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (data / name).unlink(missing_ok=True)
    shutil.copy(copy / "store.db", data / "store.db")


def _tail(data: Path) -> int:
    database = Database(data / "store.db")
    try:
        return Log(database).tail()
    finally:
        database.close()


def _read(data: Path) -> int:
    return json.loads((DataDirectory(data).checkpoint / NAME).read_text())["seq"]


def _until_read(data: Path) -> None:
    """Until the engine has gone through all that was pushed."""
    tail, deadline = _tail(data), time.monotonic() + 60
    while _read(data) < tail and time.monotonic() < deadline:
        time.sleep(0.1)


def _grown(scene: Scene, data: Path) -> int:
    """How far the log is when the engine runs; pushes go on all the time."""
    scene.server.until("running")
    return _tail(data)
