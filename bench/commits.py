"""Group commit: how many durable appends a second, for one pusher and for many, beside the bare rate of the disk."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Draft, LogWriter


def measure(seconds: float) -> dict[str, float]:
    path = tempfile.mkdtemp(prefix="csparql-bench-")
    try:
        directory = DataDirectory(path).create()
        writer = LogWriter(Database(directory.database).create(), directory.bell("log")).start()
        numbers = {"fsync_per_s": _fsyncs(path, seconds)}
        for pushers in (1, 32):
            numbers[f"appends_per_s_{pushers}"] = _appends(writer, pushers, seconds)
        writer.stop()
        return numbers
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _fsyncs(path: str, seconds: float) -> float:
    count, start = 0, time.monotonic()
    with open(os.path.join(path, "bare"), "wb", buffering=0) as file:
        while time.monotonic() - start < seconds:
            file.write(bytes(4096))
            os.fsync(file.fileno())
            count += 1
    return count / seconds


def _appends(writer: LogWriter, pushers: int, seconds: float) -> float:
    counts = [0] * pushers
    end = time.monotonic() + seconds

    def push(number: int) -> None:
        while time.monotonic() < end:
            writer.append(Draft("chunk", "urn:stream", bytes(1000), 10))
            counts[number] += 1

    threads = [threading.Thread(target=push, args=(number,)) for number in range(pushers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds
