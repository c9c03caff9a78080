"""What a server must refuse at once: with one line that says what to do, and exit code 2.

For example:

    row = port_taken()
"""

from __future__ import annotations

import contextlib
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.faults.row import Row, unless
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.directory import private
from csparql_spark.log import Draft, LogWriter

SECONDS = 120


def port_taken() -> Row:
    with _data() as data, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = "--port", str(port)
        return _refused("port-taken", "The port is taken", data, *options, says="--port", hidden=str(port))


def not_writable() -> Row:
    with tempfile.NamedTemporaryFile() as file:
        return _refused(
            "data-not-writable", "The data directory cannot be made or written", Path(file.name) / "data", says="--data"
        )


def newer() -> Row:
    with _data() as data:
        with contextlib.closing(sqlite3.connect(data / "store.db")) as connection:
            connection.execute("PRAGMA user_version = 99")
        return _refused("data-newer", "The data directory was written by a newer version", data, says="--data")


def in_use() -> Row:
    with _data() as data, DataDirectory(data).create().lock():
        return _refused(
            "data-in-use", "Another server holds the data directory", data, says="--data", hidden="(process"
        )


def damaged(where: str) -> Row:
    """The database overwritten with noise: its beginning, or pages in its middle."""
    with private(), _data() as data:
        directory = DataDirectory(data).create()
        database = Database(directory.database).create()
        writer = LogWriter(database, directory.bell("log")).start()
        for number in range(200):
            writer.append(Draft("chunk", "urn:s", bytes(2000), rows=number))
        writer.stop()
        with contextlib.closing(sqlite3.connect(directory.database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        with directory.database.open("r+b") as file:
            file.seek(0 if where == "beginning" else 30 * 4096)
            file.write(b"\x5a" * 20 * 4096)
        return _refused(
            f"database-{where}", f"store.db is overwritten with noise, 80 KB in its {where}", data, says="copy"
        )


@contextlib.contextmanager
def _data() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="csparql-fault-") as path:
        yield Path(path)


def _refused(name: str, injected: str, data: Path, *options: str, says: str, hidden: str = "") -> Row:
    """`hidden`: from here to the end of the word the sentence is another one at each run."""
    command = [sys.executable, "-m", "csparql_spark", "serve", "--data", str(data), "--port", "0", *options]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Row(name, injected, "It was not refused.", [f"the server runs, after {SECONDS} s"])
    sentence = ended.stderr.strip()
    one_line = "\n" not in sentence and sentence.startswith("csparql-spark: ")
    broken = (
        unless(ended.returncode == 2, f"the exit code is {ended.returncode}")
        + unless(one_line, f"it says: {sentence[-1500:]}")
        + unless(says in sentence, f"the sentence does not name {says}: {sentence}")
    )
    shown = sentence.removeprefix("csparql-spark: ").replace(str(data), "DATA")
    if hidden:
        shown = re.sub(re.escape(hidden) + r"( \d+\))?", "…", shown)
    return Row(name, injected, f"Refused, exit code {ended.returncode}: “{shown}”", broken)
