"""Throughput: how fast the pipeline eats a log that is already there (source ─▶ processor ─▶ sink), without HTTP."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Draft, LogWriter
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store.registry import QueryRecord, StreamRecord
from csparql_spark.store.retention import Retention

CHUNK = 20_000
# One reading in a hundred is an answer; every reading is an answer.
HIGH = (
    "REGISTER QUERY High AS SELECT ?sensor ?value FROM STREAM <urn:stream> [RANGE 2s STEP 1s] "
    "WHERE { ?reading <urn:by> ?sensor ; <urn:level> <urn:high> ; <urn:value> ?value }"
)
EVERY = HIGH.replace("<urn:high>", "?level")


def chunk(number: int, stamp: int) -> Chunk:
    """Readings of three triples each, one in a hundred of them high."""
    readings = CHUNK // 3
    terms = ["<urn:by>", "<urn:level>", "<urn:value>", "<urn:high>", "<urn:low>"]
    terms += [f"<urn:sensor/{n}>" for n in range(500)] + [f'"{n}"' for n in range(1000)]
    first = len(terms)
    terms += [f"<urn:reading/{number}/{n}>" for n in range(readings)]
    n = np.arange(readings)
    s = np.repeat(first + n, 3)
    p = np.tile([0, 1, 2], readings)
    o = np.stack([5 + n % 500, np.where(n % 100 == 0, 3, 4), 505 + n % 1000], axis=1).ravel()
    return Chunk.from_columns(pa.array(terms), s, p, o, np.full(3 * readings, stamp))


def measure(query: str, triples: int, rate: int) -> dict[str, float]:
    """Triples a second through the pipeline; the log's own clock runs at `rate` triples a second."""
    path = tempfile.mkdtemp(prefix="csparql-bench-")
    try:
        directory = DataDirectory(path).create()
        database = Database(directory.database).create()
        writer = LogWriter(database, directory.bell("log")).start()
        writer.append(StreamRecord.draft("urn:stream", name="stream", clock="event", delay=0))
        writer.append(QueryRecord.draft("High", text=query, base=None))
        sizes = {}
        for number in range(triples // CHUNK):
            piece = chunk(number, number * CHUNK * 1000 // rate)
            entry = writer.append(Draft("chunk", "urn:stream", piece.to_ipc(), len(piece), piece.first, piece.last))
            sizes[entry.seq] = len(piece)
        writer.stop()
        engine = subprocess.Popen(
            [sys.executable, "-m", "csparql_spark.spark.engine", "--data", path, "--to-the-end"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        seen: list[tuple[float, int]] = []
        retention = Retention(database)
        while engine.poll() is None:
            position = retention.position()
            if position and (not seen or seen[-1][1] != position):
                seen.append((time.monotonic(), position))
            time.sleep(0.01)
        # The first batches warm the JVM up; what is sustained is what comes after them.
        (start, low), (end, high) = seen[len(seen) // 4], seen[-1]
        moved = sum(size for seq, size in sizes.items() if low < seq <= high)
        return {"triples": triples, "batches": len(seen), "triples_per_s": moved / (end - start)}
    finally:
        shutil.rmtree(path, ignore_errors=True)
