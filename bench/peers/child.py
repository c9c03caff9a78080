"""A peer at work, in a process of its own: `python -m bench.peers.child MODULE CLASS JOB OUT`.

A peer of Python is a class with a small interface. Only `slide` is timed; the input stands ready in the peer's own form
before (`ready`), and the answer is read after (`rows`):

    peer = Peer(); peer.prepare(job)              # background and the first window
    given = peer.ready(added, removed)
    answer = peer.slide(given)                    # timed
    peer.rows(answer)                             # whole rows of numbers, see `workloads`; `peer.close()`

A peer that can only run over a whole stream has `whole(job)` instead, and measures itself. `Cannot` says what it cannot
do.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from bench.peers.job import Cannot, Job, write_answers

Timed = tuple[float, float, np.ndarray]  # seconds by the clock, seconds of the processor, rows


class Peer(Protocol):
    version: str

    def prepare(self, job: Job) -> None: ...

    def ready(self, added: np.ndarray, removed: np.ndarray) -> object: ...

    def slide(self, given: object) -> object: ...

    def rows(self, answer: object) -> np.ndarray: ...

    def close(self) -> None: ...


def measured(peer: Peer, job: Job) -> Iterator[Timed]:
    """The slides that count."""
    if hasattr(peer, "whole"):
        yield from peer.whole(job)
        return
    peer.prepare(job)
    gc.collect()
    gc.freeze()
    for number, (added, removed) in enumerate(job.moves()):
        given = peer.ready(added, removed)
        wall, cpu = time.perf_counter(), time.process_time()
        answer = peer.slide(given)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if number >= job.warm:
            yield wall, cpu, peer.rows(answer)
    peer.close()


def main() -> None:
    module, name, source, target = sys.argv[1:]
    job, target = Job.read(Path(source)), Path(target)
    peer = getattr(importlib.import_module(module), name)()
    times: list[tuple[float, float]] = []

    def answers() -> Iterator[np.ndarray]:
        for wall, cpu, rows in measured(peer, job):
            times.append((wall, cpu))
            yield rows

    try:
        write_answers(target, answers())
        said = {"wall": [wall for wall, _ in times], "cpu": [cpu for _, cpu in times], "version": peer.version}
    except Cannot as reason:
        said = {"reason": str(reason), "version": peer.version}
    (target / "times.json").write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main()
