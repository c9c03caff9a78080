"""Acknowledged means durable: a process that writes is killed with -9, and what it had acknowledged is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .opened import Opened

PUSHERS = 8
WRITE = f"""
import sys, threading
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Draft, LogWriter
directory = DataDirectory(sys.argv[1]).create()
writer = LogWriter(Database(directory.database).create(), directory.bell("log")).start()
def push(name):
    for i in range(10**9):
        entry = writer.append(Draft("chunk", f"urn:{{name}}", f"{{name}}/{{i}}".encode() * 50, rows=i))
        sys.stdout.write(f"{{entry.seq}} {{entry.at}} {{name}} {{i}}\\n")
        sys.stdout.flush()
for name in range({PUSHERS}):
    threading.Thread(target=push, args=(name,)).start()
"""


def test_every_acknowledged_entry_is_there(tmp_path: Path) -> None:
    newest = 0
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", WRITE, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as writing:
            lines = [writing.stdout.readline() for _ in range(150)]
            writing.kill()
            lines += writing.stdout.readlines()
        acknowledged = [tuple(map(int, line.split())) for line in lines if line.endswith("\n")]
        store = Opened(tmp_path)
        entries = {entry.seq: entry for entry in store.entries()}
        for seq, at, name, i in acknowledged:
            entry = entries[seq]
            assert (entry.at, entry.subject, entry.rows) == (at, f"urn:{name}", i)
            assert entry.payload == f"{name}/{i}".encode() * 50
        assert len(acknowledged) >= 150 and min(seq for seq, *_ in acknowledged) > newest
        # Of what was not acknowledged any more each pusher has at most one entry.
        assert list(entries) == list(range(1, len(entries) + 1))
        assert len(entries) <= newest + len(acknowledged) + PUSHERS
        assert all(entries[seq].at <= entries[seq + 1].at for seq in range(1, len(entries)))
        newest = len(entries)
        store.close()
