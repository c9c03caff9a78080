"""Pushing: a process that keeps a rate, and writes down what became of each push.

A thread for each stream pushes ten times a second, N-Triples over HTTP, on a schedule that does not wait for the
server: a push that is late is made up for by the next ones, which are then larger. Lines of the file that it writes:

    stream  first  count  status  seq  begun (epoch s)  ms        a problem's sentence, if there is one

    with Pushing(port, path) as pushing:
        pushing.rate = 10_000           # triples a second; 0 rests
    pushes(path)                        # what was written down
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple, TextIO

from bench.load.producer import Producer
from bench.load.traffic import STREAMS, TRIPLES, body, shares

PUSHES_A_SECOND = 10
LARGEST = 20_000  # things in one push: who has fallen behind does not send everything at once
NO_ANSWER = 0  # the status of a push that was not answered
_processes = multiprocessing.get_context("spawn")


class Push(NamedTuple):
    stream: str
    first: int
    count: int  # things, of three triples each
    status: int
    seq: int
    begun: float
    ms: float
    said: str

    @property
    def rows(self) -> int:
        return TRIPLES * self.count


class Pushing:
    def __init__(self, port: int, path: Path) -> None:
        self._rate, self._over = _processes.Value("d", 0.0), _processes.Event()
        self._process = _processes.Process(target=_work, args=(port, str(path), self._rate, self._over), daemon=True)

    def __enter__(self) -> Pushing:
        self._process.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """No more pushes; wait for what was begun."""
        self._over.set()
        self._process.join(120)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def rate(self) -> float:
        return self._rate.value

    @rate.setter
    def rate(self, rate: float) -> None:
        self._rate.value = rate


def _work(port: int, path: str, rate, over) -> None:
    with open(path, "a", encoding="utf-8") as file:
        lock = threading.Lock()
        threads = [threading.Thread(target=_push, args=(port, stream, rate, over, file, lock)) for stream in STREAMS]
        for thread in threads:
            thread.start()
        while not over.wait(1.0) and os.getppid() != 1:  # whoever started us may be gone
            pass
        over.set()
        for thread in threads:
            thread.join()


def _push(port: int, stream: str, rate, over, file: TextIO, lock: threading.Lock) -> None:
    producer, number, owed, before = Producer(port), 0, 0.0, time.monotonic()
    while not over.wait(max(0.0, before + 1 / PUSHES_A_SECOND - time.monotonic())):
        now = time.monotonic()
        owed += (now - before) * shares(rate.value)[stream]
        before = now
        count = min(int(owed), LARGEST)
        if not count:
            continue
        owed -= count
        content, begun = body(stream, number, count), time.time()
        try:
            status, told = producer.push(stream, content)
        except (OSError, HTTPException) as error:
            status, told = NO_ANSWER, {"detail": f"{type(error).__name__}: {error}"}
        said = "" if status == 200 else f"{told.get('code', '')}: {told.get('detail', '')}"
        line = Push(stream, number, count, status, told.get("seq", 0), begun, 1000 * (time.time() - begun), said)
        with lock:
            print(
                *line[:5],
                f"{line.begun:.3f}",
                f"{line.ms:.1f}",
                " ".join(said.split()),
                sep="\t",
                file=file,
                flush=True,
            )
        number += count


def pushes(path: Path) -> Iterator[Push]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield push_of(line)


def push_of(line: str) -> Push:
    stream, first, count, status, seq, begun, ms, said = line.rstrip("\n").split("\t")
    return Push(stream, int(first), int(count), int(status), int(seq), float(begun), float(ms), said)
